/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/process_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
static unsigned int look(struct process_state *state, const struct process_findings *findings,
			 bool is_readable, uint64_t now_ns)
{
	return process_on_looked(state, findings, now_ns) |
	       process_on_told(state, findings, is_readable, now_ns, now_ns);
}

static struct process_state complete(void)
{
	struct process_state state;

	process_state_init(&state);
	(void)look(&state, &ALL, true, NOW);
	return state;
}

static void state_schedules_no_look_before_process_is_met(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	assert_int_equal(state.stage, PROCESS_UNSEEN);
	assert_true(process_next_look(&state) == UINT64_MAX);
}

static void state_schedules_look_when_met_without_fork(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	process_on_met(&state, NOW);
	assert_int_equal(process_next_look(&state), NOW);
	assert_int_equal(state.stage, PROCESS_UNSEEN);
}

static void state_fork_inherits_readability(void **unused)
{
	struct process_state parent = complete(), child;

	(void)unused;
	process_state_init(&child);
	process_on_forked(&child, &parent, false, NOW);
	assert_int_equal(child.stage, PROCESS_FORKED);
	assert_true(child.is_readable);
	assert_true(process_next_look(&child) == UINT64_MAX);
	/* Its process context is its own. */
	process_on_forked(&child, &parent, true, NOW);
	assert_int_equal(process_next_look(&child), NOW + PROCESS_FORK_PAUSE_NS);
}

static void state_fork_inherits_missing_publisher(void **unused)
{
	struct process_state parent, child, orphan;

	(void)unused;
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

static void state_backs_off_looks_that_find_nothing(void **unused)
{
	const uint64_t pauses_ms[] = { 10, 20, 40, 80, 160, 320, 500, 500 };
	struct process_state state;
	uint64_t now_ns = NOW;

	(void)unused;
	process_state_init(&state);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		(void)look(&state, i ? &SAME : &NOTHING, false, now_ns);
		assert_int_equal(state.stage, PROCESS_SILENT);
		assert_int_equal(process_next_look(&state), now_ns + pauses_ms[i] * MS);
		now_ns = process_next_look(&state);
	}
	(void)look(&state, &NOTHING, false, now_ns);
	assert_int_equal(process_next_look(&state), now_ns + 10 * MS);
	/* Nor are those rare that come after all was found. */
	state.look_pause_ns = PROCESS_LOOK_PAUSE_MAX_NS;
	(void)look(&state, &ALL, true, now_ns);
	(void)look(&state, &SAME, false, now_ns);
	assert_int_equal(process_next_look(&state), now_ns + 10 * MS);
}

static void state_becomes_complete_only_after_probes_are_placed(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	assert_int_equal(process_on_looked(&state, &ALL, NOW), 0);
	assert_int_equal(state.stage, PROCESS_UNSEEN);
	assert_int_equal(process_on_told(&state, &ALL, true, NOW, NOW + 1),
			 PROCESS_SAY_READ | PROCESS_SAY_COMPLETE);
	assert_int_equal(state.stage, PROCESS_COMPLETE);
	assert_true(process_next_look(&state) == UINT64_MAX);
	/* It published when it was found. */
	assert_int_equal(state.pickup_ns, 0);
}

static void state_retries_failed_look(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	assert_int_equal(process_on_looked(&state, &FAILED, NOW), 0);
	assert_int_equal(state.stage, PROCESS_UNSEEN);
	assert_int_equal(process_next_look(&state), NOW + FIRST);
}

static void state_without_keys_is_partial_and_looked_at_again(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	(void)process_on_looked(&state, &NO_KEYS, NOW);
	assert_int_equal(process_on_told(&state, &NO_KEYS, true, NOW, NOW), PROCESS_SAY_READ);
	assert_int_equal(process_on_told(&state, &NO_KEYS, true, NOW, NOW), 0);
	assert_int_equal(state.stage, PROCESS_PARTIAL);
	assert_int_equal(process_next_look(&state), NOW + FIRST);
	assert_int_equal(look(&state, &ALL, true, NOW + FIRST), PROCESS_SAY_COMPLETE);
	assert_int_equal(state.stage, PROCESS_COMPLETE);
}

static void state_polls_closely_while_loader_works(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	process_on_loading(&state, NOW + 5, NOW + 10);
	assert_int_equal(state.stage, PROCESS_COMPLETE);
	assert_int_equal(process_next_look(&state), NOW + 10);
	(void)look(&state, &NOT_LOADED, false, NOW + 10);
	assert_int_equal(process_next_look(&state), NOW + 10 + PROCESS_LOOK_PAUSE_LOADING_NS);
	/* Nor has it been what it found last that counts. */
	process_on_loading(&state, NOW + 20, NOW + 20);
	(void)look(&state, &SAME, false, NOW + 20);
	assert_int_equal(process_next_look(&state), NOW + 20 + PROCESS_LOOK_PAUSE_LOADING_NS);
}

static void state_counts_pickup_from_start_of_loading(void **unused)
{
	struct process_state state;

	(void)unused;
	process_state_init(&state);
	(void)look(&state, &NOTHING, false, 100);
	assert_int_equal(state.absent_ktime_ns, 100);
	process_on_loading(&state, 200, 210);
	process_on_loading(&state, 220, 230);
	/* What is loading may be what publishes: it does not count as absent. */
	(void)look(&state, &NOTHING, false, 240);
	assert_int_equal(state.absent_ktime_ns, 200);
	(void)process_on_looked(&state, &ALL, 250);
	assert_true(process_on_told(&state, &ALL, true, 250, 300) & PROCESS_SAY_READ);
	assert_int_equal(state.pickup_ns, 300 - 200);
	/* Each time anew, and from the last look that found none. */
	process_on_loading(&state, 400, 410);
	(void)look(&state, &NOTHING, false, 420);
	(void)look(&state, &NOTHING, false, 430);
	process_on_loading(&state, 440, 450);
	assert_true(process_on_told(&state, &ALL, true, 450, 470) & PROCESS_SAY_READ);
	assert_int_equal(state.pickup_ns, 470 - 440);
}

static void state_reports_unload_and_waits(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	process_on_moved(&state, NOW + 1);
	assert_int_equal(process_next_look(&state), NOW + 1);
	assert_true(look(&state, &NOTHING, false, NOW + 1) & PROCESS_SAY_UNREAD);
	assert_int_equal(state.stage, PROCESS_SILENT);
	assert_int_equal(process_next_look(&state), NOW + 1 + FIRST);
}

static void state_restarts_on_exec(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	state.preferences = state.told_copies = 2;
	state.look_pause_ns = state.asked_pause_ns = PROCESS_LOOK_PAUSE_MAX_NS;
	state.asked_look_ns = NOW + PROCESS_LOOK_PAUSE_MAX_NS;
	assert_int_equal(process_on_executed(&state, NOW + 7), PROCESS_FORGET);
	assert_int_equal(state.preferences + state.told_copies, 0);
	assert_int_equal(state.look_pause_ns, FIRST);
	assert_int_equal(state.asked_pause_ns, FIRST);
	assert_int_equal(state.asked_look_ns, 0);
	assert_int_equal(state.stage, PROCESS_UNSEEN);
	assert_false(state.is_readable);
	assert_true(process_may_prefer(&state));
	assert_int_equal(process_next_look(&state), NOW + 7);
	(void)process_on_looked(&state, &ALL, NOW + 8);
	assert_true(process_on_told(&state, &ALL, true, NOW + 8, NOW + 9) & PROCESS_SAY_COMPLETE);
	assert_int_equal(state.pickup_ns, 2);
}

static void state_backs_off_questions_without_answer(void **unused)
{
	struct process_state state = complete();
	const uint64_t first_look_ns = NOW + 1;

	(void)unused;
	process_on_asked(&state, false, first_look_ns);
	assert_int_equal(process_next_look(&state), first_look_ns);
	(void)look(&state, &ALL, true, first_look_ns);
	process_on_asked(&state, false, first_look_ns + 1);
	assert_int_equal(process_next_look(&state), first_look_ns + FIRST);
	(void)look(&state, &ALL, true, first_look_ns + FIRST);
	process_on_asked(&state, false, first_look_ns + FIRST + 1);
	assert_int_equal(process_next_look(&state), first_look_ns + FIRST + 2 * FIRST);
	/* But at once, where another object turns out to be the one. */
	process_on_asked(&state, true, first_look_ns + FIRST + 2);
	assert_int_equal(process_next_look(&state), first_look_ns + FIRST + 2);
	assert_int_equal(state.asked_look_ns, 0);
	/* A look that nobody asked for is no answer, */
	state = complete();
	(void)look(&state, &ALL, true, NOW);
	process_on_asked(&state, false, NOW + 1);
	assert_int_equal(process_next_look(&state), NOW + 1);
	/* one is the answer to one question, and what is new makes the next one welcome. */
	(void)look(&state, &ALL, true, NOW + 1);
	(void)look(&state, &ALL, true, NOW + 2);
	process_on_asked(&state, false, NOW + 3);
	assert_int_equal(process_next_look(&state), NOW + 1 + FIRST);
	(void)look(&state, &NO_KEYS, true, NOW + 3);
	process_on_asked(&state, false, NOW + 4);
	assert_int_equal(process_next_look(&state), NOW + 3 + FIRST);
}

static void state_reports_several_copies_once_per_preference(void **unused)
{
	struct process_findings two = ALL;
	struct process_state state;

	(void)unused;
	two.publisher_count = 2;
	process_state_init(&state);
	two.has_live = false;
	assert_int_equal(process_on_looked(&state, &two, NOW), 0);
	two.has_live = true;
	assert_true(look(&state, &two, true, NOW) & PROCESS_SAY_COPIES);
	assert_false(look(&state, &two, true, NOW) & PROCESS_SAY_COPIES);
	assert_true(process_may_prefer(&state));
	process_on_asked(&state, true, NOW);
	assert_true(look(&state, &two, true, NOW) & PROCESS_SAY_COPY_IN_USE);
	assert_false(look(&state, &two, true, NOW) & PROCESS_SAY_COPY_IN_USE);
	assert_true(process_may_prefer(&state));
	assert_false(process_uses_several(&state));
	process_on_asked(&state, true, NOW);
	assert_true(look(&state, &two, true, NOW) & PROCESS_SAY_COPIES_IN_USE);
	assert_false(process_may_prefer(&state));
	assert_true(process_uses_several(&state));
}

static void state_looks_soon_on_news_without_postponing(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	process_on_news(&state, NOW);
	assert_int_equal(process_next_look(&state), NOW + FIRST);
	process_on_news(&state, NOW + 5);
	assert_int_equal(process_next_look(&state), NOW + FIRST);
}

static void state_backs_off_failed_probes(void **unused)
{
	const uint64_t pauses_s[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };
	struct process_state state = complete();
	uint64_t now_ns = NOW;

	(void)unused;
	for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
		assert_true(process_may_probe(&state, now_ns));
		/* Said once. */
		assert_int_equal(process_on_probed(&state, false, now_ns),
				 i ? 0 : PROCESS_SAY_UNPROBED);
		assert_true(state.is_unprobed);
		assert_int_equal(process_next_look(&state), now_ns + pauses_s[i] * NS_PER_S);
		now_ns = process_next_look(&state);
		assert_false(process_may_probe(&state, now_ns - 1));
	}
	assert_int_equal(process_on_probed(&state, true, now_ns), 0);
	assert_int_equal(process_on_probed(&state, true, now_ns), 0);
	assert_false(state.is_unprobed);
	assert_true(process_next_look(&state) == UINT64_MAX);
	/* Not more often for having worked once in between. */
	assert_int_equal(process_on_probed(&state, false, now_ns), PROCESS_SAY_UNPROBED);
	assert_int_equal(process_next_look(&state), now_ns + PROCESS_PROBE_PAUSE_MAX_NS);
}

static void state_unrelated_look_does_not_retry_probes(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	(void)process_on_probed(&state, false, NOW);
	process_on_news(&state, NOW);
	assert_int_equal(process_next_look(&state), NOW + FIRST);
	assert_false(process_may_probe(&state, NOW + FIRST));
	(void)look(&state, &ALL, true, NOW + FIRST);
	assert_int_equal(process_next_look(&state), NOW + PROCESS_PROBE_PAUSE_FIRST_NS);
}

static void state_failed_look_does_not_repeat_immediately(void **unused)
{
	struct process_state state = complete();
	uint64_t now_ns = NOW + PROCESS_PROBE_PAUSE_FIRST_NS;

	(void)unused;
	(void)process_on_probed(&state, false, NOW);
	/* Before their time, it changes nothing about it; nor does one that does not fail. */
	(void)process_on_looked(&state, &FAILED, now_ns - 1);
	(void)process_on_looked(&state, &ALL, now_ns);
	assert_int_equal(process_next_look(&state), now_ns);
	assert_int_equal(process_on_looked(&state, &FAILED, now_ns), 0);
	assert_int_equal(process_next_look(&state), now_ns + FIRST);
	(void)process_on_looked(&state, &ALL, now_ns + FIRST);
	assert_int_equal(process_next_look(&state), now_ns + 2 * PROCESS_PROBE_PAUSE_FIRST_NS);
}

static void state_fork_inherits_failed_probes_until_exec(void **unused)
{
	struct process_state parent = complete(), child;

	(void)unused;
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

static void state_removes_exited_process_with_last_window(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	assert_int_equal(process_on_window(&state), 0);
	process_on_moved(&state, NOW);
	process_on_exited(&state, NOW + 3);
	assert_int_equal(state.stage, PROCESS_EXITED);
	assert_int_equal(state.exit_ktime_ns, NOW + 3);
	assert_true(process_next_look(&state) == UINT64_MAX);
	assert_int_equal(process_on_window(&state), PROCESS_REMOVE);
	/* An event that was read late does not bring it back. */
	(void)process_on_executed(&state, NOW + 4);
	assert_int_equal(process_on_window(&state), PROCESS_REMOVE);
}

/* Its changes, each as soon as it may be, from now_ns on; when the last one was. */
static uint64_t change(struct process_state *state, unsigned int count, uint64_t now_ns)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!process_on_change(state, now_ns)) {
			now_ns = process_next_look(state);
			state->look_ns = 0;
			assert_true(process_on_change(state, now_ns));
		}
	}
	return now_ns;
}

static void state_backs_off_configuration_changes(void **unused)
{
	const uint64_t pauses_ms[] = { 10, 20, 40, 80, 160, 320, 640, 1000, 1000 };
	uint64_t now_ns = 20 * NS_PER_S, before_ns;
	struct process_state state = complete();

	(void)unused;
	/* What is new while a server boots is told at once. */
	before_ns = change(&state, PROCESS_CHANGES_FREE, now_ns);
	assert_int_equal(before_ns, now_ns);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		now_ns = change(&state, 1, before_ns);
		assert_int_equal(now_ns, before_ns + pauses_ms[i] * MS);
		before_ns = now_ns;
	}
}

static void state_allows_free_changes_again_after_quiet_period(void **unused)
{
	struct process_state state = complete();
	uint64_t now_ns = 20 * NS_PER_S;

	(void)unused;
	now_ns = change(&state, PROCESS_CHANGES_FREE + 3, now_ns);
	assert_false(process_on_change(&state, now_ns));
	/* So long is not long enough; nor is it too soon for one. */
	now_ns += PROCESS_CHANGE_QUIET_NS;
	assert_true(process_on_change(&state, now_ns));
	assert_false(process_on_change(&state, now_ns));
	now_ns += PROCESS_CHANGE_QUIET_NS + 1;
	assert_int_equal(change(&state, PROCESS_CHANGES_FREE, now_ns), now_ns);
	state.look_ns = 0;
	assert_false(process_on_change(&state, now_ns));
	assert_int_equal(process_next_look(&state), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
}

static void state_looks_again_when_delayed_change_is_allowed(void **unused)
{
	struct process_state state = complete();
	uint64_t now_ns = 20 * NS_PER_S;

	(void)unused;
	(void)change(&state, PROCESS_CHANGES_FREE, now_ns);
	assert_false(process_on_change(&state, now_ns));
	assert_int_equal(process_next_look(&state), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
	/* One that is due earlier stays due. */
	state.look_ns = now_ns + 1;
	assert_false(process_on_change(&state, now_ns));
	assert_int_equal(process_next_look(&state), now_ns + 1);
}

static void state_fork_inherits_used_changes(void **unused)
{
	struct process_state parent = complete(), child;
	uint64_t now_ns = 20 * NS_PER_S;

	(void)unused;
	(void)change(&parent, PROCESS_CHANGES_FREE, now_ns);
	process_state_init(&child);
	process_on_forked(&child, &parent, false, now_ns);
	assert_false(process_on_change(&child, now_ns));
	assert_int_equal(change(&child, 1, now_ns), now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS);
	assert_int_equal(change(&child, 1, now_ns + PROCESS_CHANGE_PAUSE_FIRST_NS),
			 now_ns + 3 * PROCESS_CHANGE_PAUSE_FIRST_NS);
}

/* Of what its loader does just after it was told of, nothing is told. */
static void state_looks_again_after_load_settles(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	process_on_loading(&state, NOW, NOW + MS);
	assert_true(process_next_look(&state) == NOW + MS);
	(void)look(&state, &ALL, true, NOW + MS);
	assert_true(process_next_look(&state) == NOW + MS + PROCESS_LOAD_SETTLE_NS);
	(void)look(&state, &ALL, true, NOW + MS + PROCESS_LOAD_SETTLE_NS);
	assert_true(process_next_look(&state) == UINT64_MAX);
}

static void state_postponed_look_is_due_at_given_time(void **unused)
{
	struct process_state state = complete();

	(void)unused;
	process_on_loading(&state, NOW, NOW);
	process_on_postponed(&state, NOW + 50 * MS);
	assert_true(process_next_look(&state) == NOW + 50 * MS);
	(void)look(&state, &ALL, true, NOW + 50 * MS);
	assert_true(process_next_look(&state) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_schedules_no_look_before_process_is_met),
		cmocka_unit_test(state_schedules_look_when_met_without_fork),
		cmocka_unit_test(state_fork_inherits_readability),
		cmocka_unit_test(state_fork_inherits_missing_publisher),
		cmocka_unit_test(state_backs_off_looks_that_find_nothing),
		cmocka_unit_test(state_becomes_complete_only_after_probes_are_placed),
		cmocka_unit_test(state_backs_off_configuration_changes),
		cmocka_unit_test(state_allows_free_changes_again_after_quiet_period),
		cmocka_unit_test(state_looks_again_when_delayed_change_is_allowed),
		cmocka_unit_test(state_fork_inherits_used_changes),
		cmocka_unit_test(state_retries_failed_look),
		cmocka_unit_test(state_without_keys_is_partial_and_looked_at_again),
		cmocka_unit_test(state_polls_closely_while_loader_works),
		cmocka_unit_test(state_counts_pickup_from_start_of_loading),
		cmocka_unit_test(state_reports_unload_and_waits),
		cmocka_unit_test(state_restarts_on_exec),
		cmocka_unit_test(state_backs_off_questions_without_answer),
		cmocka_unit_test(state_reports_several_copies_once_per_preference),
		cmocka_unit_test(state_looks_soon_on_news_without_postponing),
		cmocka_unit_test(state_backs_off_failed_probes),
		cmocka_unit_test(state_unrelated_look_does_not_retry_probes),
		cmocka_unit_test(state_failed_look_does_not_repeat_immediately),
		cmocka_unit_test(state_fork_inherits_failed_probes_until_exec),
		cmocka_unit_test(state_removes_exited_process_with_last_window),
		cmocka_unit_test(state_looks_again_after_load_settles),
		cmocka_unit_test(state_postponed_look_is_due_at_given_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
