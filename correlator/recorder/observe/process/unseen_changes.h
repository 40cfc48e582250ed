/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the probe of a process is passed when its contexts change. Where it is, a change is
 * unseen by a race at most; where it is not, a good part of the stints on a CPU end with one: a
 * file that overlayfs copied up after it was mapped is probed in its new place. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	UNSEEN_CHANGES_MIN = 4,
	UNSEEN_CHANGES_SHARE = 16, /* one change in 16 stints, at least */
	UNSEEN_CHANGES_STINTS_MAX = 1024, /* of more, all count half as much */
};

/* Zero at first. */
struct unseen_changes {
	uint64_t changes;
	uint64_t stints;
};

static inline void unseen_changes_add(struct unseen_changes *unseen, uint64_t changes,
				      uint64_t stints)
{
	unseen->changes += changes;
	unseen->stints += stints;
	for (; unseen->stints > UNSEEN_CHANGES_STINTS_MAX; unseen->stints /= 2)
		unseen->changes /= 2;
}

static inline bool unseen_changes_tell(const struct unseen_changes *unseen)
{
	return unseen->changes >= UNSEEN_CHANGES_MIN &&
	       unseen->changes * UNSEEN_CHANGES_SHARE >= unseen->stints;
}
