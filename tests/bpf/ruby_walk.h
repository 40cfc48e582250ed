/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test and the kernel programs that walk for it exchange. */
#pragma once

#include <linux/types.h>

#include <correlator/context_hash.h>
#include <correlator/ruby_frame.h>
#include <correlator/ruby_stack_layout.h>

enum ruby_walk_state {
	RUBY_WALK_WANTED = 0,
	RUBY_WALK_DONE = 1,
};

struct ruby_walk_run {
	/* in */
	struct ruby_stack_layout layout;
	struct context_hash_key key;
	__u64 execution_context;
	__u64 stack_pointer;
	__u64 state; /* enum ruby_walk_state */
	/* out */
	__u64 started_ns;
	__u64 walked_ns;
	__u64 ended_ns;
	struct ruby_frames frames;
};
