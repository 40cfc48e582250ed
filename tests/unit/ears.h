/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said on standard error meanwhile, of what is said by default. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/log.h"

struct ears {
	int saved, heard;
};

static inline struct ears ears_open(void)
{
	struct ears ears = { .saved = dup(STDERR_FILENO), .heard = -1 };
	int fds[2];

	if (ears.saved < 0 || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return ears;
	(void)dup2(fds[1], STDERR_FILENO);
	(void)close(fds[1]);
	ears.heard = fds[0];
	log_set_level(LOG_LEVEL_INFO);
	return ears;
}

static inline void ears_close(struct ears *ears, char *ret_said, size_t said_bytes)
{
	ssize_t got = read(ears->heard, ret_said, said_bytes - 1);

	ret_said[got > 0 ? got : 0] = '\0';
	(void)dup2(ears->saved, STDERR_FILENO);
	(void)close(ears->saved);
	(void)close(ears->heard);
}
