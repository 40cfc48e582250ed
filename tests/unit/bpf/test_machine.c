/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs against the rule: random lives of a few threads (machine/story.h), told to the
 * kernel programs themselves and to a slow model of what bpf/README.md says, come to the same
 * books, term by term, window by window. A life in which they differ is shrunk and printed.
 * MACHINE_SEED repeats one; MACHINE_COUNT says how many.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit_test.h"

#include "machine/machine.h"
#include "machine/model.h"
#include "machine/story.h"
#include "machine/world.h"
#include "recorder/observe/window/stints.h"

UNIT_TEST_ALONE;

enum {
	STORIES = 5000,
	DIFFERENCES_SHOWN = 12
};

/* Of the story that is told. */
static struct stints *story_stints;
static uint64_t story_ends_ns[LEDGER_ROWS]; /* by thread, of its last stint */

/* What two ledgers do not agree on, in words. */
struct difference {
	char text[4096];
	size_t length, count;
};

static void differ(struct difference *difference, uint64_t window, const char *of, uint64_t number,
		   const char *what, uint64_t programs, uint64_t model)
{
	size_t room = sizeof(difference->text) - difference->length;
	int length;

	if (programs == model || difference->count++ >= DIFFERENCES_SHOWN)
		return;
	length = snprintf(difference->text + difference->length, room,
			  "  window %lu: %s %lu: %s: the programs say %ld, the model %ld\n", window,
			  of, number, what, (long)programs, (long)model);
	difference->length += (size_t)length < room ? (size_t)length : room;
}

static const struct {
	const char *name;
	size_t offset;
} terms[] = {
#define TERM(name)                                           \
	{                                                    \
#name, offsetof(struct account_totals, name) \
	}
	TERM(user_ns),
	TERM(kernel_ns),
	TERM(run_queue_ns),
	TERM(blocked_ns),
	TERM(uninterruptible_ns),
	TERM(ambiguous_ns),
	TERM(slices),
	TERM(switches_voluntary),
	TERM(switches_involuntary),
	TERM(migrations),
	TERM(syscalls),
	TERM(stolen_ns),
	TERM(blocked_on_ns[0]),
	TERM(blocked_on_ns[1]),
	TERM(blocked_on_ns[2]),
	TERM(blocked_on_ns[3]),
	TERM(blocked_on_ns[4]),
	TERM(blocked_on_ns[5]),
	TERM(blocked_on_ns[6]),
	TERM(blocked_on_ns[7]),
	TERM(gvl_ns),
	TERM(gvl_waits),
	TERM(gc_ns),
	TERM(gc_runs),
#undef TERM
};

static void compare_totals(struct difference *difference, uint64_t window, const char *of,
			   uint64_t number, const struct account_totals *programs,
			   const struct account_totals *model)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		uint64_t values[2];

		memcpy(&values[0], (const char *)programs + terms[i].offset, sizeof(values[0]));
		memcpy(&values[1], (const char *)model + terms[i].offset, sizeof(values[1]));
		differ(difference, window, of, number, terms[i].name, values[0], values[1]);
	}
}

static const struct ledger_row *find_row(const struct ledger *ledger, const struct ledger_row *like)
{
	static const struct ledger_row nothing;

	for (uint32_t i = 0; i < ledger->count; i++)
		if (ledger->rows[i].serial == like->serial &&
		    ledger->rows[i].context == like->context)
			return &ledger->rows[i];
	return &nothing;
}

/* Since when, and until when: that lies between what the model knows of it. */
static bool has_right_times(const struct ledger_row *ours, const struct ledger_row *theirs,
			    uint64_t end_ns)
{
	return ours->first_ns == theirs->first_ns && ours->last_ns >= theirs->last_from_ns &&
	       ours->last_ns <= end_ns;
}

static void compare_row(struct difference *difference, uint64_t window,
			const struct ledger_row *ours, const struct ledger_row *theirs,
			uint64_t end_ns)
{
	uint32_t serial = ours->serial | theirs->serial;
	char of[64];

	(void)snprintf(of, sizeof(of), "context %u of thread", ours->context | theirs->context);
	compare_totals(difference, window, of, serial, &ours->totals, &theirs->totals);
	/* One that was opened in advance, and came to nothing. */
	if (!ours->serial || !theirs->serial)
		return;
	differ(difference, window, of, serial, "times", has_right_times(ours, theirs, end_ns), 1);
	differ(difference, window, of, serial, "tid", ours->tid, theirs->tid);
	differ(difference, window, of, serial, "name", ours->name, theirs->name);
	differ(difference, window, of, serial, "inherited", ours->is_inherited,
	       theirs->is_inherited);
	differ(difference, window, of, serial, "origin", ours->is_of_origin, theirs->is_of_origin);
	differ(difference, window, of, serial, "counts the GVL", ours->counts_gvl,
	       theirs->counts_gvl);
	differ(difference, window, of, serial, "times collections", ours->times_gc,
	       theirs->times_gc);
}

/* A context of a process and one of another, its origin, may have the same value. */
static void join_row(struct ledger *joined, const struct ledger_row *row)
{
	struct ledger_row *into = (struct ledger_row *)find_row(joined, row);

	if (!into->serial) {
		joined->rows[joined->count++] = *row;
		return;
	}
	account_fold(&into->totals, &row->totals);
	into->is_inherited |= row->is_inherited;
	into->is_of_origin |= row->is_of_origin;
	into->counts_gvl |= row->counts_gvl;
	into->times_gc |= row->times_gc;
	if (row->first_ns < into->first_ns)
		into->first_ns = row->first_ns;
	if (row->last_ns > into->last_ns)
		into->last_ns = row->last_ns;
	if (row->last_from_ns > into->last_from_ns)
		into->last_from_ns = row->last_from_ns;
}

static void join_rows(struct ledger *joined, const struct ledger *ledger)
{
	joined->count = 0;
	joined->end_ns = ledger->end_ns;
	for (uint32_t i = 0; i < ledger->count; i++)
		join_row(joined, &ledger->rows[i]);
}

static void compare_rows(struct difference *difference, uint64_t window, const struct ledger *told,
			 const struct ledger *foretold)
{
	static struct ledger joined[2];
	const struct ledger *programs = &joined[0], *model = &joined[1];

	join_rows(&joined[0], told);
	join_rows(&joined[1], foretold);
	for (uint32_t i = 0; i < programs->count; i++)
		compare_row(difference, window, &programs->rows[i],
			    find_row(model, &programs->rows[i]), model->end_ns);
	for (uint32_t i = 0; i < model->count; i++) {
		const struct ledger_row *ours = find_row(programs, &model->rows[i]);

		/* Those that both have were compared. */
		if (!ours->serial)
			compare_row(difference, window, ours, &model->rows[i], model->end_ns);
	}
}

static const char *const losses[] = {
#define FIELD(name, field, kind, text) field,
	COUNTER_LIST(FIELD)
#undef FIELD
};

static void compare_processes(struct difference *difference, uint64_t window,
			      const struct ledger *programs, const struct ledger *model)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		compare_totals(difference, window, "overflow of process", i, &programs->overflow[i],
			       &model->overflow[i]);
		differ(difference, window, "process", i, "exec_ns", programs->exec_ns[i],
		       model->exec_ns[i]);
		differ(difference, window, "process", i, "live_threads", programs->live_threads[i],
		       model->live_threads[i]);
		for (uint32_t j = 0; j < _COUNTER_MAX; j++)
			differ(difference, window, "process", i, losses[j], programs->losses[i][j],
			       model->losses[i][j]);
	}
	for (uint32_t i = 0; i < _EVENT_KIND_MAX; i++) {
		{
			differ(difference, window, "event", i, "count", programs->events[i],
			       model->events[i]);
			differ(difference, window, "event", i, "tgids", programs->event_tgids[i],
			       model->event_tgids[i]);
			differ(difference, window, "event", i, "lives", programs->event_lives[i],
			       model->event_lives[i]);
			differ(difference, window, "event", i, "details",
			       programs->event_details[i], model->event_details[i]);
		}
	}
}

/* What the slices of each account come to, and those of what a process has in overflow. */
struct sums {
	const struct ledger *programs;
	const struct world *world;
	struct account_totals rows[LEDGER_ROWS];
	struct account_totals overflow[PROCESSES];
};

static struct account_totals *find_sum(struct sums *sums, const struct stint *stint)
{
	static struct account_totals nobodys;

	for (uint32_t i = 0; stint->flags & STINT_IS_OVERFLOW && i < PROCESSES; i++)
		if (sums->world->processes[i].life == stint->life)
			return &sums->overflow[i];
	for (uint32_t i = 0; i < sums->programs->count; i++)
		if (sums->programs->rows[i].serial == stint->thread_serial &&
		    sums->programs->rows[i].context_hash == stint->context_hash)
			return &sums->rows[i];
	return &nobodys;
}

static int add_slice(void *user, const struct slice *slice)
{
	struct account_totals *sum = find_sum(user, slice->stint);
	uint64_t length_ns = slice->end_ns - slice->start_ns;

	if (slice->state == SCHED_RUNNING)
		sum->user_ns += slice->stint->user_ns + slice->stint->kernel_ns;
	else if (slice->state == SCHED_RUN_QUEUE)
		sum->run_queue_ns += length_ns;
	else
		sum->blocked_ns += length_ns;
	if (slice->state == SCHED_UNINTERRUPTIBLE)
		sum->uninterruptible_ns += length_ns;
	return 0;
}

static void compare_sum(struct difference *difference, uint64_t window, const char *of,
			uint64_t number, const struct account_totals *sum,
			const struct account_totals *charged)
{
	differ(difference, window, of, number, "running", sum->user_ns,
	       charged->user_ns + charged->kernel_ns);
	differ(difference, window, of, number, "run_queue", sum->run_queue_ns,
	       charged->run_queue_ns);
	differ(difference, window, of, number, "blocked", sum->blocked_ns, charged->blocked_ns);
	differ(difference, window, of, number, "uninterruptible", sum->uninterruptible_ns,
	       charged->uninterruptible_ns);
}

/*
 * The calls of an account, over all numbers, are its own, and the time in them is no longer than
 * all of its time.
 */
static void compare_syscalls(struct difference *difference, const struct world *world,
			     uint64_t window, const struct ledger *programs)
{
	for (uint32_t i = 0; i < programs->count; i++) {
		const struct ledger_row *row = &programs->rows[i];
		const struct account_totals *totals = &row->totals;
		uint64_t wall_ns = totals->user_ns + totals->kernel_ns + totals->run_queue_ns +
				   totals->blocked_ns + (uint64_t)totals->stolen_ns;

		differ(difference, window, "thread", row->serial, "calls by number", row->calls,
		       totals->syscalls);
		if (row->inside_ns > wall_ns)
			differ(difference, window, "thread", row->serial, "time in calls",
			       row->inside_ns, wall_ns);
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (world->processes[i].standing == PROCESS_OBSERVED)
			differ(difference, window, "overflow of process", i, "calls by number",
			       programs->overflow_calls[i], programs->overflow[i].syscalls);
}

/* What an account waited, over all stacks, is its own. */
static void compare_waits(struct difference *difference, const struct world *world, uint64_t window,
			  const struct ledger *programs)
{
	for (uint32_t i = 0; i < programs->count; i++) {
		const struct ledger_row *row = &programs->rows[i];

		differ(difference, window, "thread", row->serial, "blocked by stack",
		       row->waited.blocked_ns, row->totals.blocked_ns);
		differ(difference, window, "thread", row->serial, "run queue by stack",
		       row->waited.run_queue_ns, row->totals.run_queue_ns);
	}
	for (uint32_t i = 0; i < PROCESSES; i++) {
		if (world->processes[i].standing != PROCESS_OBSERVED)
			continue;
		differ(difference, window, "overflow of process", i, "blocked by stack",
		       programs->overflow_waited[i].blocked_ns, programs->overflow[i].blocked_ns);
		differ(difference, window, "overflow of process", i, "run queue by stack",
		       programs->overflow_waited[i].run_queue_ns,
		       programs->overflow[i].run_queue_ns);
	}
	differ(difference, window, "stacks", 0, "counted twice", programs->waits_told_twice, 0);
}

/* Each begins where the thread's last one ended. */
static void compare_ends(struct difference *difference, uint64_t window,
			 const struct ledger *programs, uint64_t ends_ns[LEDGER_ROWS])
{
	for (uint32_t i = 0; i < programs->stints_count; i++) {
		const struct stint *stint = &programs->stints[i];
		uint64_t *end_ns = &ends_ns[stint->thread_serial % LEDGER_ROWS];

		if (*end_ns)
			differ(difference, window, "stint of thread", stint->thread_serial, "start",
			       stint->start_ns < *end_ns ? stint->start_ns : *end_ns, *end_ns);
		differ(difference, window, "stint of thread", stint->thread_serial, "length",
		       stint->end_ns < stint->start_ns, 0);
		*end_ns = stint->end_ns;
	}
}

/* What the slices say is what was charged. */
static void compare_stints(struct difference *difference, const struct world *world,
			   uint64_t window, const struct ledger *programs)
{
	static struct sums sums;

	for (uint32_t i = 0; i < programs->stints_count; i++)
		stints_add(story_stints, &programs->stints[i]);
	stints_settle(story_stints, (uint32_t)window);
	memset(sums.rows, 0, programs->count * sizeof(sums.rows[0]));
	memset(sums.overflow, 0, sizeof(sums.overflow));
	sums.programs = programs;
	sums.world = world;
	assert_int_equal(stints_each(story_stints, add_slice, &sums), 0);
	for (uint32_t i = 0; i < programs->count; i++)
		compare_sum(difference, window, "slices of thread", programs->rows[i].serial,
			    &sums.rows[i], &programs->rows[i].totals);
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (world->processes[i].standing == PROCESS_OBSERVED)
			compare_sum(difference, window, "slices of process", i, &sums.overflow[i],
				    &programs->overflow[i]);
	compare_ends(difference, window, programs, story_ends_ns);
	stints_next(story_stints);
}

/*
 * Lean, where the gem counts its changes: what a context was charged too much is no more than what
 * of it is ambiguous, and what it was charged too little no more than what is ambiguous of all, in
 * no known context, or nobody's (who died or ended while their books were held); but for theft.
 */
struct bound {
	uint64_t charged_ns[IMAGES_MAX][VALUES + 1], ambiguous_ns[IMAGES_MAX][VALUES + 1];
	uint64_t all_ns, slack_ns;
};

static void add_to_bound(struct bound *bound, const struct ledger *programs)
{
	for (uint32_t i = 0; i < programs->count; i++) {
		const struct ledger_row *row = &programs->rows[i];
		uint64_t ns = account_on_cpu(&row->totals);

		bound->all_ns += ns;
		if (row->context > VALUES) {
			bound->slack_ns += ns;
			continue;
		}
		bound->charged_ns[row->owner % IMAGES_MAX][row->context] += ns;
		bound->ambiguous_ns[row->owner % IMAGES_MAX][row->context] +=
			row->totals.ambiguous_ns;
		bound->slack_ns += row->totals.ambiguous_ns;
	}
}

static void compare_bound(struct difference *difference, const struct world *world,
			  struct bound *bound)
{
	uint64_t ran_ns = 0;

	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		for (uint32_t value = 0; value <= VALUES; value++)
			ran_ns += world->ran_ns[i][value];
	if (ran_ns > bound->all_ns)
		bound->slack_ns += ran_ns - bound->all_ns;
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		for (uint32_t value = 1; value <= VALUES && !world->was_unknown[i]; value++) {
			uint64_t charged = bound->charged_ns[i][value];
			uint64_t ran = world->ran_ns[i][value];

			if (charged > ran + bound->ambiguous_ns[i][value] + world->stolen_ns ||
			    ran > charged + bound->slack_ns + world->stolen_ns)
				differ(difference, world->window, "true time in context", value,
				       "beyond its bound", charged, ran);
		}
}

static struct bound story_bound;

static void compare(struct difference *difference, const struct world *world)
{
	static struct ledger programs, model;
	uint64_t window = world->window - 1;

	machine_drain(world, &programs);
	model_drain(world, &model);
	compare_rows(difference, window, &programs, &model);
	compare_processes(difference, window, &programs, &model);
	add_to_bound(&story_bound, &programs);
	if (world->mode.has_timeline)
		compare_stints(difference, world, window, &programs);
	if (world->mode.counts_syscalls)
		compare_syscalls(difference, world, window, &programs);
	if (world->mode.tells_waits)
		compare_waits(difference, world, window, &programs);
	/* Nobody waits for them any more. */
	if (!world->is_stopped)
		differ(difference, window, "threads", 0, "leaving", programs.leaving_threads,
		       model.leaving_threads);
	differ(difference, window, "threads", 0, "stragglers", programs.stragglers,
	       model.stragglers);
	differ(difference, window, "stalls", 0, "wrong", programs.wrong_stalls, 0);
	differ(difference, window, "room", 0, "accounts", programs.accounts_held,
	       model.accounts_held);
	differ(difference, window, "room", 0, "processes", programs.processes_held,
	       model.processes_held);
}

static void tell_step(struct world *world, const struct step *step, struct difference *difference)
{
	struct happening happening;

	if (difference->count || !world_meet(world, step, &happening))
		return;
	machine_meet(world, &happening);
	model_meet(world, &happening);
	if (happening.kind == STEP_DRAIN)
		compare(difference, world);
	world_go_on(world, &happening);
}

/* Tells a story to both, up to the books of its last window. */
static size_t tell(const struct story *story, struct difference *ret)
{
	/* As a recording ends; what its threads do meanwhile the programs do not see. */
	static const struct step last[] = {
		{ .kind = STEP_DRAIN },
		{ .after_ns = 70, .kind = STEP_END },
		{ .after_ns = 50, .kind = STEP_DRAIN },
		{ .after_ns = 20, .kind = STEP_ENTER },
		{ .after_ns = 90, .kind = STEP_EXIT },
		{ .after_ns = 40, .kind = STEP_EXIT, .who = 1 },
		{ .after_ns = 10, .kind = STEP_STOP },
		{ .after_ns = 30, .kind = STEP_ENTER },
		{ .after_ns = 80, .kind = STEP_LEAVE, .what = 1 },
		{ .after_ns = 60, .kind = STEP_SWITCH, .who = 1 },
		{ .after_ns = 50, .kind = STEP_DRAIN },
	};
	static struct world world;

	memset(ret, 0, sizeof(*ret));
	memset(story_ends_ns, 0, sizeof(story_ends_ns));
	stints_free(story_stints);
	story_stints = stints_new(LEDGER_STINTS);
	world_begin(&world);
	world.mode = story->mode;
	world.processes[0].is_lean = world.has_been_lean = story->mode.is_lean;
	memset(&story_bound, 0, sizeof(story_bound));
	world.sees_edges = story->mode.has_split;
	if (story->mode.finds)
		world_begin_strangers(&world);
	machine_begin(&world);
	model_begin(&world);
	for (size_t i = 0; i < story->count; i++)
		tell_step(&world, &story->steps[i], ret);
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		tell_step(&world, &last[i], ret);
	if (story->mode.is_lean && story->mode.counts_changes && !story->mode.has_children)
		compare_bound(ret, &world, &story_bound);
	return ret->count;
}

static bool fails(const struct story *story)
{
	struct difference difference;

	return tell(story, &difference) > 0;
}

static void show(const struct story *story)
{
	struct difference difference;

	(void)tell(story, &difference);
	story_print(story);
	printf("%s", difference.text);
}

static void assert_told_alike(uint64_t seed)
{
	static struct story story;

	story_write(&story, seed);
	if (!fails(&story))
		return;
	story_shrink(&story, fails);
	printf("MACHINE_SEED=%lu, shrunk to %zu events:\n", seed, story.count);
	show(&story);
	fail_msg("the programs and the model differ, seed %lu", seed);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static int forget_stints(void **state);

TEST(programs_match_model_on_random_stories)
{
	uint64_t seed = number_of("MACHINE_SEED", 1);
	uint64_t count = number_of("MACHINE_COUNT", getenv("MACHINE_SEED") ? 1 : STORIES);

	for (uint64_t i = 0; i < count; i++)
		assert_told_alike(seed + i);
}

/* Too rare for the others: one in some million lives. */
TEST(programs_match_model_on_stories_that_once_differed)
{
	static const struct story_mode usual = { .has_split = true,
						 .has_children = true,
						 .follows = true,
						 .counts_changes = true,
						 .has_timeline = true,
						 .tells_waits = true,
						 .tells_stalls = true,
						 .tells_execs = true };
	/* A thread passes no boundary through many windows, in a context that userspace is about to
	 * forget: it waits for a CPU; it left its CPU unseen; its context is not known. */
	static const char *const stories[] = {
		"+6658641 ns SWITCH who 152 what 0x11\n"
		"+1356712 ns EXIT who 136 what 0x60\n"
		"+2064317 ns PROBE who 14 what 0x68\n"
		"+1651154 ns STORE who 62 what 0x30\n"
		"+13097 ns INTERRUPT who 144 what 0xfc\n"
		"+4259 ns PROBE who 228 what 0x37\n"
		"+6344334 ns END who 58 what 0xc1\n"
		"+695 ns STORE who 202 what 0x12\n"
		"+3367 ns ENTER who 158 what 0x26\n"
		"+2945 ns SWITCH who 54 what 0x73\n"
		"+10558 ns WAKE who 2 what 0xa5\n"
		"+5686145 ns DRAIN who 195 what 0xe0\n"
		"+2553601 ns END who 21 what 0x7e\n"
		"+13147 ns DRAIN who 120 what 0x49\n"
		"+7875890 ns END who 192 what 0x7f\n"
		"+3498467 ns HOLD who 30 what 0x02\n"
		"+1990 ns DRAIN who 84 what 0x8b\n"
		"+21476554 ns CONFIGURE who 84 what 0xd0\n"
		"+8325523 ns END who 176 what 0x36\n"
		"+6474031 ns SWITCH who 169 what 0x96\n",
		"+9722434 ns SWITCH who 212 what 0x3a\n"
		"+4435 ns WAKE who 222 what 0x65\n"
		"+6913048 ns SWITCH who 26 what 0x39\n"
		"+5435728 ns PROBE who 102 what 0x4b\n"
		"+0 ns STORE who 204 what 0xb6\n"
		"+7438 ns PROBE who 252 what 0x3d\n"
		"+626 ns STORE who 40 what 0x04\n"
		"+3423 ns ENTER who 172 what 0x60\n"
		"+4316 ns SWITCH who 150 what 0xc6\n"
		"+1213 ns SWITCH who 105 what 0xbb\n"
		"+5725 ns END who 3 what 0xe1\n"
		"+1336 ns DRAIN who 235 what 0x0f\n"
		"+5861 ns SWITCH who 79 what 0xab\n"
		"+4621307 ns END who 78 what 0xf7\n"
		"+1610422 ns DRAIN who 28 what 0xe8\n"
		"+7666 ns END who 131 what 0x9a\n",
		"+8651 ns END who 159 what 0x5f\n"
		"+9207 ns PROBE who 208 what 0xe4\n"
		"+1066 ns STORE who 90 what 0xbd\n"
		"+6273 ns PROBE who 76 what 0xac\n"
		"+3620 ns STORE who 200 what 0x22\n"
		"+3542 ns PROBE who 144 what 0xc2\n"
		"+1457431 ns SWITCH who 190 what 0x27\n"
		"+1005966 ns DRAIN who 142 what 0xac\n"
		"+365164 ns END who 40 what 0x4c\n",
	};
	static struct story story;

	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		for (int has_split = 0; has_split < 2; has_split++) {
			assert_true(story_read(&story, stories[i]));
			story.mode = usual;
			story.mode.has_split = has_split;
			if (!fails(&story))
				continue;
			show(&story);
			fail_msg("the programs and the model differ, story %zu", i);
		}
	}
}

TEST(programs_match_model_on_stories_with_fresh_seed)
{
	struct timespec now;
	uint64_t seed;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	seed = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	printf("from MACHINE_SEED=%lu on\n", seed);
	for (uint64_t i = 0; i < STORIES && !getenv("MACHINE_SEED"); i++)
		assert_told_alike(seed + i);
}

static int forget_stints(void **state)
{
	(void)state;
	stints_free(story_stints);
	return 0;
}

TEST_GROUP(NULL, forget_stints)
