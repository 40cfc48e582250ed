/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/report/format_columns.h"
#include "reader/report/json_group.h"
#include "reader/report/json_part.h"

static void add_figure(const struct rows *rows, const struct row *row, enum figure figure,
		       json_t *object, int *r)
{
	const char *field = figure_infos[figure].field;
	bool is_name = figure_infos[figure].source == FIGURE_SOURCE_NAME;
	const char *name =
		is_name && row->group ? row->group->names[figure_infos[figure].what] : NULL;
	int64_t number;
	double value;

	if (name)
		json_part_set(object, field, json_part_text(name), r);
	else if (rows_real(rows, row, figure, &value))
		json_part_set(object, field, json_real(value), r);
	else if (!rows_is_real(figure) && rows_number(rows, row, figure, &number) &&
		 (figure != FIGURE_CHILDREN || number > 0))
		json_part_set(object, field, json_integer(number), r);
}

static void describe_row(const struct rows *rows, const struct row *row, json_t *object, int *r)
{
	if (row->group)
		json_group_keys(object, rows->grouping, row->group,
				rows->totals->selection.recording.has_several_hosts, r);
	if (row->kind == ROW_KIND_HIDDEN)
		json_part_set(object, "groups", json_integer((json_int_t)rows->hidden_count), r);
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (format_has_field(rows->grouping, figure))
			add_figure(rows, row, figure, object, r);
}

static int print_row(const struct rows *rows, size_t index, const char *before, FILE *out)
{
	struct row row = rows_at(rows, index);
	int r = 0;
	json_t *object = json_object();

	describe_row(rows, &row, object, &r);
	return json_part_print(before, object, r, out);
}

static int print_rows(const struct rows *rows, FILE *out)
{
	static const char *const names[_ROW_KIND_MAX] = {
		[ROW_KIND_HIDDEN] = ",\n\"hidden\":",
		[ROW_KIND_WITHOUT_KEY] = ",\n\"without_key\":",
		[ROW_KIND_UNATTRIBUTED] = ",\n\"unattributed\":",
		[ROW_KIND_OVERFLOW] = ",\n\"overflow\":",
		[ROW_KIND_TOTAL] = ",\n\"total\":",
	};
	int r = 0;

	(void)fputs(",\n\"rows\":[", out);
	for (size_t i = 0; i < rows->group_count && r == 0 && !ferror(out); i++)
		r = print_row(rows, i, i == 0 ? "\n" : ",\n", out);
	(void)fputs("]", out);
	for (size_t i = rows->group_count; i < rows_count(rows) && r == 0; i++)
		r = print_row(rows, i, names[rows_at(rows, i).kind], out);
	return r;
}

int format_ndjson(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	struct rows rows;
	int r = rows_init(&rows, totals, grouping, options->sort, options->top_count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rows_count(&rows) && r == 0 && !ferror(out); i++) {
		struct row row = rows_at(&rows, i);
		json_t *object = json_object();

		json_part_set(object, "row", json_part_text(rows_kind_name(row.kind)), &r);
		json_part_set(object, "by", json_part_text(grouping->by), &r);
		describe_row(&rows, &row, object, &r);
		r = json_part_print("", object, r, out);
		(void)fputc('\n', out);
	}
	rows_deinit(&rows);
	return r;
}

/* What unattributed time was, by thread. */
static int print_unattributed(const struct totals *totals, FILE *out)
{
	struct rows rows;
	int r = rows_init(&rows, totals, &totals->unattributed_threads, FIGURE_CPU, 0);

	if (r < 0)
		return r;
	(void)fputs(",\n\"unattributed_threads\":[", out);
	for (size_t i = 0; i < rows_find_kind(&rows, ROW_KIND_TOTAL) && r == 0 && !ferror(out); i++)
		r = print_row(&rows, i, i == 0 ? "\n" : ",\n", out);
	(void)fputs("]", out);
	rows_deinit(&rows);
	return r;
}

static int print_inherited(const struct totals *totals, FILE *out)
{
	const struct costs *inherited = &totals->inherited;
	json_int_t request_count = (json_int_t)totals->inherited_requests;
	json_t *object;
	int r = 0;

	if (inherited->record_count == 0)
		return 0;
	object = json_object();
	json_part_set(object, "requests", json_integer(request_count), &r);
	if (costs_has(inherited, COST_CPU))
		json_part_set(object, "cpu_ns", json_integer(inherited->sums[COST_CPU]), &r);
	return json_part_print(",\n\"inherited\":", object, r, out);
}

static int print_books(const struct totals *totals, FILE *out)
{
	const struct books *books = &totals->books;
	json_t *object = json_object();
	json_t *losses = json_object();
	int r = 0;

	if (books->balance_count > 0) {
		double ppm, ratio;

		json_part_set(object, "exec_ns", json_integer(books->exec_ns), &r);
		json_part_set(object, "attributed_ns", json_integer(books->attributed_ns), &r);
		json_part_set(object, "unattributed_ns", json_integer(books->unattributed_ns), &r);
		json_part_set(object, "overflow_ns", json_integer(books->overflow_ns), &r);
		json_part_set(object, "residual_ns", json_integer(books_residual_ns(books)), &r);
		if (books_residual_ppm(books, &ppm))
			json_part_set(object, "residual_ppm", json_real(ppm), &r);
		json_part_set(object, "worst_residual_ns", json_integer(books->worst_residual_ns),
			      &r);
		json_part_set(object, "worst_exec_ns", json_integer(books->worst_exec_ns), &r);
		json_part_set(object, "own_cpu_ns", json_integer(books->own_cpu_ns), &r);
		if (books->sampled_count > 0) {
			json_part_set(object, "samples", json_integer(books->samples), &r);
			json_part_set(object, "sampled_ns", json_integer(books->sampled_ns), &r);
		}
		if (books_sampled_ratio(books, &ratio))
			json_part_set(object, "sampled_ratio", json_real(ratio), &r);
		json_part_set(object, "balanced", json_boolean(books_balance(books)), &r);
		json_part_set(object, "matches_records", json_boolean(totals_match_books(totals)),
			      &r);
	}
	for (int i = 0; i < _COUNTER_MAX && books->balance_count > 0; i++)
		json_part_set(losses, books_loss_name((enum counter)i),
			      json_integer(books->losses[i]), &r);
	json_part_set(object, "losses", losses, &r);
	if (books->gap_count > 0) {
		json_part_set(object, "dropped_records", json_integer(books->dropped_records), &r);
		json_part_set(object, "dropped_segments", json_integer(books->dropped_segments),
			      &r);
	}
	return json_part_print(",\n\"books\":", object, r, out);
}

static json_t *programs_array(const struct own_cost *cost, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < cost->program_count; i++) {
		const struct own_cost_program *program = &cost->programs[i];
		json_t *object = json_object();

		json_part_set(object, "name", json_part_text(program->name), r);
		json_part_set(object, "runs", json_integer(program->run_count), r);
		json_part_set(object, "run_ns", json_integer(program->run_ns), r);
		json_part_append(array, object, r);
	}
	return array;
}

static int print_own_cost(const struct own_cost *cost, FILE *out)
{
	json_t *object;
	int r = 0;

	if (cost->record_count == 0)
		return 0;
	object = json_object();
	json_part_set(object, "cpu_ns", json_integer(cost->cpu_ns), &r);
	if (cost->rss_bytes_max > 0)
		json_part_set(object, "rss_bytes_max", json_integer(cost->rss_bytes_max), &r);
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		const struct own_cost_fill *fill = &cost->fills[map];
		json_t *part;

		if (fill->limit == 0)
			continue;
		part = json_object();
		json_part_set(part, "used_max", json_integer(fill->used), &r);
		json_part_set(part, "limit", json_integer(fill->limit), &r);
		json_part_set(object, own_cost_map_name((enum own_cost_map)map), part, &r);
	}
	if (cost->has_programs) {
		json_part_set(object, "programs", programs_array(cost, &r), &r);
		json_part_set(object, "programs_run_ns", json_integer(cost->run_ns), &r);
		json_part_set(object, "programs_measured_ns",
			      json_integer(cost->programs_measured_ns), &r);
	}
	if (cost->programs_samples > 0)
		json_part_set(object, "programs_samples", json_integer(cost->programs_samples), &r);
	if (cost->programs_error[0] != '\0')
		json_part_set(object, "programs_error", json_part_text(cost->programs_error), &r);
	return json_part_print(",\n\"own_cost\":", object, r, out);
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
		if (info.lacks_bound || (info.mode[0] != '\0' && strcmp(info.mode, "exact")))
			json_part_set(object, "ambiguous_is_bound", json_boolean(!info.lacks_bound),
				      r);
		set_known(object, "ppid", info.ppid, r);
		set_known(object, "start_ns", info.start_ns, r);
		set_known(object, "end_ns", info.end_ns, r);
		json_part_append(array, object, r);
	}
	return array;
}

static json_t *files_array(const struct format_options *options, int *r)
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

/* "mixed" once it has changed: modes tells when. */
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

static int print_meta(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct recording *recording = &totals->selection.recording;
	json_t *object = json_object();
	json_t *keys = json_array();
	int r = 0;

	if (recording->meta_count > 0) {
		json_part_set(object, "tool_version", json_part_text(recording->tool_version), &r);
		json_part_set(object, "kernel_release", json_part_text(recording->kernel_release),
			      &r);
		set_known(object, "cpu_count", recording->cpu_count, &r);
		set_modes(object, recording, &r);
		json_part_set(object, "interval_ns", json_integer(recording->interval_ns), &r);
	}
	/* All times are by the clock as it was before. */
	if (recording->clock_set_ns != 0)
		json_part_set(object, "clock_set_ns", json_integer(recording->clock_set_ns), &r);
	for (size_t i = 0; i < recording->key_count; i++)
		json_part_append(keys, json_part_text(recording->keys[i]), &r);
	json_part_set(object, "keys", keys, &r);
	if (totals->selection.filter.condition_count > 0)
		json_part_set(object, "where", conditions_array(&totals->selection.filter, &r), &r);
	if (recording->end_ns > 0) {
		uint64_t duration_ns = recording_duration_ns(recording);

		json_part_set(object, "start_ns", json_integer((json_int_t)recording->start_ns),
			      &r);
		json_part_set(object, "end_ns", json_integer((json_int_t)recording->end_ns), &r);
		json_part_set(object, "duration_ns", json_integer((json_int_t)duration_ns), &r);
	}
	set_known(object, "double_records", (int64_t)totals->selection.double_records, &r);
	json_part_set(object, "processes", processes_array(recording, &r), &r);
	json_part_set(object, "files", files_array(options, &r), &r);
	return json_part_print(",\n\"meta\":", object, r, out);
}

int format_json_rest(const struct totals *totals, const struct format_options *options, FILE *out)
{
	int r = print_unattributed(totals, out);

	if (r == 0)
		r = print_inherited(totals, out);
	if (r == 0)
		r = print_books(totals, out);
	if (r == 0)
		r = print_own_cost(&totals->own_cost, out);
	if (r == 0)
		r = print_meta(totals, options, out);
	return r;
}

int format_json(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	struct rows rows;
	int r = rows_init(&rows, totals, grouping, options->sort, options->top_count);

	if (r < 0)
		return r;
	r = json_part_print("{\"by\":", json_part_text(grouping->by), 0, out);
	if (r == 0)
		r = print_rows(&rows, out);
	if (r == 0 && grouping->lacking_cpu_ns > 0)
		(void)fprintf(out, ",\n\"lacking_cpu_ns\":%" PRId64, grouping->lacking_cpu_ns);
	if (r == 0)
		r = format_json_rest(totals, options, out);
	if (r == 0)
		(void)fputs("}\n", out);
	rows_deinit(&rows);
	return r;
}
