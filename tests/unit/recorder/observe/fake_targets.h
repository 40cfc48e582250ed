/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom a recording on the fake kernel observes: those of its processes that are there. */
#pragma once

#include "recorder/observe/fake_command.h"
#include "recorder/observe/process/targets.h"

/* recorder/observe/process/targets.h: those of the fake that are there, all of them known. */

int targets_prepare(struct targets *targets, const struct targets_options *options)
{
	targets->options = options;
	targets->processes.keys = &options->keys;
	return EXIT_CODE_OK;
}

void targets_deinit(struct targets *targets)
{
	observed_table_deinit(&targets->processes);
}

static inline struct observed *observe_one(struct targets *targets, pid_t pid)
{
	struct observed *process = observed_add(&targets->processes, life_of(pid), pid, 0, "puma");
	unsigned int decisions;

	assert_non_null(process);
	process->start_ticks = FAKE_START_TICKS;
	if (fake.looks_at_start)
		(void)observed_look(&targets->processes, process, &fake.session, fake.now_ns,
				    &decisions);
	process->books.mixes_threads = fake.mixes_threads;
	return process;
}

int targets_observe(struct targets *targets, struct session *session, bool takes_output)
{
	(void)takes_output;
	expect_session(session);
	if (fake.failures[FAKE_OBSERVE])
		return fake.failures[FAKE_OBSERVE];
	if (fake.has_command)
		targets->child = (struct child_command){ .pid = FAKE_PID, .pid_fd = 0 };
	targets->must_publish = fake.must_publish;
	targets->has_published = fake.has_published;
	for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++)
		if (fake.processes[i].is_there)
			(void)observe_one(targets, fake.processes[i].pid);
	return EXIT_CODE_OK;
}

enum exit_code targets_release(struct targets *targets)
{
	(void)targets;
	return (enum exit_code)fake.failures[FAKE_RELEASE];
}

bool targets_search(struct targets *targets, struct session *session, uint64_t now_ns)
{
	expect_session(session);
	if (!fake.search_ns || now_ns < fake.search_ns)
		return false;
	fake.search_ns = 0;
	observe_one(targets, fake.found)->is_found = true;
	return true;
}

uint64_t targets_next_search(const struct targets *targets)
{
	(void)targets;
	return fake.search_ns ? fake.search_ns : UINT64_MAX;
}

void targets_expect(struct targets *targets, pid_t pid)
{
	(void)targets;
	tell("expect %d", pid - FAKE_PID);
}

bool targets_were_hidden(const struct targets *targets)
{
	(void)targets;
	return fake.were_hidden;
}

bool targets_are_over(const struct targets *targets)
{
	return fake.are_over || (targets->child.pid && !child_command_runs(&targets->child));
}

void targets_find_lost_exits(struct targets *targets)
{
	const struct observed *process = targets->processes.processes;

	fake.exit_checks++;
	for (; process; process = process->hh.next)
		fake.exit_checks_with_threads += process->has_threads;
}
