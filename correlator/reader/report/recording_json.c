/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/recording_json.h"

#include <string.h>

#include "reader/report/json_part.h"
#include "reader/report/rows_sheet.h"

/* Unattributed time by thread. */
static void add_unattributed(struct sheet *sheet, const struct totals *totals)
{
	static const struct sheet_kind kind = { "thread", "unattributed_threads", false,
						SHEET_PART_OF_DOCUMENTS };
	const struct grouping *grouping = &totals->unattributed_threads;
	struct rows_columns columns = { 0 };
	struct rows rows;
	size_t count;

	if (!sheet_next(sheet, &kind, 1))
		return;
	sheet->r = rows_init(&rows, totals, grouping, FIGURE_CPU, 0);
	if (sheet->r < 0)
		return;
	rows_sheet_add(sheet, grouping, &columns);
	count = rows_find_kind(&rows, ROW_KIND_TOTAL);
	for (size_t i = 0; i < count && sheet_goes_on(sheet); i++) {
		struct row row = rows_at(&rows, i);

		rows_sheet_put(sheet, 0, &columns, &rows, &row);
	}
	sheet_end_rows(sheet);
	rows_deinit(&rows);
}

static void add_inherited(struct sheet *sheet, const struct totals *totals)
{
	const struct costs *inherited = &totals->inherited;
	json_int_t request_count = (json_int_t)totals->inherited_requests;
	json_t *object;

	if (inherited->record_count == 0)
		return;
	object = json_object();
	json_part_set(object, "requests", json_integer(request_count), &sheet->r);
	if (costs_has(inherited, COST_CPU))
		json_part_set(object, "cpu_ns", json_integer(inherited->sums[COST_CPU]), &sheet->r);
	sheet_member(sheet, "inherited", object);
}

static void add_books(struct sheet *sheet, const struct totals *totals)
{
	const struct books *books = &totals->books;
	json_t *object = json_object();
	json_t *losses = json_object();

	if (books->balance_count > 0) {
		double ppm, ratio;

		json_part_set(object, "exec_ns", json_integer(books->exec_ns), &sheet->r);
		json_part_set(object, "attributed_ns", json_integer(books->attributed_ns),
			      &sheet->r);
		json_part_set(object, "unattributed_ns", json_integer(books->unattributed_ns),
			      &sheet->r);
		json_part_set(object, "overflow_ns", json_integer(books->overflow_ns), &sheet->r);
		json_part_set(object, "residual_ns", json_integer(books_residual_ns(books)),
			      &sheet->r);
		if (books_residual_ppm(books, &ppm))
			json_part_set(object, "residual_ppm", json_real(ppm), &sheet->r);
		json_part_set(object, "worst_residual_ns", json_integer(books->worst_residual_ns),
			      &sheet->r);
		json_part_set(object, "worst_exec_ns", json_integer(books->worst_exec_ns),
			      &sheet->r);
		json_part_set(object, "own_cpu_ns", json_integer(books->own_cpu_ns), &sheet->r);
		if (books->sampled_count > 0) {
			json_part_set(object, "samples", json_integer(books->samples), &sheet->r);
			json_part_set(object, "sampled_ns", json_integer(books->sampled_ns),
				      &sheet->r);
		}
		if (books_sampled_ratio(books, &ratio))
			json_part_set(object, "sampled_ratio", json_real(ratio), &sheet->r);
		json_part_set(object, "balanced", json_boolean(books_balance(books)), &sheet->r);
		json_part_set(object, "matches_records", json_boolean(totals_match_books(totals)),
			      &sheet->r);
	}
	for (int i = 0; i < _COUNTER_MAX && books->balance_count > 0; i++)
		json_part_set(losses, books_loss_name((enum counter)i),
			      json_integer(books->losses[i]), &sheet->r);
	json_part_set(object, "losses", losses, &sheet->r);
	if (books->gap_count > 0) {
		json_part_set(object, "dropped_records", json_integer(books->dropped_records),
			      &sheet->r);
		json_part_set(object, "dropped_segments", json_integer(books->dropped_segments),
			      &sheet->r);
	}
	sheet_member(sheet, "books", object);
}

static json_t *programs_array(const struct self_cost *cost, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < cost->program_count; i++) {
		const struct self_cost_program *program = &cost->programs[i];
		json_t *object = json_object();

		json_part_set(object, "name", json_part_text(program->name), r);
		json_part_set(object, "runs", json_integer(program->run_count), r);
		json_part_set(object, "run_ns", json_integer(program->run_ns), r);
		json_part_append(array, object, r);
	}
	return array;
}

static void add_own_cost(struct sheet *sheet, const struct self_cost *cost)
{
	json_t *object;

	if (cost->record_count == 0)
		return;
	object = json_object();
	json_part_set(object, "cpu_ns", json_integer(cost->cpu_ns), &sheet->r);
	if (cost->rss_bytes_max > 0)
		json_part_set(object, "rss_bytes_max", json_integer(cost->rss_bytes_max),
			      &sheet->r);
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		const struct self_cost_fill *fill = &cost->fills[map];
		json_t *part;

		if (fill->limit == 0)
			continue;
		part = json_object();
		json_part_set(part, "used_max", json_integer(fill->used), &sheet->r);
		json_part_set(part, "limit", json_integer(fill->limit), &sheet->r);
		json_part_set(object, self_cost_map_name((enum self_cost_map)map), part, &sheet->r);
	}
	if (cost->skipped_runs > 0)
		json_part_set(object, "programs_skipped", json_integer(cost->skipped_runs),
			      &sheet->r);
	if (cost->has_programs) {
		json_part_set(object, "programs", programs_array(cost, &sheet->r), &sheet->r);
		json_part_set(object, "programs_run_ns", json_integer(cost->run_ns), &sheet->r);
		json_part_set(object, "programs_measured_ns",
			      json_integer(cost->programs_measured_ns), &sheet->r);
	}
	if (cost->programs_samples > 0)
		json_part_set(object, "programs_samples", json_integer(cost->programs_samples),
			      &sheet->r);
	if (cost->programs_error[0] != '\0')
		json_part_set(object, "programs_error", json_part_text(cost->programs_error),
			      &sheet->r);
	sheet_member(sheet, "own_cost", object);
}

static void set_known(json_t *object, const char *name, int64_t value, int *r)
{
	if (value > 0)
		json_part_set(object, name, json_integer(value), r);
}

static json_t *processes_array(const struct recording *recording, int *r)
{
	struct recording_process_info info;
	const void *cursor = NULL;
	json_t *array = json_array();

	while (recording_next_process(recording, &cursor, &info)) {
		json_t *object = json_object();

		json_part_set(object, "host_name", json_part_text(info.host_name), r);
		json_part_set(object, "pid", json_integer(info.pid), r);
		json_part_set(object, "comm", json_part_text(info.comm), r);
		if (info.server[0] != '\0')
			json_part_set(object, "server", json_part_text(info.server), r);
		if (info.ruby_version[0] != '\0')
			json_part_set(object, "ruby_version", json_part_text(info.ruby_version), r);
		if (info.mode[0] != '\0')
			json_part_set(object, "mode", json_part_text(info.mode), r);
		if (info.lacks_bound || watch_mode_is_inexact(info.mode))
			json_part_set(object, "ambiguous_is_bound", json_boolean(!info.lacks_bound),
				      r);
		set_known(object, "ppid", info.ppid, r);
		set_known(object, "start_ns", info.start_ns, r);
		set_known(object, "end_ns", info.end_ns, r);
		json_part_append(array, object, r);
	}
	return array;
}

static json_t *files_array(const struct view_options *options, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < options->file_count; i++) {
		const struct input_file *file = &options->files[i];
		json_t *object = json_object();

		json_part_set(object, "name", json_part_text(file->name), r);
		json_part_set(object, "records", json_integer((json_int_t)file->entry_count), r);
		json_part_set(object, "truncated", json_boolean(file->is_truncated), r);
		set_known(object, "damaged_places", (int64_t)file->damaged_places, r);
		set_known(object, "damaged_bytes", (int64_t)file->damaged_bytes, r);
		json_part_append(array, object, r);
	}
	return array;
}

/* "mixed" once the mode has changed; `modes` has the times. */
static void set_modes(json_t *object, const struct recording *recording, int *r)
{
	json_t *array;

	if (recording->mode_count == 1) {
		json_part_set(object, "mode", json_part_text(recording->modes[0].mode), r);
		json_part_set(object, "kernel_split",
			      json_boolean(recording->modes[0].has_kernel_split), r);
		return;
	}
	array = json_array();
	for (size_t i = 0; i < recording->mode_count; i++) {
		const struct recording_mode *mode = &recording->modes[i];
		json_t *item = json_object();

		json_part_set(item, "start_ns", json_integer((json_int_t)mode->wall_ns), r);
		json_part_set(item, "mode", json_part_text(mode->mode), r);
		json_part_set(item, "kernel_split", json_boolean(mode->has_kernel_split), r);
		if (mode->reason[0] != '\0')
			json_part_set(item, "reason", json_part_text(mode->reason), r);
		json_part_append(array, item, r);
	}
	json_part_set(object, "mode", json_part_text("mixed"), r);
	json_part_set(object, "modes", array, r);
}

static json_t *names_array(const char names[][RECORDING_TEXT_BYTES], size_t count, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_part_append(array, json_part_text(names[i]), r);
	return array;
}

static json_t *conditions_array(const struct filter *filter, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < filter->condition_count; i++) {
		char text[256];

		filter_describe(&filter->conditions[i], text);
		json_part_append(array, json_part_text(text), r);
	}
	return array;
}

static void add_meta(struct sheet *sheet, const struct totals *totals,
		     const struct view_options *options)
{
	const struct recording *recording = &totals->selection.recording;
	json_t *object = json_object();

	if (recording->meta_count > 0) {
		json_part_set(object, "tool_version", json_part_text(recording->tool_version),
			      &sheet->r);
		json_part_set(object, "kernel_release", json_part_text(recording->kernel_release),
			      &sheet->r);
		set_known(object, "cpu_count", recording->cpu_count, &sheet->r);
		set_modes(object, recording, &sheet->r);
		json_part_set(object, "interval_ns", json_integer(recording->interval_ns),
			      &sheet->r);
	}
	/* All times are by the clock as it was before it was set. */
	if (recording->clock_set_ns != 0)
		json_part_set(object, "clock_set_ns", json_integer(recording->clock_set_ns),
			      &sheet->r);
	json_part_set(object, "keys", names_array(recording->keys, recording->key_count, &sheet->r),
		      &sheet->r);
	if (recording->module_count > 0)
		json_part_set(object, "modules",
			      names_array(recording->modules, recording->module_count, &sheet->r),
			      &sheet->r);
	if (totals->selection.filter.condition_count > 0)
		json_part_set(object, "where",
			      conditions_array(&totals->selection.filter, &sheet->r), &sheet->r);
	if (recording->end_ns > 0) {
		uint64_t duration_ns = recording_duration_ns(recording);

		json_part_set(object, "start_ns", json_integer((json_int_t)recording->start_ns),
			      &sheet->r);
		json_part_set(object, "end_ns", json_integer((json_int_t)recording->end_ns),
			      &sheet->r);
		json_part_set(object, "duration_ns", json_integer((json_int_t)duration_ns),
			      &sheet->r);
	}
	set_known(object, "double_records", (int64_t)totals->selection.double_records, &sheet->r);
	json_part_set(object, "processes", processes_array(recording, &sheet->r), &sheet->r);
	json_part_set(object, "files", files_array(options, &sheet->r), &sheet->r);
	sheet_member(sheet, "meta", object);
}

void recording_json_add(struct sheet *sheet, const struct totals *totals,
			const struct view_options *options)
{
	if (sheet->format != FORMAT_JSON)
		return;
	add_unattributed(sheet, totals);
	add_inherited(sheet, totals);
	add_books(sheet, totals);
	add_own_cost(sheet, &totals->self_cost);
	add_meta(sheet, totals, options);
}
