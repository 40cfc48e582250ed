/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order running threads are interrupted, maps are written and tasks are walked when
 * something new is known of a process, with a kernel side that notes it. What is in the maps then
 * is in tests/bpf/test_session.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"
#include <bpf/bpf.h>

#include <correlator/life.h>

#include "recorder/probe/open_session.h"

UNIT_TEST_ALONE;

enum {
	PID = 77,
	LIVES_FD = 60,
	OTHER_FD = 50,
	ALWAYS = 1 << 20
};

#define LIFE (1ULL << 32 | 7077)

static struct fake {
	struct session session;
	struct correlator_bpf skeleton;
	struct correlator_bpf__bss shared;
	struct process_config config; /* of the one process that is known */
	int left; /* for so many passes somebody is still to begin */
	int update_error, interrupt_error, walk_error;
	uint32_t generation_at_update;
	struct process_life known; /* that is PID's */
	/* What was done, a letter each: u a map was updated, i an interrupt, w a walk to register,
	 * o one to make room for OpenTelemetry; small letters where only LIFE was meant. */
	char done[256];
	size_t count;
} fake;

static void did(char what)
{
	bool is_meant = fake.shared.collect_life == LIFE;

	assert_true(fake.shared.collect_life == 0 || is_meant);
	assert_true(fake.count + 1 < sizeof(fake.done));
	fake.done[fake.count++] = (char)(is_meant ? what : what - 'a' + 'A');
}

/* libbpf's */
int bpf_map__fd(const struct bpf_map *map)
{
	return map == fake.skeleton.maps.lives ? LIVES_FD : OTHER_FD;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	if (fd == LIVES_FD) {
		assert_int_equal(*(const __u32 *)key, PID);
		*(struct process_life *)value = fake.known;
		errno = ENOENT;
		return fake.known.life ? 0 : -1;
	}
	assert_int_equal(*(const __u64 *)key, LIFE);
	*(struct process_config *)value = fake.config;
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	if (fd == LIVES_FD) {
		assert_int_equal(*(const __u32 *)key, PID);
		/* Whoever had it before. */
		assert_int_equal(flags, BPF_ANY);
		if (!fake.update_error)
			fake.known = *(const struct process_life *)value;
	} else {
		assert_int_equal(*(const __u64 *)key, LIFE);
		fake.generation_at_update = fake.shared.generation;
	}
	did('u');
	errno = -fake.update_error;
	return fake.update_error ? -1 : 0;
}

/* recorder/probe/collector.c */
int collector_interrupt_cpus(struct session *session)
{
	assert_ptr_equal(session, &fake.session);
	did('i');
	return fake.interrupt_error;
}

int collector_run_tasks(struct session *session, enum collect_phase phase)
{
	assert_ptr_equal(session, &fake.session);
	if (phase == COLLECT_PHASE_OTEL) {
		did('o');
		return fake.walk_error;
	}
	assert_int_equal(phase, COLLECT_PHASE_REGISTER);
	assert_int_equal(fake.shared.stragglers, 0);
	did('w');
	fake.shared.stragglers = fake.left-- > 0 ? 2 : 0;
	return fake.walk_error;
}

static int set_up(void **state)
{
	(void)state;
	fake = (struct fake){ .config = { .flags = PROCESS_READY, .family = 3 } };
	fake.skeleton.bss = &fake.shared;
	fake.skeleton.maps.lives = (struct bpf_map *)&fake.known;
	fake.session.skeleton = &fake.skeleton;
	fake.shared.generation = 8;
	fake.shared.registration_pass = 20;
	return 0;
}

static void expect_done(const char *expected)
{
	assert_string_equal(fake.done, expected);
	assert_int_equal(fake.shared.collect_life, 0);
	memset(fake.done, 0, sizeof(fake.done));
	fake.count = 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(register_threads_repeats_until_pass_finds_no_new_thread)
{
	assert_int_equal(session_register_threads(&fake.session), 0);
	expect_done("W");
	assert_int_equal(fake.shared.registration_pass, 21);
	assert_true(fake.session.has_new_sleepers);
	/* Between two of them each CPU is interrupted. */
	fake.left = 2;
	assert_int_equal(session_register_threads(&fake.session), 0);
	expect_done("WIWIW");
	assert_int_equal(fake.shared.registration_pass, 24);
}

FIXTURE_TEST(register_threads_stops_after_sixteen_passes)
{
	fake.left = ALWAYS;
	assert_int_equal(session_register_threads(&fake.session), 0);
	expect_done("WIWIWIWIWIWIWIWIWIWIWIWIWIWIWIWI");
}

FIXTURE_TEST(register_threads_stops_at_first_error)
{
	fake.left = 5;
	fake.walk_error = -ENOSPC;
	assert_int_equal(session_register_threads(&fake.session), -ENOSPC);
	expect_done("W");
	fake.walk_error = 0;
	fake.interrupt_error = -EIO;
	assert_int_equal(session_register_threads(&fake.session), -EIO);
	expect_done("WI");
}

/* The kernel side draws from the same counter. */
FIXTURE_TEST(begin_life_assigns_unique_number)
{
	uint64_t life = 1;

	fake.shared.last_life = LIFE;
	assert_int_equal(session_begin_life(&fake.session, PID, 7, &life), 0);
	assert_int_equal(life, LIFE + 1);
	assert_int_equal(fake.known.life, life);
	assert_int_equal(fake.known.start_ticks, 7);
	fake.shared.last_life++;
	assert_int_equal(session_begin_life(&fake.session, PID, LIFE_OF_OUR_CHILD, &life), 0);
	assert_int_equal(life, LIFE + 3);
	assert_int_equal(fake.known.life, life);
	assert_true(fake.known.start_ticks == LIFE_OF_OUR_CHILD);
	fake.update_error = -E2BIG;
	assert_int_equal(session_begin_life(&fake.session, PID, 8, &life), -E2BIG);
	assert_int_equal(life, LIFE + 3);
	fake.update_error = 0;
	/* One that was not begun leaves a gap, and is nobody else's. */
	assert_int_equal(session_begin_life(&fake.session, PID, 9, &life), 0);
	assert_int_equal(life, LIFE + 5);
	expect_done("UUUU");
}

/* By when it started it is known to be the one. A child of ours is new each time. */
FIXTURE_TEST(begin_life_keeps_number_of_process_already_forked)
{
	uint64_t life = 1;

	fake.known = (struct process_life){ .life = LIFE, .start_ticks = 7 };
	assert_int_equal(session_begin_life(&fake.session, PID, 7, &life), 1);
	assert_int_equal(life, LIFE);
	assert_int_equal(fake.shared.last_life, 0);
	expect_done("");
	fake.known.start_ticks = LIFE_OF_OUR_CHILD;
	assert_int_equal(session_begin_life(&fake.session, PID, LIFE_OF_OUR_CHILD, &life), 0);
	assert_int_equal(life, 1);
	expect_done("U");
}

FIXTURE_TEST(set_process_interrupts_before_and_after_update)
{
	const struct process_config config = { .flags = PROCESS_READY };
	const struct process_config lean = { .flags = PROCESS_READY | PROCESS_IS_LEAN };
	const struct process_config otel = { .flags = PROCESS_READY | PROCESS_HAS_OTEL };

	assert_int_equal(session_set_process(&fake.session, LIFE, 0, &config), 0);
	expect_done("iu");
	assert_true(fake.session.has_new_sleepers);
	/* What is in the map is in force from the new number on, not before. */
	assert_int_equal(fake.generation_at_update, 8);
	assert_int_equal(fake.shared.generation, 9);
	/* And twice behind it, where the short way or probes may not do any more. */
	assert_int_equal(session_set_process(&fake.session, LIFE, 0, &lean), 0);
	expect_done("iuii");
	assert_int_equal(session_set_process(&fake.session, LIFE, 0, &otel), 0);
	expect_done("iuii");
	fake.session.has_new_sleepers = false;
	assert_int_equal(session_set_lean(&fake.session, LIFE, true), 0);
	expect_done("iuii");
	assert_false(fake.session.has_new_sleepers);
}

FIXTURE_TEST(set_process_keeps_generation_if_update_fails)
{
	const struct process_config config = { .flags = PROCESS_IS_LEAN };

	fake.update_error = -E2BIG;
	assert_int_equal(session_set_process(&fake.session, LIFE, 0, &config), -E2BIG);
	expect_done("iu");
	assert_int_equal(fake.shared.generation, 8);
}

FIXTURE_TEST(set_otel_walks_tasks_twice)
{
	const struct otel_config config = { 0 };

	assert_int_equal(session_set_otel(&fake.session, LIFE, &config), 0);
	expect_done("UOO");
	fake.walk_error = -EIO;
	assert_int_equal(session_set_otel(&fake.session, LIFE, &config), -EIO);
	expect_done("UO");
	fake.update_error = -ENOMEM;
	assert_int_equal(session_set_otel(&fake.session, LIFE, &config), -ENOMEM);
	expect_done("U");
}
