/* The boundary at which a context ends: the entry of a function that changes the thread-local. */
#include "context.bpf.h"

SEC("uprobe")
int on_context_change(struct pt_regs *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	__u64 now_ns;

	(void)registers;
	if (!thread)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!thread_begin(thread, task, now_ns))
		return 0;
	context_boundary(thread, task, now_ns, THREAD_MODE_USER, false);
	account_settle_stolen(&thread->clock, &thread->pending, stolen_from_cpu(task, now_ns));
	thread->pending.slices++;
	charge_pending(thread, task, now_ns);
	/* The store comes after this: what is in force next is not known yet. */
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->is_change_open = 1;
	thread->has_passed_probe = 1;
	thread_release(thread);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
