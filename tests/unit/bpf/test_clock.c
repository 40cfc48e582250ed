/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks, and what is stolen between them: bpf/clock.bpf.h over a forged run queue. */
#include "bpf/native_kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "unit_test.h"

UNIT_TEST_ALONE;

static uint64_t native_now(void);
static void *native_current(void);
static long native_copy(void *buffer, uint32_t size_bytes, const void *address);

#undef bpf_get_current_task_btf
#undef bpf_probe_read_kernel
#undef bpf_core_field_exists
#define bpf_core_field_exists(...) has_fields
#define bpf_get_current_task_btf() ((struct task_struct *)native_current())
#define bpf_ktime_get_ns	   native_now
#define bpf_probe_read_kernel	   native_copy

static bool has_fields;

#include "maps.bpf.h"

#include "bpf/settable_session.h"

#include "clock.bpf.h"

enum {
	SKEW_NS = 1000000, /* of the run queue's clock, behind ours */
	CLOCK_NS = 50000, /* of the run queue, at its last update */
	STOLEN_NS = 700, /* of which it has taken out by then */
	EXEC_NS = 3000,
};

/* The host's figure lies where the kernel's own BTF says. */
static struct {
	struct rq run_queue;
	uint64_t told_ns;
} cpu;

static struct cfs_rq cfs = { .rq = &cpu.run_queue };
static struct task_struct task = { .se.cfs_rq = &cfs };
static struct clock_offset offset;
static bool has_offset, is_readable;
static uint64_t now_ns;

static uint64_t native_now(void)
{
	return now_ns;
}

static void *native_current(void)
{
	return &task;
}

static long native_copy(void *buffer, uint32_t size_bytes, const void *address)
{
	if (!is_readable)
		return -EFAULT;
	memcpy(buffer, address, size_bytes);
	return 0;
}

void *native_find(const void *map, const void *key)
{
	(void)key;
	return map == &clock_offsets && has_offset ? &offset : NULL;
}

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	(void)address;
	memset(buffer, 0, size_bytes);
	return -EFAULT;
}

/* So long after the run queue's last update. */
static uint64_t after_update(uint64_t ns)
{
	return CLOCK_NS + ns + SKEW_NS;
}

static int set_up(void **state)
{
	(void)state;
	has_fields = has_offset = is_readable = true;
	cpu.run_queue = (struct rq){ .clock = CLOCK_NS,
				     .clock_task = CLOCK_NS - STOLEN_NS,
				     .prev_steal_time_rq = 400 };
	cpu.told_ns = 400;
	native_session =
		(struct session_config){ .has_steal_time = 1,
					 .steal_time_offset = offsetof(__typeof__(cpu), told_ns) };
	task.se.sum_exec_runtime = EXEC_NS;
	task.se.exec_start = CLOCK_NS - STOLEN_NS;
	offset = (struct clock_offset){ .ns = SKEW_NS, .seen_at_ns = CLOCK_NS };
	any_clock_offset_ns = 0;
	is_any_clock_offset_seen = 0;
	now_ns = after_update(0);
	return 0;
}

/* Both ways to read the host's figure: a cast needs readable memory here. */
static void expect_stolen(uint64_t boundary_ns, uint64_t stolen_ns)
{
	for (__u32 can_cast = 0; can_cast <= is_readable; can_cast++) {
		native_session.can_cast = can_cast;
		assert_int_equal(stolen_from_cpu_here(&task, boundary_ns), stolen_ns);
	}
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(clock_counts_run_queue_steal_as_stolen)
{
	expect_stolen(after_update(500), STOLEN_NS);
	assert_int_equal(stolen_at_switch_in(&task), STOLEN_NS);
	has_fields = false;
	expect_stolen(after_update(500), 0);
	assert_int_equal(stolen_at_switch_in(&task), 0);
}

FIXTURE_TEST(clock_adds_host_steal_up_to_elapsed_time)
{
	cpu.told_ns += 30;
	now_ns = after_update(500);
	expect_stolen(now_ns, STOLEN_NS + 30);
	/* Not more than the time that has passed since. */
	now_ns = after_update(10);
	expect_stolen(now_ns, STOLEN_NS + 10);
	/* Of what it was told after the boundary a part may be of later. */
	now_ns = after_update(500) + 20;
	expect_stolen(after_update(500), STOLEN_NS + 10);
	/* How much time has passed is not known. */
	has_offset = false;
	expect_stolen(now_ns, STOLEN_NS);
}

FIXTURE_TEST(clock_ignores_decreased_or_unreadable_host_steal)
{
	now_ns = after_update(500);
	cpu.told_ns -= 30;
	expect_stolen(now_ns, STOLEN_NS);
	cpu.told_ns += 60;
	is_readable = false;
	expect_stolen(now_ns, STOLEN_NS);
}

FIXTURE_TEST(exec_runtime_extends_from_last_update)
{
	assert_int_equal(exec_runtime_now(&task, after_update(0)), EXEC_NS);
	assert_int_equal(exec_runtime_now(&task, after_update(600)), EXEC_NS + 600);
	assert_int_equal(exec_runtime_at(&task, after_update(600), STOLEN_NS + 50), EXEC_NS + 550);
	/* Brought up to later than that by another CPU. */
	assert_int_equal(exec_runtime_at(&task, after_update(600), STOLEN_NS + 700), EXEC_NS - 100);
	has_offset = false;
	assert_int_equal(exec_runtime_now(&task, after_update(600)), EXEC_NS);
}

FIXTURE_TEST(clock_uses_other_cpus_offset_until_own_is_measured)
{
	__u64 run_queue_ns;

	offset.seen_at_ns = 0;
	any_clock_offset_ns = SKEW_NS - 5;
	assert_false(clock_to_run_queue(after_update(7), &run_queue_ns));
	is_any_clock_offset_seen = 1;
	assert_true(clock_to_run_queue(after_update(7), &run_queue_ns));
	assert_int_equal(run_queue_ns, CLOCK_NS + 12);
	assert_int_equal(clock_of_switch(&task), after_update(0));
	assert_int_equal(any_clock_offset_ns, SKEW_NS);
	assert_true(clock_to_run_queue(after_update(7), &run_queue_ns));
	assert_int_equal(run_queue_ns, CLOCK_NS + 7);
}

FIXTURE_TEST(clock_dates_switch_by_run_queue_and_resyncs_periodically)
{
	/* Read late. */
	now_ns = after_update(90);
	assert_int_equal(clock_of_switch(&task), after_update(0));
	cpu.run_queue.clock += OFFSET_PERIOD_NS;
	assert_int_equal(clock_of_switch(&task), after_update(OFFSET_PERIOD_NS));
	assert_int_equal(offset.seen_at_ns, CLOCK_NS);
	cpu.run_queue.clock++;
	now_ns = after_update(OFFSET_PERIOD_NS + 1) - 200;
	assert_int_equal(clock_of_switch(&task), now_ns);
	assert_int_equal(offset.ns, SKEW_NS - 200);
	assert_int_equal(offset.seen_at_ns, cpu.run_queue.clock);
	assert_true(is_any_clock_offset_seen);
	/* Where there is no run queue to be had, or no place for an offset, it is ours. */
	now_ns = 77;
	has_offset = false;
	assert_int_equal(clock_of_switch(&task), 77);
	has_offset = true;
	has_fields = false;
	assert_int_equal(clock_of_switch(&task), 77);
}
