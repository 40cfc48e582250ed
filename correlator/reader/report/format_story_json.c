/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format_story.h"

#include <errno.h>
#include <string.h>

#include "reader/report/format_stacks.h"
#include "reader/report/json_group.h"
#include "reader/report/json_part.h"
#include "record/blocked.h"

static void set_costs(json_t *object, const struct costs *costs, int *r)
{
	int64_t wall_ns, parked_ns;

	json_group_costs(object, costs, r);
	if (!costs_wall_ns(costs, &wall_ns))
		return;
	json_part_set(object, figure_infos[FIGURE_WALL].field, json_integer(wall_ns), r);
	if (costs_parked_ns(costs, &parked_ns))
		json_part_set(object, figure_infos[FIGURE_PARKED].field, json_integer(parked_ns),
			      r);
	json_part_set(object, figure_infos[FIGURE_BEGAN].field, json_integer(costs->first_ns), r);
	json_part_set(object, figure_infos[FIGURE_ENDED].field, json_integer(costs->last_ns), r);
}

static void set_thread(json_t *object, const struct story_thread *thread, int *r)
{
	json_part_set(object, "host_name", json_part_text(thread->host->name), r);
	json_part_set(object, "pid", json_integer(thread->key.pid), r);
	json_part_set(object, "tid", json_integer(thread->key.tid), r);
	if (thread->ns_tid > 0)
		json_part_set(object, "ns_tid", json_integer(thread->ns_tid), r);
	if (thread->name[0] != '\0')
		json_part_set(object, "thread_name", json_part_text(thread->name), r);
}

static void set_rank(json_t *object, const char *name, const struct group *group,
		     enum request_cost figure, int64_t value, int *r)
{
	const struct histogram *histogram = &group->requests->costs[figure];

	if (histogram->count > 0)
		json_part_set(object, name,
			      json_integer((json_int_t)histogram_count_below(histogram, value)), r);
}

static json_t *endpoint_object(const struct story *story, const struct group *group, int *r)
{
	json_t *object = json_object();
	int64_t wall_ns;

	json_part_set(object, "requests", json_integer((json_int_t)group->request_count), r);
	if (group->requests && costs_has(&story->costs, COST_CPU))
		set_rank(object, "requests_with_less_cpu", group, REQUEST_CPU,
			 story->costs.sums[COST_CPU], r);
	if (group->requests && costs_wall_ns(&story->costs, &wall_ns))
		set_rank(object, "requests_with_less_wall", group, REQUEST_WALL, wall_ns, r);
	return object;
}

static int print_request(const struct story *story, FILE *out)
{
	const struct group *group = story_endpoint(story);
	json_t *object = json_object(), *keys = json_object();
	double percent;
	int r = 0;

	json_part_set(object, "request_id", json_part_text(story->request_id), &r);
	for (size_t i = 0; i < story->key_count; i++)
		json_part_set(keys, story->keys[i].name, json_part_text(story->keys[i].value), &r);
	json_part_set(object, "keys", keys, &r);
	set_costs(object, &story->costs, &r);
	if (costs_share_percent(&story->costs, &story->totals->all, &percent))
		json_part_set(object, "share_percent", json_real(percent), &r);
	json_part_set(object, "inherited", json_boolean(story->is_inherited), &r);
	if (group)
		json_part_set(object, "endpoint_requests", endpoint_object(story, group, &r), &r);
	return json_part_print("{\"request\":", object, r, out);
}

static int print_source(const struct story *story, FILE *out)
{
	json_t *object = json_object();
	bool has_slices = story_has_slices(story);
	int r = 0;

	json_part_set(object, "by", json_part_text(has_slices ? "slice" : "window"), &r);
	json_part_set(object, "windows", json_integer((json_int_t)story->window_count), &r);
	json_part_set(object, "slices", json_integer((json_int_t)story->slice_count), &r);
	json_part_set(object, "slices_lost", json_integer(story_slices_lost(story)), &r);
	json_part_set(object, "left_out",
		      json_integer((json_int_t)(story->windows_left_out + story->slices_left_out)),
		      &r);
	return json_part_print(",\n\"timeline\":", object, r, out);
}

static int print_threads(const struct story *story, FILE *out)
{
	const struct story_thread *thread = story->threads.table;
	const char *before = "\n";
	char comm[STORY_VALUE_BYTES];
	int r = 0;

	(void)fputs(",\n\"threads\":[", out);
	for (; thread && r == 0 && !ferror(out); thread = thread->hh.next) {
		json_t *object;

		if (thread->costs.record_count == 0 && thread->slice_count == 0)
			continue;
		object = json_object();
		set_thread(object, thread, &r);
		story_comm(story, thread, comm);
		if (comm[0] != '\0')
			json_part_set(object, "comm", json_part_text(comm), &r);
		if (thread->costs.record_count > 0)
			set_costs(object, &thread->costs, &r);
		json_part_set(object, "slice_records",
			      json_integer((json_int_t)thread->slice_count), &r);
		r = json_part_print(before, object, r, out);
		before = ",\n";
	}
	(void)fputs("]", out);
	return r;
}

static int print_windows(const struct story *story, FILE *out)
{
	int r = 0;

	(void)fputs(",\n\"windows\":[", out);
	for (size_t i = 0; i < story->window_count && r == 0 && !ferror(out); i++) {
		const struct story_window *window = &story->windows[i];
		json_t *object = json_object();

		set_thread(object, window->thread, &r);
		json_part_set(object, "window_end_ns", json_integer(window->wall_ns), &r);
		if (window->window_ns > 0)
			json_part_set(object, "window_ns", json_integer(window->window_ns), &r);
		set_costs(object, &window->costs, &r);
		r = json_part_print(i == 0 ? "\n" : ",\n", object, r, out);
	}
	(void)fputs("]", out);
	return r;
}

static int print_slices(const struct story *story, FILE *out)
{
	int r = 0;

	(void)fputs(",\n\"slices\":[", out);
	for (size_t i = 0; i < story->slice_count && r == 0 && !ferror(out); i++) {
		const struct story_slice *slice = &story->slices[i];
		json_t *object = json_object();

		set_thread(object, slice->thread, &r);
		json_part_set(object, "state", json_part_text(sched_state_name(slice->view.state)),
			      &r);
		json_part_set(object, "start_ns", json_integer(slice->view.start_ns), &r);
		json_part_set(object, "end_ns", json_integer(slice->view.end_ns), &r);
		if (slice->view.state == SCHED_RUNNING)
			json_part_set(object, "cpu_ns", json_integer(slice->view.cpu_ns), &r);
		if (slice->view.cpu_number >= 0)
			json_part_set(object, "cpu_number", json_integer(slice->view.cpu_number),
				      &r);
		if (slice->view.fiber > 0)
			json_part_set(object, "fiber", json_integer(slice->view.fiber), &r);
		if (slice->view.blocked_on >= 0)
			json_part_set(
				object, "blocked_on",
				json_part_text(blocked_name((uint32_t)slice->view.blocked_on)), &r);
		if (slice->view.woken_by_tid > 0) {
			json_part_set(object, "woken_by_pid",
				      json_integer(slice->view.woken_by_pid), &r);
			json_part_set(object, "woken_by_tid",
				      json_integer(slice->view.woken_by_tid), &r);
		}
		r = json_part_print(i == 0 ? "\n" : ",\n", object, r, out);
	}
	(void)fputs("]", out);
	return r;
}

static int print_beside(const struct story *story, FILE *out)
{
	int r = 0;

	(void)fputs(",\n\"beside\":[", out);
	for (size_t i = 0; i < story->beside.ranking_count && r == 0 && !ferror(out); i++) {
		const struct neighbour *neighbour = story->beside.ranking[i];
		json_t *object = json_object();

		set_thread(object, neighbour->thread, &r);
		if (neighbour->request_id[0] != '\0')
			json_part_set(object, "request_id", json_part_text(neighbour->request_id),
				      &r);
		if (neighbour->endpoint[0] != '\0')
			json_part_set(object, "endpoint", json_part_text(neighbour->endpoint), &r);
		json_part_set(object, "cpu_ns", json_integer(neighbour->cpu_ns), &r);
		json_part_set(object, "at_most", json_boolean(neighbour->is_at_most), &r);
		if (story_has_slices(story))
			json_part_set(object, "ahead_ns", json_integer(neighbour->ahead_ns), &r);
		r = json_part_print(i == 0 ? "\n" : ",\n", object, r, out);
	}
	(void)fputs("]", out);
	return r;
}

static int print_stacks(const struct story *story, FILE *out)
{
	static const char *const names[_STACKS_MEASURE_MAX] = {
		[STACKS_CPU] = "stacks",
		[STACKS_OFF_CPU] = "off_cpu_stacks",
	};
	const struct format_stacks_options top_down = { 0 };
	int r = 0;

	for (int measure = 0; measure < _STACKS_MEASURE_MAX && r == 0; measure++) {
		if (story->stacks[measure].sums.sampled_contexts == 0)
			continue;
		(void)fprintf(out, ",\n\"%s\":", names[measure]);
		r = format_stacks_json(&story->stacks[measure], &top_down, out);
	}
	return r;
}

int format_story_json(const struct story *story, const struct format_options *options, FILE *out)
{
	int r = print_request(story, out);

	(void)options;
	if (r == 0)
		r = print_source(story, out);
	if (r == 0)
		r = print_threads(story, out);
	if (r == 0)
		r = print_windows(story, out);
	if (r == 0)
		r = print_slices(story, out);
	if (r == 0)
		r = print_beside(story, out);
	if (r == 0)
		r = json_part_print(",\n\"beside_complete\":",
				    json_boolean(!story_beside_is_incomplete(story)), 0, out);
	if (r == 0)
		r = print_stacks(story, out);
	(void)fputs("}\n", out);
	return r;
}
