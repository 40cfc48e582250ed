/* SPDX-License-Identifier: GPL-2.0-only */
/* The floor: programs that do nothing, on the hooks that Correlator uses. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int floor_switch(void *context)
{
	return 0;
}

SEC("tp_btf/sys_enter")
int floor_enter(void *context)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int floor_exit(void *context)
{
	return 0;
}

SEC("uprobe")
int floor_uprobe(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
