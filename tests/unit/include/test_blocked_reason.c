/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/account.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit_test.h"

/* What the C library of this machine says, beside the table. */
TEST(blocked_calls_are_numbered_as_on_this_machine)
{
#ifdef __x86_64__
#define CHECK(name, x86, arm64, reason) assert_int_equal(x86, SYS_##name);
#define CHECK_X86(name, number, reason) assert_int_equal(number, SYS_##name);
	BLOCKED_CALLS_X86(CHECK_X86)
#undef CHECK_X86
#else
#define CHECK(name, x86, arm64, reason) assert_int_equal(arm64, SYS_##name);
#endif
	BLOCKED_CALLS(CHECK)
#undef CHECK
}

TEST(blocked_reason_follows_from_call)
{
	assert_int_equal(blocked_reason_of_call(SYS_futex, 0), BLOCKED_ON_FUTEX);
	assert_int_equal(blocked_reason_of_call(SYS_clock_nanosleep, 0), BLOCKED_ON_SLEEP);
	assert_int_equal(blocked_reason_of_call(SYS_epoll_pwait, 0), BLOCKED_ON_POLL);
	assert_int_equal(blocked_reason_of_call(SYS_accept4, 0), BLOCKED_ON_NETWORK);
	assert_int_equal(blocked_reason_of_call(SYS_wait4, 0), BLOCKED_ON_CHILD);
	assert_int_equal(blocked_reason_of_call(SYS_fsync, 0), BLOCKED_ON_DISK);
	assert_int_equal(blocked_reason_of_call(SYS_munmap, 1), BLOCKED_ON_FAULT);
	assert_int_equal(blocked_reason_of_call(SYS_read, 0), BLOCKED_ON_FILE);
}

TEST(blocked_reason_outside_call_is_fault)
{
	assert_int_equal(blocked_reason_of_call(-1, 1), BLOCKED_ON_FAULT);
	assert_int_equal(blocked_reason_of_call(INT64_MIN, 0), BLOCKED_ON_FAULT);
	assert_int_not_equal(blocked_reason_of_call(SYS_read, 0), BLOCKED_ON_FAULT);
}

TEST(blocked_reason_of_unlisted_call_is_disk_if_uninterruptible)
{
	static const int64_t numbers[] = { SYS_flock, BLOCKED_CALLS_ROOM - 1, BLOCKED_CALLS_ROOM,
					   INT64_MAX };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(blocked_reason_of_call(numbers[i], 0), BLOCKED_ON_OTHER);
		assert_int_equal(blocked_reason_of_call(numbers[i], 1), BLOCKED_ON_DISK);
	}
}

static uint32_t mode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(close(fd), 0);
	return status.st_mode;
}

TEST(blocked_reason_of_file_follows_from_its_mode)
{
	int pipe_ends[2], fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(blocked_reason_of_file(mode_of(fd), 0), BLOCKED_ON_NETWORK);
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(blocked_reason_of_file(mode_of(pipe_ends[0]), 0), BLOCKED_ON_PIPE);
	assert_int_equal(blocked_reason_of_file(mode_of(pipe_ends[1]), 1), BLOCKED_ON_PIPE);
	assert_int_equal(blocked_reason_of_file(S_IFREG | 0644, 0), BLOCKED_ON_DISK);
	assert_int_equal(blocked_reason_of_file(S_IFDIR | 0755, 0), BLOCKED_ON_DISK);
	assert_int_equal(blocked_reason_of_file(S_IFBLK | 0660, 0), BLOCKED_ON_DISK);
	assert_int_equal(blocked_reason_of_file(S_IFCHR | 0620, 0), BLOCKED_ON_OTHER);
	assert_int_equal(blocked_reason_of_file(S_IFCHR | 0620, 1), BLOCKED_ON_DISK);
	assert_int_equal(blocked_reason_of_file(0, 0), BLOCKED_ON_OTHER);
}

/* Each reason, and how it sleeps, come back out of the word; the least one has none. */
TEST(off_cpu_word_encodes_state_and_reason)
{
	for (uint32_t on = 0; on < _BLOCKED_REASON_MAX; on++) {
		uint32_t sleeping = off_cpu_blocked(OFF_CPU_SLEEPING, on);
		uint32_t at_disk = off_cpu_blocked(OFF_CPU_UNINTERRUPTIBLE, on);

		assert_int_equal(off_cpu_blocked_on(sleeping), on);
		assert_int_equal(off_cpu_blocked_on(at_disk), on);
		assert_false(off_cpu_is_uninterruptible(sleeping));
		assert_true(off_cpu_is_uninterruptible(at_disk));
		assert_int_not_equal(sleeping, OFF_CPU_RUNNABLE);
	}
	assert_int_equal(off_cpu_blocked_on(OFF_CPU_SLEEPING), BLOCKED_ON_OTHER);
}
