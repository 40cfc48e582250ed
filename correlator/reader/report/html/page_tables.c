/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_tables.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/display.h"
#include "reader/report/cell_text.h"
#include "reader/report/html/page_text.h"
#include "reader/report/io_view.h"
#include "reader/report/stalls_view.h"
#include "reader/report/syscalls_view.h"

static void put(FILE *out, const char *text)
{
	page_text_put(out, text, strlen(text));
}

/* Leaves out figures that no row has, or that were not measured. Returns the number left. */
static size_t choose_figures(const struct rows *rows, enum figure *ret_figures)
{
	size_t count = figures_of_view(FIGURE_VIEW_PAGE_GROUPS, ret_figures), kept = 0;

	for (size_t i = 0; i < count; i++)
		if (rows_tell(rows, ret_figures[i]))
			ret_figures[kept++] = ret_figures[i];
	return kept;
}

static void print_head(const struct rows *rows, const enum figure *columns, size_t count, FILE *out)
{
	(void)fputs("<thead><tr><th scope=\"col\" data-field=\"key\">", out);
	put(out, rows->grouping->by);
	(void)fputs("</th>", out);
	for (size_t i = 0; i < count; i++) {
		const struct figure_info *info = &figure_infos[columns[i]];

		(void)fprintf(out, "<th scope=\"col\" data-field=\"%s\" data-unit=\"%s\">%s</th>",
			      info->name, figure_unit_name(info->unit), info->title);
	}
	(void)fputs("</tr></thead>", out);
}

static void print_label(const struct rows *rows, const struct row *row, FILE *out)
{
	struct record_text value;

	switch (row->kind) {
	case ROW_KIND_GROUP:
		value = grouping_label(row->group,
				       rows->totals->selection.recording.has_several_hosts);
		page_text_put(out, value.bytes, value.size_bytes);
		return;
	case ROW_KIND_HIDDEN:
		(void)fprintf(out, "… %zu more", rows->hidden_count);
		return;
	case ROW_KIND_WITHOUT_KEY:
		(void)fputs("(no ", out);
		put(out, rows->grouping->by);
		(void)fputc(')', out);
		return;
	default:
		(void)fputs(rows_kind_name(row->kind), out);
	}
}

static void print_row(const struct rows *rows, const struct row *row, const enum figure *columns,
		      size_t count, FILE *out)
{
	char text[TABLE_CELL_BYTES];
	int64_t number;

	(void)fprintf(out, "\n<tr data-row=\"%s\"><th scope=\"row\">", rows_kind_name(row->kind));
	print_label(rows, row, out);
	(void)fputs("</th>", out);
	for (size_t i = 0; i < count; i++) {
		(void)strcpy(text, "-");
		if (rows_number(rows, row, columns[i], &number))
			cell_text_number(columns[i], number, false, text);
		(void)fprintf(out, "<td>%s</td>", text);
	}
	(void)fputs("</tr>", out);
}

int page_tables_groups(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	enum figure columns[_FIGURE_MAX];
	struct rows rows;
	size_t count;
	int r = rows_init(&rows, totals, grouping, options->sort, options->top_count);

	if (r < 0)
		return r;
	count = choose_figures(&rows, columns);
	print_head(&rows, columns, count, out);
	(void)fputs("<tbody>", out);
	for (size_t i = 0; i < rows_count(&rows) && !ferror(out); i++) {
		struct row row = rows_at(&rows, i);

		print_row(&rows, &row, columns, count, out);
	}
	(void)fputs("</tbody>", out);
	rows_deinit(&rows);
	return 0;
}

static void print_fact(const char *label, const char *value, FILE *out)
{
	(void)fprintf(out, "\n<tr><th scope=\"row\">%s</th><td>", label);
	put(out, value);
	(void)fputs("</td></tr>", out);
}

static void print_part(const char *label, int64_t ns, int64_t whole_ns, FILE *out)
{
	char duration[DISPLAY_NUMBER_BYTES], text[2 * DISPLAY_NUMBER_BYTES] = "";

	display_duration(ns, duration);
	if (whole_ns > 0)
		(void)snprintf(text, sizeof(text), "%s = %.2f %%", duration,
			       100.0 * (double)ns / (double)whole_ns);
	print_fact(label, whole_ns > 0 ? text : duration, out);
}

static void print_count(const char *label, int64_t count, const char *unit, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES], text[2 * DISPLAY_NUMBER_BYTES];

	display_number(count, number);
	(void)snprintf(text, sizeof(text), "%s%s", number, unit);
	print_fact(label, text, out);
}

static void print_losses(const struct books *books, FILE *out)
{
	for (int i = 0; i < _COUNTER_MAX; i++)
		if (books->losses[i] > 0)
			print_count(books_loss_name((enum counter)i), books->losses[i], "", out);
	if (books->gap_count > 0)
		print_count("records dropped", books->dropped_records, "", out);
}

static void print_cost(const struct totals *totals, FILE *out)
{
	const struct self_cost *cost = &totals->self_cost;
	int64_t observed_ns =
		costs_has(&totals->observed, COST_CPU) ? totals->observed.sums[COST_CPU] : 0;

	if (cost->record_count > 0)
		print_part("Correlator's own CPU", cost->cpu_ns, observed_ns, out);
	if (cost->has_programs)
		print_part("in its BPF programs", cost->run_ns, observed_ns, out);
}

void page_tables_books(const struct totals *totals, FILE *out)
{
	const struct books *books = &totals->books;

	if (books->balance_count > 0) {
		print_part("the kernel's exec time", books->exec_ns, 0, out);
		print_part("attributed", books->attributed_ns, books->exec_ns, out);
		print_part("unattributed", books->unattributed_ns, books->exec_ns, out);
		print_part("overflow", books->overflow_ns, books->exec_ns, out);
		print_count("residual", books_residual_ns(books), " ns", out);
	}
	print_losses(books, out);
	print_cost(totals, out);
}

static void print_files(const struct view_options *options, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	for (size_t i = 0; i < options->file_count; i++) {
		const struct input_file *file = &options->files[i];

		(void)fputs("\n<div><dt>recording</dt><dd>", out);
		put(out, file->name);
		display_number((int64_t)file->entry_count, number);
		(void)fprintf(out, ", %s records%s%s</dd></div>", number,
			      file->is_truncated ? ", truncated" : "",
			      file->damaged_places > 0 ? ", DAMAGED: some are missing" : "");
	}
}

static void print_definition(const char *label, const char *value, FILE *out)
{
	if (value[0] == '\0')
		return;
	(void)fprintf(out, "\n<div><dt>%s</dt><dd>", label);
	put(out, value);
	(void)fputs("</dd></div>", out);
}

static void print_time(const struct recording *recording, FILE *out)
{
	time_t seconds = (time_t)(recording->start_ns / NS_PER_S);
	char duration[DISPLAY_NUMBER_BYTES], text[128];
	struct tm utc;

	if (recording->end_ns == 0 || !gmtime_r(&seconds, &utc))
		return;
	display_duration((int64_t)(recording_duration_ns(recording) & INT64_MAX), duration);
	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc);
	print_definition("from", text, out);
	print_definition("for", duration, out);
}

static void print_mode(const struct recording *recording, FILE *out)
{
	const struct recording_mode *mode = &recording->modes[0];
	char text[2 * RECORDING_TEXT_BYTES];

	if (recording->mode_count == 0)
		return;
	(void)snprintf(text, sizeof(text), "%s%s%s", mode->mode,
		       mode->has_kernel_split ? "" : ", without user/kernel split",
		       recording->mode_count > 1 ? ", and changed" : "");
	print_definition("mode", text, out);
}

void page_tables_facts(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct recording *recording = &totals->selection.recording;

	print_files(options, out);
	print_time(recording, out);
	print_mode(recording, out);
	print_definition("kernel", recording->kernel_release, out);
	print_definition("correlator", recording->tool_version, out);
	for (size_t i = 0; i < totals->selection.filter.condition_count; i++) {
		char text[256];

		filter_describe(&totals->selection.filter.conditions[i], text);
		print_definition("only", text, out);
	}
}

static void print_table_head(const struct table *table, FILE *out)
{
	(void)fputs("<thead><tr>", out);
	for (size_t i = 0; i < table->column_count; i++) {
		(void)fprintf(out, "<th scope=\"col\"%s>",
			      table->columns[i].is_text ? " class=\"text\"" : "");
		put(out, table->columns[i].title);
		(void)fputs("</th>", out);
	}
	(void)fputs("</tr></thead>", out);
}

/* context: id of the element that is its title. */
static void print_table(const void *context, const struct table *table, FILE *out)
{
	const char *title_id = context;
	char text[TABLE_CELL_BYTES];

	(void)fprintf(out,
		      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		      "aria-labelledby=\"%s\"><table class=\"listed\">",
		      title_id);
	print_table_head(table, out);
	(void)fputs("<tbody>", out);
	for (size_t row = 0; row < table->row_count; row++) {
		(void)fputs("\n<tr>", out);
		for (size_t i = 0; i < table->column_count; i++) {
			table->cell(table->context, row, i, text);
			(void)fprintf(out, i == 0 ? "<th scope=\"row\">" : "<td%s>",
				      table->columns[i].is_text ? " class=\"text\"" : "");
			put(out, text);
			(void)fputs(i == 0 ? "</th>" : "</td>", out);
		}
		(void)fputs("</tr>", out);
	}
	(void)fputs("</tbody></table></div>", out);
}

static void print_sentence(const void *context, const char *text, FILE *out)
{
	(void)context;
	(void)fputs("<p class=\"hint\">", out);
	put(out, text);
	(void)fputs("</p>", out);
}

int page_tables_stalls(const struct page_data *data, const char *title_id, FILE *out)
{
	const struct text_printer printer = { print_table, print_sentence, title_id };
	const struct stalls_view_options options = {
		.top_count = PAGE_STALLS_MAX,
		.frames = data->frames.count > 0 ? &data->frames : NULL,
		.printer = &printer,
	};

	return stalls_text_print(&data->stalls, &options, out);
}

int page_tables_syscalls(const struct page_data *data, const char *title_id, FILE *out)
{
	const struct text_printer printer = { print_table, print_sentence, title_id };
	const struct tally_view_options options = { .top_count = PAGE_TALLY_MAX,
						    .printer = &printer };

	return syscalls_text_print(&data->syscalls, &options, out);
}

int page_tables_io(const struct page_data *data, const char *title_id, FILE *out)
{
	const struct text_printer printer = { print_table, print_sentence, title_id };
	const struct tally_view_options options = { .top_count = PAGE_TALLY_MAX,
						    .printer = &printer };

	return io_text_print(&data->io, &options, out);
}
