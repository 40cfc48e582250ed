/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a window ends, with a kernel side that says how many threads were met in the middle of a
 * boundary: who is met when, how often, and what is waited for. That it drains what the kernel has
 * is in tests/bpf/test_session.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "unit_test.h"
#include <bpf/bpf.h>

#include "failing_memory.h"
#include "recorder/probe/open_session.h"

UNIT_TEST_ALONE;

enum {
	ALWAYS = 1 << 20
};

/* The linked object's sections, a page each: nothing else is written where each system call of the
 * machine reads, nor read where each observing CPU writes. */
_Static_assert(sizeof(struct correlator_bpf__data_registrations) == sizeof(uint32_t), "alone");
_Static_assert(sizeof(struct correlator_bpf__data_clock_offset) <= 2 * sizeof(uint64_t), "alone");

static struct fake {
	struct session session;
	struct correlator_bpf skeleton;
	struct correlator_bpf__bss shared;
	struct correlator_bpf__data_registrations remembered;
	int busy_rounds; /* for how many of them a thread is met in the middle of a boundary */
	int interrupt_error, walk_error, wait_error, drain_error;
	/* All that was done, a letter each: i interrupt of all, o of observing CPUs, w walk, l late
	 * walk, s sleepers, a wait for programs that began before, p pause, d drain of either map.
	 */
	char done[8192];
	size_t count;
	uint32_t epochs[2]; /* the current one and the open one, at the first walk */
	uint32_t stopped_at_wait;
	uint32_t mode_at_walk, mode_at_sleepers;
	int drained;
} fake;

static struct bpf_map *map(int number)
{
	static char maps[4];

	return (struct bpf_map *)&maps[number];
}

static void did(char what)
{
	assert_true(fake.count + 1 < sizeof(fake.done));
	fake.done[fake.count++] = what;
}

/* libbpf's, for these maps */
int bpf_map__fd(const struct bpf_map *of)
{
	return (int)((const char *)of - (const char *)map(0)) + 100;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)flags;
	assert_int_equal(fd, 102);
	/* What is there already: else a window's accounts would get into the other's. */
	assert_int_equal(*(const __u32 *)key, 0);
	assert_int_equal(*(const int *)value, 100);
	/* By then no CPU relies on what it remembers. */
	fake.stopped_at_wait = fake.shared.is_stopped && fake.remembered.registrations > 0;
	did('a');
	errno = -fake.wait_error;
	return fake.wait_error ? -1 : 0;
}

int bpf_map_lookup_and_delete_batch(int fd, void *in, void *out, void *keys, void *values,
				    __u32 *count, const struct bpf_map_batch_opts *options)
{
	(void)in, (void)out, (void)options;
	assert_non_null(keys);
	assert_non_null(values);
	*count = 0;
	fake.drained = fd;
	did('d');
	errno = fake.drain_error ? -fake.drain_error : ENOENT;
	return -1;
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)left;
	assert_int_equal(length->tv_sec * 1000000000L + length->tv_nsec, 1000000);
	did('p');
	return 0;
}

/* recorder/probe/collector.c */
int collector_interrupt_cpus(struct session *session)
{
	assert_ptr_equal(session, &fake.session);
	did('i');
	return fake.interrupt_error;
}

int collector_interrupt_observing_cpus(struct session *session)
{
	assert_ptr_equal(session, &fake.session);
	did('o');
	return fake.interrupt_error;
}

int collector_run_tasks(struct session *session, enum collect_phase phase)
{
	assert_ptr_equal(session, &fake.session);
	assert_int_equal(fake.shared.stragglers, 0);
	if (!strpbrk(fake.done, "wl")) {
		fake.epochs[0] = fake.shared.current_epoch;
		fake.epochs[1] = fake.shared.open_epoch;
		fake.mode_at_walk = fake.shared.seeks_mode;
	}
	did(phase == COLLECT_PHASE_FLUSH ? 'w' : 'l');
	fake.shared.stragglers = fake.busy_rounds-- > 0;
	return fake.walk_error;
}

int collector_read_sleepers(struct session *session)
{
	assert_ptr_equal(session, &fake.session);
	fake.mode_at_sleepers = fake.shared.seeks_mode;
	did('s');
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	fake = (struct fake){ .shared.current_epoch = 6, .shared.open_epoch = 6 };
	fake.skeleton.bss = &fake.shared;
	fake.skeleton.data_registrations = &fake.remembered;
	fake.skeleton.maps.accounts_a = map(0);
	fake.skeleton.maps.accounts_b = map(1);
	fake.skeleton.maps.accounts = map(2);
	fake.session.skeleton = &fake.skeleton;
	for (int epoch = 0; epoch < 2; epoch++)
		fake.shared.accounts_share[epoch].used = 5;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	memory_never_fails();
	free(fake.session.keys);
	free(fake.session.accounts);
	return 0;
}

static int take(void *context, const struct account_key *key, const struct account *account)
{
	(void)context, (void)key, (void)account;
	return 0;
}

static int flush(bool is_last)
{
	uint64_t end_ns, epoch;

	return session_flush(&fake.session, is_last, take, NULL, &end_ns, &epoch);
}

static size_t count(char what)
{
	size_t count = 0;

	for (size_t i = 0; i < fake.count; i++)
		count += fake.done[i] == what;
	return count;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(flush_interrupts_running_threads_before_it_drains)
{
	assert_int_equal(flush(false), 0);
	assert_string_equal(fake.done, "sowd");
	/* They charge to the next window from then on, and this one is closed behind them. */
	assert_int_equal(fake.epochs[0], 7);
	assert_int_equal(fake.epochs[1], 6);
	assert_int_equal(fake.shared.open_epoch, 7);
	assert_int_equal(fake.shared.is_stopped, 0);
	/* What was drained has its room again, and the other has not. */
	assert_int_equal(fake.drained, 100);
	assert_int_equal(fake.shared.accounts_share[0].used, 0);
	assert_int_equal(fake.shared.accounts_share[1].used, 5);
	assert_int_equal(flush(false), 0);
	assert_int_equal(fake.drained, 101);
	assert_int_equal(fake.shared.accounts_share[1].used, 0);
}

FIXTURE_TEST(flush_waits_for_programs_of_leaving_threads)
{
	fake.shared.leaving_threads = 1;
	assert_int_equal(flush(false), 0);
	assert_string_equal(fake.done, "sowad");
	/* Nobody is once the programs are stopped. */
	fake.count = 0;
	memset(fake.done, 0, sizeof(fake.done));
	assert_int_equal(flush(true), 0);
	assert_string_equal(fake.done, "siawd");
	fake.wait_error = -ENOMEM;
	assert_int_equal(flush(false), -ENOMEM);
}

FIXTURE_TEST(flush_of_last_window_stops_programs_before_interrupts)
{
	assert_int_equal(flush(true), 0);
	assert_string_equal(fake.done, "siawd");
	assert_int_equal(fake.stopped_at_wait, 1);
	assert_int_equal(fake.shared.is_stopped, 1);
}

FIXTURE_TEST(flush_interrupts_again_if_thread_was_in_boundary)
{
	fake.busy_rounds = 2;
	assert_int_equal(flush(false), 0);
	assert_string_equal(fake.done, "sowiwiwd");
	assert_int_equal(fake.shared.open_epoch, 7);
}

FIXTURE_TEST(flush_pauses_between_rounds_after_sixteen)
{
	fake.busy_rounds = 17;
	assert_int_equal(flush(false), 0);
	/* Rounds are counted from 0: the one behind the last busy one begins at once. */
	assert_int_equal(count('w'), 18);
	assert_int_equal(count('p'), 1);
	assert_null(strstr(fake.done, "pp"));
	assert_non_null(strstr(fake.done, "wpiwd"));
}

FIXTURE_TEST(flush_gives_up_on_busy_thread_after_128_rounds)
{
	fake.busy_rounds = ALWAYS;
	assert_int_equal(flush(false), 0);
	assert_int_equal(count('w'), 128);
	assert_int_equal(count('i'), 128);
	assert_int_equal(count('p'), 128 - 16);
	/* In between even the programs that began before were waited for, once. */
	assert_int_equal(count('a'), 1);
	*strchr(fake.done, 'a') = '\0';
	assert_int_equal(strlen(fake.done), 1 + 2 * 64 + (64 - 16));
	assert_string_equal(fake.done + fake.count - 4, "pild");
	assert_int_equal(fake.shared.open_epoch, 7);
}

FIXTURE_TEST(flush_of_last_window_waits_longer_for_busy_thread)
{
	fake.busy_rounds = ALWAYS;
	assert_int_equal(flush(true), 0);
	assert_int_equal(count('w'), 1024);
	/* Nobody can be interrupted into programs that are stopped. */
	assert_int_equal(count('i'), 1);
	assert_int_equal(count('a'), 2);
	assert_string_equal(fake.done + fake.count - 3, "pld");
}

FIXTURE_TEST(flush_drains_nothing_after_failure)
{
	fake.interrupt_error = -EIO;
	assert_int_equal(flush(false), -EIO);
	assert_string_equal(fake.done, "so");
	assert_int_equal(flush(true), -EIO);
	assert_string_equal(fake.done, "sosi");
	assert_int_equal(fake.shared.is_stopped, 0);
	fake.interrupt_error = 0;
	fake.walk_error = -ENOSPC;
	assert_int_equal(flush(false), -ENOSPC);
	fake.walk_error = 0;
	fake.wait_error = -ENOMEM;
	assert_int_equal(flush(true), -ENOMEM);
	/* What cannot be waited for halfway is no reason to go on. */
	fake.busy_rounds = ALWAYS;
	assert_int_equal(flush(false), -ENOMEM);
	assert_int_equal(fake.shared.open_epoch, 6);
	assert_int_equal(count('d'), 0);
	fake.busy_rounds = 0;
	fake.wait_error = 0;
	fake.drain_error = -EFAULT;
	assert_int_equal(flush(false), -EFAULT);
	assert_int_equal(fake.shared.accounts_share[0].used, 5);
	assert_int_equal(fake.shared.accounts_share[1].used, 5);
}

FIXTURE_TEST(flush_seeks_coming_split_and_turns_it_on)
{
	fake.session.split = SESSION_SPLIT_COMING;
	assert_int_equal(flush(false), 0);
	assert_int_equal(fake.mode_at_sleepers, 1);
	assert_int_equal(fake.mode_at_walk, 1);
	assert_int_equal(fake.shared.seeks_mode, 0);
	assert_int_equal(fake.session.split, SESSION_SPLIT_ON);
	memset(fake.done, 0, sizeof(fake.done));
	fake.count = 0;
	assert_int_equal(flush(false), 0);
	assert_int_equal(fake.mode_at_walk, 0);
	assert_int_equal(fake.session.split, SESSION_SPLIT_ON);
	fake.session.split = SESSION_SPLIT_OFF;
	assert_int_equal(flush(false), 0);
	assert_int_equal(fake.session.split, SESSION_SPLIT_OFF);
}

FIXTURE_TEST(flush_fails_without_memory_and_keeps_window_open)
{
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_after(successes);
		assert_int_equal(flush(false), -ENOMEM);
		memory_never_fails();
		assert_string_equal(fake.done, "");
		assert_int_equal(fake.shared.current_epoch, 6);
	}
	assert_int_equal(flush(false), 0);
	/* It is made once. */
	memory_fails_after(0);
	assert_int_equal(flush(false), 0);
	assert_int_equal(memory_failures(), 0);
}
