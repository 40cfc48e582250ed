/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The usual design, for comparison: five hash maps keyed by the thread's ID, updated from the
 * classic tracepoints. It knows nothing of requests, and it finds out at each edge what it must
 * know.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

enum {
	THREADS_MAX = 10240
};

/* Of the tracepoint sched:sched_switch: events/sched/sched_switch/format in tracefs. */
struct switch_arguments {
	__u64 common;
	char prev_comm[16];
	__u32 prev_pid;
	__s32 prev_priority;
	__s64 prev_state;
	char next_comm[16];
	__u32 next_pid;
	__s32 next_priority;
};

struct by_thread {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, __u64);
};

struct by_thread start_time SEC(".maps");
struct by_thread kernel_time SEC(".maps");
struct by_thread user_time SEC(".maps");
struct by_thread syscall_start SEC(".maps");
struct by_thread run_kernel_time SEC(".maps");

const volatile __u32 target_tgid;

static __always_inline bool is_target(void)
{
	return bpf_get_current_pid_tgid() >> 32 == target_tgid;
}

static __always_inline void add(void *map, __u32 tid, __u64 ns)
{
	__u64 *sum = bpf_map_lookup_elem(map, &tid);

	if (sum)
		*sum += ns;
	else
		bpf_map_update_elem(map, &tid, &ns, BPF_ANY);
}

static __always_inline void add_user_time(__u32 tid, __u64 now_ns)
{
	__u64 *start_ns = bpf_map_lookup_elem(&start_time, &tid);

	if (start_ns)
		add(&user_time, tid, now_ns - *start_ns);
}

SEC("tracepoint/raw_syscalls/sys_enter")
int five_maps_enter(void *context)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 now_ns;

	if (!is_target())
		return 0;
	now_ns = bpf_ktime_get_ns();
	add_user_time(tid, now_ns);
	bpf_map_update_elem(&syscall_start, &tid, &now_ns, BPF_ANY);
	return 0;
}

SEC("tracepoint/raw_syscalls/sys_exit")
int five_maps_exit(void *context)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 *syscall_ns, *ran_ns;
	__u64 now_ns, sum_ns;

	if (!is_target())
		return 0;
	syscall_ns = bpf_map_lookup_elem(&syscall_start, &tid);
	if (!syscall_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	sum_ns = now_ns - *syscall_ns;
	ran_ns = bpf_map_lookup_elem(&run_kernel_time, &tid);
	if (ran_ns) {
		sum_ns += *ran_ns;
		bpf_map_delete_elem(&run_kernel_time, &tid);
	}
	add(&kernel_time, tid, sum_ns);
	bpf_map_delete_elem(&syscall_start, &tid);
	bpf_map_update_elem(&start_time, &tid, &now_ns, BPF_ANY);
	return 0;
}

/* Inside a system call: what it ran so far is kept until it returns. */
static __always_inline void leave(__u32 tid, __u64 now_ns)
{
	__u64 *syscall_ns = bpf_map_lookup_elem(&syscall_start, &tid);

	if (syscall_ns)
		add(&run_kernel_time, tid, now_ns - *syscall_ns);
	else
		add_user_time(tid, now_ns);
	bpf_map_delete_elem(&start_time, &tid);
}

SEC("tracepoint/sched/sched_switch")
int five_maps_switch(struct switch_arguments *arguments)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 next = arguments->next_pid;
	__u64 *syscall_ns;

	if (is_target())
		leave(arguments->prev_pid, now_ns);
	/* The tracepoint does not say which process `next` is of. */
	if (!next)
		return 0;
	syscall_ns = bpf_map_lookup_elem(&syscall_start, &next);
	if (syscall_ns)
		*syscall_ns = now_ns;
	bpf_map_update_elem(&start_time, &next, &now_ns, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
