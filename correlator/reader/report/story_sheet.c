/* SPDX-License-Identifier: GPL-2.0-only */
/* A story, for programs. */
#include "reader/report/story_view.h"

#include "reader/report/json_part.h"
#include "reader/report/sheet_parts.h"
#include "reader/report/stacks_view.h"
#include "reader/report/stalls_view.h"
#include "record/blocked.h"

enum kind {
	KIND_REQUEST,
	KIND_THREAD,
	KIND_WINDOW,
	KIND_SLICE,
	KIND_BESIDE,
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_REQUEST] = { "request", NULL, false, SHEET_PART_OF_ALL },
	[KIND_THREAD] = { "thread", "threads", false, SHEET_PART_OF_ALL },
	[KIND_WINDOW] = { "window", "windows", false, SHEET_PART_OF_ALL },
	[KIND_SLICE] = { "slice", "slices", false, SHEET_PART_OF_ALL },
	[KIND_BESIDE] = { "beside", "beside", false, SHEET_PART_OF_ALL },
};

/* Columns of the same name in several kinds are one column. */
#define COLUMNS(COLUMN)                        \
	COLUMN(REQUEST_ID, "request_id")       \
	COLUMN(ENDPOINT, "endpoint")           \
	COLUMN(HOST, "host_name")              \
	COLUMN(PID, "pid")                     \
	COLUMN(TID, "tid")                     \
	COLUMN(NS_TID, "ns_tid")               \
	COLUMN(THREAD_NAME, "thread_name")     \
	COLUMN(COMM, "comm")                   \
	COLUMN(WINDOW_END, "window_end_ns")    \
	COLUMN(WINDOW, "window_ns")            \
	COLUMN(STATE, "state")                 \
	COLUMN(START, "start_ns")              \
	COLUMN(END, "end_ns")                  \
	COLUMN(CPU_NUMBER, "cpu_number")       \
	COLUMN(FIBER, "fiber")                 \
	COLUMN(BLOCKED_ON, "blocked_on")       \
	COLUMN(WOKEN_BY_PID, "woken_by_pid")   \
	COLUMN(WOKEN_BY_TID, "woken_by_tid")   \
	COLUMN(SLICE_RECORDS, "slice_records") \
	COLUMN(AT_MOST, "at_most")             \
	COLUMN(AHEAD, "ahead_ns")              \
	COLUMN(SHARE, "share_percent")         \
	COLUMN(INHERITED, "inherited")

enum column {
#define COLUMN(id, name) COLUMN_##id,
	COLUMNS(COLUMN)
#undef COLUMN
	_COLUMN_MAX,
};

static const char *const column_names[_COLUMN_MAX] = {
#define COLUMN(id, name) [COLUMN_##id] = (name),
	COLUMNS(COLUMN)
#undef COLUMN
};

struct view {
	const struct story *story;
	struct sheet sheet;
	size_t costs; /* these are indices of columns */
	size_t wall, parked, began, ended;
	size_t requests, less_cpu, less_wall; /* of the request's endpoint */
	size_t keys; /* first key of the request */
};

static size_t add_figure(struct sheet *sheet, enum figure figure)
{
	return sheet_add(sheet, NULL, figure_infos[figure].field);
}

static void add_columns(struct view *view)
{
	static const char endpoint[] = "endpoint_requests";
	struct sheet *sheet = &view->sheet;

	for (size_t i = 0; i < _COLUMN_MAX; i++)
		(void)sheet_add(sheet, NULL, column_names[i]);
	view->costs = sheet_add_costs(sheet, NULL);
	view->wall = add_figure(sheet, FIGURE_WALL);
	view->parked = add_figure(sheet, FIGURE_PARKED);
	view->began = add_figure(sheet, FIGURE_BEGAN);
	view->ended = add_figure(sheet, FIGURE_ENDED);
	view->requests = sheet_add(sheet, endpoint, "requests");
	view->less_cpu = sheet_add(sheet, endpoint, "requests_with_less_cpu");
	view->less_wall = sheet_add(sheet, endpoint, "requests_with_less_wall");
	view->keys = sheet->column_count;
	for (size_t i = 0; i < view->story->key_count; i++)
		(void)sheet_add(sheet, "keys", view->story->keys[i].name);
}

static void put(struct view *view, size_t column, int64_t number)
{
	sheet_put(&view->sheet, column, cell_integer(number));
}

/* Puts a number if it is above 0. */
static void put_known(struct view *view, size_t column, int64_t number)
{
	if (number > 0)
		put(view, column, number);
}

/* Puts a text if it is not empty. */
static void put_text(struct view *view, size_t column, const char *text)
{
	if (text[0] != '\0')
		sheet_put(&view->sheet, column, cell_string(text));
}

static void put_costs(struct view *view, const struct costs *costs)
{
	int64_t wall_ns, parked_ns;

	sheet_put_costs(&view->sheet, view->costs, costs,
			&view->story->totals->selection.recording);
	if (!costs_wall_ns(costs, &wall_ns))
		return;
	put(view, view->wall, wall_ns);
	if (costs_parked_ns(costs, &parked_ns))
		put(view, view->parked, parked_ns);
	put(view, view->began, costs->first_ns);
	put(view, view->ended, costs->last_ns);
}

static void put_thread(struct view *view, const struct story_thread *thread)
{
	sheet_put(&view->sheet, COLUMN_HOST, cell_string(thread->host->name));
	put(view, COLUMN_PID, thread->key.pid);
	put(view, COLUMN_TID, thread->key.tid);
	put_known(view, COLUMN_NS_TID, thread->ns_tid);
	put_text(view, COLUMN_THREAD_NAME, thread->name);
}

static void put_rank(struct view *view, size_t column, const struct group *group,
		     enum request_cost figure, int64_t value)
{
	const struct histogram *histogram = &group->requests->costs[figure];

	if (histogram->count > 0)
		put(view, column, (int64_t)histogram_count_below(histogram, value));
}

static void put_endpoint(struct view *view, const struct group *group)
{
	const struct costs *costs = &view->story->costs;
	int64_t wall_ns;

	put(view, view->requests, (int64_t)group->request_count);
	if (group->requests && costs_has(costs, COST_CPU))
		put_rank(view, view->less_cpu, group, REQUEST_CPU, costs->sums[COST_CPU]);
	if (group->requests && costs_wall_ns(costs, &wall_ns))
		put_rank(view, view->less_wall, group, REQUEST_WALL, wall_ns);
}

static void put_request(struct view *view)
{
	const struct story *story = view->story;
	const struct group *group = story_endpoint(story);
	double percent;

	sheet_row(&view->sheet, KIND_REQUEST);
	sheet_put(&view->sheet, COLUMN_REQUEST_ID, cell_string(story->request_id));
	for (size_t i = 0; i < story->key_count; i++)
		sheet_put(&view->sheet, view->keys + i, cell_string(story->keys[i].value));
	put_costs(view, &story->costs);
	if (costs_share_percent(&story->costs, &story->totals->all, &percent))
		sheet_put(&view->sheet, COLUMN_SHARE, cell_real(percent));
	sheet_put(&view->sheet, COLUMN_INHERITED, cell_bool(story->is_inherited));
	if (group)
		put_endpoint(view, group);
	sheet_end_row(&view->sheet);
}

static void put_threads(struct view *view)
{
	const struct story *story = view->story;
	const struct story_thread *thread = story->threads.table;
	char comm[STORY_VALUE_BYTES];

	for (; thread && sheet_goes_on(&view->sheet); thread = thread->hh.next) {
		if (thread->costs.record_count == 0 && thread->slice_count == 0)
			continue;
		sheet_row(&view->sheet, KIND_THREAD);
		put_thread(view, thread);
		story_comm(story, thread, comm);
		put_text(view, COLUMN_COMM, comm);
		if (thread->costs.record_count > 0)
			put_costs(view, &thread->costs);
		put(view, COLUMN_SLICE_RECORDS, (int64_t)thread->slice_count);
		sheet_end_row(&view->sheet);
	}
}

static void put_windows(struct view *view)
{
	const struct story *story = view->story;

	for (size_t i = 0; i < story->window_count && sheet_goes_on(&view->sheet); i++) {
		const struct story_window *window = &story->windows[i];

		sheet_row(&view->sheet, KIND_WINDOW);
		put_thread(view, window->thread);
		put(view, COLUMN_WINDOW_END, window->wall_ns);
		put_known(view, COLUMN_WINDOW, window->window_ns);
		put_costs(view, &window->costs);
		sheet_end_row(&view->sheet);
	}
}

static void put_slice(struct view *view, const struct story_slice *slice)
{
	const struct slice_view *seen = &slice->view;

	sheet_row(&view->sheet, KIND_SLICE);
	put_thread(view, slice->thread);
	put_text(view, COLUMN_STATE, sched_state_name(seen->state));
	put(view, COLUMN_START, seen->start_ns);
	put(view, COLUMN_END, seen->end_ns);
	if (seen->state == SCHED_RUNNING)
		put(view, view->costs + COST_CPU, seen->cpu_ns);
	if (seen->cpu_number >= 0)
		put(view, COLUMN_CPU_NUMBER, seen->cpu_number);
	put_known(view, COLUMN_FIBER, seen->fiber);
	if (seen->blocked_on >= 0)
		put_text(view, COLUMN_BLOCKED_ON, blocked_name((uint32_t)seen->blocked_on));
	if (seen->woken_by_tid > 0) {
		put(view, COLUMN_WOKEN_BY_PID, seen->woken_by_pid);
		put(view, COLUMN_WOKEN_BY_TID, seen->woken_by_tid);
	}
	sheet_end_row(&view->sheet);
}

static void put_beside(struct view *view)
{
	const struct beside *beside = &view->story->beside;

	for (size_t i = 0; i < beside->ranking_count && sheet_goes_on(&view->sheet); i++) {
		const struct neighbour *neighbour = beside->ranking[i];

		sheet_row(&view->sheet, KIND_BESIDE);
		put_thread(view, neighbour->thread);
		put_text(view, COLUMN_REQUEST_ID, neighbour->request_id);
		put_text(view, COLUMN_ENDPOINT, neighbour->endpoint);
		put(view, view->costs + COST_CPU, neighbour->cpu_ns);
		sheet_put(&view->sheet, COLUMN_AT_MOST, cell_bool(neighbour->is_at_most));
		if (story_has_slices(view->story))
			put(view, COLUMN_AHEAD, neighbour->ahead_ns);
		sheet_end_row(&view->sheet);
	}
}

static void put_rows(struct view *view)
{
	const struct story *story = view->story;

	put_request(view);
	put_threads(view);
	put_windows(view);
	for (size_t i = 0; i < story->slice_count && sheet_goes_on(&view->sheet); i++)
		put_slice(view, &story->slices[i]);
	put_beside(view);
	sheet_end_rows(&view->sheet);
}

/* Adds what the timeline is made of, and how much there is of it. */
static void add_timeline(struct view *view)
{
	const struct story *story = view->story;
	uint64_t left_out = story->windows_left_out + story->slices_left_out;
	json_t *object = json_object();
	int *r = &view->sheet.r;

	json_part_set(object, "by", json_part_text(story_has_slices(story) ? "slice" : "window"),
		      r);
	json_part_set(object, "windows", json_integer((json_int_t)story->window_count), r);
	json_part_set(object, "slices", json_integer((json_int_t)story->slice_count), r);
	json_part_set(object, "slices_lost", json_integer(story_slices_lost(story)), r);
	json_part_set(object, "left_out", json_integer((json_int_t)left_out), r);
	sheet_member(&view->sheet, "timeline", object);
}

/* Adds each measure's stacks as a document in the document. */
static void add_stacks(struct view *view)
{
	static const char *const names[_STACKS_MEASURE_MAX] = {
		[STACKS_CPU] = "stacks",
		[STACKS_OFF_CPU] = "off_cpu_stacks",
	};
	const struct stacks_view_options top_down = { .format = FORMAT_JSON };

	for (int measure = 0; measure < _STACKS_MEASURE_MAX; measure++) {
		const struct stacks *stacks = &view->story->stacks[measure];

		if (stacks->sums.sampled_contexts > 0 &&
		    sheet_open_member(&view->sheet, names[measure]))
			view->sheet.r = stacks_view_print(stacks, &top_down, view->sheet.out);
	}
}

/* Its long waits, and the hogs that kept its thread. */
static void add_stalls(struct view *view)
{
	const struct story *story = view->story;
	const struct stalls_view_options options = { .format = FORMAT_JSON,
						     .frames = story_frames(story) };

	if (story->stalls.wait_count + story->stalls.hog_count > 0 &&
	    sheet_open_member(&view->sheet, "stalls"))
		view->sheet.r = stalls_view_print(&story->stalls, &options, view->sheet.out);
}

int story_view_print(const struct story *story, const struct view_options *options, FILE *out)
{
	struct view view = { .story = story };

	if (options->format == FORMAT_TABLE)
		return story_text_print(story, options, out);
	sheet_init(&view.sheet, options->format, NULL, kinds, _KIND_MAX, out);
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_rows(&view);
	add_timeline(&view);
	sheet_member(&view.sheet, "beside_complete",
		     json_boolean(!story_beside_is_incomplete(story)));
	add_stalls(&view);
	add_stacks(&view);
	return sheet_finish(&view.sheet);
}
