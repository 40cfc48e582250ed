/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format_stacks_diff.h"

#include <inttypes.h>
#include <math.h>

#include "base/display.h"
#include "reader/report/csv_part.h"
#include "reader/report/json_group.h"
#include "reader/report/json_part.h"

static const char *const names[_STACKS_DIFF_MAX] = { "self", "total" };

enum {
	INDENT = 4
};

/* By what is compared. */
static const struct terms {
	const char *title, *spent, *samples;
	const char *too_few;
	const char *mean; /* these two in JSON */
	const char *count;
} terms[] = {
	[STACKS_CPU] = { "CPU of a request by method", "cpu", "samples", "too few samples",
			 "cpu_mean", "samples" },
	[STACKS_OFF_CPU] = { "What a request waited, blocked or for a CPU, by method", "off CPU",
			     "waits", "too few waits", "off_cpu_mean", "waits" },
};

static const char *verdict_of(const struct diff_figure *figure, const struct terms *said)
{
	if (!figure->is_tested)
		return figure->before_ns == figure->after_ns ? "equal" : said->too_few;
	if (!diff_has_changed(figure))
		return "no significant change";
	return figure->difference.value > 0 ? "MORE" : "LESS";
}

/* With its sign. */
static void write_change(double ns, char ret_text[static DISPLAY_NUMBER_BYTES + 1])
{
	ret_text[0] = ns < 0 ? '-' : '+';
	display_duration((int64_t)fmin(fabs(ns), 9e18), ret_text + 1);
}

static void print_figure(const char *name, const struct diff_figure *figure,
			 const struct terms *said, FILE *out)
{
	char before[DISPLAY_NUMBER_BYTES], after[DISPLAY_NUMBER_BYTES];
	char low[DISPLAY_NUMBER_BYTES + 1], high[DISPLAY_NUMBER_BYTES + 1];

	if (!figure->is_known)
		return;
	display_duration(figure->before_ns, before);
	display_duration(figure->after_ns, after);
	(void)fprintf(out, "%*s%-7s %9s → %9s  %s", INDENT, "", name, before, after,
		      verdict_of(figure, said));
	if (figure->is_tested) {
		write_change(figure->difference.low, low);
		write_change(figure->difference.high, high);
		(void)fprintf(out, " (%s to %s)", low, high);
	}
	(void)fputc('\n', out);
}

static void print_method(const struct stacks_diff_row *row, size_t width, const struct terms *said,
			 FILE *out)
{
	char name[FRAMES_TEXT_ESCAPED_BYTES], fitted[FRAMES_TEXT_ESCAPED_BYTES];

	(void)display_escape(row->key.name->bytes, row->key.name->size_bytes, name, sizeof(name));
	display_fit(name, width > 0 ? width : 1, fitted, sizeof(fitted));
	(void)fprintf(out, "%s\n", fitted);
	for (int what = 0; what < _STACKS_DIFF_MAX; what++)
		print_figure(names[what], &row->figures[what], said, out);
}

void format_stacks_diff(const struct stacks_diff *diff, const struct format_stacks_options *options,
			FILE *out)
{
	const struct terms *said = &terms[diff->measure];
	size_t count = 0;

	display_sentence(out, options->width, INDENT,
			 "%s: before %" PRIu64 " requests, %" PRIu64 " %s; after %" PRIu64
			 " requests, %" PRIu64 " %s.",
			 said->title, diff->requests[0], diff->samples[0], said->samples,
			 diff->requests[1], diff->samples[1], said->samples);
	(void)fputs("\nall (exact)\n", out);
	print_figure(said->spent, &diff->spent, said, out);
	for (const struct stacks_diff_row *row = diff->rows; row; row = row->hh.next, count++) {
		if (options->method_count > 0 && count == options->method_count) {
			(void)fprintf(out, "… %zu more\n", HASH_COUNT(diff->rows) - count);
			break;
		}
		print_method(row, options->width, said, out);
	}
	(void)fputc('\n', out);
	if (diff->tested_count == 0) {
		display_sentence(out, options->width, INDENT,
				 "nothing to compare: too few requests with %s", said->samples);
		return;
	}
	display_sentence(out, options->width, INDENT,
			 "%zu of %zu figures changed significantly, at 95 %% for all of them "
			 "together (Holm's correction). The intervals are of 95 %% each, and take "
			 "requests for independent.",
			 diff->changed_count, diff->tested_count);
}

static void set_text(json_t *object, const char *name, const struct frames_text *text, int *r)
{
	if (text)
		json_part_set(object, name, json_part_bytes(text->bytes, text->size_bytes), r);
}

static int print_json_row(const struct stacks_diff_row *row, const char *before, FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	set_text(object, "name", row->key.name, &r);
	set_text(object, "file", row->key.file, &r);
	if (row->key.first_line > 0)
		json_part_set(object, "first_line", json_integer(row->key.first_line), &r);
	json_part_set(object, "frame_kind",
		      json_part_text(frame_kind_name((enum frame_kind)row->key.kind)), &r);
	for (int what = 0; what < _STACKS_DIFF_MAX; what++)
		if (row->figures[what].is_known)
			json_part_set(object, names[what],
				      json_group_figure(&row->figures[what], &r), &r);
	return json_part_print(before, object, r, out);
}

static int print_json_all(const struct stacks_diff *diff, FILE *out)
{
	static const char *const sides[] = { "before", "after" };
	json_t *object = json_object();
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		json_t *side = json_object();

		json_part_set(side, "requests", json_integer((json_int_t)diff->requests[i]), &r);
		json_part_set(side, terms[diff->measure].count,
			      json_integer((json_int_t)diff->samples[i]), &r);
		json_part_set(object, sides[i], side, &r);
	}
	if (diff->spent.is_known)
		json_part_set(object, terms[diff->measure].mean,
			      json_group_figure(&diff->spent, &r), &r);
	return json_part_print(",\n\"all\":", object, r, out);
}

int format_stacks_diff_json(const struct stacks_diff *diff, FILE *out)
{
	const struct stacks_diff_row *row;
	int r = 0;

	(void)fputs("{\"methods\":[", out);
	for (row = diff->rows; row && r == 0 && !ferror(out); row = row->hh.next)
		r = print_json_row(row, row == diff->rows ? "\n" : ",\n", out);
	(void)fputs("]", out);
	if (r == 0)
		r = print_json_all(diff, out);
	(void)fprintf(out, ",\n\"tested\":%zu,\"changed\":%zu}\n", diff->tested_count,
		      diff->changed_count);
	return r;
}

static void print_csv_text(const struct frames_text *text, FILE *out)
{
	(void)fputc(',', out);
	if (text)
		csv_part_label((struct record_text){ text->bytes, text->size_bytes }, out);
}

int format_stacks_diff_csv(const struct stacks_diff *diff, FILE *out)
{
	static const struct diff_figure nothing;

	(void)fputs("row,name,file,first_line,frame_kind,before_requests,after_requests", out);
	for (int what = 0; what < _STACKS_DIFF_MAX; what++)
		(void)fprintf(out,
			      ",%s_before_ns,%s_after_ns,%s_change_ns,%s_low_ns,%s_high_ns,"
			      "%s_probability,%s_corrected,%s_changed",
			      names[what], names[what], names[what], names[what], names[what],
			      names[what], names[what], names[what]);
	(void)fputs("\r\n", out);
	for (const struct stacks_diff_row *row = diff->rows; row; row = row->hh.next) {
		(void)fputs("method", out);
		print_csv_text(row->key.name, out);
		print_csv_text(row->key.file, out);
		(void)fputc(',', out);
		if (row->key.first_line > 0)
			(void)fprintf(out, "%" PRIu32, row->key.first_line);
		(void)fprintf(out, ",%s,,", frame_kind_name((enum frame_kind)row->key.kind));
		for (int what = 0; what < _STACKS_DIFF_MAX; what++)
			csv_part_figure(&row->figures[what], out);
		(void)fputs("\r\n", out);
	}
	/* Exact, and with all that it called. */
	(void)fprintf(out, "all,,,,,%" PRIu64 ",%" PRIu64, diff->requests[0], diff->requests[1]);
	csv_part_figure(&nothing, out);
	csv_part_figure(&diff->spent, out);
	(void)fputs("\r\n", out);
	return 0;
}
