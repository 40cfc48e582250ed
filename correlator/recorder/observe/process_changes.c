/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process_changes.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/observe/watching.h"

static void on_fork(struct recorder *recorder, const struct event *event)
{
	struct observed_table *processes = &recorder->targets.processes;
	struct observed *parent = observed_find(processes, event->parent_life);
	struct observed *child = observed_find(processes, event->life);

	/* The child's account may arrive before its fork event. */
	if (child && !child->is_announced)
		observed_set_parent(processes, child, event->parent_life);
	else if (!child)
		child = observed_add(processes, event->life, (pid_t)event->tgid, event->parent_life,
				     event->comm);
	if (!child || child->is_announced)
		return;
	child->is_announced = child->is_fork = true;
	child->parent_pid = (pid_t)event->parent_tgid;
	child->start_ticks = event->start_ticks;
	child->books.ns_pid = event->ns_tgid;
	child->books.mixes_threads = parent && parent->books.mixes_threads;
	child->server = parent ? parent->server : NULL;
	if (parent)
		process_stacks_inherit(&child->stacks, &parent->stacks);
	child->start_wall_ns = window_wall_ns(&recorder->window, event->ktime_ns);
	process_on_forked(&child->state, parent ? &parent->state : NULL,
			  parent && parent->target && parent->keys->otel_count,
			  clock_monotonic_ns());
	if (parent)
		observed_inherit_mode(child, parent, recorder->session);
	(void)watching_tell_process(recorder, child, PROCESS_EVENT_FORK, event->ktime_ns);
}

static void on_exec(struct recorder *recorder, struct observed *process, const struct event *event)
{
	(void)snprintf(process->comm, sizeof(process->comm), "%.*s", COMM_BYTES - 1, event->comm);
	/* A look may have seen the exec first. */
	if (event->image > process->image)
		observed_execute(process, event->image, clock_monotonic_ns());
	(void)watching_tell_process(recorder, process, PROCESS_EVENT_EXEC, event->ktime_ns);
}

/* Adds a process whose fork was not reported. NULL: it is already removed, or no memory. */
static struct observed *add_untold(struct recorder *recorder, const struct event *event)
{
	struct process_books books;
	struct observed *process;

	if (session_get_books(recorder->session, event->life, &books) < 0)
		return NULL;
	process = observed_add(&recorder->targets.processes, event->life, (pid_t)event->tgid, 0,
			       event->comm);
	if (!process)
		return NULL;
	process->start_ticks = event->start_ticks;
	process->books.ns_pid = event->ns_tgid;
	return process;
}

void process_changes_on_event(void *user, const struct event *event)
{
	struct recorder *recorder = user;
	struct observed *process = observed_find(&recorder->targets.processes, event->life);

	if (event->kind == EVENT_KIND_FORK)
		on_fork(recorder, event);
	if (event->kind == EVENT_KIND_STRANGER)
		targets_expect(&recorder->targets, (pid_t)event->tgid);
	if (!process && (event->kind == EVENT_KIND_EXEC || event->kind == EVENT_KIND_EXIT))
		process = add_untold(recorder, event);
	if (!process)
		return;
	switch (event->kind) {
	case EVENT_KIND_EXEC:
		on_exec(recorder, process, event);
		break;
	case EVENT_KIND_LOAD:
		process_on_loading(&process->state, event->ktime_ns, clock_monotonic_ns());
		break;
	case EVENT_KIND_ASK:
		observed_ask(process, event->address, clock_monotonic_ns());
		break;
	case EVENT_KIND_OTEL_KEYS:
		process_on_news(&process->state, clock_monotonic_ns());
		break;
	case EVENT_KIND_EXIT:
		process_on_exited(&process->state, event->ktime_ns);
		break;
	default:
		break;
	}
}

/* A library that was loaded or unloaded may have changed the mode or the bound. */
static void follow_bound(struct recorder *recorder, struct observed *process)
{
	if (process->told_mode && (process->told_lacks_bound != process->lacks_bound ||
				   process->told_mode != watching_mode(recorder, process)))
		(void)watching_tell_process(recorder, process, PROCESS_EVENT_MODE,
					    clock_monotonic_ns());
}

static void say_read(struct recorder *recorder, struct observed *process)
{
	const struct publisher *publisher =
		process->keys->ruby_count ? target_publisher(process->target) : NULL;

	if (!publisher)
		publisher = otel_target_publisher(&process->target->otel);
	log_info("process %d (%s) publishes contexts by %s: read from at most %.1f ms after it was "
		 "loaded on",
		 process->pid, process->comm, publisher->path,
		 (double)process->state.pickup_ns / 1e6);
	(void)watching_tell_process(recorder, process, PROCESS_EVENT_LOAD, clock_monotonic_ns());
	recorder->targets.has_published = true;
}

static void look_at(struct recorder *recorder, struct observed *process, uint64_t now_ns)
{
	bool is_first = process->is_fork && !process->is_configured;
	unsigned int decisions;

	(void)observed_look(&recorder->targets.processes, process, recorder->session, now_ns,
			    &decisions);
	(void)watching_follow(recorder);
	if (decisions & PROCESS_SAY_READ)
		say_read(recorder, process);
	/*
	 * A forked child that has lost the publishers it was forked with is about to run another
	 * program.
	 */
	if (decisions & PROCESS_SAY_UNREAD && !is_first) {
		log_warning("process %d (%s) unloaded what publishes its contexts: none is read "
			    "from now on",
			    process->pid, process->comm);
		(void)watching_tell_process(recorder, process, PROCESS_EVENT_UNLOAD,
					    clock_monotonic_ns());
	}
	follow_bound(recorder, process);
	if (decisions & PROCESS_SAY_COMPLETE)
		log_info("process %d (%s): context found, all keys known", process->pid,
			 process->comm);
}

void process_changes_look(struct recorder *recorder, uint64_t now_ns)
{
	struct observed *process = recorder->targets.processes.processes;

	for (; process; process = process->hh.next) {
		uint64_t may_look_ns;

		if (process_next_look(&process->state) > now_ns)
			continue;
		may_look_ns = observed_may_look_ns(process, now_ns);
		if (may_look_ns > now_ns)
			process_on_postponed(&process->state, may_look_ns);
		else
			look_at(recorder, process, now_ns);
	}
}

int process_changes_announce(struct recorder *recorder, struct observed *process, uint64_t ktime_ns)
{
	process->is_announced = true;
	process->is_found = false;
	if (process->is_mode_new)
		watching_say(recorder, process);
	return watching_tell_process(recorder, process, PROCESS_EVENT_FOUND, ktime_ns);
}

int process_changes_search(struct recorder *recorder, uint64_t now_ns)
{
	struct targets *targets = &recorder->targets;
	struct observed *process;
	int r = 0;

	if (!targets_search(targets, recorder->session, now_ns))
		return 0;
	r = session_register_threads(recorder->session);
	for (process = targets->processes.processes; process && r == 0;
	     process = process->hh.next) {
		if (!process->is_found)
			continue;
		log_info("found process %d (%s)", process->pid,
			 process->server ? process->server : process->comm);
		r = process_changes_announce(recorder, process, clock_monotonic_ns());
	}
	if (r == 0)
		r = watching_follow(recorder);
	return r;
}
