/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ownership in user space: a variable marked `_cleanup_(f)` is passed to f when it goes out of
 * scope; TAKE_PTR/TAKE_FD transfer ownership instead. Each type declares its own cleanup next to
 * its _free with DEFINE_CLEANUP.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

#define DEFINE_CLEANUP(type, function)               \
	static inline void function##p(type *object) \
	{                                            \
		if (*object)                         \
			(void)function(*object);     \
	}                                            \
	_Static_assert(1, "")

#define TAKE_PTR(pointer)                               \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

static inline void cleanup_memory(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#define _cleanup_free_ _cleanup_(cleanup_memory)
#define _cleanup_fd_   _cleanup_(cleanup_fd)

DEFINE_CLEANUP(FILE *, fclose);
#define _cleanup_file_ _cleanup_(fclosep)
