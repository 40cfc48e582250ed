/* SPDX-License-Identifier: GPL-2.0-only */
/* What hangs as a file would, whose server does not answer: no file of a test does. */
#pragma once

#include <stdint.h>
#include <unistd.h>

enum {
	/* A process that is left alone in place of one that others need: more than pid_max. */
	NOBODY = 999999999,
};

/* As an agent_identify_fn: it is waited for in vain. */
static inline int wait_for_ever(int identifier, int fd, uint64_t *ret_identity)
{
	(void)identifier;
	(void)fd;
	(void)ret_identity;
	while (pause())
		;
	return 0;
}
