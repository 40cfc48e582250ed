/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/compare.h"
#include "base/random.h"
#include "reader/profile/stacks.h"
#include "reader/report/html/page_reduce.h"
#include "reader/report/html/page_request.h"
#include "record/slice_view.h"

enum {
	SLICES_OF_REQUEST_MAX = 20000
};

/* PID/TID and the name that the thread has in this record. */
static int name_thread(struct page_data *data, const struct record_view *record,
		       uint32_t *ret_thread)
{
	struct record_text name = { "", 0 }, host = { "", 0 };
	char text[2 * RECORD_VIEW_TEXT_BYTES_MAX + 64];
	int64_t pid = 0, tid = 0;
	int length;

	(void)record_view_text(record, RECORD_FIELD(cpu, thread_name), &name);
	if (data->totals->selection.recording.has_several_hosts)
		(void)record_view_text(record, RECORD_FIELD(common, host_name), &host);
	(void)record_view_count(record, RECORD_FIELD(common, pid), &pid);
	(void)record_view_count(record, RECORD_FIELD(cpu, tid), &tid);
	length = snprintf(text, sizeof(text), "%.*s%s%" PRId64 "/%" PRId64 " %.*s",
			  (int)host.size_bytes, host.bytes, host.size_bytes > 0 ? ":" : "", pid,
			  tid, (int)name.size_bytes, name.bytes);
	return page_names_put(&data->threads, (struct record_text){ text, (size_t)length },
			      ret_thread);
}

static int name_group(struct page_data *data, const struct record_view *record, uint32_t *ret_group)
{
	struct record_text value = { "", 0 };

	(void)record_view_text(record, page_data_by(data), &value);
	return page_names_put(&data->groups, value, ret_group);
}

/* The record to read values from. With a filter, a record that was not chosen may have lent a
 * value, so it is the view with what was lent. Otherwise it is the raw record: the page lends
 * values itself, within whatever time is selected. */
static const struct record_view *view_of(const struct page_data *data,
					 const struct selection_record *taken)
{
	return data->totals->selection.filter.condition_count > 0 ? taken->view : taken->raw;
}

/* The request that a record belongs to. 0, -ENOMEM. */
static int find_owner(struct page_data *data, const struct selection_record *taken,
		      struct page_request **ret_request)
{
	struct record_text id;

	*ret_request = &data->nobody;
	if (!taken->request)
		return 0;
	id = open_request_id(&taken->request->open);
	return page_request_provide(data, id.bytes, id.size_bytes, ret_request);
}

static int charge(void *context, const struct selection_record *taken, const struct costs *costs)
{
	struct page_data *data = context;
	struct page_cell cell = { .wall_ns = taken->raw->wall_ns,
				  .part = totals_part_of(taken->attribution),
				  .costs = *costs };
	struct page_request *owner = &data->nobody;
	int r = 0;

	if (taken->request ? data->has_request_threads : data->has_threads)
		r = name_thread(data, taken->raw, &cell.thread);
	if (r == 0 && cell.part == TOTALS_PART_ATTRIBUTED)
		r = name_group(data, view_of(data, taken), &cell.group);
	if (r == 0)
		r = find_owner(data, taken, &owner);
	if (r == 0)
		r = page_request_add_cell(data, owner, &cell);
	if (r < 0)
		return r;
	costs_add(&owner->costs, costs);
	return page_reduce(data);
}

static struct page_slice page_slice_of(const struct slice_view *slice)
{
	return (struct page_slice){
		.start_ns = slice->start_ns,
		.end_ns = slice->end_ns,
		.cpu_plus_1 = (uint32_t)slice->cpu_number + 1,
		.woken_by_tid = (uint32_t)slice->woken_by_tid,
		.fiber = (uint32_t)slice->fiber,
		.state = slice->state,
	};
}

static int add_slice(struct page_data *data, const struct selection_record *taken)
{
	struct page_request *request;
	struct slice_view view;
	struct page_slice slice;
	int r;

	if (!taken->is_wanted || !taken->request || !slice_view_read(taken->view, &view))
		return 0;
	slice = page_slice_of(&view);
	r = find_owner(data, taken, &request);
	if (r == 0)
		r = name_thread(data, taken->view, &slice.thread);
	if (r == 0 && request->slice_count == SLICES_OF_REQUEST_MAX) {
		data->dropped_slices++;
		return 0;
	}
	if (r == 0)
		r = page_request_add_slice(data, request, &slice);
	return r < 0 ? r : page_reduce(data);
}

static int add_sample(struct page_data *data, const struct selection_record *taken)
{
	const struct record_view *record = view_of(data, taken);
	struct page_sample sample = { .wall_ns = record->wall_ns,
				      .part = totals_part_of(taken->attribution) };
	struct page_request *request;
	int r;

	if (!taken->is_wanted)
		return 0;
	while (!stacks_weigh(record, sample.measure, &sample.samples, &sample.stands_for_ns))
		if (sample.measure++ == STACKS_OFF_CPU)
			return 0;
	if (data->sample_count >= data->limits.samples) {
		data->dropped_samples += sample.samples;
		return 0;
	}
	r = find_owner(data, taken, &request);
	if (r == 0 && sample.part == TOTALS_PART_ATTRIBUTED)
		r = name_group(data, record, &sample.group);
	if (r == 0)
		r = frames_find_sampled(&data->frames, record, &sample.frame);
	if (r == 0)
		r = page_request_add_sample(data, request, &sample);
	return r < 0 ? r : page_reduce(data);
}

/* Takes the wanted records: those of the kind, and cpu records for its groups. */
static int add_to_tally(struct page_data *data, struct tally *tally, const char *module,
			const struct selection_record *taken)
{
	if (!taken->is_wanted || !recording_had_module(&data->totals->selection.recording, module))
		return 0;
	tally->by = page_data_by(data);
	return tally_add(tally, taken->view);
}

/* Takes the wanted records, and the other hogs, which may have held up a wanted request. */
static int add_stall(struct page_data *data, const struct selection_record *taken)
{
	if (data->totals->selection.recording.stall_ns == 0)
		return 0;
	data->stalls.by = page_data_by(data);
	return taken->is_wanted ? stalls_add(&data->stalls, taken->view)
				: stalls_add_other(&data->stalls, taken->view);
}

static int take(void *context, const struct selection_record *taken)
{
	struct page_data *data = context;
	int r;

	switch (taken->view->kind) {
	case RECORD_KIND_CPU:
		r = page_times_add(&data->times, taken->view);
		if (r == 0)
			r = add_to_tally(data, &data->syscalls, "syscalls", taken);
		if (r == 0)
			r = add_to_tally(data, &data->io, "io", taken);
		return r < 0 ? r : add_stall(data, taken);
	case RECORD_KIND_SYSCALL:
		return add_to_tally(data, &data->syscalls, "syscalls", taken);
	case RECORD_KIND_IO:
		return add_to_tally(data, &data->io, "io", taken);
	case RECORD_KIND_STALL:
		return add_stall(data, taken);
	case RECORD_KIND_SLICE:
		return add_slice(data, taken);
	case RECORD_KIND_SAMPLE:
		return add_sample(data, taken);
	default:
		return 0;
	}
}

static int add_to_lists(struct page_data *data, const struct record_view *record)
{
	int r = stalls_add(&data->stalls, record);

	if (r == 0)
		r = tally_add(&data->syscalls, record);
	return r == 0 ? tally_add(&data->io, record) : r;
}

static int other(void *context, const struct record_view *record)
{
	struct page_data *data = context;
	int r;

	switch (record->kind) {
	case RECORD_KIND_META:
		return add_to_lists(data, record);
	case RECORD_KIND_BALANCE:
		r = add_to_lists(data, record);
		return r < 0 ? r : page_times_add(&data->times, record);
	case RECORD_KIND_GAP:
	case RECORD_KIND_SELF:
		return page_times_add(&data->times, record);
	case RECORD_KIND_STACK:
		return frames_add(&data->frames, record);
	default:
		return 0;
	}
}

static int settle(void *context, const struct request *settled)
{
	struct page_data *data = context;
	struct record_text id = request_id(settled);
	struct page_request *request = page_request_find(data, id.bytes, id.size_bytes);

	if (request && settled->costs.record_count > 0)
		page_request_close(data, request);
	else if (request)
		page_request_remove(data, request);
	return 0;
}

const char *page_data_by(const struct page_data *data)
{
	const struct grouping *grouping = &data->totals->groupings[0];

	return grouping->is_by_request ? "endpoint" : grouping->by;
}

int page_data_init(struct page_data *data, struct totals *totals, const struct page_limits *limits)
{
	static const struct page_limits usual = {
		.requests = PAGE_REQUESTS_MAX,
		.cells = PAGE_CELLS_MAX,
		.slices = PAGE_SLICES_MAX,
		.samples = PAGE_SAMPLES_MAX,
		.times = PAGE_TIMES_MAX,
		.groups = PAGE_GROUPS_MAX,
		.threads = PAGE_THREADS_MAX,
	};

	*data = (struct page_data){
		.limits = limits ? *limits : usual,
		.totals = totals,
		.seed = random_seed(),
		.has_threads = true,
		.has_request_threads = true,
		.listener = { other, take, charge, settle, data },
	};
	frames_init(&data->frames);
	stalls_init(&data->stalls, &(struct filter){ 0 }, NULL, PAGE_STALLS_MAX);
	tally_init(&data->syscalls, &syscalls_subject, &(struct filter){ 0 }, NULL);
	tally_init(&data->io, &io_subject, &(struct filter){ 0 }, NULL);
	page_names_init(&data->groups, data->limits.groups);
	page_names_init(&data->threads, data->limits.threads);
	totals->listener = &data->listener;
	return page_times_init(&data->times, data->limits.times);
}

void page_data_deinit(struct page_data *data)
{
	while (data->requests)
		page_request_remove(data, data->requests);
	free(data->nobody.cells);
	free(data->nobody.samples);
	frames_deinit(&data->frames);
	stalls_deinit(&data->stalls);
	tally_deinit(&data->syscalls);
	tally_deinit(&data->io);
	page_names_deinit(&data->groups);
	page_names_deinit(&data->threads);
	page_times_deinit(&data->times);
	*data = (struct page_data){ 0 };
}

static int compare_slices(const void *a, const void *b)
{
	const struct page_slice *first = a, *second = b;

	return compare_i64(first->start_ns, second->start_ns);
}

static void find_origin(struct page_data *data)
{
	uint64_t origin_ns = data->times.count > 0 ? data->times.times[0].start_ns : 0;

	for (size_t i = 1; i < data->times.count; i++)
		if (data->times.times[i].start_ns < origin_ns)
			origin_ns = data->times.times[i].start_ns;
	data->origin_ns = (int64_t)origin_ns;
}

int page_data_finish(struct page_data *data)
{
	struct page_request *request, *next;
	int r;

	DL_FOREACH_SAFE(data->requests, request, next) {
		/* The filter passed no cpu record of it: only slices or samples. */
		if (request->cell_count == 0)
			page_request_remove(data, request);
		else if (request->slice_count > 0)
			qsort(request->slices, request->slice_count, sizeof(*request->slices),
			      compare_slices);
	}
	r = page_reduce_finally(data);
	if (r == 0)
		r = frames_finish(&data->frames);
	if (r == 0)
		r = stalls_finish(&data->stalls);
	if (r == 0)
		r = tally_finish(&data->syscalls);
	if (r == 0)
		r = tally_finish(&data->io);
	page_merge_cells(data);
	find_origin(data);
	return r;
}
