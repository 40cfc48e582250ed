/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/process_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Each look costs up to 50 ms: the pauses grow while a process is starting up. */
enum {
	LOOKS_MAX = 12
};

#define FIRST_PAUSE_NS (10 * NS_PER_MS)

int process_stacks_look(struct process_stacks *stacks, const struct target *target, pid_t pid,
			uint64_t now_ns, struct ruby_stack_report *ret_report)
{
	int r;

	if (stacks->has_layout || stacks->is_given_up || now_ns < stacks->next_look_ns || !target)
		return 0;
	if (!target->ruby.symbols)
		return 0;
	stacks->next_look_ns = now_ns + (FIRST_PAUSE_NS << stacks->looks);
	memset(ret_report, 0, sizeof(*ret_report));
	r = ruby_target_find_stack(&target->ruby, pid, target->link_map.is_musl, &stacks->layout,
				   ret_report);
	stacks->has_layout = r == 0 && ret_report->state == RUBY_STACK_AGREED;
	if (stacks->has_layout)
		return 1;
	stacks->is_given_up = ++stacks->looks == LOOKS_MAX;
	return stacks->is_given_up ? (r < 0 ? r : -ENOTSUP) : 0;
}

void process_stacks_inherit(struct process_stacks *child, const struct process_stacks *parent)
{
	child->has_layout = parent->has_layout;
	child->layout = parent->layout;
}

void process_stacks_forget(struct process_stacks *stacks)
{
	frame_names_free(stacks->names);
	native_process_free(stacks->native);
	memset(stacks, 0, sizeof(*stacks));
}

static int begin(struct process_stacks *stacks, pid_t pid, struct ruby_symbols *symbols)
{
	if (stacks->names && stacks->symbols == symbols)
		return 0;
	frame_names_free(stacks->names);
	stacks->names = NULL;
	stacks->symbols = symbols;
	stacks->reader = memory_reader_of_process(pid);
	return frame_names_new(&stacks->reader, &stacks->layout, symbols, &stacks->names);
}

int process_stacks_meet(struct process_stacks *stacks, pid_t pid, struct ruby_symbols *symbols,
			const struct stack_message *message, struct stack_sighting *ret_sighting)
{
	int r = begin(stacks, pid, symbols);

	if (r < 0)
		return r;
	*ret_sighting = stack_sighting_of(message, &stacks->layout);
	frame_names_prepare(stacks->names, ret_sighting);
	return 0;
}

static struct native_process *native_of(struct process_stacks *stacks, pid_t pid)
{
	if (!stacks->native)
		stacks->native = native_process_new(pid);
	return stacks->native;
}

void process_stacks_name_native(struct process_stacks *stacks, struct native_names *names,
				pid_t pid, uint64_t address, uint64_t now_ns, bool may_read,
				struct native_name *ret_name)
{
	struct native_process *native = native_of(stacks, pid);

	if (native)
		native_names_find(names, native, address, now_ns, may_read, ret_name);
	else
		*ret_name = (struct native_name){ .label = FRAME_UNKNOWN };
}

int process_stacks_place_native(struct process_stacks *stacks, struct native_names *names,
				pid_t pid, uint64_t address, struct native_place *ret_place)
{
	struct native_process *native = native_of(stacks, pid);

	return native ? native_names_place(names, native, address, clock_monotonic_ns(), false,
					   ret_place)
		      : -ENOMEM;
}

void process_stacks_find_callers(struct process_stacks *stacks, struct native_callers *callers,
				 pid_t pid, const struct user_stack *stack, uint64_t now_ns,
				 bool may_read, struct native_frames *ret_frames)
{
	struct native_process *native = native_of(stacks, pid);

	*ret_frames = (struct native_frames){ .count = 0 };
	if (native)
		native_callers_find(callers, native, stack, now_ns, may_read, ret_frames);
}
