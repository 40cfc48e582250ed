/* SPDX-License-Identifier: GPL-2.0-only */
/* A copy of a file, mapped by this process as a loader begins to: whole, before its segments. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/target/proc/memory_map.h"

enum {
	MAPPED_COPY_ROOM = 1 << 20 /* what follows the file is anonymous */
};

struct mapped_copy {
	char path[64];
	int fd;
	uint8_t *start;
	struct memory_map map;
	const struct memory_map_entry *entry;
};

static inline void mapped_copy_make(const char *file, struct mapped_copy *ret_copy)
{
	struct mapped_copy copy = { .path = "/tmp/mapped-copy-XXXXXX" };
	char command[512];
	struct stat status;

	copy.fd = mkstemp(copy.path);
	assert_true(copy.fd >= 0);
	(void)snprintf(command, sizeof(command), "cat '%s' > %s", file, copy.path);
	assert_int_equal(system(command), 0);
	assert_int_equal(fstat(copy.fd, &status), 0);
	assert_true(status.st_size < MAPPED_COPY_ROOM);
	copy.start = mmap(NULL, MAPPED_COPY_ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(copy.start != MAP_FAILED);
	assert_true(mmap(copy.start, (size_t)status.st_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_FIXED, copy.fd, 0) == copy.start);
	assert_int_equal(memory_map_of_process(getpid(), &copy.map), 0);
	for (size_t i = 0; i < copy.map.count && !copy.entry; i++)
		if (copy.map.entries[i].start == (uint64_t)copy.start)
			copy.entry = &copy.map.entries[i];
	assert_non_null(copy.entry);
	*ret_copy = copy;
}

static inline void mapped_copy_remove(struct mapped_copy *copy)
{
	memory_map_deinit(&copy->map);
	assert_int_equal(munmap(copy->start, MAPPED_COPY_ROOM), 0);
	(void)close(copy->fd);
	assert_int_equal(unlink(copy->path), 0);
}
