/* SPDX-License-Identifier: GPL-2.0-only */
/* Fork, exec and exit of observed threads and processes. */
#pragma once

#include "boundary.bpf.h"
#include "emit.bpf.h"
#include "registration.bpf.h"
#include "strangers.bpf.h"

enum {
	LOAD_PAUSE_NS = 1000 * 1000
};

/* Adds a new process to the maps, within its family's share. 0, or -1: no space left. */
static __always_inline int add_process(__u64 life, const struct process_config *parent,
				       __u64 parent_image)
{
	/* The configuration may describe a program that the parent has replaced. */
	bool is_same = parent->image == parent_image;
	static const struct process_books empty;
	struct process_config *config;
	struct process_books *process;

	if (!share_has_room(&processes_share, parent->family, PROCESSES_MAX))
		return -1;
	if (bpf_map_update_elem(&books, &life, &empty, BPF_NOEXIST))
		return -1;
	if (bpf_map_update_elem(&processes, &life, parent, BPF_NOEXIST)) {
		bpf_map_delete_elem(&books, &life);
		return -1;
	}
	share_add(&processes_share, parent->family);
	config = bpf_map_lookup_elem(&processes, &life);
	process = bpf_map_lookup_elem(&books, &life);
	if (!config || !process)
		return -1;
	config->image = process->image = life;
	if (!is_same)
		config->flags = 0;
	return 0;
}

/* A new process starts with its parent's configuration: same program, same addresses. */
static __noinline int adopt_process(const struct thread_state *maker, __u64 life)
{
	__u64 parent_life = maker->life;
	struct ruby_stack_layout *layout;
	struct otel_config *otel;
	struct process_config *parent = bpf_map_lookup_elem(&processes, &parent_life);
	struct process_books *parents_books = bpf_map_lookup_elem(&books, &parent_life);

	if (!parent || !parents_books)
		return -1;
	if (add_process(life, parent, parents_books->image)) {
		count_loss(parent_life, COUNTER_PROCESSES_FULL);
		return -1;
	}
	otel = session.watches_otel ? bpf_map_lookup_elem(&otel_processes, &parent_life) : NULL;
	if (otel && bpf_map_update_elem(&otel_processes, &life, otel, BPF_ANY))
		count_loss(parent_life, COUNTER_PROCESSES_FULL);
	layout = session.has_stacks ? bpf_map_lookup_elem(&stack_layouts, &parent_life) : NULL;
	if (layout && layout->image == parents_books->image &&
	    !bpf_map_update_elem(&stack_layouts, &life, layout, BPF_ANY)) {
		layout = bpf_map_lookup_elem(&stack_layouts, &life);
		if (layout)
			layout->image = life;
	}
	origin_inherit(parent_life, life);
	return 0;
}

static __always_inline void tell_fork(const struct thread_state *maker, struct task_struct *child,
				      __u32 tgid, __u64 life)
{
	struct event *event = event_begin(EVENT_KIND_FORK, life, tgid, child, maker->life);

	if (!event)
		return;
	event->parent_tgid = maker->tgid;
	bpf_ringbuf_submit(event, 0);
}

/* An observed process forks: begins the child's life and returns it; 0 = the child is not
 * observed. */
static __always_inline __u64 begin_life(const struct thread_state *maker, struct task_struct *child)
{
	struct process_life begun;
	__u32 tgid;

	if (!session.follow_forks) {
		(void)stranger_born(child);
		return 0;
	}
	tgid = identity_tgid(child);
	/* Not visible in userspace's pid namespace. */
	if (!tgid)
		return 0;
	begun.life = life_number();
	begun.start_ticks = identity_start_ticks(child);
	if (adopt_process(maker, begun.life))
		return 0;
	/* Replaces an earlier process with that pid, whose end userspace may not have seen. */
	bpf_map_update_elem(&lives, &tgid, &begun, BPF_ANY);
	tell_fork(maker, child, tgid, begun.life);
	return begun.life;
}

/*
 * The current task has made a task that has not run yet. Not sched_process_fork, which misses the
 * workers of io_uring and vhost: create_io_thread() and vhost_task_create() call copy_process(),
 * which has this tracepoint, and not kernel_clone(), which has that one (kernel/fork.c, v5.15 to
 * v6.18).
 */
PROGRAM("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *child)
{
	struct thread_state *maker = thread_find(bpf_get_current_task_btf()), *thread;
	bool is_process = child->tgid == child->pid;
	__u64 life;

	if (!maker)
		return stranger_forked(child);
	/* Full barrier: the maker may be registered at this moment. */
	(void)__sync_fetch_and_add(&maker->is_ready, 0);
	life = is_process ? begin_life(maker, child) : maker->life;
	if (!life)
		return 0;
	thread = registration_begin(child, life, is_process ? INHERITED_FIRST_READ : 0);
	if (thread) {
		thread_begin_books(thread, child, bpf_ktime_get_ns(), 1);
		/* It waits for its first CPU, where it starts on its way out of the kernel. */
		thread->clock.off_reason = OFF_CPU_RUNNABLE;
		thread->clock.mode =
			thread->is_worker ? THREAD_MODE_KERNEL : compat_mode_of_new_thread();
		if (session.has_children && is_process && !maker->is_pointer_old)
			(void)context_read_at_birth(thread);
		thread_release(thread);
	}
	if (session.watches_otel)
		otel_register(child, life, !is_process);
	return 0;
}

/*
 * The last boundary with the old program's memory and name: the context in force here becomes the
 * origin, and the kernel's part of the call belongs to it. Since 6.10.
 */
PROGRAM("?tp_btf/sched_prepare_exec")
int BPF_PROG(on_prepare_exec, struct task_struct *task)
{
	struct thread_state *thread = thread_find(task);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!thread || !boundary_begin(thread, task, now_ns, BOUNDARY_PREPARE_EXEC))
		return 0;
	context_want_snapshot(thread);
	boundary_close(thread, task, now_ns, BOUNDARY_PREPARE_EXEC, THREAD_MODE_KERNEL);
	boundary_end(thread, task, now_ns, BOUNDARY_PREPARE_EXEC);
	boundary_release(thread);
	return 0;
}

PROGRAM("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct process_config nothing = {};
	struct thread_state *thread = thread_find(task);
	__u64 now_ns = bpf_ktime_get_ns();
	struct process_books *process;
	__u64 life;

	if (!thread)
		return stranger_executed(task);
	life = thread->life;
	/* For thread_renew_image(), maybe at a later boundary. */
	thread->next_memory = (__u64)task->mm;
	nothing.family = thread->config.family;
	nothing.image = life_number();
	process = bpf_map_lookup_elem(&books, &life);
	if (process)
		process->image = nothing.image;
	if (boundary_begin(thread, task, now_ns, BOUNDARY_EXEC)) {
		boundary_close(thread, task, now_ns, BOUNDARY_EXEC, THREAD_MODE_KERNEL);
		boundary_end(thread, task, now_ns, BOUNDARY_EXEC);
		boundary_release(thread);
	} else {
		thread->has_missed_exec = 1;
	}
	bpf_map_update_elem(&processes, &life, &nothing, BPF_EXIST);
	if (session.watches_otel)
		bpf_map_delete_elem(&otel_processes, &life);
	if (session.has_stacks)
		bpf_map_delete_elem(&stack_layouts, &life);
	emit_event(EVENT_KIND_EXEC, thread, task, nothing.image);
	return 0;
}

/*
 * A thread that renames itself counts as another one from then on: Ruby up to 3.2 uses a native
 * thread for one Ruby thread after the other, and each sets its name (native_set_thread_name(),
 * thread_pthread.c, v3_1_0). A context that the last one left in the thread-local does not belong
 * to the next one until it sets a context itself; our gem leaves nothing there (boundary_forget()).
 */
PROGRAM("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task)
{
	struct thread_state *thread;
	__u64 now_ns;

	if (task != bpf_get_current_task_btf())
		return 0;
	thread = thread_find(task);
	if (!thread)
		return stranger_renamed(task);
	/* A worker is named once, before it works, and its accounts get that name. An exec
	 * renames the thread to the program midway, and has a boundary of its own at its end. */
	if (thread->is_worker || compat_is_in_exec(task))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!boundary_begin(thread, task, now_ns, BOUNDARY_RENAME)) {
		thread->has_missed_rename = 1;
		return 0;
	}
	boundary_close(thread, task, now_ns, BOUNDARY_RENAME, THREAD_MODE_KERNEL);
	boundary_end(thread, task, now_ns, BOUNDARY_RENAME);
	boundary_release(thread);
	return 0;
}

/*
 * From here on a thread's memory may be gone: the rest of its time belongs to the last known
 * context. The iterator does not visit it any more either, so its charges are balanced here, even
 * if the programs have been stopped already.
 */
PROGRAM("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_state *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!thread || !thread->is_ready)
		return 0;
	if (is_stopped) {
		if (!thread->is_begun || !thread_take(thread, task, now_ns, 0))
			return 0;
		charge_close_running(thread, task, now_ns);
		boundary_charge(thread, task, now_ns, BOUNDARY_FLUSH_OFF_CPU,
				thread->clock.exec_mark_ns);
		boundary_release(thread);
		return 0;
	}
	thread->is_exiting = !task->mm;
	if (boundary_begin(thread, task, now_ns, BOUNDARY_EXIT)) {
		boundary_close(thread, task, now_ns, BOUNDARY_EXIT, THREAD_MODE_KERNEL);
		boundary_end(thread, task, now_ns, BOUNDARY_EXIT);
		boundary_release(thread);
	}
	thread->is_exiting = 1;
	if (!__sync_lock_test_and_set(&thread->is_leaving, 1))
		__sync_fetch_and_add(&leaving_threads, 1);
	return 0;
}

/* False within LOAD_PAUSE_NS of the last report: another one would add nothing, because
 * userspace looks once more after that time. */
static __always_inline bool may_tell_load(__u64 life)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &life);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!process || now_ns - process->load_told_ns < LOAD_PAUSE_NS)
		return false;
	process->load_told_ns = now_ns;
	return true;
}

/*
 * _dl_debug_state() of the process's dynamic loader, which the loader calls for debuggers before
 * and after it maps or unmaps objects (glibc elf/dl-open.c, musl ldso/dynlink.c): a new object may
 * be a publisher.
 */
PROGRAM("uprobe")
int on_load(struct uprobe_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);

	(void)registers;
	if (!thread)
		return stranger_loads(task);
	if (may_tell_load(thread->life))
		emit_event(EVENT_KIND_LOAD, thread, task, 0);
	return 0;
}
