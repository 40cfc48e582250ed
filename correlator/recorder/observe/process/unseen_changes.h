/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the probe of a process is hit when its contexts change. If it is, only a race leaves a
 * change unseen; if not, a good part of the stints on a CPU end with an unseen change. Example: a
 * file that overlayfs copied up after it was mapped gets its probe in the copy. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	UNSEEN_CHANGES_MIN = 4,
	UNSEEN_CHANGES_SHARE = 16, /* at least one change in 16 stints */
	UNSEEN_CHANGES_STINTS_MAX = 1024, /* above it, both counts are halved */
};

/* Zero-initialized. */
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
