/* SPDX-License-Identifier: GPL-2.0-only */
/* Fork, exec and exit of observed threads and processes. */
#pragma once

#include "context.bpf.h"
#include "emit.bpf.h"
#include "registration.bpf.h"

/* A new process starts with its parent's configuration: same program, same addresses. */
static __noinline int adopt_process(__u32 parent_tgid, __u32 tgid)
{
	static const struct process_books empty;
	struct otel_config *otel;
	struct process_config *parent = bpf_map_lookup_elem(&processes, &parent_tgid);

	if (!parent || !tgid)
		return -1;
	if (bpf_map_update_elem(&books, &tgid, &empty, BPF_ANY) ||
	    bpf_map_update_elem(&processes, &tgid, parent, BPF_ANY)) {
		count_loss(parent_tgid, COUNTER_PROCESSES_FULL);
		return -1;
	}
	otel = session.watches_otel ? bpf_map_lookup_elem(&otel_processes, &parent_tgid) : NULL;
	if (otel && bpf_map_update_elem(&otel_processes, &tgid, otel, BPF_ANY))
		count_loss(parent_tgid, COUNTER_PROCESSES_FULL);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *thread = thread_find(parent);
	__u32 child_tgid;

	if (!thread)
		return 0;
	if (child->tgid == child->pid) {
		if (!session.follow_forks)
			return 0;
		child_tgid = identity_tgid(child);
		if (adopt_process(thread->tgid, child_tgid))
			return 0;
		emit_event(EVENT_KIND_FORK, child_tgid, thread->tgid, child, 0);
	}
	/* It has not run yet, and will come out of the kernel when it does. */
	registration_begin(child, 1, OFF_CPU_RUNNABLE, THREAD_MODE_KERNEL,
			   child->tgid == child->pid ? INHERITED_FIRST_READ : 0);
	if (session.watches_otel)
		otel_register(child, identity_tgid(child), child->tgid != child->pid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct process_config nothing = {};
	struct thread_state *thread = thread_find(task);
	__u64 now_ns;
	__u32 tgid;

	now_ns = bpf_ktime_get_ns();
	if (!thread || !thread_begin(thread, task, now_ns))
		return 0;
	charge_note_pending(thread, thread->clock.mark_ns);
	account_edge(&thread->clock, &thread->pending, now_ns, THREAD_MODE_KERNEL);
	charge_pending(thread, task, now_ns);
	/* Another address space: no address is worth anything any more. */
	thread->tls_resolution = TLS_UNRESOLVED;
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->is_change_open = 0;
	thread->has_passed_probe = 0;
	thread->config.flags = 0;
	/* exec by another thread takes the leader's tid */
	thread->tid = identity_tid(task);
	thread->ns_tid = identity_ns_tid(task);
	tgid = thread->tgid;
	thread_release(thread);
	bpf_map_update_elem(&processes, &tgid, &nothing, BPF_EXIST);
	if (session.watches_otel)
		bpf_map_delete_elem(&otel_processes, &tgid);
	emit_event(EVENT_KIND_EXEC, tgid, 0, task, 0);
	return 0;
}

/*
 * A thread that names itself begins a new life: Ruby up to 3.2 gives a native thread to one Ruby
 * thread after the other, and each names it (native_set_thread_name(), thread_pthread.c, v3_1_0).
 * What the last one may have left in the thread-local is not this one's until it sets a context
 * itself.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task)
{
	struct thread_state *thread;
	__u64 now_ns;

	if (task != bpf_get_current_task_btf())
		return 0;
	thread = thread_find(task);
	if (!thread)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!thread_begin(thread, task, now_ns))
		return 0;
	context_boundary(thread, task, now_ns, THREAD_MODE_KERNEL, false);
	charge_pending(thread, task, now_ns);
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->has_passed_probe = 0;
	thread->inherited_pointer = thread->state_pointer;
	if (session.watches_otel)
		otel_begin_life();
	thread_release(thread);
	return 0;
}

/*
 * From here on a thread's memory may be gone: what is left belongs to the last known context. Nor
 * does the iterator meet it any more, so what it was charged so far is balanced here, also when the
 * programs have been stopped already.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_state *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!thread || !thread->is_ready)
		return 0;
	if (is_stopped) {
		if (!thread_try_hold(thread))
			return 0;
		charge_close_running(thread, task, now_ns);
		charge_end_window(thread, task, now_ns, thread->clock.exec_mark_ns);
		thread_release(thread);
		return 0;
	}
	thread->is_exiting = !task->mm;
	if (thread_begin(thread, task, now_ns)) {
		context_write_up(thread, task, now_ns, THREAD_MODE_KERNEL);
		thread_release(thread);
	}
	thread->is_exiting = 1;
	return 0;
}

/*
 * _dl_debug_state() of the process's dynamic loader, which that calls for debuggers before and
 * after it maps or unmaps objects (glibc elf/dl-open.c, musl ldso/dynlink.c): one may publish.
 */
SEC("uprobe")
int on_load(struct uprobe_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);

	(void)registers;
	if (thread)
		emit_event(EVENT_KIND_LOAD, thread->tgid, 0, task, 0);
	return 0;
}
