/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_columns.h"

#include <errno.h>
#include <inttypes.h>

#include <utlist.h>

#include "reader/report/html/page_code.h"
#include "reader/report/html/page_column.h"
#include "reader/report/json_part.h"
#include "record/sched_state.h"
#include "requests/histogram.h"

static int64_t after(int64_t wall_ns, int64_t origin_ns)
{
	return wall_ns > origin_ns ? wall_ns - origin_ns : 0;
}

/* Columns of a cell besides its costs. */
enum cell_number {
	CELL_TIME,
	CELL_GROUP,
	CELL_THREAD,
	CELL_PART,
	CELL_MISSING, /* bits by enum cost; the next bit: the span is missing */
	CELL_FIRST,
	CELL_SPAN, /* from its first activity to its last */
	CELL_COSTS, /* this and up: by enum cost */
};

static const char *const cell_columns[CELL_COSTS] = {
	[CELL_TIME] = "time", [CELL_GROUP] = "group",	  [CELL_THREAD] = "thread",
	[CELL_PART] = "part", [CELL_MISSING] = "missing", [CELL_FIRST] = "first",
	[CELL_SPAN] = "span",
};

static void print_view(const char *name, enum figure_view view, const char *before, FILE *out)
{
	enum figure shown[_FIGURE_MAX];
	size_t count = figures_of_view(view, shown);

	(void)fprintf(out, "%s\"%s\":[", before, name);
	for (size_t i = 0; i < count; i++)
		(void)fprintf(out, "%s\"%s\"", i > 0 ? "," : "", figure_infos[shown[i]].name);
	(void)fputc(']', out);
}

static void print_views(FILE *out)
{
	(void)fputs(",\n\"views\":{", out);
	print_view("requests", FIGURE_VIEW_PAGE_REQUESTS, "", out);
	print_view("story", FIGURE_VIEW_PAGE_STORY, ",", out);
	print_view("costs", FIGURE_VIEW_PAGE_COSTS, ",", out);
	print_view("compared", FIGURE_VIEW_PAGE_COMPARED, ",", out);
	print_view("cells", FIGURE_VIEW_PAGE_CELLS, ",", out);
	(void)fputc('}', out);
}

static void print_figures(FILE *out)
{
	(void)fputs(",\n\"figures\":{", out);
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		const struct figure_info *info = &figure_infos[figure];

		(void)fprintf(out, "%s\"%s\":{\"title\":\"%s\",\"unit\":\"%s\"%s}",
			      figure > 0 ? "," : "", info->name, info->title,
			      figure_unit_name(info->unit),
			      info->when == FIGURE_WHEN_ALWAYS ? ",\"always\":1" : "");
	}
	(void)fputc('}', out);
}

static void print_states(FILE *out)
{
	(void)fputs(",\n\"states\":[", out);
	for (int state = 0; state < _SCHED_STATE_MAX; state++)
		(void)fprintf(out, "%s{\"name\":\"%s\",\"title\":\"%s\"}", state > 0 ? "," : "",
			      sched_state_name((enum sched_state)state),
			      sched_state_title((enum sched_state)state));
	(void)fputc(']', out);
}

/* Prints the meaning of the numbers that page.js computes with. */
static void print_meaning(FILE *out)
{
	(void)fprintf(out,
		      ",\n\"meaning\":{\"buckets\":%d,\"parts\":{\"unattributed\":%d,"
		      "\"overflow\":%d},\"bits\":{\"span\":%d",
		      HISTOGRAM_BUCKETS, TOTALS_PART_UNATTRIBUTED, TOTALS_PART_OVERFLOW, _COST_MAX);
	for (enum cost cost = 0; cost < _COST_MAX; cost++)
		(void)fprintf(out, ",\"%s\":%d", figure_infos[figure_of_cost(cost)].name,
			      (int)cost);
	(void)fputc('}', out);
	print_views(out);
	print_figures(out);
	print_states(out);
	(void)fputc('}', out);
}

static int64_t cell_number(const struct page_data *data, const struct page_cell *cell, int which)
{
	const struct costs *costs = &cell->costs;

	switch (which) {
	case CELL_TIME:
		return (int64_t)page_times_find(&data->times, cell->wall_ns);
	case CELL_GROUP:
		return cell->group;
	case CELL_THREAD:
		return cell->thread;
	case CELL_PART:
		return cell->part;
	case CELL_MISSING:
		return (int64_t)(costs->missing & ((1U << _COST_MAX) - 1)) |
		       (int64_t)costs->lacks_span << _COST_MAX;
	case CELL_FIRST:
		return costs->lacks_span ? 0 : after(costs->first_ns, data->origin_ns);
	case CELL_SPAN:
		return costs->lacks_span ? 0 : costs->last_ns - costs->first_ns;
	default:
		return costs->sums[which - CELL_COSTS];
	}
}

static void print_cell_column(const struct page_data *data, const char *name, int which, FILE *out)
{
	const struct page_request *request;
	struct page_column column;

	page_column_open(&column, name, out);
	DL_FOREACH(data->requests, request)
		for (size_t i = 0; i < request->cell_count; i++)
			page_column_put(&column, cell_number(data, &request->cells[i], which));
	for (size_t i = 0; i < data->nobody.cell_count; i++)
		page_column_put(&column, cell_number(data, &data->nobody.cells[i], which));
	page_column_close(&column);
}

/* A request's cells are consecutive; nobody's come last. */
static void print_cells(const struct page_data *data, FILE *out)
{
	const struct page_request *request;
	enum figure shown[_FIGURE_MAX];
	size_t count = figures_of_view(FIGURE_VIEW_PAGE_CELLS, shown);
	struct page_column column;

	(void)fprintf(out, ",\n\"cells\":{\"count\":%zu", data->cell_count);
	page_column_open(&column, "of_request", out);
	DL_FOREACH(data->requests, request)
		page_column_put(&column, (int64_t)request->cell_count);
	page_column_close(&column);
	for (int which = 0; which < CELL_COSTS; which++)
		print_cell_column(data, cell_columns[which], which, out);
	for (size_t i = 0; i < count; i++) {
		enum cost cost = COST_CPU;

		(void)figure_cost(shown[i], &cost);
		print_cell_column(data, figure_infos[shown[i]].name, CELL_COSTS + (int)cost, out);
	}
	(void)fputc('}', out);
}

enum slice_number {
	SLICE_STATE,
	SLICE_START, /* from the start of the request's previous slice */
	SLICE_SPAN,
	SLICE_THREAD,
	SLICE_CPU,
	SLICE_WOKEN_BY,
	SLICE_FIBER,
	_SLICE_MAX,
};

static const char *const slice_columns[_SLICE_MAX] = {
	[SLICE_STATE] = "state",   [SLICE_START] = "start", [SLICE_SPAN] = "span",
	[SLICE_THREAD] = "thread", [SLICE_CPU] = "cpu",	    [SLICE_WOKEN_BY] = "woken_by",
	[SLICE_FIBER] = "fiber",
};

static int64_t slice_number(const struct page_slice *slice, int which, int64_t before_ns)
{
	const int64_t numbers[_SLICE_MAX] = {
		[SLICE_STATE] = slice->state,
		[SLICE_START] = after(slice->start_ns, before_ns),
		[SLICE_SPAN] = slice->end_ns - slice->start_ns,
		[SLICE_THREAD] = slice->thread,
		[SLICE_CPU] = slice->cpu_plus_1,
		[SLICE_WOKEN_BY] = slice->woken_by_tid,
		[SLICE_FIBER] = slice->fiber,
	};

	return numbers[which];
}

static void print_slice_column(const struct page_data *data, int which, FILE *out)
{
	const struct page_request *request;
	struct page_column column;

	page_column_open(&column, slice_columns[which], out);
	DL_FOREACH(data->requests, request) {
		int64_t before_ns = data->origin_ns;

		for (size_t i = 0; i < request->slice_count; i++) {
			page_column_put(&column,
					slice_number(&request->slices[i], which, before_ns));
			/* A start before the origin is shown at the origin. */
			if (request->slices[i].start_ns > before_ns)
				before_ns = request->slices[i].start_ns;
		}
	}
	page_column_close(&column);
}

static void print_slices(const struct page_data *data, FILE *out)
{
	const struct page_request *request;
	struct page_column column;

	(void)fprintf(out, ",\n\"slices\":{\"count\":%zu,\"dropped\":%" PRIu64, data->slice_count,
		      data->dropped_slices);
	page_column_open(&column, "of_request", out);
	DL_FOREACH(data->requests, request)
		page_column_put(&column, (int64_t)request->slice_count);
	page_column_close(&column);
	for (int which = 0; which < _SLICE_MAX; which++)
		print_slice_column(data, which, out);
	(void)fputc('}', out);
}

enum time_number {
	TIME_END,
	TIME_START,
	TIME_BALANCES,
	TIME_EXEC,
	TIME_ATTRIBUTED,
	TIME_UNATTRIBUTED,
	TIME_OVERFLOW,
	TIME_WORST_MISSING, /* the worst residual, if time is missing */
	TIME_WORST_TOO_MUCH, /* the worst residual negated, if too much was charged */
	TIME_OWN,
	TIME_SELF,
	TIME_DROPPED,
	TIME_LOSSES, /* this and up: by enum counter */
};

static const char *const time_columns[TIME_LOSSES] = {
	[TIME_END] = "end",
	[TIME_START] = "start",
	[TIME_BALANCES] = "balances",
	[TIME_EXEC] = "exec",
	[TIME_ATTRIBUTED] = "attributed",
	[TIME_UNATTRIBUTED] = "unattributed",
	[TIME_OVERFLOW] = "overflow",
	[TIME_WORST_MISSING] = "worst_missing",
	[TIME_WORST_TOO_MUCH] = "worst_too_much",
	[TIME_OWN] = "own_cpu",
	[TIME_SELF] = "self_cpu",
	[TIME_DROPPED] = "dropped",
};

static int64_t time_number(const struct page_time *time, int which, int64_t origin_ns)
{
	const struct books *books = &time->books;
	const int64_t numbers[TIME_LOSSES] = {
		[TIME_END] = after((int64_t)time->end_ns, origin_ns),
		[TIME_START] = after((int64_t)time->start_ns, origin_ns),
		[TIME_BALANCES] = (int64_t)books->balance_count,
		[TIME_EXEC] = books->exec_ns,
		[TIME_ATTRIBUTED] = books->attributed_ns,
		[TIME_UNATTRIBUTED] = books->unattributed_ns,
		[TIME_OVERFLOW] = books->overflow_ns,
		[TIME_WORST_MISSING] = books->worst_residual_ns,
		[TIME_WORST_TOO_MUCH] = -books->worst_residual_ns,
		[TIME_OWN] = books->own_cpu_ns,
		[TIME_SELF] = time->self_cpu_ns,
		[TIME_DROPPED] = books->dropped_records,
	};

	return which < TIME_LOSSES ? numbers[which] : books->losses[which - TIME_LOSSES];
}

static void print_time_column(const struct page_data *data, const char *name, int which, FILE *out)
{
	struct page_column column;

	page_column_open(&column, name, out);
	for (size_t i = 0; i < data->times.count; i++)
		page_column_put(&column,
				time_number(&data->times.times[i], which, data->origin_ns));
	page_column_close(&column);
}

static void print_times(const struct page_data *data, FILE *out)
{
	/* The origin is a string: a script's numbers cannot hold it exactly. */
	(void)fprintf(out,
		      ",\n\"times\":{\"count\":%zu,\"merged\":%" PRIu64 ",\"origin_ns\":\"%" PRId64
		      "\"",
		      data->times.count, data->times.merged_count, data->origin_ns);
	for (int which = 0; which < TIME_LOSSES; which++)
		print_time_column(data, time_columns[which], which, out);
	for (int i = 0; i < _COUNTER_MAX; i++)
		print_time_column(data, books_loss_name((enum counter)i), TIME_LOSSES + i, out);
	(void)fputc('}', out);
}

static int print_text(struct record_text text, size_t index, FILE *out)
{
	return json_part_print(index > 0 ? "," : "", json_part_bytes(text.bytes, text.size_bytes),
			       0, out);
}

static int print_names(const char *name, const struct page_names *names, FILE *out)
{
	int r = 0;

	(void)fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < names->count && r == 0; i++)
		r = print_text(names->texts[i], i, out);
	(void)fputc(']', out);
	return r;
}

static int print_ids(const struct page_data *data, FILE *out)
{
	const struct page_request *request;
	size_t index = 0;
	int r = 0;

	(void)fputs(",\n\"ids\":[", out);
	DL_FOREACH(data->requests, request) {
		if (r == 0)
			r = print_text((struct record_text){ request->id, request->id_bytes },
				       index++, out);
	}
	(void)fputc(']', out);
	return r;
}

static void print_loss_texts(FILE *out)
{
	(void)fputs(",\n\"losses\":{", out);
	for (int i = 0; i < _COUNTER_MAX; i++)
		(void)fprintf(out, "%s\"%s\":\"%s\"", i > 0 ? "," : "",
			      books_loss_name((enum counter)i), books_loss_text((enum counter)i));
	(void)fputc('}', out);
}

int page_columns_print(const struct page_data *data, FILE *out)
{
	int r = json_part_print("{\"by\":", json_part_text(page_data_by(data)), 0, out);

	(void)fprintf(out, ",\"folded\":%" PRIu64, data->folded_requests);
	print_meaning(out);
	print_loss_texts(out);
	if (r == 0)
		r = print_names("groups", &data->groups, out);
	if (r == 0)
		r = print_names("threads", &data->threads, out);
	if (r == 0)
		r = print_ids(data, out);
	print_times(data, out);
	print_cells(data, out);
	print_slices(data, out);
	if (r == 0)
		r = page_code_print(data, out);
	(void)fputs("}\n", out);
	return r;
}
