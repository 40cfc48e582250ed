/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/process_state.h"

#include "unit_test.h"

#define FIRST PROCESS_LOOK_PAUSE_FIRST_NS
#define MS    NS_PER_MS

enum {
	NOW = 1000
};

static const struct process_findings NOTHING = { .is_news = true };
static const struct process_findings FAILED = { .is_failed = true };
static const struct process_findings SAME = { 0 };
static const struct process_findings NOT_LOADED = { .is_news = true, .publisher_count = 1 };
static const struct process_findings NO_KEYS = {
	.is_news = true, .publisher_count = 1, .has_live = true, .has_sites = true
};
static const struct process_findings ALL = {
	.is_complete = true, .publisher_count = 1, .has_live = true, .has_sites = true
};

/* Both halves of a look that takes no time. */
static unsigned int look(struct process_state *process, const struct process_findings *findings,
			 bool is_readable, uint64_t now_ns)
{
	return process_on_looked(process, findings, now_ns) |
	       process_on_told(process, findings, is_readable, now_ns, now_ns);
}

static struct process_state complete(void)
{
	struct process_state process;

	process_state_init(&process);
	(void)look(&process, &ALL, true, NOW);
	return process;
}

TEST(state_schedules_no_look_before_process_is_met)
{
	struct process_state process;

	process_state_init(&process);
	assert_int_equal(process.stage, PROCESS_UNSEEN);
	assert_true(process_next_look(&process) == UINT64_MAX);
}

TEST(state_schedules_look_when_met_without_fork)
{
	struct process_state process;

	process_state_init(&process);
	process_on_met(&process, NOW);
	assert_int_equal(process_next_look(&process), NOW);
	assert_int_equal(process.stage, PROCESS_UNSEEN);
}

TEST(state_fork_inherits_readability)
{
	struct process_state parent = complete(), child;

	process_state_init(&child);
	process_on_forked(&child, &parent, false, NOW);
	assert_int_equal(child.stage, PROCESS_FORKED);
	assert_true(child.is_readable);
	assert_true(process_next_look(&child) == UINT64_MAX);
	/* Its process context is its own. */
	process_on_forked(&child, &parent, true, NOW);
	assert_int_equal(process_next_look(&child), NOW + PROCESS_FORK_PAUSE_NS);
}

TEST(state_fork_inherits_missing_publisher)
{
	struct process_state parent, child, orphan;

	process_state_init(&parent);
	(void)look(&parent, &NOTHING, false, NOW);
	process_state_init(&child);
	process_on_forked(&child, &parent, false, NOW + 1);
	assert_false(child.is_readable);
	assert_int_equal(process_next_look(&child), NOW + 1);
	process_state_init(&orphan);
	process_on_forked(&orphan, NULL, false, NOW + 2);
	assert_int_equal(orphan.stage, PROCESS_UNSEEN);
	assert_int_equal(process_next_look(&orphan), NOW + 2);
}

TEST(state_backs_off_looks_that_find_nothing)
{
	const uint64_t pauses_ms[] = { 10, 20, 40, 80, 160, 320, 500, 500 };
	struct process_state process;
	uint64_t now_ns = NOW;

	process_state_init(&process);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		(void)look(&process, i ? &SAME : &NOTHING, false, now_ns);
		assert_int_equal(process.stage, PROCESS_SILENT);
		assert_int_equal(process_next_look(&process), now_ns + pauses_ms[i] * MS);
		now_ns = process_next_look(&process);
	}
	(void)look(&process, &NOTHING, false, now_ns);
	assert_int_equal(process_next_look(&process), now_ns + 10 * MS);
	/* Nor are those rare that come after all was found. */
	process.look_pause_ns = PROCESS_LOOK_PAUSE_MAX_NS;
	(void)look(&process, &ALL, true, now_ns);
	(void)look(&process, &SAME, false, now_ns);
	assert_int_equal(process_next_look(&process), now_ns + 10 * MS);
}

TEST(state_becomes_complete_only_after_probes_are_placed)
{
	struct process_state process;

	process_state_init(&process);
	assert_int_equal(process_on_looked(&process, &ALL, NOW), 0);
	assert_int_equal(process.stage, PROCESS_UNSEEN);
	assert_int_equal(process_on_told(&process, &ALL, true, NOW, NOW + 1),
			 PROCESS_SAY_READ | PROCESS_SAY_COMPLETE);
	assert_int_equal(process.stage, PROCESS_COMPLETE);
	assert_true(process_next_look(&process) == UINT64_MAX);
	/* It published when it was found. */
	assert_int_equal(process.pickup_ns, 0);
}

TEST(state_retries_failed_look)
{
	struct process_state process;

	process_state_init(&process);
	assert_int_equal(process_on_looked(&process, &FAILED, NOW), 0);
	assert_int_equal(process.stage, PROCESS_UNSEEN);
	assert_int_equal(process_next_look(&process), NOW + FIRST);
}

TEST(state_without_keys_is_partial_and_looked_at_again)
{
	struct process_state process;

	process_state_init(&process);
	(void)process_on_looked(&process, &NO_KEYS, NOW);
	assert_int_equal(process_on_told(&process, &NO_KEYS, true, NOW, NOW), PROCESS_SAY_READ);
	assert_int_equal(process_on_told(&process, &NO_KEYS, true, NOW, NOW), 0);
	assert_int_equal(process.stage, PROCESS_PARTIAL);
	assert_int_equal(process_next_look(&process), NOW + FIRST);
	assert_int_equal(look(&process, &ALL, true, NOW + FIRST), PROCESS_SAY_COMPLETE);
	assert_int_equal(process.stage, PROCESS_COMPLETE);
}

TEST(state_polls_closely_while_loader_works)
{
	struct process_state process = complete();

	process_on_loading(&process, NOW + 5, NOW + 10);
	assert_int_equal(process.stage, PROCESS_COMPLETE);
	assert_int_equal(process_next_look(&process), NOW + 10);
	(void)look(&process, &NOT_LOADED, false, NOW + 10);
	assert_int_equal(process_next_look(&process), NOW + 10 + PROCESS_LOOK_PAUSE_LOADING_NS);
	/* Nor has it been what it found last that counts. */
	process_on_loading(&process, NOW + 20, NOW + 20);
	(void)look(&process, &SAME, false, NOW + 20);
	assert_int_equal(process_next_look(&process), NOW + 20 + PROCESS_LOOK_PAUSE_LOADING_NS);
}

TEST(state_counts_pickup_from_start_of_loading)
{
	struct process_state process;

	process_state_init(&process);
	(void)look(&process, &NOTHING, false, 100);
	assert_int_equal(process.absent_ktime_ns, 100);
	process_on_loading(&process, 200, 210);
	process_on_loading(&process, 220, 230);
	/* The library being loaded may be the publisher: absence is known until its load. */
	(void)look(&process, &NOTHING, false, 240);
	assert_int_equal(process.absent_ktime_ns, 200);
	(void)process_on_looked(&process, &ALL, 250);
	assert_true(process_on_told(&process, &ALL, true, 250, 300) & PROCESS_SAY_READ);
	assert_int_equal(process.pickup_ns, 300 - 200);
	/* Each time anew, and from the last look that found none. */
	process_on_loading(&process, 400, 410);
	(void)look(&process, &NOTHING, false, 420);
	(void)look(&process, &NOTHING, false, 430);
	process_on_loading(&process, 440, 450);
	assert_true(process_on_told(&process, &ALL, true, 450, 470) & PROCESS_SAY_READ);
	assert_int_equal(process.pickup_ns, 470 - 440);
}

TEST(state_reports_unload_and_waits)
{
	struct process_state process = complete();

	process_on_moved(&process, NOW + 1);
	assert_int_equal(process_next_look(&process), NOW + 1);
	assert_true(look(&process, &NOTHING, false, NOW + 1) & PROCESS_SAY_UNREAD);
	assert_int_equal(process.stage, PROCESS_SILENT);
	assert_int_equal(process_next_look(&process), NOW + 1 + FIRST);
}

TEST(state_restarts_on_exec)
{
	struct process_state process = complete();

	process.preferences = process.told_copies = 2;
	process.look_pause_ns = process.asked_pause_ns = PROCESS_LOOK_PAUSE_MAX_NS;
	process.asked_look_ns = NOW + PROCESS_LOOK_PAUSE_MAX_NS;
	assert_int_equal(process_on_executed(&process, NOW + 7), PROCESS_FORGET);
	assert_int_equal(process.preferences + process.told_copies, 0);
	assert_int_equal(process.look_pause_ns, FIRST);
	assert_int_equal(process.asked_pause_ns, FIRST);
	assert_int_equal(process.asked_look_ns, 0);
	assert_int_equal(process.stage, PROCESS_UNSEEN);
	assert_false(process.is_readable);
	assert_true(process_may_prefer(&process));
	assert_int_equal(process_next_look(&process), NOW + 7);
	(void)process_on_looked(&process, &ALL, NOW + 8);
	assert_true(process_on_told(&process, &ALL, true, NOW + 8, NOW + 9) & PROCESS_SAY_COMPLETE);
	assert_int_equal(process.pickup_ns, 2);
}

#define YOUNG PROCESS_YOUNG_NS

TEST(state_does_not_look_at_young_program)
{
	struct process_state parent = complete(), process;

	process_state_init(&process);
	process_on_forked(&process, &parent, false, NOW);
	assert_int_equal(process_on_executed(&process, NOW + 1), PROCESS_FORGET);
	assert_int_equal(process_next_look(&process), NOW + 1 + YOUNG);
	process_on_loading(&process, NOW + 2, NOW + 2);
	process_on_asked(&process, false, NOW + 3);
	process_on_news(&process, NOW + 4);
	process_on_moved(&process, NOW + 5);
	assert_int_equal(process_next_look(&process), NOW + 1 + YOUNG);
	/* A shell that becomes the program which it was told to start. */
	(void)process_on_executed(&process, NOW + 6);
	assert_int_equal(process_next_look(&process), NOW + 6 + YOUNG);
	process_on_loading(&process, NOW + 7 + YOUNG, NOW + 7 + YOUNG);
	assert_int_equal(process_next_look(&process), NOW + 7 + YOUNG);
}

TEST(state_child_of_young_program_is_young)
{
	struct process_state parent = complete(), shell, process;

	process_state_init(&shell);
	process_on_forked(&shell, &parent, false, NOW);
	(void)process_on_executed(&shell, NOW + 1);
	process_state_init(&process);
	process_on_forked(&process, &shell, false, NOW + 2);
	assert_int_equal(process_next_look(&process), NOW + 1 + YOUNG);
	(void)process_on_executed(&process, NOW + 3);
	assert_int_equal(process_next_look(&process), NOW + 3 + YOUNG);
}

/* A server that starts itself anew is looked at at once, and so is a program that was met. */
TEST(state_known_process_is_not_young_after_exec)
{
	struct process_state process = complete();

	(void)process_on_executed(&process, NOW + 1);
	assert_int_equal(process_next_look(&process), NOW + 1);
	process_state_init(&process);
	process_on_met(&process, NOW);
	(void)process_on_executed(&process, NOW + 2);
	assert_int_equal(process_next_look(&process), NOW + 2);
}

TEST(state_backs_off_questions_without_answer)
{
	struct process_state process = complete();
	const uint64_t first_look_ns = NOW + 1;

	process_on_asked(&process, false, first_look_ns);
	assert_int_equal(process_next_look(&process), first_look_ns);
	(void)look(&process, &ALL, true, first_look_ns);
	process_on_asked(&process, false, first_look_ns + 1);
	assert_int_equal(process_next_look(&process), first_look_ns + FIRST);
	(void)look(&process, &ALL, true, first_look_ns + FIRST);
	process_on_asked(&process, false, first_look_ns + FIRST + 1);
	assert_int_equal(process_next_look(&process), first_look_ns + FIRST + 2 * FIRST);
	/* But at once, where another object turns out to be the one. */
	process_on_asked(&process, true, first_look_ns + FIRST + 2);
	assert_int_equal(process_next_look(&process), first_look_ns + FIRST + 2);
	assert_int_equal(process.asked_look_ns, 0);
	/* A look that nobody asked for is no answer, */
	process = complete();
	(void)look(&process, &ALL, true, NOW);
	process_on_asked(&process, false, NOW + 1);
	assert_int_equal(process_next_look(&process), NOW + 1);
	/* one is the answer to one question, and what is new makes the next one welcome. */
	(void)look(&process, &ALL, true, NOW + 1);
	(void)look(&process, &ALL, true, NOW + 2);
	process_on_asked(&process, false, NOW + 3);
	assert_int_equal(process_next_look(&process), NOW + 1 + FIRST);
	(void)look(&process, &NO_KEYS, true, NOW + 3);
	process_on_asked(&process, false, NOW + 4);
	assert_int_equal(process_next_look(&process), NOW + 3 + FIRST);
}

TEST(state_reports_several_copies_once_per_preference)
{
	struct process_findings two = ALL;
	struct process_state process;

	two.publisher_count = 2;
	process_state_init(&process);
	two.has_live = false;
	assert_int_equal(process_on_looked(&process, &two, NOW), 0);
	two.has_live = true;
	assert_true(look(&process, &two, true, NOW) & PROCESS_SAY_COPIES);
	assert_false(look(&process, &two, true, NOW) & PROCESS_SAY_COPIES);
	assert_true(process_may_prefer(&process));
	process_on_asked(&process, true, NOW);
	assert_true(look(&process, &two, true, NOW) & PROCESS_SAY_COPY_IN_USE);
	assert_false(look(&process, &two, true, NOW) & PROCESS_SAY_COPY_IN_USE);
	assert_true(process_may_prefer(&process));
	assert_false(process_uses_several(&process));
	process_on_asked(&process, true, NOW);
	assert_true(look(&process, &two, true, NOW) & PROCESS_SAY_COPIES_IN_USE);
	assert_false(process_may_prefer(&process));
	assert_true(process_uses_several(&process));
}

TEST(state_looks_soon_on_news_without_postponing)
{
	struct process_state process = complete();

	process_on_news(&process, NOW);
	assert_int_equal(process_next_look(&process), NOW + FIRST);
	process_on_news(&process, NOW + 5);
	assert_int_equal(process_next_look(&process), NOW + FIRST);
}

TEST(state_backs_off_failed_probes)
{
	const uint64_t pauses_s[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };
	struct process_state process = complete();
	uint64_t now_ns = NOW;

	for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
		assert_true(process_may_probe(&process, now_ns));
		/* Said once. */
		assert_int_equal(process_on_probed(&process, false, now_ns),
				 i ? 0 : PROCESS_SAY_UNPROBED);
		assert_true(process.is_unprobed);
		assert_int_equal(process_next_look(&process), now_ns + pauses_s[i] * NS_PER_S);
		now_ns = process_next_look(&process);
		assert_false(process_may_probe(&process, now_ns - 1));
	}
	assert_int_equal(process_on_probed(&process, true, now_ns), 0);
	assert_int_equal(process_on_probed(&process, true, now_ns), 0);
	assert_false(process.is_unprobed);
	assert_true(process_next_look(&process) == UINT64_MAX);
	/* Not more often for having worked once in between. */
	assert_int_equal(process_on_probed(&process, false, now_ns), PROCESS_SAY_UNPROBED);
	assert_int_equal(process_next_look(&process), now_ns + PROCESS_PROBE_PAUSE_MAX_NS);
}

TEST(state_unrelated_look_does_not_retry_probes)
{
	struct process_state process = complete();

	(void)process_on_probed(&process, false, NOW);
	process_on_news(&process, NOW);
	assert_int_equal(process_next_look(&process), NOW + FIRST);
	assert_false(process_may_probe(&process, NOW + FIRST));
	(void)look(&process, &ALL, true, NOW + FIRST);
	assert_int_equal(process_next_look(&process), NOW + PROCESS_PROBE_PAUSE_FIRST_NS);
}

TEST(state_failed_look_does_not_repeat_immediately)
{
	struct process_state process = complete();
	uint64_t now_ns = NOW + PROCESS_PROBE_PAUSE_FIRST_NS;

	(void)process_on_probed(&process, false, NOW);
	/* Before their time, it changes nothing about it; nor does one that does not fail. */
	(void)process_on_looked(&process, &FAILED, now_ns - 1);
	(void)process_on_looked(&process, &ALL, now_ns);
	assert_int_equal(process_next_look(&process), now_ns);
	assert_int_equal(process_on_looked(&process, &FAILED, now_ns), 0);
	assert_int_equal(process_next_look(&process), now_ns + FIRST);
	(void)process_on_looked(&process, &ALL, now_ns + FIRST);
	assert_int_equal(process_next_look(&process), now_ns + 2 * PROCESS_PROBE_PAUSE_FIRST_NS);
}

TEST(state_fork_inherits_failed_probes_until_exec)
{
	struct process_state parent = complete(), child;

	(void)process_on_probed(&parent, false, NOW);
	process_state_init(&child);
	process_on_forked(&child, &parent, false, NOW + 1);
	assert_true(child.is_unprobed);
	assert_int_equal(process_next_look(&child), NOW + PROCESS_PROBE_PAUSE_FIRST_NS);
	/* As if it were the parent's next try. */
	assert_int_equal(process_on_probed(&child, false, NOW), 0);
	assert_int_equal(process_next_look(&child), NOW + 2 * PROCESS_PROBE_PAUSE_FIRST_NS);
	(void)process_on_executed(&child, NOW + 2);
	assert_false(child.is_unprobed);
	assert_true(process_may_probe(&child, NOW + 2));
	/* Where its parent's were: said of it, too. */
	child.look_ns = 0;
	assert_int_equal(process_on_probed(&child, false, NOW + 2), PROCESS_SAY_UNPROBED);
	assert_int_equal(process_next_look(&child), NOW + 2 + PROCESS_PROBE_PAUSE_FIRST_NS);
}

TEST(state_removes_exited_process_with_last_window)
{
	struct process_state process = complete();

	assert_int_equal(process_on_window(&process), 0);
	process_on_moved(&process, NOW);
	process_on_exited(&process, NOW + 3);
	assert_int_equal(process.stage, PROCESS_EXITED);
	assert_int_equal(process.exit_ktime_ns, NOW + 3);
	assert_true(process_next_look(&process) == UINT64_MAX);
	assert_int_equal(process_on_window(&process), PROCESS_REMOVE);
	/* An event that was read late does not bring it back. */
	(void)process_on_executed(&process, NOW + 4);
	assert_int_equal(process_on_window(&process), PROCESS_REMOVE);
}

/* Its changes, each as soon as it may be, from now_ns on; when the last one was. */
static uint64_t change(struct process_state *process, unsigned int count, uint64_t now_ns)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!process_on_change(process, now_ns)) {
			now_ns = process_next_look(process);
			process->look_ns = 0;
			assert_true(process_on_change(process, now_ns));
		}
	}
	return now_ns;
}

TEST(state_backs_off_configuration_changes)
{
	const uint64_t pauses_ms[] = { 10, 20, 40, 80, 160, 320, 640, 1000, 1000 };
	uint64_t now_ns = 20 * NS_PER_S, before_ns;
	struct process_state process = complete();

	/* The first changes, while a server boots, are reported at once. */
	before_ns = change(&process, PROCESS_CHANGES_FREE, now_ns);
	assert_int_equal(before_ns, now_ns);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		now_ns = change(&process, 1, before_ns);
		assert_int_equal(now_ns, before_ns + pauses_ms[i] * MS);
		before_ns = now_ns;
	}
}

TEST(state_allows_free_changes_again_after_quiet_period)
{
	struct process_state process = complete();
	uint64_t now_ns = 20 * NS_PER_S;

	now_ns = change(&process, PROCESS_CHANGES_FREE + 3, now_ns);
	assert_false(process_on_change(&process, now_ns));
	/* So long is not long enough; nor is it too soon for one. */
	now_ns += PROCESS_CHANGE_QUIET_NS;
	assert_true(process_on_change(&process, now_ns));
	assert_false(process_on_change(&process, now_ns));
	now_ns += PROCESS_CHANGE_QUIET_NS + 1;
	assert_int_equal(change(&process, PROCESS_CHANGES_FREE, now_ns), now_ns);
	process.look_ns = 0;
	assert_false(process_on_change(&process, now_ns));
	assert_int_equal(process_next_look(&process), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
}

TEST(state_looks_again_when_delayed_change_is_allowed)
{
	struct process_state process = complete();
	uint64_t now_ns = 20 * NS_PER_S;

	(void)change(&process, PROCESS_CHANGES_FREE, now_ns);
	assert_false(process_on_change(&process, now_ns));
	assert_int_equal(process_next_look(&process), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
	/* A change does not delay a look that is due earlier. */
	process.look_ns = now_ns + 1;
	assert_false(process_on_change(&process, now_ns));
	assert_int_equal(process_next_look(&process), now_ns + 1);
}

TEST(state_fork_inherits_used_changes)
{
	struct process_state parent = complete(), child;
	uint64_t now_ns = 20 * NS_PER_S;

	(void)change(&parent, PROCESS_CHANGES_FREE, now_ns);
	process_state_init(&child);
	process_on_forked(&child, &parent, false, now_ns);
	assert_false(process_on_change(&child, now_ns));
	assert_int_equal(change(&child, 1, now_ns), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
	assert_int_equal(change(&child, 1, now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS),
			 now_ns + 3 * PROCESS_CHANGE_PAUSE_FIRST_NS);
}

/* Loader events may be suppressed for a while after one is reported. */
TEST(state_looks_again_after_load_settles)
{
	struct process_state process = complete();

	process_on_loading(&process, NOW, NOW + MS);
	assert_true(process_next_look(&process) == NOW + MS);
	(void)look(&process, &ALL, true, NOW + MS);
	assert_true(process_next_look(&process) == NOW + MS + PROCESS_LOAD_SETTLE_NS);
	(void)look(&process, &ALL, true, NOW + MS + PROCESS_LOAD_SETTLE_NS);
	assert_true(process_next_look(&process) == UINT64_MAX);
}

TEST(state_postponed_look_is_due_at_given_time)
{
	struct process_state process = complete();

	process_on_loading(&process, NOW, NOW);
	process_on_postponed(&process, NOW + 50 * MS);
	assert_true(process_next_look(&process) == NOW + 50 * MS);
	(void)look(&process, &ALL, true, NOW + 50 * MS);
	assert_true(process_next_look(&process) == UINT64_MAX);
}
