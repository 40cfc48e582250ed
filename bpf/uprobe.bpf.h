/* SPDX-License-Identifier: GPL-2.0-only */
/* The boundary at which a context ends: the entry of a function that changes the thread-local. */
#pragma once

#include "boundary.bpf.h"
#include "registration.bpf.h"

static __always_inline bool context_is_published_at(const struct process_config *config,
						    __u64 address)
{
	return address - config->publisher_start < config->publisher_end - config->publisher_start;
}

/* The fiber from here on: the second argument if the gem passes it; 0 = not known. */
static __always_inline __u32 context_fiber(const struct thread_state *thread,
					   const struct uprobe_registers *registers)
{
	if (!(thread->config.flags & PROCESS_TELLS_FIBERS) ||
	    !context_is_published_at(&thread->config, registers->instruction_pointer))
		return 0;
	return (__u32)uprobe_argument(registers, 2);
}

/* Notes which state is stored next, if the gem passes its serial. With OpenTelemetry the context is
 * not the state's alone. */
static __always_inline void context_note_next(struct thread_state *thread,
					      const struct uprobe_registers *registers)
{
	thread->next_serial = 0;
	if (!(thread->config.flags & PROCESS_TELLS_SERIALS) || context_has_otel(thread) ||
	    !context_is_published_at(&thread->config, registers->instruction_pointer))
		return;
	thread->next_pointer = uprobe_argument(registers, 1);
	thread->next_serial = uprobe_argument(registers, 3);
}

PROGRAM("uprobe")
int on_context_change(struct uprobe_registers *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	__u64 now_ns;

	/* A hit in a lean process, whose file is probed because of another process. */
	if (!thread || (thread_is_lean(thread) && thread->generation == generation &&
			context_is_published_at(&thread->config, registers->instruction_pointer)))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!boundary_begin(thread, task, now_ns, BOUNDARY_PROBE)) {
		if (session.has_timeline)
			thread->timeline.missed_fiber = context_fiber(thread, registers);
		thread->has_missed_probe = 1;
		thread->hog.since_ns = 0;
		thread->next_serial = 0;
		return 0;
	}
	boundary_close(thread, task, now_ns, BOUNDARY_PROBE, THREAD_MODE_USER);
	if (!thread_is_lean(thread)) {
		boundary_end(thread, task, now_ns, BOUNDARY_PROBE);
		context_note_next(thread, registers);
	}
	if (session.has_timeline)
		thread->timeline.stint.fiber = context_fiber(thread, registers);
	if (session.stall_least_ns && !thread_is_lean(thread))
		(void)hog_tell(thread, context_fiber(thread, registers), now_ns);
	/* The variable is in no known object, or a wanted key has no ID yet. */
	if (!context_is_published_at(&thread->config, registers->instruction_pointer) ||
	    context_lacks_key(thread))
		context_ask(thread, registers->instruction_pointer, now_ns);
	boundary_release(thread);
	return 0;
}
