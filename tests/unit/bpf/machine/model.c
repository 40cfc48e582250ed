/* SPDX-License-Identifier: GPL-2.0-only */
#include "model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/gc_time.h>
#include <correlator/gvl_wait.h>
#include <correlator/missed_calls.h>

enum {
	INTERVALS_MAX = 1024,
	FIRST_TABLE_UNKNOWN = 77, /* the first that is read was there before */
	/* With probes, that none was missed is looked at no more often at switches. */
	LOOK_PERIOD_NS = 1000 * 1000
};

/* As the table in bpf/README.md has it. */
/* As many accounts give back what was charged too much. */
enum {
	CHARGED_KEPT = 4
};

enum knowledge {
	UNKNOWN,
	KNOWN,
	KNOWN_TILL_IT_RUNS,
};

/* What a switch left behind that met the books held. */
struct noted {
	bool is_out;
	struct thread then;
	uint64_t at_ns;
	uint32_t cpu;
};

/* What the rule knows of a thread. */
struct view {
	struct thread then; /* as it was when the switch came that is written up */
	bool is_begun; /* there are books of it */
	struct account_totals intervals[INTERVALS_MAX]; /* that nobody's yet */
	uint64_t since_ns; /* when the first of them began */
	uint32_t count;
	uint64_t mark_ns; /* where the open one begins */
	uint32_t window;
	/* The context. */
	enum knowledge knowledge;
	bool is_change_open;
	uint32_t table, value; /* as last read */
	uint64_t changes; /* of what is read, as they were counted then */
	uint64_t sure_ns; /* of what ran and is nobody's yet: nothing has changed meanwhile */
	uint64_t owner; /* the image that set it */
	uint64_t image; /* that it runs */
	bool is_of_origin; /* it is that of its process, */
	bool has_origin; /* which has one */
	uint64_t looked_ns;
	bool is_inherited;
	bool has_set; /* it was seen to set one in this life */
	uint32_t first_table; /* was there before this life */
	bool is_found; /* the variable */
	/* The configuration that it has taken. */
	bool is_ready, is_lean;
	uint32_t generation, reading;
	uint32_t seen_generation; /* of any process */
	/* The CPU. */
	bool is_on_cpu, is_in_kernel;
	bool is_kept_runnable; /* off the CPU: it would have run on */
	bool is_at_disk; /* it sleeps uninterruptibly */
	enum blocked_reason blocked_on;
	uint32_t last_cpu; /* CPUS = none */
	bool has_migrated; /* in the interval that comes next */
	uint64_t exec_ns, voluntary, involuntary; /* when it last left its CPU */
	uint64_t ran_ns; /* by the clock since then, */
	uint64_t owed_ns; /* and of that beyond exec_ns when it last left */
	uint64_t stolen_ns; /* from its CPU, and made good */
	bool is_stolen_known;
	uint64_t published_ns;
	/* Waiting for the GVL, by the thread's own counters as they were last read. */
	bool counts_gvl;
	bool is_known_not_to; /* when it was last asked: those that it gets begin with 0 */
	uint64_t wait_ns, waits;
	uint64_t counted_ns; /* up to when they tell of all */
	uint64_t unclaimed_ns; /* of the time off the CPU in this context */
	/* The same of collections. */
	bool times_gc;
	bool is_known_not_to_time;
	uint64_t inside_ns, runs;
	bool is_inside; /* was, when they were read: and had been off the CPU for so long */
	uint64_t was_off_cpu_ns;
	uint64_t off_cpu_ns; /* so far */
	uint64_t charged_ns; /* on the CPU, */
	uint64_t was_on_cpu_ns; /* and with all that was not charged when they were read */
	uint64_t open_gc_ns, open_runs; /* the open interval's */
	/* Edges go the short way, and are not in the way of who holds the books. */
	bool is_short;
	uint32_t short_registrations;
	/* What met the books held. */
	struct noted noted[NOTED_MAX];
	uint32_t noted_count;
	uint32_t missed_calls;
	bool has_missed_probe, has_missed_rename, has_missed_exec;
	uint32_t serial; /* of its accounts: each program has its own */
	/* The last that it was charged to, in a ring. */
	struct {
		uint32_t context, window;
		uint64_t owner;
	} charged[CHARGED_KEPT];
	uint32_t charged_last;
};

static struct {
	const struct world *world;
	struct view views[THREADS];
	uint64_t losses[PROCESSES][_COUNTER_MAX];
	uint64_t events[_EVENT_KIND_MAX], event_lives[_EVENT_KIND_MAX];
	uint64_t event_tgids[_EVENT_KIND_MAX], event_details[_EVENT_KIND_MAX];
	uint32_t registrations;
	bool is_flush; /* of a window that ends */
	bool is_at_exit; /* of a system call: its programs read the clock last */
	struct {
		uint32_t value;
		uint64_t owner;
	} origins[PROCESSES]; /* in which context each was started */
	uint64_t images[PROCESSES]; /* what each runs */
	bool is_watched[TGIDS]; /* a stranger, whose forks are news */
	uint32_t last_serial;
	uint32_t stragglers; /* that the last flush has left for later */
	uint32_t open_window; /* the first that is not drained */
	struct ledger ledgers[2]; /* by the window's parity */
} model;

static const struct thread *truth(const struct view *view)
{
	return &model.world->threads[view - model.views];
}

static const struct process *process_of(const struct view *view)
{
	return &model.world->processes[truth(view)->process];
}

static bool is_observed(uint32_t i)
{
	return i != NOBODY && model.world->threads[i].is_observed;
}

static void count(const struct view *view, enum counter counter)
{
	model.losses[truth(view)->process][counter]++;
}

static uint64_t now(void)
{
	return model.world->now_ns;
}

static void tell_event(uint32_t kind, uint64_t life, uint32_t tgid)
{
	model.events[kind]++;
	model.event_lives[kind] += life;
	model.event_tgids[kind] += tgid;
}

/* Intervals. */

static struct account_totals *add_interval(struct view *view, uint64_t end_ns)
{
	struct account_totals *interval = &view->intervals[view->count];

	if (view->count == INTERVALS_MAX)
		abort();
	if (!view->count++)
		view->since_ns = view->mark_ns;
	*interval = (struct account_totals){ .migrations = view->has_migrated };
	view->has_migrated = false;
	view->mark_ns = end_ns;
	return interval;
}

static struct account_totals *add_on_cpu(struct view *view, uint64_t end_ns)
{
	uint64_t ns = end_ns - view->mark_ns;
	struct account_totals *interval = add_interval(view, end_ns);

	*(view->is_in_kernel ? &interval->kernel_ns : &interval->user_ns) = ns;
	view->ran_ns += ns;
	return interval;
}

/* Off the CPU: before it was woken up it was blocked, since then it waits for a CPU. */
static void add_off_cpu(struct view *view, uint64_t end_ns)
{
	uint64_t begin_ns = view->mark_ns, queued_ns = view->then.queued_ns;
	struct account_totals *interval = add_interval(view, end_ns);

	if (!view->then.is_queued || queued_ns > end_ns)
		queued_ns = end_ns;
	if (queued_ns < begin_ns)
		queued_ns = begin_ns;
	view->unclaimed_ns += end_ns - begin_ns;
	view->off_cpu_ns += end_ns - begin_ns;
	interval->run_queue_ns = end_ns - queued_ns;
	interval->blocked_ns = queued_ns - begin_ns;
	if (view->is_at_disk)
		interval->uninterruptible_ns = interval->blocked_ns;
	if (view->blocked_on != BLOCKED_ON_OTHER)
		interval->blocked_on_ns[view->blocked_on - 1] = interval->blocked_ns;
}

/* On what a thread is blocked that falls asleep: as reader/report/README.md has it. */
static enum blocked_reason blocked_on(const struct thread *then)
{
	bool is_at_disk = then->state == STATE_DISK;

	if (!then->is_in_call)
		return BLOCKED_ON_FAULT;
	switch (then->call) {
	case CALL_READ_SOCKET:
	case CALL_CONNECT:
		return BLOCKED_ON_NETWORK;
	case CALL_READ_PIPE:
		return BLOCKED_ON_PIPE;
	case CALL_READ_FILE:
	case CALL_FSYNC:
		return BLOCKED_ON_DISK;
	case CALL_POLL:
		return BLOCKED_ON_POLL;
	case CALL_FUTEX:
		return BLOCKED_ON_FUTEX;
	case CALL_NANOSLEEP:
		return BLOCKED_ON_SLEEP;
	case CALL_CLONE:
	case CALL_WAIT:
		return BLOCKED_ON_CHILD;
	case CALL_MUNMAP:
		return BLOCKED_ON_FAULT;
	default:
		return is_at_disk ? BLOCKED_ON_DISK : BLOCKED_ON_OTHER;
	}
}

static void sum_up(struct account_totals *into, const struct account_totals *from)
{
	into->user_ns += from->user_ns;
	into->kernel_ns += from->kernel_ns;
	into->run_queue_ns += from->run_queue_ns;
	into->blocked_ns += from->blocked_ns;
	into->uninterruptible_ns += from->uninterruptible_ns;
	into->ambiguous_ns += from->ambiguous_ns;
	into->slices += from->slices;
	into->switches_voluntary += from->switches_voluntary;
	into->switches_involuntary += from->switches_involuntary;
	into->migrations += from->migrations;
	into->syscalls += from->syscalls;
	into->stolen_ns += from->stolen_ns;
	for (uint32_t i = 0; i < BLOCKED_REASONS_KEPT; i++)
		into->blocked_on_ns[i] += from->blocked_on_ns[i];
	into->gvl_ns += from->gvl_ns;
	into->gvl_waits += from->gvl_waits;
	into->gc_ns += from->gc_ns;
	into->gc_runs += from->gc_runs;
}

/* All that is nobody's yet, in one. */
static struct account_totals *sum_of(struct view *view)
{
	for (uint32_t i = 1; i < view->count; i++)
		sum_up(&view->intervals[0], &view->intervals[i]);
	if (view->count > 1)
		view->count = 1;
	return &view->intervals[0];
}

static uint64_t on_cpu_ns(struct view *view)
{
	return view->count ? sum_of(view)->user_ns + view->intervals[0].kernel_ns : 0;
}

/* Since it was looked at last the context may have changed to and fro. */
static void doubt(struct view *view, bool is_doubtful)
{
	uint64_t ns = on_cpu_ns(view);

	if (is_doubtful && ns > view->sure_ns)
		view->intervals[0].ambiguous_ns += ns - view->sure_ns;
	view->sure_ns = ns;
}

/* Takes what nobody ran out of the larger part, and then of the other one. */
static uint64_t take_stolen(struct account_totals *from, uint64_t ns)
{
	bool is_user_first = from->user_ns >= from->kernel_ns;
	__u64 *parts[] = { is_user_first ? &from->user_ns : &from->kernel_ns,
			   is_user_first ? &from->kernel_ns : &from->user_ns };
	uint64_t left_ns = ns;

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t taken_ns = *parts[i] < left_ns ? *parts[i] : left_ns;

		*parts[i] -= taken_ns;
		left_ns -= taken_ns;
	}
	from->stolen_ns += (int64_t)(ns - left_ns);
	if (from->ambiguous_ns > from->user_ns + from->kernel_ns)
		from->ambiguous_ns = from->user_ns + from->kernel_ns;
	if (from->gc_ns > from->user_ns + from->kernel_ns)
		from->gc_ns = from->user_ns + from->kernel_ns;
	return ns - left_ns;
}

/* Of a context that ends on a CPU: what was stolen there meanwhile is not its own. */
static void settle_stolen(struct view *view)
{
	uint64_t now_ns = model.world->cpus[truth(view)->arrived_cpu].stolen_ns;
	uint64_t ns = now_ns - view->stolen_ns;

	if (!view->is_stolen_known) {
		view->is_stolen_known = true;
		view->stolen_ns = now_ns;
		return;
	}
	if (ns > view->ran_ns)
		ns = view->ran_ns;
	if (!view->count)
		return;
	ns = take_stolen(sum_of(view), ns);
	view->stolen_ns += ns;
	view->ran_ns -= ns;
}

/* Giving them to whom they belong. */

static struct ledger *ledger_of(struct view *view)
{
	if (view->window < model.open_window)
		view->window = model.open_window;
	return &model.ledgers[view->window & 1];
}

static struct ledger_row *find_open_row(struct view *view, uint32_t context, uint64_t owner)
{
	struct ledger *ledger = ledger_of(view);

	for (uint32_t i = 0; i < ledger->count; i++)
		if (ledger->rows[i].serial == view->serial && ledger->rows[i].context == context &&
		    ledger->rows[i].owner == owner)
			return &ledger->rows[i];
	return NULL;
}

static struct ledger_row *find_row(struct view *view, uint32_t context, uint64_t owner)
{
	struct ledger *ledger = ledger_of(view);
	struct ledger_row *row = find_open_row(view, context, owner);

	if (row)
		return row;
	if (model.world->is_full)
		return NULL;
	if (ledger->count == LEDGER_ROWS)
		abort();
	ledger->rows[ledger->count] = (struct ledger_row){ .serial = view->serial,
							   .context = context,
							   .owner = owner,
							   .tid = truth(view)->tid,
							   .name = truth(view)->serial,
							   .first_ns = view->since_ns };
	return &ledger->rows[ledger->count++];
}

static void remember(struct view *view, uint32_t context, uint64_t owner)
{
	uint32_t last = view->charged_last % CHARGED_KEPT;

	if (view->charged[last].context == context && view->charged[last].owner == owner &&
	    view->charged[last].window == view->window)
		return;
	last = ++view->charged_last % CHARGED_KEPT;
	view->charged[last].context = context;
	view->charged[last].owner = owner;
	view->charged[last].window = view->window;
}

/* What was charged of a stint and nobody ran, and what is nobody's yet has not: whoever had it. */
static void take_back(struct view *view, uint32_t most)
{
	for (uint32_t i = 0; i < most && view->ran_ns; i++) {
		uint32_t at = (view->charged_last - i) % CHARGED_KEPT;
		struct ledger_row *row = NULL;

		if (view->charged[at].window == view->window && view->window >= model.open_window)
			row = find_open_row(view, view->charged[at].context,
					    view->charged[at].owner);
		if (row)
			view->ran_ns -= take_stolen(&row->totals, view->ran_ns);
	}
	view->owed_ns = view->ran_ns;
}

static void give(struct view *view)
{
	bool is_known = view->knowledge != UNKNOWN;
	uint32_t context = is_known ? view->value : LEDGER_UNKNOWN;
	uint64_t owner = is_known && context ? view->owner : 0;
	struct ledger *ledger = ledger_of(view);
	struct ledger_row *row;

	view->unclaimed_ns = 0;
	if (!view->count)
		return;
	doubt(view, view->is_lean);
	row = find_row(view, context, owner);
	if (row) {
		row->is_inherited |= is_known && view->is_inherited && view->value;
		row->is_of_origin |= is_known && view->is_of_origin;
		row->counts_gvl |= view->counts_gvl;
		row->times_gc |= view->times_gc;
		sum_up(&row->totals, sum_of(view));
		row->last_from_ns = model.is_at_exit ? view->since_ns : now();
		remember(view, context, owner);
	} else {
		count(view, COUNTER_ACCOUNTS_FULL);
		sum_up(&ledger->overflow[truth(view)->process], sum_of(view));
	}
	view->charged_ns += on_cpu_ns(view);
	view->count = 0;
	view->sure_ns = 0;
}

/* The context goes on, and what waits in it. */
static void give_so_far(struct view *view)
{
	uint64_t unclaimed_ns = view->unclaimed_ns;

	give(view);
	view->unclaimed_ns = unclaimed_ns;
}

/* With what was stolen and could not be made good yet. */
static uint64_t charged_exec_ns(const struct view *view)
{
	const struct thread *thread = truth(view);
	uint64_t exec_ns = world_exec_ns(model.world, thread);

	if (view->is_on_cpu && view->is_stolen_known)
		exec_ns += model.world->cpus[thread->cpu].stolen_ns - view->stolen_ns;
	return exec_ns;
}

/* All that it ran is published, and what comes is the open window's. */
static void write_up(struct view *view)
{
	uint64_t exec_ns = charged_exec_ns(view);

	give_so_far(view);
	/* What it is charged too much is made good for when it has run again. */
	exec_ns += view->owed_ns;
	ledger_of(view)->exec_ns[truth(view)->process] += exec_ns - view->published_ns;
	view->published_ns = exec_ns;
	view->window = model.world->window;
	if (model.is_flush && model.world->seeks_mode)
		view->is_in_kernel = truth(view)->is_in_call;
}

/* Looking at the context. */

static bool has_news(struct view *view)
{
	view->seen_generation = model.world->generation;
	return view->generation != process_of(view)->generation;
}

/* Waiting for the GVL. */

static void forget_waits(struct view *view, bool is_known_not_to)
{
	view->counts_gvl = false;
	view->is_known_not_to = is_known_not_to;
	view->wait_ns = view->waits = view->unclaimed_ns = 0;
	view->counted_ns = now();
}

static void forget_counters(struct view *view, bool is_known_not_to)
{
	forget_waits(view, is_known_not_to);
	view->times_gc = false;
	view->is_known_not_to_time = is_known_not_to;
}

/* The counters have grown by what cannot be true: so much is believed of it. */
static uint64_t believe(uint64_t grown, uint64_t most, bool *is_lie)
{
	*is_lie |= grown > most;
	return grown > most ? most : grown;
}

static void read_waits(struct view *view)
{
	const struct thread *thread = truth(view);
	uint64_t passed_ns = now() - view->counted_ns + GVL_CLOCK_SLACK_NS;
	uint64_t most = passed_ns / GVL_WAIT_LEAST_NS, open_ns = 0;
	bool is_lie = thread->wait_ns < view->wait_ns || thread->waits < view->waits;
	uint64_t grown_ns =
		is_lie && thread->wait_ns < view->wait_ns ? 0 : thread->wait_ns - view->wait_ns;
	uint64_t grown = thread->waits < view->waits ? 0 : thread->waits - view->waits;
	struct account_totals *interval;

	if (!view->counts_gvl &&
	    (!view->is_known_not_to || thread->wait_ns > passed_ns || thread->waits > most)) {
		is_lie = false;
		grown_ns = grown = 0;
	}
	is_lie |= grown_ns > passed_ns;
	grown = believe(grown, most, &is_lie);
	if (is_lie)
		count(view, COUNTER_GVL_IMPLAUSIBLE);
	if (grown_ns > view->unclaimed_ns)
		grown_ns = view->unclaimed_ns;
	if (thread->ready_ns && thread->ready_ns < now())
		open_ns = now() - thread->ready_ns;
	view->unclaimed_ns -= grown_ns;
	if (view->unclaimed_ns > open_ns)
		view->unclaimed_ns = open_ns;
	view->counts_gvl = true;
	view->counted_ns = now() - open_ns;
	view->wait_ns = thread->wait_ns;
	view->waits = thread->waits;
	if (!grown_ns && !grown)
		return;
	interval =
		view->count ? &view->intervals[view->count - 1] : add_interval(view, view->mark_ns);
	interval->gvl_ns += grown_ns;
	interval->gvl_waits += grown;
}

/* Collecting garbage. */

static uint64_t cpu_ns_left(struct view *view)
{
	const struct account_totals *sum = sum_of(view);
	uint64_t cpu_ns = sum->user_ns + sum->kernel_ns;

	if (!view->count)
		return 0;
	return cpu_ns > sum->gc_ns ? cpu_ns - sum->gc_ns : 0;
}

static void read_collections(struct view *view)
{
	const struct thread *thread = truth(view);
	uint64_t open_ns = now() - view->mark_ns;
	uint64_t most_ns = cpu_ns_left(view) + open_ns;
	uint64_t most = most_ns / GC_RUN_LEAST_NS + 1;
	uint64_t inside_ns = thread->gc_time >> 1, grown_ns = 0, grown = 0;
	uint64_t closed_ns = view->charged_ns + on_cpu_ns(view), run_ns = open_ns;
	bool is_lie = false;

	if (thread->gc_time & 1)
		inside_ns = (now() - inside_ns) & (UINT64_MAX >> 1);
	if (!view->times_gc && view->is_known_not_to_time && inside_ns <= most_ns &&
	    thread->gc_runs <= most) {
		view->times_gc = true;
		view->inside_ns = view->runs = 0;
		view->is_inside = false;
	}
	if (view->times_gc) {
		uint64_t off_cpu_ns = view->is_inside ? view->off_cpu_ns - view->was_off_cpu_ns : 0;

		is_lie = inside_ns + GC_CLOCK_SLACK_NS < view->inside_ns ||
			 thread->gc_runs < view->runs;
		grown_ns = inside_ns > view->inside_ns ? inside_ns - view->inside_ns : 0;
		grown_ns = grown_ns > off_cpu_ns ? grown_ns - off_cpu_ns : 0;
		grown = thread->gc_runs > view->runs ? thread->gc_runs - view->runs : 0;
		is_lie |= grown_ns > most_ns + GC_CLOCK_SLACK_NS;
		grown_ns = grown_ns < most_ns ? grown_ns : most_ns;
		/* Stolen time has been taken out since. */
		if (closed_ns > view->was_on_cpu_ns)
			run_ns += closed_ns - view->was_on_cpu_ns;
		grown_ns = grown_ns < run_ns ? grown_ns : run_ns;
		grown = believe(grown, most, &is_lie);
	}
	if (is_lie)
		count(view, COUNTER_GC_IMPLAUSIBLE);
	if (grown_ns > open_ns)
		sum_of(view)->gc_ns += grown_ns - open_ns;
	view->open_gc_ns += grown_ns < open_ns ? grown_ns : open_ns;
	if (grown_ns > 2 * open_ns)
		sum_of(view)->gc_runs += grown;
	else
		view->open_runs += grown;
	view->times_gc = true;
	view->inside_ns = inside_ns;
	view->runs = thread->gc_runs;
	view->is_inside = thread->gc_time & 1;
	view->was_off_cpu_ns = view->off_cpu_ns;
	view->was_on_cpu_ns = closed_ns + open_ns;
}

/* The open interval is closed: its collections are part of what is pending. */
static void give_collections(struct view *view)
{
	uint64_t left_ns = cpu_ns_left(view);
	struct account_totals *sum = sum_of(view);

	sum->gc_ns += view->open_gc_ns < left_ns ? view->open_gc_ns : left_ns;
	sum->gc_runs += view->open_runs;
	view->open_gc_ns = view->open_runs = 0;
}

static bool knows_counters(const struct view *view)
{
	return view->counts_gvl || view->times_gc;
}

static void read_counters(struct view *view)
{
	if (truth(view)->counts_gvl)
		read_waits(view);
	else
		forget_waits(view, true);
	if (truth(view)->times_gc) {
		read_collections(view);
	} else {
		view->times_gc = false;
		view->is_known_not_to_time = true;
	}
}

/* Before a context may end, or if there is time off the CPU that a wait may be part of. */
static void look_at_counters(struct view *view, bool is_end)
{
	const struct thread *thread = truth(view);

	if (knows_counters(view) && !thread->has_no_memory && !thread->has_new_memory &&
	    !thread->is_hidden && (is_end || (view->counts_gvl && view->unclaimed_ns)))
		read_counters(view);
}

/* Where the context was read: whether it has counters by now. */
static void look_for_counters(struct view *view)
{
	if (knows_counters(view) || !view->is_ready)
		return;
	if (truth(view)->has_counters)
		read_counters(view);
	else
		forget_counters(view, true);
}

static void take_configuration(struct view *view)
{
	const struct process *process = process_of(view);
	bool is_read_anew = view->reading != process->reading;
	/* Once they can be read, they stay where they are. */
	bool has_same_counters = view->is_ready && process->is_ready;
	bool was_lean = view->is_lean;

	if (is_read_anew)
		doubt(view, view->is_lean || process->is_lean);
	view->generation = process->generation;
	view->reading = process->reading;
	view->is_ready = process->is_ready;
	view->is_lean = process->is_lean;
	if (is_read_anew) {
		if (view->knowledge == KNOWN)
			give(view);
		if (!has_same_counters)
			forget_counters(view, false);
		view->knowledge = UNKNOWN;
		view->is_found = false;
	} else if (view->is_lean) {
		view->is_change_open = false;
	} else {
		/* The store behind a probe that did not count may be ahead. */
		view->is_change_open |= was_lean;
		if (view->knowledge == KNOWN && view->table && !view->is_inherited)
			view->has_set = true;
	}
}

static void begin_origin(struct view *view)
{
	view->value = model.origins[truth(view)->process].value;
	view->owner = model.origins[truth(view)->process].owner;
	view->is_of_origin = true;
	view->is_inherited = false;
	view->knowledge = KNOWN;
}

static void adopt(struct view *view, uint32_t table)
{
	view->table = table;
	view->value = model.world->values[table];
	view->owner = table ? view->image : 0;
	view->is_of_origin = false;
	view->knowledge = KNOWN;
	if (view->first_table == FIRST_TABLE_UNKNOWN)
		view->first_table = table;
	else if (view->first_table != table)
		view->first_table = 0;
	view->is_inherited =
		table && !view->has_set && (!view->is_lean || table == view->first_table);
	if (view->is_inherited)
		count(view, COUNTER_CONTEXT_INHERITED);
	/* Where it has no context of its own. */
	if (!table && view->has_origin)
		begin_origin(view);
}

static bool can_look(struct view *view)
{
	if (truth(view)->has_no_memory)
		return false;
	view->is_found |= view->is_ready && !truth(view)->has_new_memory;
	if (truth(view)->has_new_memory)
		return false;
	if (!view->is_ready || !truth(view)->is_hidden)
		return true;
	count(view, COUNTER_POINTER_UNREADABLE);
	return false;
}

/* By the gem's own count, since that was looked at last. */
static bool has_changed(struct view *view)
{
	bool is_counted = view->is_ready && model.world->mode.counts_changes;
	uint64_t before = view->changes;

	view->changes = is_counted ? truth(view)->changes : 0;
	return view->changes != before;
}

/*
 * A boundary that reads, before its interval is closed: that one belongs to what is read. True: it
 * began in another context.
 */
static bool look(struct view *view)
{
	uint32_t table = 0, value, was = view->value;
	uint64_t owner = view->owner;
	bool is_lean = view->is_lean, was_known, has_moved;

	if (has_news(view))
		take_configuration(view);
	is_lean |= view->is_lean;
	was_known = view->knowledge == KNOWN;
	if (!can_look(view)) {
		doubt(view, is_lean);
		return is_lean;
	}
	if (view->is_ready)
		table = truth(view)->table;
	has_moved = is_lean && has_changed(view);
	doubt(view, has_moved);
	value = model.world->values[table];
	view->looked_ns = now();
	look_for_counters(view);
	if (was_known && table == view->table && (!is_lean || !table || value == was))
		return has_moved;
	if (was_known) {
		if (view->times_gc)
			look_at_counters(view, true);
		if (is_lean)
			settle_stolen(view);
		else
			count(view, COUNTER_CHANGE_UNSEEN);
		if (view->count)
			sum_of(view)->slices++;
		give(view);
	} else if (has_moved && on_cpu_ns(view) > view->intervals[0].ambiguous_ns) {
		/* It goes to what is in force now, whatever it ran in. */
		view->intervals[0].ambiguous_ns = on_cpu_ns(view);
	}
	adopt(view, table);
	return (was_known && (view->value != was || view->owner != owner)) || has_moved;
}

static struct account_totals *look_and_close(struct view *view, bool is_end)
{
	bool is_ambiguous;
	uint64_t ns;
	struct account_totals *interval;

	look_at_counters(view, is_end);
	is_ambiguous = look(view);
	ns = now() - view->mark_ns;
	interval = add_on_cpu(view, now());
	if (is_ambiguous)
		interval->ambiguous_ns = ns;
	give_collections(view);
	view->sure_ns = on_cpu_ns(view);
	return &view->intervals[0];
}

/* Between a probe and its store the pointer that was read is the old one. */
static void keep_change_open(struct view *view)
{
	if (!view->is_change_open || view->knowledge != KNOWN)
		return;
	give(view);
	view->knowledge = KNOWN_TILL_IT_RUNS;
}

/* Switches. */

static struct account_totals *leave_cpu(struct view *view, uint64_t at_ns, uint64_t exec_ns)
{
	const struct thread *then = &view->then;
	uint64_t clock_ns = at_ns - view->mark_ns;
	uint64_t grown_ns = exec_ns - view->exec_ns;
	uint64_t ns = grown_ns > view->ran_ns ? grown_ns - view->ran_ns : 0;
	struct account_totals *interval;

	/* The clock has counted more than was run. */
	view->ran_ns = grown_ns > view->ran_ns ? 0 : view->ran_ns - grown_ns;
	if (view->ran_ns && view->count)
		view->ran_ns -= take_stolen(sum_of(view), view->ran_ns);
	view->owed_ns = view->ran_ns;
	interval = add_interval(view, at_ns);
	*(view->is_in_kernel ? &interval->kernel_ns : &interval->user_ns) = ns;
	interval->stolen_ns = (int64_t)(clock_ns - ns);
	interval->slices = 1;
	interval->switches_voluntary = then->voluntary - view->voluntary;
	interval->switches_involuntary = then->involuntary - view->involuntary;
	view->exec_ns = exec_ns;
	view->voluntary = then->voluntary;
	view->involuntary = then->involuntary;
	view->is_on_cpu = false;
	view->is_kept_runnable = then->is_queued;
	view->is_at_disk = !then->is_queued && then->state == STATE_DISK;
	view->blocked_on = blocked_on(then);
	return interval;
}

/* Its leaving was not reported: it ran for what its exec runtime has grown by. */
static void leave_unseen(struct view *view)
{
	uint64_t grown_ns = view->then.exec_ns - view->exec_ns;
	uint64_t ns = grown_ns > view->ran_ns ? grown_ns - view->ran_ns : 0;

	(void)leave_cpu(view, view->mark_ns + ns, view->then.exec_ns);
	view->is_kept_runnable = view->is_at_disk = false;
	view->blocked_on = BLOCKED_ON_OTHER;
	count(view, COUNTER_SWITCH_UNSEEN);
}

static void arrive(struct view *view, uint64_t at_ns, uint32_t cpu, uint64_t stolen_ns)
{
	bool is_other = view->last_cpu != CPUS && view->last_cpu != cpu;

	if (at_ns > view->mark_ns)
		add_off_cpu(view, at_ns);
	if (is_other && view->count)
		view->intervals[view->count - 1].migrations++;
	else
		view->has_migrated |= is_other;
	view->last_cpu = cpu;
	view->stolen_ns = stolen_ns;
	view->is_stolen_known = true;
	view->is_on_cpu = true;
}

static void apply_noted(struct view *view)
{
	for (uint32_t i = 0; i < view->noted_count; i++) {
		const struct noted *noted = &view->noted[i];

		view->then = noted->then;
		if (noted->is_out)
			(void)leave_cpu(view, noted->at_ns, noted->then.exec_ns);
		else
			arrive(view, noted->at_ns, noted->cpu, noted->then.stolen_at_arrival_ns);
	}
	view->noted_count = 0;
	if (view->missed_calls)
		add_interval(view, view->mark_ns)->syscalls = view->missed_calls;
	view->missed_calls = 0;
}

static void note(struct view *view, bool is_out, uint32_t cpu)
{
	view->noted[view->noted_count++] = (struct noted){
		.is_out = is_out, .then = *truth(view), .at_ns = now(), .cpu = cpu
	};
	view->is_short = false;
}

static void renew_image(struct view *view)
{
	forget_counters(view, true);
	view->counted_ns = view->mark_ns;
	view->knowledge = UNKNOWN;
	view->is_change_open = view->has_set = view->is_found = false;
	view->is_ready = view->is_lean = false;
	view->changes = 0;
	view->generation = view->reading = 0;
}

/* What is in force at an exec is the process's origin, unless that is in force. */
static void take_origin(struct view *view)
{
	if (!model.world->mode.has_children || view->knowledge == UNKNOWN)
		return;
	if (!view->value || view->is_of_origin)
		return;
	/* A forked child, that has been on its way there. */
	view->is_of_origin = view->is_inherited;
	view->has_origin = true;
	model.origins[truth(view)->process].value = view->value;
	model.origins[truth(view)->process].owner = view->owner;
}

static void run_other_program(struct view *view)
{
	renew_image(view);
	view->image = model.images[truth(view)->process];
	view->serial = ++model.last_serial;
	if (!view->has_origin)
		return;
	view->table = 0;
	begin_origin(view);
}

/* From here on. What was before is nobody's. */
static void begin_books(struct view *view, bool is_on_cpu)
{
	const struct thread *thread = truth(view);

	view->is_begun = true;
	view->mark_ns = now();
	view->window = model.world->window;
	view->is_on_cpu = is_on_cpu;
	view->is_in_kernel = thread->is_in_call;
	view->is_kept_runnable = thread->is_queued;
	view->is_at_disk = thread->state == STATE_DISK;
	view->blocked_on = blocked_on(thread);
	view->exec_ns = view->published_ns = world_exec_ns(model.world, thread);
	view->voluntary = thread->voluntary;
	view->involuntary = thread->involuntary;
}

static void end_context(struct view *view)
{
	view->knowledge = UNKNOWN;
	view->is_change_open = view->has_set = true;
}

static void end_name(struct view *view)
{
	view->knowledge = UNKNOWN;
	view->has_set = false;
	view->first_table = view->table;
}

static void end_image(struct view *view)
{
	take_origin(view);
	run_other_program(view);
}

static void do_missed(struct view *view)
{
	if (!view->has_missed_probe && !view->has_missed_rename && !view->has_missed_exec)
		return;
	give(view);
	if (view->has_missed_probe)
		end_context(view);
	if (view->has_missed_rename)
		end_name(view);
	if (view->has_missed_exec)
		end_image(view);
	view->has_missed_probe = view->has_missed_rename = view->has_missed_exec = false;
}

/* A boundary of a thread that runs; false: somebody has its books. */
static bool begin_boundary(struct view *view)
{
	const struct thread *thread = truth(view);

	if (thread->is_held)
		return false;
	if (!view->is_begun)
		begin_books(view, true);
	apply_noted(view);
	view->is_short = false;
	view->then = *thread;
	if (!view->is_on_cpu) {
		view->then.is_queued = true;
		view->then.queued_ns = thread->waited_from_ns;
		arrive(view, thread->arrived_ns, thread->arrived_cpu, thread->stolen_at_arrival_ns);
		view->then = *thread;
		count(view, COUNTER_SWITCH_UNSEEN);
	}
	/* In a call no store is ahead, but of a variable that is to be allocated. */
	if (thread->is_in_call && (view->is_found || !view->is_ready))
		view->is_change_open = false;
	if (view->knowledge == KNOWN_TILL_IT_RUNS) {
		uint64_t unclaimed_ns = view->unclaimed_ns;

		give(view);
		/* What waited meanwhile has not run Ruby yet. */
		view->unclaimed_ns = unclaimed_ns;
		view->knowledge = UNKNOWN;
	}
	do_missed(view);
	return true;
}

static bool begin_or_miss(struct view *view)
{
	if (begin_boundary(view))
		return true;
	count(view, COUNTER_BOUNDARY_BUSY);
	return false;
}

static bool must_look_at_switch(struct view *view)
{
	return view->is_lean || view->knowledge != KNOWN ||
	       now() - view->looked_ns > LOOK_PERIOD_NS || has_news(view);
}

static void meet_leaving(struct view *view, const struct happening *happening)
{
	bool is_ambiguous;
	struct account_totals *interval;

	if (!begin_boundary(view)) {
		note(view, true, happening->cpu);
		return;
	}
	look_at_counters(view, view->times_gc);
	is_ambiguous = must_look_at_switch(view) && look(view);
	interval = leave_cpu(view, now(), truth(view)->exec_ns);
	if (is_ambiguous)
		interval->ambiguous_ns = interval->user_ns + interval->kernel_ns;
	give_collections(view);
	view->sure_ns = on_cpu_ns(view);
	take_back(view, CHARGED_KEPT);
	if (happening->is_last)
		view->ran_ns = view->owed_ns = 0;
	keep_change_open(view);
	if (happening->is_last || view->window != model.world->window)
		write_up(view);
	else if (model.world->mode.tells_waits && view->knowledge == KNOWN)
		give_so_far(view);
}

static void meet_arriving(struct view *view, const struct happening *happening)
{
	if (truth(view)->is_held) {
		note(view, false, happening->cpu);
		return;
	}
	if (!view->is_begun)
		begin_books(view, false);
	apply_noted(view);
	view->then = *truth(view);
	if (view->is_on_cpu)
		leave_unseen(view);
	if (view->window != model.world->window)
		write_up(view);
	arrive(view, now(), happening->cpu, truth(view)->stolen_at_arrival_ns);
}

static bool is_last_of_process(const struct view *view)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (&model.views[i] != view && model.world->threads[i].is_living &&
		    model.world->threads[i].is_observed &&
		    process_of(&model.views[i]) == process_of(view))
			return false;
	return true;
}

static void meet_switch(const struct happening *happening)
{
	struct view *from = &model.views[happening->thread];

	if (!happening->is_reported || model.world->is_stopped)
		return;
	if (is_observed(happening->thread)) {
		meet_leaving(from, happening);
		if (happening->is_last && is_last_of_process(from))
			tell_event(EVENT_KIND_EXIT, process_of(from)->life, process_of(from)->tgid);
	}
	if (is_observed(happening->next))
		meet_arriving(&model.views[happening->next], happening);
}

/* What else a thread passes. */

static void miss_call(struct view *view)
{
	if (model.world->mode.counts_syscalls && view->missed_calls == MISSED_CALLS)
		count(view, COUNTER_SYSCALL_LOST);
	else
		view->missed_calls++;
}

/* It goes on in its context. */
static void look_before_exec(struct view *view)
{
	(void)look_and_close(view, true);
	view->is_in_kernel = true;
	settle_stolen(view);
	keep_change_open(view);
	give_so_far(view);
}

/* Whether the next edges pass without the books, if nothing happens before. */
static bool becomes_short(struct view *view)
{
	bool is_seen = !view->is_lean || (view->is_found && model.world->mode.counts_changes &&
					  view->knowledge == KNOWN && !knows_counters(view));

	return is_seen && !model.world->mode.counts_syscalls && !view->is_change_open &&
	       view->knowledge != KNOWN_TILL_IT_RUNS &&
	       view->seen_generation == model.world->generation;
}

/* Whether an edge that passes without the books would find what was read last. */
static bool finds_the_same(struct view *view)
{
	return !truth(view)->is_hidden && truth(view)->table == view->table &&
	       truth(view)->changes == view->changes &&
	       view->seen_generation == model.world->generation;
}

static void meet_edge(struct view *view, bool is_entry)
{
	struct account_totals *interval;
	bool is_exec = is_entry && !model.world->mode.tells_execs && truth(view)->call == CALL_EXEC;
	bool looks = is_entry && view->is_lean;
	bool is_short = view->is_short && view->short_registrations == model.registrations &&
			!is_exec && (!looks || finds_the_same(view));

	if (!model.world->sees_edges)
		return;
	model.is_at_exit = !is_entry;
	if (!is_short && !begin_or_miss(view)) {
		if (is_entry)
			miss_call(view);
		return;
	}
	if (is_exec)
		look_before_exec(view);
	if (!is_exec && !is_short && is_entry && (view->is_lean || has_news(view)))
		interval = look_and_close(view, false);
	else
		interval = add_on_cpu(view, now());
	interval->syscalls += is_entry;
	view->is_in_kernel = is_entry;
	if (is_short && looks)
		view->sure_ns = on_cpu_ns(view);
	if (is_short)
		return;
	view->is_short = becomes_short(view);
	view->short_registrations = model.registrations;
}

static void meet_probe(struct view *view)
{
	struct account_totals *interval;

	if (view->is_lean && view->seen_generation == model.world->generation)
		return;
	if (!begin_or_miss(view)) {
		view->has_missed_probe = true;
		return;
	}
	interval = look_and_close(view, true);
	view->is_in_kernel = false;
	if (view->is_lean)
		return;
	interval->slices++;
	settle_stolen(view);
	give(view);
	end_context(view);
}

/* What runs is written up, at a flush and at its exit. */
static void meet_write_up(struct view *view, bool is_in_kernel)
{
	(void)look_and_close(view, true);
	view->is_in_kernel = is_in_kernel;
	settle_stolen(view);
	keep_change_open(view);
	write_up(view);
}

/* No switch of it will be seen any more. */
static void close_running(struct view *view)
{
	(void)leave_cpu(view, now(), world_exec_ns(model.world, truth(view)));
	take_back(view, 1);
	view->ran_ns = view->owed_ns = 0;
}

/* Nobody meets it any more: it is written up here, also when the programs are stopped. */
static void meet_exit(struct view *view)
{
	if (!model.world->is_stopped) {
		if (begin_or_miss(view)) {
			view->is_change_open = false;
			meet_write_up(view, true);
		}
		return;
	}
	if (truth(view)->is_held || !view->is_begun)
		return;
	apply_noted(view);
	view->then = *truth(view);
	if (view->is_on_cpu)
		close_running(view);
	write_up(view);
}

static void meet_rename(struct view *view)
{
	if (!begin_or_miss(view)) {
		view->has_missed_rename = true;
		return;
	}
	look_and_close(view, true)->slices++;
	view->is_in_kernel = true;
	settle_stolen(view);
	give(view);
	end_name(view);
}

/* Until its memory is another it is looked at once more; that it is named then says nothing. */
static void meet_exec(struct view *view)
{
	const struct thread *thread = truth(view);

	if (!thread->is_in_exec) {
		if (model.world->mode.tells_execs && begin_or_miss(view))
			look_before_exec(view);
		return;
	}
	if (!thread->has_new_memory)
		return;
	tell_event(EVENT_KIND_EXEC, process_of(view)->life, process_of(view)->tgid);
	model.images[thread->process] = model.world->last_life + 1;
	model.event_details[EVENT_KIND_EXEC] += model.images[thread->process];
	if (!begin_or_miss(view)) {
		view->has_missed_exec = true;
		return;
	}
	add_on_cpu(view, now())->slices++;
	view->is_in_kernel = true;
	settle_stolen(view);
	give(view);
	end_image(view);
}

/* The flush. */

static void interrupt(uint32_t cpu)
{
	struct view *view = &model.views[model.world->cpus[cpu].thread];

	if (is_observed(model.world->cpus[cpu].thread) && begin_boundary(view))
		meet_write_up(view, view->is_in_kernel);
}

static void interrupt_all(void)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		interrupt(cpu);
}

static void visit(struct view *view, bool is_late)
{
	const struct thread *thread = truth(view);
	bool is_left;

	if (!thread->is_held)
		apply_noted(view);
	is_left = (view->is_on_cpu || thread->cpu != CPUS) && !model.world->is_stopped;
	if (is_left || thread->is_held) {
		is_left &= view->window == model.world->window;
		model.stragglers += !is_left;
		if (is_late && !is_left)
			count(view, COUNTER_THREAD_LATE);
		return;
	}
	view->then = *thread;
	if (view->is_on_cpu)
		close_running(view);
	/* How long one that was woken up has waited since is not known before it runs. */
	else if (view->mark_ns < now() &&
		 (view->is_kept_runnable || thread->state != STATE_RUNNING))
		add_off_cpu(view, now());
	write_up(view);
}

static void iterate(bool is_late)
{
	model.stragglers = 0;
	for (uint32_t i = 0; i < THREADS; i++)
		if (model.world->threads[i].is_observed && model.views[i].is_begun &&
		    !model.world->threads[i].is_leaving)
			visit(&model.views[i], is_late);
}

static void flush(void)
{
	model.is_flush = true;
	if (!model.world->is_stopped)
		interrupt_all();
	iterate(false);
	iterate(true);
	model.is_flush = false;
	model.open_window = model.world->window;
}

/* Threads come to be observed. */

static struct view *enrol(uint32_t i)
{
	struct view *view = &model.views[i];
	const struct thread *thread = &model.world->threads[i];

	memset(view, 0, sizeof(*view));
	view->first_table = FIRST_TABLE_UNKNOWN;
	view->last_cpu = CPUS;
	view->seen_generation = model.world->generation - 1;
	view->serial = ++model.last_serial;
	view->has_origin = model.origins[thread->process].value;
	view->image = model.images[thread->process];
	model.registrations++;
	return view;
}

/* A process is read where it is made, as its parent is then. */
static void look_at_birth(struct view *view, const struct view *parent)
{
	const struct process *process = process_of(parent);

	view->is_ready = process->is_ready;
	view->is_lean = process->is_lean;
	/* What cannot be read then is looked at as if nothing were known. */
	if (view->is_ready && truth(parent)->is_hidden) {
		count(view, COUNTER_POINTER_UNREADABLE);
		return;
	}
	view->seen_generation = model.world->generation;
	view->generation = process->generation;
	view->reading = process->reading;
	adopt(view, view->is_ready ? truth(view)->table : 0);
	if (view->value && !view->is_of_origin)
		view->owner = view->image;
}

/* A child that is not observed: of one that is, or of a stranger that is watched. */
static void tell_stranger(const struct happening *happening)
{
	uint32_t tgid = model.world->threads[happening->next].tid;

	if (happening->kind != STEP_FORK || !model.world->mode.finds)
		return;
	if (!is_observed(happening->thread) &&
	    !model.is_watched[process_of(&model.views[happening->thread])->tgid])
		return;
	model.is_watched[tgid] = true;
	tell_event(EVENT_KIND_STRANGER, 0, tgid);
}

/* It is told where a search may have to look. */
static void meet_stranger(const struct happening *happening)
{
	const struct thread *thread = &model.world->threads[happening->thread];
	uint32_t tgid = model.world->processes[thread->process].tgid;
	bool is_named = happening->kind == STEP_RENAME;

	if (happening->kind == STEP_FORK)
		tell_stranger(happening);
	if (happening->kind == STEP_EXEC && thread->has_new_memory) {
		model.is_watched[tgid] = false;
		tell_event(EVENT_KIND_STRANGER, 0, tgid);
		is_named = true;
	}
	if (is_named && thread->tid == tgid)
		tell_event(EVENT_KIND_STRANGER, 0, tgid);
}

static void meet_new_thread(const struct happening *happening)
{
	const struct view *parent = &model.views[happening->thread];
	struct view *view;

	if (!is_observed(happening->next)) {
		tell_stranger(happening);
		return;
	}
	if (happening->kind == STEP_FORK) {
		model.origins[happening->process] = model.origins[truth(parent)->process];
		model.images[happening->process] = model.world->last_life + 1;
	}
	view = enrol(happening->next);
	begin_books(view, false);
	if (happening->kind == STEP_CREATE) {
		view->first_table = 0;
		return;
	}
	memset(model.losses[happening->process], 0, sizeof(model.losses[0]));
	if (model.world->mode.has_children)
		look_at_birth(view, parent);
	tell_event(EVENT_KIND_FORK, view->image, truth(view)->tid);
	model.event_details[EVENT_KIND_FORK] += process_of(parent)->life;
	model.event_tgids[EVENT_KIND_FORK] += process_of(parent)->tgid;
}

void model_begin(const struct world *world)
{
	memset(&model, 0, offsetof(typeof(model), ledgers));
	ledger_clear(&model.ledgers[0]);
	ledger_clear(&model.ledgers[1]);
	model.world = world;
	model.open_window = world->window;
	model.images[0] = world->processes[0].image;
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].is_observed)
			begin_books(enrol(i), world->threads[i].cpu != CPUS);
	interrupt(0);
}

/* The first step of a search: the process and its threads are registered. */
static void meet_find(uint32_t i)
{
	const struct process *process = &model.world->processes[i];
	const struct thread *thread = NULL;

	model.images[i] = process->image;
	model.origins[i].value = 0;
	memset(model.losses[i], 0, sizeof(model.losses[0]));
	model.is_watched[process->tgid] = false;
	while ((thread = world_next_thread(model.world, i, thread)))
		if (thread->is_observed)
			(void)enrol(thread - model.world->threads);
}

/* The second step: books begin for the threads that had no boundary since the first. */
static void meet_find_rest(uint32_t i)
{
	const struct thread *thread = NULL;

	interrupt_all();
	while ((thread = world_next_thread(model.world, i, thread))) {
		struct view *view = &model.views[thread - model.world->threads];

		if (thread->is_observed && !view->is_begun)
			begin_books(view, false);
	}
	interrupt_all();
}

void model_meet(const struct world *world, const struct happening *happening)
{
	struct view *view = &model.views[happening->thread];

	model.world = world;
	model.is_at_exit = false;
	if (happening->kind == STEP_SWITCH)
		return meet_switch(happening);
	if (happening->kind == STEP_ITERATE)
		return iterate(false);
	if (happening->kind == STEP_DRAIN)
		return flush();
	if (happening->kind == STEP_FIND)
		return happening->is_first ? meet_find(happening->process)
					   : meet_find_rest(happening->process);
	if (happening->thread != NOBODY && !is_observed(happening->thread))
		return meet_stranger(happening);
	if (happening->kind == STEP_LEAVE)
		return meet_exit(view);
	if (happening->thread == NOBODY || world->is_stopped)
		return;
	if (happening->kind == STEP_INTERRUPT)
		return interrupt(happening->cpu);
	switch (happening->kind) {
	case STEP_ENTER:
	case STEP_EXIT:
		return meet_edge(view, happening->kind == STEP_ENTER);
	case STEP_PROBE:
		return meet_probe(view);
	case STEP_CREATE:
	case STEP_FORK:
		return meet_new_thread(happening);
	case STEP_EXEC:
		return meet_exec(view);
	case STEP_RENAME:
		return meet_rename(view);
	default:
		return;
	}
}

void model_drain(const struct world *world, struct ledger *ret)
{
	struct ledger *ledger = &model.ledgers[(world->window - 1) & 1];

	for (uint32_t i = 0; i < PROCESSES; i++)
		if (world->processes[i].standing != PROCESS_OBSERVED)
			memset(model.losses[i], 0, sizeof(model.losses[i]));
	ledger_copy(ret, ledger);
	ledger_clear(ledger);
	memcpy(ret->losses, model.losses, sizeof(ret->losses));
	memcpy(ret->events, model.events, sizeof(ret->events));
	memcpy(ret->event_lives, model.event_lives, sizeof(ret->event_lives));
	memcpy(ret->event_tgids, model.event_tgids, sizeof(ret->event_tgids));
	memcpy(ret->event_details, model.event_details, sizeof(ret->event_details));
	ret->stragglers = model.stragglers;
	ret->end_ns = now();
	for (uint32_t i = 0; i < THREADS; i++) {
		if (!world->threads[i].is_observed)
			continue;
		ret->live_threads[world->threads[i].process]++;
		ret->leaving_threads += world->threads[i].is_leaving;
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		ret->processes_held += world->processes[i].standing == PROCESS_OBSERVED &&
				       !world->processes[i].is_gone;
}
