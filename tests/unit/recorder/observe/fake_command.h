/* SPDX-License-Identifier: GPL-2.0-only */
/* The command that a recording on the fake kernel starts. */
#pragma once

#include "recorder/observe/fake_kernel.h"
#include "recorder/observe/process/child_command.h"

enum {
	FAKE_COMMAND_PID = FAKE_PID + 3
};

/* recorder/observe/process/child_command.h */

int child_command_start(char *const *argv, bool output_to_stderr, struct child_command *ret_child)
{
	if (fake.failures[FAKE_START] < 0)
		return fake.failures[FAKE_START];
	tell("%s is started%s", argv[0], output_to_stderr ? ", not to say records" : "");
	*ret_child = (struct child_command){ .pid = FAKE_COMMAND_PID, .pid_fd = 0 };
	return 0;
}

enum exit_code child_command_release(struct child_command *child, const char *name)
{
	assert_int_equal(child->pid, FAKE_COMMAND_PID);
	tell("%s is released", name);
	return (enum exit_code)fake.failures[FAKE_RELEASE];
}

bool child_command_runs(const struct child_command *child)
{
	return child->pid > 0 && child->pid_fd >= 0;
}

void child_command_check(struct child_command *child)
{
	if (!child_command_runs(child) || !fake.has_command_ended)
		return;
	child->pid_fd = -1;
	child->code = fake.command_code;
}

void child_command_signal(const struct child_command *child, int number)
{
	assert_true(child_command_runs(child));
	tell("signal %d", number);
}

void child_command_deinit(struct child_command *child)
{
	(void)child;
}
