/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/stacks_diff_view.h"

#include <inttypes.h>
#include <math.h>

#include "base/display.h"

static const char *const names[_STACKS_DIFF_MAX] = { "self", "total" };

enum {
	INDENT = 4
};

/* Wording by measure. */
static const struct terms {
	const char *title, *spent, *samples;
	const char *too_few;
} terms[] = {
	[STACKS_CPU] = { "CPU of a request by method", "cpu", "samples", "too few samples" },
	[STACKS_OFF_CPU] = { "What a request waited, blocked or for a CPU, by method", "off CPU",
			     "waits", "too few waits" },
};

static const char *verdict_of(const struct diff_figure *figure, const struct terms *said)
{
	if (!figure->is_tested)
		return figure->before_ns == figure->after_ns ? "equal" : said->too_few;
	return diff_verdict(figure);
}

/* Writes a change as a duration with its sign. */
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

void stacks_diff_text_print(const struct stacks_diff *diff,
			    const struct stacks_view_options *options, FILE *out)
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
