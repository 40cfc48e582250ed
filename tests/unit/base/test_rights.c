/* SPDX-License-Identifier: GPL-2.0-only */
/* As root: each test is a process of another user, with capabilities as a service has them. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/rights.h"

UNIT_TEST_ALONE;

enum {
	STRANGER = 64999, /* a user */
	OBSERVERS = 64998, /* the group */
	GIVEN = CAP_SYS_PTRACE,
};

static bool has_group = true;

/* Instead of libc's: there is one group, with a long list of members. */
int getgrnam_r(const char *name, struct group *group, char *buffer, size_t buffer_bytes,
	       struct group **ret_group)
{
	(void)buffer;
	*ret_group = NULL;
	if (strcmp(name, "correlator") != 0 || !has_group)
		return 0;
	if (buffer_bytes < 100 * 1024)
		return ERANGE;
	*group = (struct group){ .gr_name = (char *)name, .gr_gid = OBSERVERS };
	*ret_group = group;
	return 0;
}

static uint32_t caps_of(uint32_t *ret_permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		abort();
	if (ret_permitted)
		*ret_permitted = data[0].permitted;
	return data[0].effective;
}

static void set_caps(uint32_t caps)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { caps, caps, caps } };

	if (syscall(SYS_capset, &header, data) < 0)
		abort();
}

static bool is_ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, GIVEN, 0, 0) == 1;
}

static void become_stranger(uint32_t caps, gid_t group)
{
	if (setgroups(1, &group) < 0 || setresgid(STRANGER, STRANGER, STRANGER) < 0 ||
	    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresuid(STRANGER, STRANGER, STRANGER) < 0)
		abort();
	set_caps(caps);
	if (caps && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, GIVEN, 0, 0) < 0)
		abort();
}

/* cmocka ends a child that fails as it ends the test. */
static void in_a_child(void (*test)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define EXPECT(condition) \
	((condition) ? (void)0 : (void)(print_error("%s\n", #condition), _exit(1)))

TEST(rights_of_root_stay_unchanged)
{
	uint32_t before = caps_of(NULL);

	assert_int_equal(rights_begin(), 0);
	assert_false(rights_are_given());
	assert_false(rights_lower());
	rights_raise();
	rights_give_up();
	assert_int_equal(caps_of(NULL), before);
	assert_true(rights_reach(1));
	assert_true(rights_reach_others());
}

static void with_the_callers(void)
{
	RIGHTS_OF_CALLER;

	EXPECT(caps_of(NULL) == 0);
}

static void raise_and_lower(void)
{
	uint32_t permitted;

	become_stranger(1U << GIVEN, STRANGER);
	EXPECT(is_ambient());
	EXPECT(rights_begin() == 0);
	EXPECT(rights_are_given());
	EXPECT(!is_ambient());
	EXPECT(caps_of(&permitted) == 0 && permitted == 1U << GIVEN);
	with_the_callers();
	EXPECT(caps_of(NULL) == 0);
	rights_raise();
	EXPECT(caps_of(NULL) == 1U << GIVEN);
	with_the_callers();
	EXPECT(caps_of(NULL) == 1U << GIVEN);
	EXPECT(rights_lower());
	EXPECT(!rights_lower());
	rights_pass_on();
	EXPECT(is_ambient());
	rights_give_up();
	EXPECT(caps_of(&permitted) == 0 && permitted == 0);
	rights_raise();
	EXPECT(caps_of(NULL) == 0);
	EXPECT(!rights_are_given());
}

TEST(rights_granted_are_effective_only_while_raised)
{
	in_a_child(raise_and_lower);
}

/* A process of the caller's, in a program of its own, that sleeps until it is killed. */
static pid_t start_other(void)
{
	int closed_by_exec[2];
	pid_t other;
	char byte;

	if (pipe2(closed_by_exec, O_CLOEXEC) < 0)
		abort();
	other = fork();
	if (other == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	(void)close(closed_by_exec[1]);
	EXPECT(read(closed_by_exec[0], &byte, 1) == 0);
	(void)close(closed_by_exec[0]);
	return other;
}

static void reach_ones_own(void)
{
	pid_t own, gone = fork();

	if (gone == 0)
		_exit(0);
	become_stranger(1U << GIVEN, STRANGER);
	EXPECT(rights_begin() == 0);
	own = start_other();
	for (int is_raised = 0; is_raised <= 1; is_raised++) {
		EXPECT(!rights_reach(getppid()));
		EXPECT(rights_reach(own));
		EXPECT(rights_reach(4194305));
		EXPECT(caps_of(NULL) == (is_raised ? 1U << GIVEN : 0));
		rights_raise();
	}
	EXPECT(!rights_reach_others());
	has_group = false;
	EXPECT(!rights_reach_others());
	EXPECT(kill(own, SIGKILL) == 0);
	EXPECT(waitpid(own, NULL, 0) == own);
	EXPECT(waitpid(gone, NULL, 0) == gone);
}

/* It cannot be looked at (it has what we have), and is ours. */
static void reach_a_fork(void)
{
	pid_t child;

	become_stranger(1U << GIVEN, STRANGER);
	EXPECT(rights_begin() == 0);
	EXPECT(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	EXPECT(rights_reach(child));
	EXPECT(!rights_reach(getppid()));
	EXPECT(kill(child, SIGKILL) == 0);
	EXPECT(waitpid(child, NULL, 0) == child);
}

TEST(rights_without_group_reach_only_own_processes)
{
	in_a_child(reach_ones_own);
	in_a_child(reach_a_fork);
}

static void reach_all(void)
{
	become_stranger(1U << GIVEN, OBSERVERS);
	EXPECT(rights_begin() == 0);
	EXPECT(rights_reach_others());
	EXPECT(rights_reach(getppid()));
}

TEST(rights_of_group_member_reach_all_processes)
{
	in_a_child(reach_all);
}

/* The kernel says itself what it may not. */
static void reach_without(void)
{
	become_stranger(0, STRANGER);
	EXPECT(rights_begin() == 0);
	EXPECT(!rights_are_given());
	EXPECT(rights_reach(getppid()));
	EXPECT(rights_reach_others());
}

TEST(rights_without_capabilities_leave_checks_to_kernel)
{
	in_a_child(reach_without);
}

static void be_setuid(void)
{
	EXPECT(setresuid(STRANGER, 0, 0) == 0);
	EXPECT(rights_begin() == -EPERM);
}

static void be_setgid(void)
{
	EXPECT(setresgid(STRANGER, 0, 0) == 0);
	EXPECT(rights_begin() == -EPERM);
}

TEST(rights_reject_setuid_and_setgid_start)
{
	in_a_child(be_setuid);
	in_a_child(be_setgid);
}
