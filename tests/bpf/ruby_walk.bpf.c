/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk over a Ruby's frames in the kernel: over the memory of whoever runs it, and of a thread
 * that a timer met.
 */
#include <correlator/ruby_frames.h>

#include "ruby_walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ruby_walk_run);
} exchange SEC(".maps");

static int walk(void)
{
	__u32 slot = 0;
	struct ruby_walk_run *run = bpf_map_lookup_elem(&exchange, &slot);
	struct ruby_frames_walk walk = { 0 };

	if (!run || run->state != RUBY_WALK_WANTED)
		return 1;
	walk.layout = &run->layout;
	walk.key = &run->key;
	walk.execution_context = run->execution_context;
	walk.stack_pointer = run->stack_pointer;
	walk.frames = &run->frames;
	walk.tells_block_methods = 1;
	run->started_ns = bpf_ktime_get_ns();
	ruby_frames_walk(&walk);
	run->walked_ns = bpf_ktime_get_ns();
	ruby_frames_find_methods(&walk);
	run->ended_ns = bpf_ktime_get_ns();
	__sync_lock_test_and_set(&run->state, RUBY_WALK_DONE);
	return 0;
}

SEC("raw_tp")
int run_walk(void *context)
{
	return walk();
}

SEC("perf_event")
int on_clock(void *context)
{
	(void)walk();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
