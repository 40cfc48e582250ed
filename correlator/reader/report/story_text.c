/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/cell_text.h"
#include "reader/report/story_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/display.h"
#include "reader/report/stacks_view.h"
#include "reader/report/stalls_view.h"
#include "reader/report/table.h"
#include "reader/report/table_columns.h"
#include "reader/story/story_lane.h"
#include "record/blocked.h"

enum {
	LABEL_COLUMNS = 12,
	LANES_MAX = 16, /* on a screen */
	LANES_ENDLESS_MAX = 256, /* without a screen */
	LANE_LABEL_PERCENT = 40, /* of a screen's width, at most */
	LINES_SHOWN = 20, /* entries of a list on a screen, one by one */
	PROCESSES_SHOWN = 8,
	PROGRAMS_SHOWN = 8,
	PROGRAMS_MAX = 64, /* names kept apart */
	SENTENCE_BYTES = 1024,
	METHODS_SHOWN = 20,
	HOGS_NAMED = 3,
};

static const char not_measured[] = "-";

/* The story to print, and where to print it. */
struct page {
	const struct story *story;
	const struct view_options *options;
	FILE *out;
	const struct story_thread **threads; /* of the request, by host, pid and tid */
	size_t thread_count;
	struct story_lane_owner *lanes; /* owned */
	size_t lane_count;
	size_t process_count;
	size_t host_count;
};

__attribute__((format(printf, 3, 4))) static void
print_item(const struct page *page, const char *label, const char *format, ...)
{
	char text[SENTENCE_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	display_sentence(page->out, page->options->width, LABEL_COLUMNS, "%-*s%s", LABEL_COLUMNS,
			 label, text);
}

static int compare_threads(const void *a, const void *b)
{
	return story_thread_compare(*(const struct story_thread *const *)a,
				    *(const struct story_thread *const *)b);
}

static void count_places(struct page *page)
{
	for (size_t i = 0; i < page->thread_count; i++) {
		const struct story_thread_key *key = &page->threads[i]->key;
		const struct story_thread_key *last = i > 0 ? &page->threads[i - 1]->key : NULL;
		bool is_new_host = !last || last->host != key->host;

		page->host_count += is_new_host;
		page->process_count += is_new_host || last->pid != key->pid;
	}
}

static int find_threads(struct page *page)
{
	const struct story_thread *thread = page->story->threads.table;

	page->threads = calloc(HASH_COUNT(page->story->threads.table) + 1, sizeof(*page->threads));
	if (!page->threads)
		return -ENOMEM;
	for (; thread; thread = thread->hh.next) {
		if (story_thread_is_of_request(thread))
			page->threads[page->thread_count++] = thread;
	}
	if (page->thread_count > 0)
		qsort(page->threads, page->thread_count, sizeof(*page->threads), compare_threads);
	count_places(page);
	return story_lane_owners(page->story, &page->lanes, &page->lane_count);
}

/* "4242/4250 puma srv tp 001"; "4242/4250 fiber 3" if several of its fibers were the request's. */
static void name_lane(const struct page *page, const struct story_lane_owner *owner,
		      char ret_text[static TABLE_CELL_BYTES])
{
	bool with_host = page->story->totals->selection.recording.has_several_hosts;
	const struct story_thread *thread = owner->thread;
	const char *name = thread->name;
	char fiber[32];

	if (thread->has_several_fibers && owner->fiber > 0) {
		(void)snprintf(fiber, sizeof(fiber), "fiber %" PRId64, owner->fiber);
		name = fiber;
	}
	if (thread->key.tid == 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s%s%" PRId64 "/-",
			       with_host ? thread->host->name : "", with_host ? ":" : "",
			       thread->key.pid);
	else
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s%s%" PRId64 "/%" PRId64 "%s%s",
			       with_host ? thread->host->name : "", with_host ? ":" : "",
			       thread->key.pid, thread->key.tid, name[0] ? " " : "", name);
}

static void name_thread(const struct page *page, const struct story_thread *thread,
			char ret_text[static TABLE_CELL_BYTES])
{
	name_lane(page, &(struct story_lane_owner){ .thread = thread }, ret_text);
}

/* 2026-11-22 10:15:00.123 CET */
static void print_when(const struct page *page, const char *label, int64_t ns)
{
	time_t seconds = (time_t)(ns / (int64_t)NS_PER_S);
	char date[64], zone[32];
	struct tm local = { 0 };

	/* 64-bit nanoseconds end in 2554: no year is too large. */
	(void)localtime_r(&seconds, &local);
	(void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local);
	(void)strftime(zone, sizeof(zone), "%Z", &local);
	print_item(page, label, "%s.%03" PRIu64 " %s", date, (uint64_t)ns % NS_PER_S / NS_PER_MS,
		   zone);
}

static void print_keys(const struct page *page)
{
	const struct story *story = page->story;
	char id[SENTENCE_BYTES / 2];

	(void)display_escape(story->request_id, strlen(story->request_id), id, sizeof(id));
	print_item(page, "request_id", "%s", id);
	for (size_t i = 0; i < story->key_count; i++) {
		const struct story_key *key = &story->keys[i];

		print_item(page, key->name, "%s%s%s", strlen(key->name) >= LABEL_COLUMNS ? " " : "",
			   key->value,
			   key->has_several ? " (the last one; it had others before)" : "");
	}
}

static void print_processes(const struct page *page)
{
	size_t shown = 0;

	for (size_t i = 0; i < page->thread_count && shown < PROCESSES_SHOWN; i++) {
		const struct story_thread *thread = page->threads[i];
		char comm[STORY_VALUE_BYTES];

		if (i > 0 && page->threads[i - 1]->key.pid == thread->key.pid &&
		    page->threads[i - 1]->host == thread->host)
			continue;
		story_comm(page->story, thread, comm);
		print_item(page, shown++ == 0 ? "process" : "", "%" PRId64 "%s%s on %s",
			   thread->key.pid, comm[0] ? " " : "", comm, thread->host->name);
	}
	if (page->process_count > shown)
		print_item(page, "", "… %zu more", page->process_count - shown);
	if (page->host_count > 1)
		print_item(page, "",
			   "This request_id was seen on %zu hosts: what follows is all of them "
			   "together, by clocks that may differ. `--where host_name=NAME' tells of "
			   "one.",
			   page->host_count);
	else if (page->process_count > 1)
		print_item(
			page, "",
			"It was seen in %zu processes: a request that forked, or several with one "
			"id. `--where pid=PID' tells of one.",
			page->process_count);
}

/* Writes ", more than 97 % of the 461 requests of its endpoint", in whole percent. */
static void describe_rank(const struct story *story, enum request_cost figure, int64_t value,
			  const char *more, char *ret_text, size_t text_bytes)
{
	const struct group *group = story_endpoint(story);
	const struct histogram *histogram;
	uint64_t below;

	ret_text[0] = '\0';
	if (!group || !group->requests)
		return;
	histogram = &group->requests->costs[figure];
	if (histogram->count < 2)
		return;
	below = histogram_count_below(histogram, value);
	if (value >= histogram->largest)
		(void)snprintf(ret_text, text_bytes,
			       ", the %s of all %" PRIu64 " requests of its endpoint",
			       figure == REQUEST_WALL ? "longest" : "most", histogram->count);
	else
		(void)snprintf(ret_text, text_bytes,
			       ", %s than %.0f %% of the %" PRIu64 " requests of its endpoint",
			       more, 100.0 * (double)below / (double)histogram->count,
			       histogram->count);
}

static void print_cost(const struct page *page, const char *label, enum cost cost)
{
	char text[DISPLAY_NUMBER_BYTES];

	if (!costs_has(&page->story->costs, cost))
		(void)snprintf(text, sizeof(text), not_measured);
	else if (cost == COST_SYSCALLS || cost == COST_MIGRATIONS)
		display_number(page->story->costs.sums[cost], text);
	else
		display_duration(page->story->costs.sums[cost], text);
	print_item(page, label, "%s", text);
}

/* Writes ", GET /reports (r-17) 40.13 ms in Report#lines". Returns its length. */
static size_t name_hog(const struct stalls_wait *hog, const struct frames *frames, char *ret_text,
		       size_t text_bytes)
{
	char endpoint[TABLE_CELL_BYTES], id[TABLE_CELL_BYTES], duration[DISPLAY_NUMBER_BYTES];
	char method[TABLE_CELL_BYTES];
	int length;

	cell_text_key(hog->texts[STALLS_VALUE], "endpoint", TABLE_TEXT_COLUMN_MAX, endpoint);
	cell_text_fit(hog->texts[STALLS_REQUEST], TABLE_TEXT_COLUMN_MAX, id);
	display_duration(hog->held_ns, duration);
	stalls_text_method(hog, frames, method);
	length = snprintf(ret_text, text_bytes, ", %s (%s) %s%s%s", endpoint, id, duration,
			  method[0] != '\0' ? " in " : "", method);
	return (size_t)length < text_bytes ? (size_t)length : text_bytes - 1;
}

/* The fibers of other requests that kept its thread, those that did so for longest first. */
static void print_held(const struct page *page)
{
	const struct stalls *stalls = &page->story->stalls;
	const struct frames *frames = story_frames(page->story);
	char duration[DISPLAY_NUMBER_BYTES], names[SENTENCE_BYTES] = "", more[64] = "";
	size_t length = 0, count = 0;

	for (size_t i = 0; i < stalls->hog_count; i++) {
		if (stalls->hogs[i]->held_ns == 0)
			continue;
		if (count++ < HOGS_NAMED)
			length += name_hog(stalls->hogs[i], frames, names + length,
					   sizeof(names) - length);
	}
	if (count == 0)
		return;
	if (count > HOGS_NAMED)
		(void)snprintf(more, sizeof(more), ", and %zu more", count - HOGS_NAMED);
	display_duration(story_held_ns(page->story), duration);
	print_item(page, "", "meanwhile other fibers kept its thread for %s: %s%s", duration,
		   names + strlen(", "), more);
}

static void print_wall(const struct page *page)
{
	char duration[DISPLAY_NUMBER_BYTES], rank[128];
	int64_t wall_ns, parked_ns;

	if (!costs_wall_ns(&page->story->costs, &wall_ns)) {
		print_item(page, "wall", not_measured);
		return;
	}
	print_when(page, "began", page->story->costs.first_ns);
	print_when(page, "ended", page->story->costs.last_ns);
	display_duration(wall_ns, duration);
	describe_rank(page->story, REQUEST_WALL, wall_ns, "longer", rank, sizeof(rank));
	print_item(page, "wall", "%s%s", duration, rank);
	if (costs_parked_ns(&page->story->costs, &parked_ns) && parked_ns > wall_ns / 100) {
		display_duration(parked_ns, duration);
		print_item(page, "", "on no thread for %s", duration);
	}
	print_held(page);
}

static void print_cpu(const struct page *page)
{
	const struct costs *costs = &page->story->costs;
	char cpu[DISPLAY_NUMBER_BYTES], user[DISPLAY_NUMBER_BYTES], kernel[DISPLAY_NUMBER_BYTES];
	char split[128] = "", rank[128];
	double percent;

	if (!costs_has(costs, COST_CPU)) {
		print_item(page, "cpu", not_measured);
		return;
	}
	display_duration(costs->sums[COST_CPU], cpu);
	if (costs_has(costs, COST_USER) && costs_has(costs, COST_KERNEL)) {
		display_duration(costs->sums[COST_USER], user);
		display_duration(costs->sums[COST_KERNEL], kernel);
		(void)snprintf(split, sizeof(split), " = user %s + kernel %s", user, kernel);
	}
	describe_rank(page->story, REQUEST_CPU, costs->sums[COST_CPU], "more", rank, sizeof(rank));
	print_item(page, "cpu", "%s%s%s", cpu, split, rank);
	if (costs_share_percent(costs, &page->story->totals->all, &percent))
		print_item(page, "", "%.2f %% of the CPU of all %s", percent,
			   page->story->totals->selection.filter.condition_count > 0
				   ? "that was chosen"
				   : "observed processes");
}

/* Prints "on network 40.21 ms, futex 3.120 ms": each reason with a time. */
static void print_reasons(const struct page *page)
{
	const struct costs *costs = &page->story->costs;
	char text[256] = "", duration[DISPLAY_NUMBER_BYTES];
	size_t length = 0;

	if (!costs_has(costs, COST_BLOCKED_DISK))
		return;
	for (uint32_t i = 1; i <= _BLOCKED_REASON_MAX; i++) {
		uint32_t reason = i % _BLOCKED_REASON_MAX;
		int64_t ns = costs->sums[costs_blocked_on(reason)];

		if (ns == 0)
			continue;
		display_duration(ns, duration);
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s",
					   length ? ", " : "", blocked_name(reason), duration);
	}
	if (length)
		print_item(page, "", "on %s", text);
}

/* The CPU of a program that the request started. */
struct program {
	char comm[STORY_VALUE_BYTES];
	int64_t cpu_ns;
};

static int compare_programs(const void *a, const void *b)
{
	return compare_i64(((const struct program *)b)->cpu_ns,
			   ((const struct program *)a)->cpu_ns);
}

/* Sums up CPU by program, for the first PROGRAMS_MAX names, and sorts by CPU, largest first.
 * Returns the number of programs. */
static size_t sum_up_programs(const struct page *page, struct program programs[PROGRAMS_MAX])
{
	size_t count = 0, i;

	for (size_t thread = 0; thread < page->thread_count; thread++) {
		int64_t cpu_ns = page->threads[thread]->costs.children_ns;
		char comm[STORY_VALUE_BYTES];

		if (cpu_ns == 0)
			continue;
		story_comm(page->story, page->threads[thread], comm);
		for (i = 0; i < count && strcmp(programs[i].comm, comm) != 0; i++)
			;
		if (i == PROGRAMS_MAX)
			continue;
		if (i == count)
			programs[count++] = (struct program){ 0 };
		memcpy(programs[i].comm, comm, sizeof(comm));
		saturated_add_to(&programs[i].cpu_ns, cpu_ns);
	}
	qsort(programs, count, sizeof(*programs), compare_programs);
	return count;
}

static void print_children(const struct page *page)
{
	struct program programs[PROGRAMS_MAX];
	int64_t rest_ns = page->story->costs.children_ns;
	char duration[DISPLAY_NUMBER_BYTES];
	size_t count;

	if (rest_ns == 0)
		return;
	display_duration(rest_ns, duration);
	print_item(page, "children", "%s of the cpu, in programs that it started", duration);
	count = sum_up_programs(page, programs);
	for (size_t i = 0; i < count && i < PROGRAMS_SHOWN; i++) {
		display_duration(programs[i].cpu_ns, duration);
		print_item(page, "", "%s %s", duration,
			   programs[i].comm[0] ? programs[i].comm : "(no name)");
		rest_ns -= programs[i].cpu_ns;
	}
	if (rest_ns <= 0)
		return;
	display_duration(rest_ns, duration);
	print_item(page, "", "%s in others", duration);
}

static void print_blocked(const struct page *page)
{
	const struct costs *costs = &page->story->costs;
	char blocked[DISPLAY_NUMBER_BYTES], uninterruptible[DISPLAY_NUMBER_BYTES];

	if (!costs_has(costs, COST_BLOCKED) || !costs_has(costs, COST_UNINTERRUPTIBLE) ||
	    costs->sums[COST_UNINTERRUPTIBLE] == 0) {
		print_cost(page, "blocked", COST_BLOCKED);
		return;
	}
	display_duration(costs->sums[COST_BLOCKED], blocked);
	display_duration(costs->sums[COST_UNINTERRUPTIBLE], uninterruptible);
	print_item(page, "blocked", "%s, of it %s uninterruptible", blocked, uninterruptible);
}

static void print_gvl(const struct page *page)
{
	const struct costs *costs = &page->story->costs;
	char waited[DISPLAY_NUMBER_BYTES], count[DISPLAY_NUMBER_BYTES];

	if (!costs_has(costs, COST_GVL) || !costs_has(costs, COST_GVL_WAITS))
		return;
	display_duration(costs->sums[COST_GVL], waited);
	display_number(costs->sums[COST_GVL_WAITS], count);
	print_item(page, "gvl", "%s of the two above waiting for it, asked for %s times", waited,
		   count);
}

static void print_gc(const struct page *page)
{
	const struct costs *costs = &page->story->costs;
	char collected[DISPLAY_NUMBER_BYTES], count[DISPLAY_NUMBER_BYTES];

	if (!costs_has(costs, COST_GC) || !costs_has(costs, COST_GC_RUNS))
		return;
	display_duration(costs->sums[COST_GC], collected);
	display_number(costs->sums[COST_GC_RUNS], count);
	print_item(page, "gc", "%s of the cpu collecting garbage, %s collections set off",
		   collected, count);
}

static void print_heading(const struct page *page)
{
	print_keys(page);
	print_processes(page);
	print_wall(page);
	print_cpu(page);
	print_gc(page);
	print_children(page);
	print_cost(page, "run queue", COST_RUN_QUEUE);
	print_blocked(page);
	print_reasons(page);
	print_gvl(page);
	print_cost(page, "calls", COST_SYSCALLS);
	if (page->story->is_inherited)
		print_item(page, "",
			   "Some of it is flagged `inherited': it may be a leftover of an "
			   "earlier thread.");
}

static void print_source(const struct page *page)
{
	const struct story *story = page->story;

	if (story_has_slices(story))
		print_item(page, "timeline", "%zu slices, to the nanosecond (record --timeline)",
			   story->slice_count);
	else
		print_item(page, "timeline",
			   "by window: %zu record%s; the order within a window is not known "
			   "(`record --timeline' tells it to the microsecond)",
			   story->window_count, display_plural(story->window_count));
	if (story_has_slices(story) && story_slices_lost(story) > 0)
		print_item(page, "",
			   "%" PRId64 " slices of all threads were lost: lanes may have gaps, the "
			   "sums above have none.",
			   story_slices_lost(story));
	if (story->windows_left_out + story->slices_left_out > 0)
		print_item(page, "",
			   "%" PRIu64 " records are not shown for want of room, or of sense; the "
			   "sums above have them.",
			   story->windows_left_out + story->slices_left_out);
}

/* The width of the lanes' labels. */
static size_t measure_labels(const struct page *page, size_t lane_count)
{
	size_t most = 0, limit = page->options->width * LANE_LABEL_PERCENT / 100;
	char name[TABLE_CELL_BYTES];

	for (size_t i = 0; i < lane_count; i++) {
		size_t columns;

		name_lane(page, &page->lanes[i], name);
		columns = display_columns(name);
		most = columns > most ? columns : most;
	}
	return most < limit ? most : limit;
}

static void print_axis(const struct page *page, size_t label_columns, size_t cell_count)
{
	char duration[DISPLAY_NUMBER_BYTES];
	size_t columns;

	display_duration(page->story->last_ns - page->story->first_ns, duration);
	columns = display_columns(duration);
	(void)fprintf(page->out, "%*s0%*s%s\n", (int)label_columns + 1, "",
		      cell_count > columns + 1 ? (int)(cell_count - columns - 1) : 1, "", duration);
}

static void print_legend(const struct page *page)
{
	char legend[TABLE_CELL_BYTES];
	int length = 0;

	if (!story_has_slices(page->story)) {
		print_item(
			page, "",
			"the height is how much of the time it was on a CPU, · not at all; a wait counts where it ended");
		return;
	}
	/* The no-break space keeps a symbol and its title on one line. */
	for (int state = 0; state < _SCHED_STATE_MAX; state++)
		length +=
			snprintf(legend + length, sizeof(legend) - (size_t)length, "%s%s\u00a0%s",
				 state > 0 ? "  " : "", story_lane_symbol((enum sched_state)state),
				 sched_state_title((enum sched_state)state));
	print_item(page, "", "%s", legend);
}

static void print_lane(const struct page *page, const struct story_lane_owner *owner,
		       size_t label_columns, size_t cells_max, struct story_lane *lane)
{
	char name[TABLE_CELL_BYTES], label[TABLE_CELL_BYTES];

	name_lane(page, owner, name);
	display_fit(name, label_columns, label, sizeof(label));
	(void)fprintf(page->out, "%s%*s ", label, (int)(label_columns - display_columns(label)),
		      "");
	if (story_has_slices(page->story))
		story_lane_of_slices(page->story, owner, cells_max, lane);
	else
		story_lane_of_windows(page->story, owner->thread, cells_max, lane);
	for (size_t cell = 0; cell < lane->cell_count; cell++)
		(void)fputs(lane->cells[cell], page->out);
	(void)fputc('\n', page->out);
}

static int print_lanes(const struct page *page)
{
	size_t lanes_max = page->options->is_endless ? LANES_ENDLESS_MAX : LANES_MAX;
	size_t lane_count = page->lane_count < lanes_max ? page->lane_count : lanes_max;
	size_t label_columns = measure_labels(page, lane_count);
	size_t cells_max = page->options->width - label_columns - 1;
	_cleanup_free_ struct story_lane *lane = malloc(sizeof(*lane));

	if (!lane)
		return -ENOMEM;
	if (page->story->last_ns == 0)
		return 0;
	cells_max = cells_max < STORY_LANE_CELLS_MAX ? cells_max : STORY_LANE_CELLS_MAX;
	print_axis(page, label_columns, cells_max);
	for (size_t i = 0; i < lane_count && !ferror(page->out); i++)
		print_lane(page, &page->lanes[i], label_columns, cells_max, lane);
	if (page->lane_count > lane_count)
		(void)fprintf(page->out, "… %zu more %s\n", page->lane_count - lane_count,
			      page->lane_count > page->thread_count ? "fibers and threads"
								    : "threads");
	print_legend(page);
	return 0;
}

/* A list of slices or windows as lines; those that matter less are summed up. */
struct list {
	const struct page *page;
	struct story_lines *lines; /* owned */
	size_t line_count;
	enum figure figures[_FIGURE_MAX]; /* of a table of windows */
	size_t figure_count;
};

static int64_t weight_of(const struct story *story, size_t index)
{
	if (story_has_slices(story))
		return story->slices[index].view.end_ns - story->slices[index].view.start_ns;
	return story->windows[index].costs.sums[COST_CPU];
}

static int list_init(struct list *list, const struct page *page)
{
	const struct story *story = page->story;
	size_t count = story_has_slices(story) ? story->slice_count : story->window_count;
	_cleanup_free_ int64_t *weights = calloc(count + 1, sizeof(*weights));
	int r;

	*list = (struct list){ .page = page, .lines = calloc(count + 1, sizeof(*list->lines)) };
	if (!weights || !list->lines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		weights[i] = weight_of(story, i);
	r = story_fold(weights, count, page->options->is_endless ? 0 : LINES_SHOWN, list->lines,
		       &list->line_count);
	return r;
}

enum slice_column {
	SLICE_AFTER = 0,
	SLICE_LENGTH = 1,
	SLICE_CPU = 2,
	SLICE_WHAT = 3,
	SLICE_WAKER = 4,
	SLICE_THREAD = 5, /* and fiber; left out if there is only one lane */
	_SLICE_COLUMN_MAX,
};

/* Writes the time in each state of slices that are summed up. */
static bool write_sums(const void *context, size_t row, char ret_text[static TABLE_CELL_BYTES])
{
	const struct list *list = context;
	const struct story_lines *line = &list->lines[row];
	const struct story *story = list->page->story;
	int64_t sums[_SCHED_STATE_MAX] = { 0 };
	int length;

	if (line->count == 1)
		return false;
	length = snprintf(ret_text, TABLE_CELL_BYTES, "… %zu more:", line->count);
	for (size_t i = line->first; i < line->first + line->count; i++)
		saturated_add_to(&sums[story->slices[i].view.state],
				 story->slices[i].view.end_ns - story->slices[i].view.start_ns);
	for (int state = 0; state < _SCHED_STATE_MAX; state++) {
		char duration[DISPLAY_NUMBER_BYTES];

		if (sums[state] == 0)
			continue;
		display_duration(sums[state], duration);
		length += snprintf(ret_text + length, TABLE_CELL_BYTES - (size_t)length, " %s %s",
				   duration, sched_state_title((enum sched_state)state));
	}
	return true;
}

static void write_waker(const struct page *page, const struct story_slice *slice,
			char ret_text[static TABLE_CELL_BYTES])
{
	const struct story_thread *waker =
		story_threads_find(&page->story->threads, slice->thread->host,
				   slice->view.woken_by_pid, slice->view.woken_by_tid);

	if (slice->view.woken_by_tid == 0)
		ret_text[0] = '\0';
	else if (waker)
		name_thread(page, waker, ret_text);
	else
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRId64 "/%" PRId64,
			       slice->view.woken_by_pid, slice->view.woken_by_tid);
}

static void slice_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct list *list = context;
	const struct story_lines *line = &list->lines[row];
	const struct story *story = list->page->story;
	const struct story_slice *slice = &story->slices[line->first];

	ret_text[0] = '\0';
	if (column == SLICE_AFTER)
		display_duration(slice->view.start_ns - story->first_ns, ret_text);
	else if (column == SLICE_LENGTH)
		display_duration(slice->view.end_ns - slice->view.start_ns, ret_text);
	else if (column == SLICE_CPU && slice->view.cpu_number >= 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRId32, slice->view.cpu_number);
	else if (column == SLICE_WHAT)
		(void)snprintf(ret_text, TABLE_CELL_BYTES,
			       slice->view.blocked_on < 0 ? "%s" : "%s: %s",
			       sched_state_title(slice->view.state),
			       blocked_name((uint32_t)slice->view.blocked_on));
	else if (column == SLICE_THREAD)
		name_lane(list->page,
			  &(struct story_lane_owner){ slice->thread, slice->view.fiber }, ret_text);
	else if (column == SLICE_WAKER)
		write_waker(list->page, slice, ret_text);
}

/* Figures follow, then the thread if there are several. */
enum window_column {
	WINDOW_AFTER = 0,
	WINDOW_LENGTH = 1,
	_WINDOW_COLUMN_MAX,
};

static struct costs sum_windows(const struct story *story, const struct story_lines *line)
{
	struct costs sum = { 0 };

	for (size_t i = line->first; i < line->first + line->count; i++)
		costs_add(&sum, &story->windows[i].costs);
	return sum;
}

/* "1.000 s"; for several windows "… 21 from 1.000 s" */
static void write_after(const struct story *story, const struct story_lines *line,
			const struct costs *costs, char ret_text[static TABLE_CELL_BYTES])
{
	char after[DISPLAY_NUMBER_BYTES] = "-", count[DISPLAY_NUMBER_BYTES] = "";

	if (!costs->lacks_span)
		display_duration(costs->first_ns - story->first_ns, after);
	if (line->count > 1)
		(void)snprintf(count, sizeof(count), "… %zu from ", line->count);
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s%s", count, after);
}

static void window_cell(const void *context, size_t row, size_t column,
			char ret_text[static TABLE_CELL_BYTES])
{
	const struct list *list = context;
	const struct story_lines *line = &list->lines[row];
	const struct story *story = list->page->story;
	const struct costs costs = sum_windows(story, line);

	(void)snprintf(ret_text, TABLE_CELL_BYTES, not_measured);
	if (column == WINDOW_AFTER)
		write_after(story, line, &costs, ret_text);
	else if (column == WINDOW_LENGTH && !costs.lacks_span)
		display_duration(costs.last_ns - costs.first_ns, ret_text);
	else if (column == WINDOW_LENGTH)
		return;
	else if (column < _WINDOW_COLUMN_MAX + list->figure_count)
		cell_text_cost(&costs, list->figures[column - _WINDOW_COLUMN_MAX], ret_text);
	else if (line->count > 1)
		ret_text[0] = '\0';
	else
		name_thread(list->page, story->windows[line->first].thread, ret_text);
}

/* Returns the number of columns, the last of which is the thread's. */
static size_t choose_window_columns(struct list *list, struct table_column *columns)
{
	columns[WINDOW_AFTER] = (struct table_column){ "after", 0, false };
	columns[WINDOW_LENGTH] = (struct table_column){ "for", 0, false };
	list->figure_count = table_columns_choose(FIGURE_VIEW_WINDOWS, list->figures,
						  columns + _WINDOW_COLUMN_MAX);
	columns[_WINDOW_COLUMN_MAX + list->figure_count] =
		(struct table_column){ "thread", 1, true };
	return _WINDOW_COLUMN_MAX + list->figure_count + 1;
}

static void print_list(struct list *list)
{
	static const struct table_column of_slices[_SLICE_COLUMN_MAX] = {
		[SLICE_AFTER] = { "after", 0, false },	[SLICE_LENGTH] = { "for", 0, false },
		[SLICE_CPU] = { "on CPU", 2, false },	[SLICE_WHAT] = { "what", 0, true },
		[SLICE_THREAD] = { "thread", 1, true }, [SLICE_WAKER] = { "woken by", 3, true },
	};
	struct table_column of_windows[_WINDOW_COLUMN_MAX + _FIGURE_MAX + 1];
	const struct page *page = list->page;
	bool is_of_slices = story_has_slices(page->story);
	size_t column_count =
		is_of_slices ? _SLICE_COLUMN_MAX : choose_window_columns(list, of_windows);
	struct table table = {
		.columns = is_of_slices ? of_slices : of_windows,
		.column_count = column_count - (page->lane_count == 1),
		.row_count = list->line_count,
		.width = view_table_width(page->options),
		.is_bold = page->options->is_bold,
		.cell = is_of_slices ? slice_cell : window_cell,
		.text = is_of_slices ? write_sums : NULL,
		.context = list,
	};

	if (list->line_count == 0)
		return;
	(void)fputc('\n', page->out);
	(void)table_print(&table, page->out);
}

enum beside_column {
	BESIDE_THREAD = 0,
	BESIDE_CPU = 1,
	BESIDE_REQUEST = 2,
	BESIDE_ENDPOINT = 3,
	BESIDE_AHEAD = 4, /* slices only */
	_BESIDE_COLUMN_MAX,
};

static void beside_cell(const void *context, size_t row, size_t column,
			char ret_text[static TABLE_CELL_BYTES])
{
	const struct page *page = context;
	const struct neighbour *neighbour = page->story->beside.ranking[row];
	bool is_at_most = neighbour->is_at_most;
	char duration[DISPLAY_NUMBER_BYTES];

	if (column == BESIDE_THREAD) {
		name_thread(page, neighbour->thread, ret_text);
	} else if (column == BESIDE_CPU) {
		display_duration(neighbour->cpu_ns, duration);
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s%s", is_at_most ? "≤ " : "",
			       duration);
	} else if (column == BESIDE_AHEAD) {
		display_duration(neighbour->ahead_ns, ret_text);
	} else if (column == BESIDE_REQUEST) {
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s",
			       neighbour->request_id[0] ? neighbour->request_id : not_measured);
	} else {
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s",
			       neighbour->endpoint[0] ? neighbour->endpoint : not_measured);
	}
}

/* Threads that are not observed run, too: the sum may be less than the wait. */
static void print_ahead(const struct page *page)
{
	const struct story *story = page->story;
	char ahead[DISPLAY_NUMBER_BYTES], waited[DISPLAY_NUMBER_BYTES];
	int64_t ahead_ns = 0, waited_ns = 0;

	for (size_t i = 0; i < story->beside.ranking_count; i++)
		saturated_add_to(&ahead_ns, story->beside.ranking[i]->ahead_ns);
	for (size_t i = 0; i < page->thread_count; i++)
		saturated_add_to(&waited_ns, page->threads[i]->state_ns[SCHED_RUN_QUEUE]);
	display_duration(ahead_ns, ahead);
	display_duration(waited_ns, waited);
	display_sentence(page->out, page->options->width, DISPLAY_INDENT,
			 "on its CPU: while the request waited for that one, %s of the %s that it "
			 "waited%s",
			 ahead, waited,
			 ahead_ns < waited_ns ? "; the rest went to what is not observed, or to a "
						"limit of its cgroup"
					      : "");
}

static void print_beside(const struct page *page)
{
	static const struct table_column columns[_BESIDE_COLUMN_MAX] = {
		[BESIDE_THREAD] = { "ran meanwhile", 0, false },
		[BESIDE_CPU] = { "cpu", 0, false },
		[BESIDE_REQUEST] = { "request_id", 1, true },
		[BESIDE_ENDPOINT] = { "endpoint", 3, true },
		[BESIDE_AHEAD] = { "on its CPU", 2, false },
	};
	size_t count = page->story->beside.ranking_count, top = page->options->top_count;
	struct table table = {
		.columns = columns,
		.column_count = _BESIDE_COLUMN_MAX - !story_has_slices(page->story),
		.row_count = top > 0 && top < count ? top : count,
		.width = view_table_width(page->options),
		.is_bold = page->options->is_bold,
		.cell = beside_cell,
		.context = page,
	};

	(void)fputc('\n', page->out);
	if (count == 0)
		(void)fputs("nothing else that is observed ran meanwhile\n", page->out);
	else
		(void)table_print(&table, page->out);
	if (count > table.row_count)
		(void)fprintf(page->out, "… %zu more\n", count - table.row_count);
	if (count > 0 && story_has_slices(page->story))
		print_ahead(page);
	if (story_beside_is_incomplete(page->story))
		display_sentence(page->out, page->options->width, DISPLAY_INDENT,
				 "some of what ran meanwhile is missing: there was too much of it");
}

static int print_stacks(const struct page *page)
{
	const struct stacks_view_options options = { .width = page->options->width,
						     .method_count = METHODS_SHOWN };
	int r = 0;

	for (int measure = 0; measure < _STACKS_MEASURE_MAX && r == 0; measure++) {
		const struct stacks *stacks = &page->story->stacks[measure];

		if (stacks->sums.sampled_contexts == 0)
			continue;
		(void)fputc('\n', page->out);
		r = stacks_view_print(stacks, &options, page->out);
	}
	return r;
}

static void print_stalls(const struct page *page)
{
	const struct story *story = page->story;
	const struct stalls_view_options options = { .width = page->options->width,
						     .is_bold = page->options->is_bold,
						     .top_count = LINES_SHOWN,
						     .frames = story_frames(story) };

	if (story->stalls.wait_count == 0)
		return;
	(void)fputc('\n', page->out);
	stalls_text_print_of_request(&story->stalls, &options, page->out);
}

int story_text_print(const struct story *story, const struct view_options *options, FILE *out)
{
	struct page page = { .story = story, .options = options, .out = out };
	struct list list = { 0 };
	int r = find_threads(&page);

	if (r == 0)
		r = list_init(&list, &page);
	if (r == 0) {
		print_heading(&page);
		(void)fputc('\n', out);
		print_source(&page);
		r = print_lanes(&page);
	}
	if (r == 0) {
		print_list(&list);
		print_beside(&page);
		print_stalls(&page);
		r = print_stacks(&page);
	}
	free(list.lines);
	free(page.lanes);
	free(page.threads);
	return r;
}
