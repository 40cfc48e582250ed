/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/story/story.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/display.h"
#include "record/slice_view.h"
#include "requests/attribution.h"

enum {
	LIKENESS_MIN = 4, /* shortest common prefix that makes a hint */
	LIKENESS_PART = 1000, /* added if one id contains the other: ranks above any prefix */
};

void story_deinit(struct story *story)
{
	for (int measure = 0; measure < _STACKS_MEASURE_MAX; measure++)
		stacks_deinit(&story->stacks[measure]);
	stalls_deinit(&story->stalls);
	beside_deinit(&story->beside);
	story_threads_deinit(&story->threads);
	free(story->windows);
	free(story->slices);
	*story = (struct story){ 0 };
}

bool story_is_there(const struct story *story)
{
	return story->costs.record_count > 0;
}

bool story_has_slices(const struct story *story)
{
	return story->slice_count > 0;
}

const char *story_value(const struct story *story, const char *key)
{
	for (size_t i = 0; i < story->key_count; i++)
		if (strcmp(story->keys[i].name, key) == 0)
			return story->keys[i].value;
	return NULL;
}

void story_comm(const struct story *story, const struct story_thread *thread,
		char ret_comm[static STORY_VALUE_BYTES])
{
	struct recording_process_info info;
	const void *cursor = NULL;

	ret_comm[0] = '\0';
	while (recording_next_process(&story->totals->selection.recording, &cursor, &info))
		if (info.pid == thread->key.pid && strcmp(info.host_name, thread->host->name) == 0)
			(void)display_escape(info.comm, strlen(info.comm), ret_comm,
					     STORY_VALUE_BYTES);
}

static void extend(struct story *story, const struct story_thread *thread, int64_t start_ns,
		   int64_t end_ns)
{
	if (story->last_ns == 0 || start_ns < story->first_ns)
		story->first_ns = start_ns;
	if (end_ns > story->last_ns)
		story->last_ns = end_ns;
	if (thread)
		story_host_extend(thread->host, start_ns, end_ns);
}

/* Finds or adds a key; NULL: there is no room. */
static struct story_key *find_key(struct story *story, const char *name)
{
	for (size_t i = 0; i < story->key_count; i++)
		if (strcmp(story->keys[i].name, name) == 0)
			return &story->keys[i];
	if (story->key_count == STORY_KEYS_MAX)
		return NULL;
	(void)snprintf(story->keys[story->key_count].name, RECORDING_TEXT_BYTES, "%s", name);
	return &story->keys[story->key_count++];
}

static void note_key(struct story *story, const struct record_field *field)
{
	char name[RECORDING_TEXT_BYTES], value[STORY_VALUE_BYTES];
	struct story_key *key;

	if (!field->is_key || record_text_is(field->name, "request_id") ||
	    field->text.size_bytes == 0)
		return;
	(void)display_escape(field->name.bytes, field->name.size_bytes, name, sizeof(name));
	(void)display_escape(field->text.bytes, field->text.size_bytes, value, sizeof(value));
	key = find_key(story, name);
	if (!key)
		return;
	key->has_several |= key->value[0] != '\0' && strcmp(key->value, value) != 0;
	memcpy(key->value, value, sizeof(value));
}

static int keep_window(struct story *story, const struct story_window *window)
{
	int r;

	if (story->window_count == STORY_WINDOWS_MAX) {
		story->windows_left_out++;
		return 0;
	}
	r = array_reserve(&story->windows, &story->window_room, story->window_count + 1);
	if (r == 0)
		story->windows[story->window_count++] = *window;
	return r;
}

static int add_own_cpu(struct story *story, const struct record_view *record,
		       struct story_thread *thread)
{
	struct story_window window = { .thread = thread,
				       .wall_ns = (int64_t)(record->wall_ns & INT64_MAX),
				       .costs = costs_of_record(record) };

	(void)record_view_count(record, RECORD_FIELD(cpu, window_ns), &window.window_ns);
	costs_add(&story->costs, &window.costs);
	story->is_inherited |= attribution_of(record) == ATTRIBUTION_INHERITED;
	for (size_t i = 0; i < record->field_count; i++)
		note_key(story, &record->fields[i]);
	if (!window.costs.lacks_span)
		extend(story, thread, window.costs.first_ns, window.costs.last_ns);
	if (!thread) {
		story->windows_left_out++;
		return 0;
	}
	costs_add(&thread->costs, &window.costs);
	return keep_window(story, &window);
}

static void note_fiber(struct story_thread *thread, int64_t fiber)
{
	if (fiber == 0)
		return;
	thread->has_several_fibers |= thread->fiber != 0 && thread->fiber != fiber;
	thread->fiber = fiber;
}

static int add_own_slice(struct story *story, const struct record_view *record,
			 struct story_thread *thread)
{
	struct story_slice slice = { .thread = thread };
	int r;

	if (!thread || !slice_view_read(record, &slice.view) ||
	    story->slice_count == STORY_SLICES_MAX) {
		story->slices_left_out++;
		return 0;
	}
	note_fiber(thread, slice.view.fiber);
	r = array_reserve(&story->slices, &story->slice_room, story->slice_count + 1);
	if (r < 0)
		return r;
	story->slices[story->slice_count++] = slice;
	thread->slice_count++;
	saturated_add_to(&thread->state_ns[slice.view.state], slice_view_spent_ns(&slice.view));
	extend(story, thread, slice.view.start_ns, slice.view.end_ns);
	return 0;
}

static int add_own(struct story *story, const struct selection_record *taken,
		   struct story_thread *thread)
{
	if (!taken->is_wanted) {
		story->is_left_out = true;
		return 0;
	}
	return taken->view->kind == RECORD_KIND_CPU ? add_own_cpu(story, taken->view, thread)
						    : add_own_slice(story, taken->view, thread);
}

static size_t common_length(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t length = 0;

	while (length < a_bytes && length < b_bytes && a[length] == b[length])
		length++;
	return length;
}

static size_t likeness(const char *wanted, struct record_text id)
{
	size_t wanted_bytes = strlen(wanted);
	size_t common = common_length(wanted, wanted_bytes, id.bytes, id.size_bytes);

	if (id.size_bytes >= LIKENESS_MIN && wanted_bytes >= LIKENESS_MIN &&
	    (memmem(id.bytes, id.size_bytes, wanted, wanted_bytes) ||
	     memmem(wanted, wanted_bytes, id.bytes, id.size_bytes)))
		return LIKENESS_PART + common;
	return common >= LIKENESS_MIN ? common : 0;
}

/* Keeps the ids that are most like the wanted one, to suggest them if the request never comes. */
static void note_hint(struct story *story, struct record_text id)
{
	struct story_hint hint = { .likeness = likeness(story->request_id, id) };

	if (hint.likeness <= story->hints[STORY_HINTS_MAX - 1].likeness)
		return;
	(void)display_escape(id.bytes, id.size_bytes, hint.request_id, sizeof(hint.request_id));
	for (size_t i = 0; i < STORY_HINTS_MAX; i++) {
		struct story_hint next = story->hints[i];

		if (strcmp(next.request_id, hint.request_id) == 0)
			return;
		if (hint.likeness > next.likeness) {
			story->hints[i] = hint;
			hint = next;
		}
	}
}

static int add_other(struct story *story, const struct record_view *record,
		     struct story_thread *thread, struct record_text id)
{
	struct record_text endpoint = { "", 0 };
	struct beside_span span = { .cpu_number = -1 };
	struct costs costs;

	if (story->costs.record_count == 0 && id.size_bytes > 0)
		note_hint(story, id);
	if (!thread)
		return 0;
	(void)record_view_text(record, "endpoint", &endpoint);
	if (record->kind == RECORD_KIND_SLICE) {
		struct slice_view slice;

		if (!slice_view_read(record, &slice) || slice.state != SCHED_RUNNING)
			return 0;
		span = (struct beside_span){ NULL,	   slice.start_ns,   slice.end_ns,
					     slice.cpu_ns, slice.cpu_number, true };
	} else {
		costs = costs_of_record(record);
		if (costs.lacks_span || !costs_has(&costs, COST_CPU))
			return 0;
		span.start_ns = costs.first_ns;
		span.end_ns = costs.last_ns;
		span.cpu_ns = costs.sums[COST_CPU];
	}
	return beside_add(&story->beside, thread, id, endpoint, span);
}

static bool is_own(const struct story *story, const struct selection_record *taken,
		   struct record_text *ret_id)
{
	*ret_id = (struct record_text){ "", 0 };
	if (taken->request)
		*ret_id = open_request_id(&taken->request->open);
	return ret_id->size_bytes > 0 && record_text_is(*ret_id, story->request_id);
}

static int add_activity(struct story *story, const struct selection_record *taken)
{
	struct story_thread *thread;
	struct record_text id;
	int r = story_threads_touch(&story->threads, taken->view, taken->number, &thread);

	if (r < 0)
		return r;
	if (is_own(story, taken, &id))
		return add_own(story, taken, thread);
	return add_other(story, taken->view, thread, id);
}

static int add_stacks(struct story *story, const struct record_view *record)
{
	int r = 0;

	for (int measure = 0; measure < _STACKS_MEASURE_MAX && r == 0; measure++)
		r = stacks_add(&story->stacks[measure], record);
	return r;
}

/* Takes the request's records, and those of others, whose samples may stand for it (stacks.h). A
 * recording without stacks has no use for these; its first frames come with the first samples. */
static int add_code(struct story *story, const struct selection_record *taken)
{
	struct record_text id;

	if (is_own(story, taken, &id))
		return taken->is_wanted ? add_stacks(story, taken->view) : 0;
	return story->has_frames ? stacks_add(&story->stacks[STACKS_CPU], taken->view) : 0;
}

/* Takes the request's cpu records, which say when it was under way, and all stalls: a hog is
 * another request's. */
static int add_stall(struct story *story, const struct selection_record *taken)
{
	struct record_text id;

	if (taken->view->kind == RECORD_KIND_CPU &&
	    !(is_own(story, taken, &id) && taken->is_wanted))
		return 0;
	return stalls_add(&story->stalls, taken->view);
}

static int take(void *context, const struct selection_record *taken)
{
	struct story *story = context;
	enum record_kind kind = taken->view->kind;
	int r = 0;

	if (kind == RECORD_KIND_CPU || kind == RECORD_KIND_SLICE)
		r = add_activity(story, taken);
	if (r == 0 && (kind == RECORD_KIND_CPU || kind == RECORD_KIND_SAMPLE))
		r = add_code(story, taken);
	if (r == 0 && (kind == RECORD_KIND_CPU || kind == RECORD_KIND_STALL))
		r = add_stall(story, taken);
	return r;
}

/* Takes all frames: only the samples show which ones are the request's. */
static int other(void *context, const struct record_view *record)
{
	struct story *story = context;

	if (record->kind != RECORD_KIND_STACK)
		return 0;
	story->has_frames = true;
	return add_stacks(story, record);
}

static int select_request(const char *request_id, struct filter *ret_filter)
{
	_cleanup_free_ char *condition = NULL;

	*ret_filter = (struct filter){ 0 };
	if (asprintf(&condition, "request_id=%s", request_id) < 0)
		return -ENOMEM;
	return filter_add(ret_filter, condition);
}

int story_init(struct story *story, struct totals *totals, const char *request_id)
{
	struct filter of_request = { 0 };
	int r = 0;

	*story = (struct story){ .request_id = request_id,
				 .totals = totals,
				 .listener = { .other = other, .take = take, .context = story } };
	story_threads_init(&story->threads);
	beside_init(&story->beside);
	for (int measure = 0; measure < _STACKS_MEASURE_MAX; measure++) {
		struct filter filter = { 0 };

		if (r == 0)
			r = select_request(request_id, &filter);
		stacks_init(&story->stacks[measure], (enum stacks_measure)measure, &filter);
	}
	if (r == 0)
		r = select_request(request_id, &of_request);
	stalls_init(&story->stalls, &of_request, "endpoint", STORY_STALLS_MAX);
	totals->listener = &story->listener;
	return r;
}

int story_add(struct story *story, const struct record_view *record)
{
	return totals_add(story->totals, record);
}

static int64_t begin_of(const struct story_window *window)
{
	return window->costs.lacks_span ? window->wall_ns - window->window_ns
					: window->costs.first_ns;
}

static int compare_windows(const void *a, const void *b)
{
	const struct story_window *one = a, *other = b;
	int order = compare_i64(begin_of(one), begin_of(other));

	return order ? order : story_thread_compare(one->thread, other->thread);
}

static int compare_slices(const void *a, const void *b)
{
	const struct story_slice *one = a, *other = b;
	int order = compare_i64(one->view.start_ns, other->view.start_ns);

	if (order == 0)
		order = story_thread_compare(one->thread, other->thread);
	return order ? order : compare_i64(one->view.end_ns, other->view.end_ns);
}

/* By thread, then by time. */
static int compare_slices_of_threads(const void *a, const void *b)
{
	const struct story_slice *one = a, *other = b;
	int order = story_thread_compare(one->thread, other->thread);

	return order ? order : compare_slices(a, b);
}

/* Finds the waits for a CPU. A thread waited for the CPU that it ran on next; one wait may be
 * several slices, split where windows end. Returns the number of waits. */
static size_t find_waits(const struct story *story, struct beside_wait *waits)
{
	const struct story_thread *thread = NULL;
	int64_t next_cpu = -1;
	size_t count = 0;

	for (size_t i = story->slice_count; i-- > 0;) {
		const struct story_slice *slice = &story->slices[i];

		if (slice->view.state != SCHED_RUN_QUEUE) {
			thread = slice->thread;
			next_cpu = slice->view.cpu_number;
		} else if (slice->thread == thread && next_cpu >= 0) {
			waits[count++] = (struct beside_wait){ .host = slice->thread->host,
							       .cpu_number = next_cpu,
							       .start_ns = slice->view.start_ns,
							       .end_ns = slice->view.end_ns };
		}
	}
	return count;
}

static void sort(void *items, size_t count, size_t size_bytes,
		 int (*compare)(const void *, const void *))
{
	if (count > 0)
		qsort(items, count, size_bytes, compare);
}

int story_finish(struct story *story)
{
	_cleanup_free_ struct beside_wait *waits = calloc(story->slice_count + 1, sizeof(*waits));
	size_t wait_count;
	int r = waits ? 0 : -ENOMEM;

	for (int measure = 0; measure < _STACKS_MEASURE_MAX && r == 0; measure++)
		r = stacks_finish(&story->stacks[measure]);
	if (r == 0)
		r = stalls_finish(&story->stalls);
	if (r < 0)
		return r;
	sort(story->slices, story->slice_count, sizeof(*story->slices), compare_slices_of_threads);
	wait_count = find_waits(story, waits);
	sort(story->slices, story->slice_count, sizeof(*story->slices), compare_slices);
	sort(story->windows, story->window_count, sizeof(*story->windows), compare_windows);
	return beside_finish(&story->beside, story_has_slices(story), waits, wait_count);
}

int64_t story_held_ns(const struct story *story)
{
	int64_t held_ns = 0;

	for (size_t i = 0; i < story->stalls.hog_count; i++)
		saturated_add_to(&held_ns, story->stalls.hogs[i]->held_ns);
	return held_ns;
}

const struct frames *story_frames(const struct story *story)
{
	return story->has_frames ? &story->stacks[STACKS_CPU].frames : NULL;
}

const struct group *story_endpoint(const struct story *story)
{
	const char *endpoint = story_value(story, "endpoint");
	const struct group *group = story->totals->groupings[0].groups;
	char value[STORY_VALUE_BYTES];

	for (; endpoint && group; group = group->hh.next) {
		(void)display_escape(group->value, group->value_bytes, value, sizeof(value));
		if (strcmp(value, endpoint) == 0)
			return group;
	}
	return NULL;
}

int64_t story_slices_lost(const struct story *story)
{
	return story->totals->books.losses[COUNTER_SLICE_LOST];
}

bool story_beside_is_incomplete(const struct story *story)
{
	bool is_incomplete = story->beside.is_full || story->threads.is_full;

	for (size_t i = 0; i < story->threads.host_count; i++)
		is_incomplete |= beside_is_incomplete(&story->beside, &story->threads.hosts[i]);
	return is_incomplete;
}
