/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the words of a thread-local of the current task: the pointer, and our gem's count of
 * changes, which is within a few words of it.
 */
#pragma once

#include "kernel_compat.bpf.h"
#include "maps.bpf.h"

#include <correlator/gem_abi.h>

struct variable_words {
	__u64 pointer; /* untagged */
	__u64 changes;
};

/* address: of the pointer. changes_words: from there to the count. False: a fault. */
static __always_inline bool variable_read(__u64 address, __s32 changes_words,
					  struct variable_words *ret_read)
{
	__u32 span = (__u32)(changes_words < 0 ? -changes_words : changes_words);
	__u64 words[1 + GEM_CHANGES_WORDS_MAX] = { 0 };
	__u64 last;

	if (span > GEM_CHANGES_WORDS_MAX)
		return false;
	if (changes_words < 0)
		address -= span * sizeof(words[0]);
	if (bpf_probe_read_user(words, (1 + span) * sizeof(words[0]), (void *)address))
		return false;
	last = span == 2 ? words[2] : words[1];
	ret_read->pointer = compat_untag(changes_words < 0 ? last : words[0]);
	ret_read->changes = changes_words < 0 ? words[0] : last;
	return true;
}
