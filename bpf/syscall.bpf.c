/*
 * The user/kernel boundaries. These two hooks tax every system call of the machine.
 *
 * The clock is read as near to the ring crossing as can be: first thing on the way in, last thing
 * on the way out, so that what these programs cost is kernel time, as it is for the machine. What
 * lies outside still is measured at start (probe/calibration.c).
 */
#include "context.bpf.h"

static __always_inline int enter_kernel(bool reads_context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	__u64 now_ns;

	if (!thread)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!thread_begin(thread, task, now_ns))
		return 0;
	if (reads_context) {
		context_boundary(thread, task, now_ns, THREAD_MODE_KERNEL, true);
	} else {
		charge_note_pending(thread, thread->clock.mark_ns);
		(void)account_edge(&thread->clock, &thread->pending, now_ns, THREAD_MODE_KERNEL);
	}
	thread->pending.syscalls++;
	/* Between a probe and the store behind it there is no system call. */
	thread->is_change_open = 0;
	thread_release(thread);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter)
{
	return enter_kernel(false);
}

/* Attached in its place when there are no uprobes. */
SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter_lean)
{
	return enter_kernel(true);
}

/* The pointer is the user's: a system call does not change it, so nothing is read here. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);

	if (!thread || !thread_begin(thread, task, thread->clock.mark_ns))
		return 0;
	charge_note_pending(thread, thread->clock.mark_ns);
	(void)account_edge(&thread->clock, &thread->pending, bpf_ktime_get_ns(), THREAD_MODE_USER);
	thread_release(thread);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
