/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/process/observed.h"

#include "failing_memory.h"
#include "recorder/observe/fake_kernel.h"
#include "recorder/target/proc/process.h"

UNIT_TEST_ALONE;

enum {
	CHILD = FAKE_PID + 1
};

/* That an exec begins. */
#define IMAGE (life_of(FAKE_PID) + 100)

static const struct key_options keys = { .names = { "request_id" },
					 .record_names = { "request_id" },
					 .ruby_names = { "request_id" },
					 .count = 1,
					 .ruby_count = 1 };

static struct observed_table table;

static int set_up(void **state)
{
	struct object_files *files = object_files_new();

	(void)state;
	fake_reset();
	table = (struct observed_table){ .keys = &keys, .files = files };
	return files ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	observed_table_deinit(&table);
	object_files_free(table.files);
	return 0;
}

static void expect_told(const char *told)
{
	assert_string_equal(fake.told, told);
	fake.told[0] = '\0';
}

static struct observed *add(pid_t pid, pid_t parent_pid)
{
	uint64_t parent_life = parent_pid ? life_of(parent_pid) : 0;
	struct observed *process = observed_add(&table, life_of(pid), pid, parent_life, "ruby");

	assert_non_null(process);
	return process;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(observed_finds_process_by_life_until_removed)
{
	struct observed *process = add(FAKE_PID, 0), *child = add(CHILD, FAKE_PID);

	assert_ptr_equal(observed_find(&table, life_of(FAKE_PID)), process);
	assert_ptr_equal(observed_find(&table, life_of(CHILD)), child);
	assert_null(observed_find(&table, FAKE_PID));
	assert_null(observed_find(&table, 0));
	assert_int_equal(child->life, life_of(CHILD));
	assert_int_equal(child->pid, CHILD);
	assert_int_equal(child->books.pid, CHILD);
	assert_int_equal(child->parent_life, life_of(FAKE_PID));
	assert_int_equal(child->parent_pid, FAKE_PID);
	assert_string_equal(child->comm, "ruby");
	observed_remove(&table, process);
	assert_null(observed_find(&table, life_of(FAKE_PID)));
	assert_ptr_equal(observed_find(&table, life_of(CHILD)), child);
}

/* One that has ended keeps its number until its last window is written. */
FIXTURE_TEST(observed_distinguishes_processes_that_share_a_pid)
{
	const uint64_t later_ticks = FAKE_START_TICKS + 1;
	struct observed *ended = add(FAKE_PID, 0), *later;

	ended->start_ticks = FAKE_START_TICKS;
	assert_ptr_equal(observed_find_pid(&table, FAKE_PID, FAKE_START_TICKS), ended);
	assert_null(observed_find_pid(&table, FAKE_PID, later_ticks));
	process_on_exited(&ended->state, 1);
	assert_null(observed_find_pid(&table, FAKE_PID, FAKE_START_TICKS));
	later = observed_add(&table, life_of(CHILD), FAKE_PID, 0, "ruby");
	assert_non_null(later);
	later->start_ticks = later_ticks;
	assert_int_equal(HASH_COUNT(table.processes), 2);
	assert_ptr_equal(observed_find(&table, life_of(FAKE_PID)), ended);
	assert_ptr_equal(observed_find(&table, life_of(CHILD)), later);
	assert_ptr_not_equal(later->family, ended->family);
	/* Not by the pid alone, nor by the start alone. */
	assert_ptr_equal(observed_find_pid(&table, FAKE_PID, later_ticks), later);
	assert_null(observed_find_pid(&table, FAKE_PID, FAKE_START_TICKS));
	assert_null(observed_find_pid(&table, CHILD, later_ticks));
	assert_ptr_equal(observed_find_pid(&table, FAKE_PID, 0), later);
	/* In the same tick. */
	later->start_ticks = FAKE_START_TICKS;
	assert_ptr_equal(observed_find_pid(&table, FAKE_PID, FAKE_START_TICKS), later);
	observed_remove(&table, ended);
	assert_ptr_equal(observed_find(&table, life_of(CHILD)), later);
	assert_int_equal(later->pid, FAKE_PID);
	process_on_exited(&later->state, 2);
	assert_null(observed_find_pid(&table, FAKE_PID, FAKE_START_TICKS));
}

/* Whoever of it spends it, and whoever of it ends. */
FIXTURE_TEST(observed_family_shares_look_budget)
{
	struct observed *parent = add(FAKE_PID, 0), *child = add(CHILD, FAKE_PID);
	struct observed *stranger = add(CHILD + 1, 0);
	uint64_t now_ns = fake.now_ns;

	assert_ptr_equal(child->family, parent->family);
	assert_ptr_not_equal(stranger->family, parent->family);
	parent->family->looks.looks = LOOK_BUDGET_FREE;
	look_budget_spend(&parent->family->looks, now_ns, CPU_BUDGET_BURST_NS + 1);
	observed_remove(&table, parent);
	assert_int_equal(observed_may_look_ns(child, now_ns), now_ns + CPU_BUDGET_PART);
	assert_int_equal(observed_may_look_ns(stranger, now_ns), now_ns);
}

/* Its account was drained before its fork was heard of. */
FIXTURE_TEST(observed_set_parent_joins_family_of_parent)
{
	struct observed *parent = add(FAKE_PID, 0), *child = add(CHILD, 0);

	assert_ptr_not_equal(child->family, parent->family);
	for (int i = 0; i < 2; i++) {
		observed_set_parent(&table, child, life_of(FAKE_PID));
		assert_int_equal(child->parent_life, life_of(FAKE_PID));
		assert_int_equal(child->parent_pid, FAKE_PID);
		assert_ptr_equal(child->family, parent->family);
		assert_int_equal(parent->family->members, 2);
	}
	/* Of a parent that is gone by then the number alone is known. */
	observed_set_parent(&table, child, life_of(CHILD + 1));
	assert_int_equal(child->parent_life, life_of(CHILD + 1));
	assert_int_equal(child->parent_pid, FAKE_PID);
	assert_ptr_equal(child->family, parent->family);
}

FIXTURE_TEST(observed_add_fails_without_memory)
{
	size_t failures = 0;

	assert_each_allocation_can_fail(
		observed_add(&table, life_of(FAKE_PID), FAKE_PID, 0, "ruby") ? 0 : -ENOMEM,
		(failures++, assert_null(table.processes)));
	assert_true(failures > 3);
}

FIXTURE_TEST(observed_step_down_makes_process_lean_then_removes_probes)
{
	struct observed *process = add(FAKE_PID, 0);

	assert_int_equal(observed_mode(process), WATCH_MODE_EXACT);
	observed_step_down(process, &fake.session, "too dear");
	expect_told("0 is lean\nno probes of 0\n");
	assert_int_equal(process->lean_causes, LEAN_BUDGET);
	assert_true(process->config.flags & PROCESS_IS_LEAN);
	assert_true(process->is_mode_new);
	assert_string_equal(process->mode_reason, "too dear");
	assert_int_equal(observed_mode(process), WATCH_MODE_LEAN);
}

FIXTURE_TEST(observed_goes_lean_after_many_unseen_changes)
{
	struct observed *process = add(FAKE_PID, 0);

	process->books.unseen = (struct unseen_changes){ UNSEEN_CHANGES_MIN - 1, 1 };
	observed_check_probes(process, &fake.session);
	expect_told("");
	process->books.unseen.changes = UNSEEN_CHANGES_MIN;
	observed_check_probes(process, &fake.session);
	expect_told("0 is lean\nno probes of 0\n");
	assert_int_equal(process->lean_causes, LEAN_UNSEEN);
	assert_true(process->is_mode_new);
	assert_non_null(strstr(process->mode_reason, "no uprobe is passed"));
	/* Once; and what it runs next may do better. */
	observed_check_probes(process, &fake.session);
	expect_told("");
	observed_execute(process, process->image + 1, fake.now_ns);
	assert_int_equal(process->lean_causes, 0);
	observed_check_probes(process, &fake.session);
	expect_told("");
}

FIXTURE_TEST(observed_step_up_schedules_look_for_unopened_process)
{
	struct observed *process = add(FAKE_PID, 0);

	observed_step_down(process, &fake.session, "too dear");
	process->is_mode_new = false;
	expect_told("0 is lean\nno probes of 0\n");
	observed_step_up(process, &fake.session, "cheap");
	expect_told("");
	assert_int_equal(process->lean_causes, 0);
	assert_true(process->is_mode_new);
	assert_string_equal(process->mode_reason, "cheap");
	assert_int_equal(observed_next_look(&table), fake.now_ns);
}

FIXTURE_TEST(observed_keeps_lean_for_remaining_cause)
{
	struct observed *process = add(FAKE_PID, 0);

	process->lean_causes = LEAN_NO_SITE;
	observed_step_down(process, &fake.session, "too dear");
	/* Its mode is the same, for one more reason. */
	assert_false(process->is_mode_new);
	assert_string_equal(process->mode_reason, "too dear");
	fake.told[0] = '\0';
	observed_step_up(process, &fake.session, "cheap");
	expect_told("");
	assert_false(process->is_mode_new);
	assert_string_equal(process->mode_reason, "too dear");
	assert_int_equal(process->lean_causes, LEAN_NO_SITE);
	assert_true(observed_next_look(&table) == UINT64_MAX);
}

FIXTURE_TEST(observed_child_inherits_current_mode_of_parent)
{
	struct observed *parent = add(FAKE_PID, 0), *child = add(CHILD, FAKE_PID);

	parent->lean_causes = LEAN_BUDGET | LEAN_NO_PROBE;
	parent->budget_turn = 7;
	observed_inherit_mode(child, parent, &fake.session);
	expect_told("1 has the probes of 0\n1 is lean\n");
	assert_int_equal(child->lean_causes, LEAN_BUDGET | LEAN_NO_PROBE);
	assert_int_equal(child->budget_turn, 7);
	parent->lean_causes = 0;
	observed_inherit_mode(child, parent, &fake.session);
	expect_told("1 has the probes of 0\n1 is exact\n");
	assert_false(child->config.flags & PROCESS_IS_LEAN);
}

FIXTURE_TEST(observed_exec_keeps_only_budget_cause)
{
	struct observed *process = add(FAKE_PID, 0);

	process->lean_causes = LEAN_BUDGET | LEAN_NO_PROBE | LEAN_NO_SITE;
	process->is_mode_new = process->is_fork = process->is_configured = true;
	process->server = "puma";
	assert_int_equal(process->image, process->life);
	observed_execute(process, IMAGE, 5000);
	assert_int_equal(process->image, IMAGE);
	assert_int_equal(process->life, life_of(FAKE_PID));
	assert_int_equal(process->lean_causes, LEAN_BUDGET);
	assert_false(process->is_mode_new || process->is_fork || process->is_configured);
	assert_null(process->server);
	assert_int_equal(observed_next_look(&table), 5000);
}

FIXTURE_TEST(observed_describe_fills_known_fields)
{
	struct observed *process = add(FAKE_PID, 0);
	struct process_record record;

	process->parent_pid = 12;
	process->server = "puma";
	process->start_wall_ns = 77;
	process->books.ns_pid = 5;
	process->state.pickup_ns = 9;
	observed_describe(process, PROCESS_EVENT_FOUND, &record);
	assert_int_equal(record.common.pid, FAKE_PID);
	assert_int_equal(record.common.ns_pid, 5);
	assert_int_equal(record.event, PROCESS_EVENT_FOUND);
	assert_int_equal(record.parent_pid, 12);
	assert_string_equal(record.comm, "ruby");
	assert_string_equal(record.server, "puma");
	assert_int_equal(record.start_ns, 77);
	assert_false(record.has_pickup);
	assert_null(record.ruby_version);
	observed_describe(process, PROCESS_EVENT_LOAD, &record);
	assert_true(record.has_pickup);
	assert_int_equal(record.pickup_ns, 9);
	process->state.pickup_ns = 0;
	observed_describe(process, PROCESS_EVENT_LOAD, &record);
	assert_false(record.has_pickup);
	assert_true(record.has_bound);
	process->lacks_bound = true;
	observed_describe(process, PROCESS_EVENT_LOAD, &record);
	assert_false(record.has_bound);
}

FIXTURE_TEST(observed_next_look_is_earliest_of_all)
{
	assert_true(observed_next_look(&table) == UINT64_MAX);
	process_on_met(&add(FAKE_PID, 0)->state, 300);
	process_on_met(&add(CHILD, 0)->state, 200);
	process_on_met(&add(CHILD + 1, 0)->state, 400);
	assert_int_equal(observed_next_look(&table), 200);
}

/* Which is no Ruby, and can be looked at by anybody. */
FIXTURE_TEST(observed_look_configures_kernel_side_once)
{
	struct observed *self = add(getpid(), 0);
	struct process_info info;
	unsigned int decisions = 99;

	assert_int_equal(process_read_info(getpid(), &info), 0);
	assert_int_equal(observed_look(&table, self, &fake.session, fake.now_ns, &decisions), 0);
	assert_int_equal(decisions & (PROCESS_SAY_READ | PROCESS_SAY_COMPLETE), 0);
	assert_true(self->is_configured);
	assert_int_equal(self->state.stage, PROCESS_SILENT);
	assert_int_equal(self->parent_pid, getppid());
	assert_int_equal(self->books.ns_pid, info.ns_pid);
	assert_string_equal(self->comm, info.comm);
	/* USER_HZ is 100. */
	assert_int_equal(self->start_wall_ns,
			 FAKE_WALL_NS - FAKE_START_NS + info.start_ticks * 10 * NS_PER_MS);
	assert_int_equal(self->target_look_ns, fake.now_ns);
	assert_non_null(strstr(fake.told, " probes of "));
	assert_non_null(strstr(fake.told, "\nprocess "));
	fake.told[0] = '\0';
	assert_int_equal(observed_look(&table, self, &fake.session, fake.now_ns + 1, &decisions),
			 0);
	assert_null(strstr(fake.told, "process "));
	assert_int_equal(self->target_look_ns, fake.now_ns + 1);
	/* What is lean is told so, too. */
	fake.told[0] = '\0';
	observed_step_down(self, &fake.session, "too dear");
	assert_int_equal(observed_look(&table, self, &fake.session, fake.now_ns + 2, &decisions),
			 0);
	assert_null(strstr(fake.told, "process "));
	fake.told[0] = '\0';
	observed_step_up(self, &fake.session, "cheap");
	assert_non_null(strstr(fake.told, " probes of "));
	assert_non_null(strstr(fake.told, " is exact\n"));
}

FIXTURE_TEST(observed_look_at_exited_process_configures_nothing)
{
	struct observed *process = add(FAKE_PID, 0);
	unsigned int decisions = 99;

	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions),
			 -ESRCH);
	assert_int_equal(decisions, 0);
	expect_told("");
	assert_int_equal(observed_next_look(&table), fake.now_ns + PROCESS_LOOK_PAUSE_FIRST_NS);
}
