/* SPDX-License-Identifier: GPL-2.0-only */
/* The pure functions, compiled for the kernel and run there on what a test puts in. */
#include "replay.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct replay);
} exchange SEC(".maps");

SEC("raw_tp")
int run_replay(void *context)
{
	__u32 slot = 0;
	struct replay *replay = bpf_map_lookup_elem(&exchange, &slot);

	if (!replay)
		return 1;
	replay_run(replay);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
