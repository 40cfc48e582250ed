/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/format.h"

#include <string.h>

#include "base/text.h"
#include "report/display.h"

/* Names of programs are cut to it, and indented in it. */
enum {
	LABEL_COLUMNS = 22,
	INDENT = 2,
};

static void print_label(const char *label, FILE *out)
{
	(void)fprintf(out, "  %-*s ", LABEL_COLUMNS, label);
}

/* A time, and what part it is of the whole, if that is measured (above 0). The line goes on. */
static void print_part(const char *label, int64_t ns, int64_t whole_ns, FILE *out)
{
	char duration[DISPLAY_NUMBER_BYTES];

	display_duration(ns, duration);
	print_label(label, out);
	(void)fprintf(out, "%10s", duration);
	if (whole_ns > 0)
		(void)fprintf(out, " %8.2f %%", 100.0 * (double)ns / (double)whole_ns);
}

static void print_line(const char *label, int64_t ns, int64_t whole_ns, FILE *out)
{
	print_part(label, ns, whole_ns, out);
	(void)fputc('\n', out);
}

static void print_title(const char *title, const struct format_options *options, FILE *out)
{
	(void)fprintf(out, "\n%s%s%s\n", options->is_bold ? "\033[1m" : "", title,
		      options->is_bold ? "\033[0m" : "");
}

static void print_residual(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];
	double ppm;

	display_number(books_residual_ns(books), number);
	print_label("residual", out);
	(void)fprintf(out, "%7s ns", number);
	if (books_residual_ppm(books, &ppm))
		(void)fprintf(out, "  = %.2f ppm of the exec time", ppm);
	(void)fputc('\n', out);
}

/* Of the same CPU, by samples: near to it, or some were lost. */
static void print_sampled(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	if (books->sampled_count == 0)
		return;
	display_number(books->samples, number);
	print_part("by samples", books->sampled_ns, books->sampled_exec_ns, out);
	(void)fprintf(out, "  = %s sample%s\n", number, books->samples == 1 ? "" : "s");
}

/* For information: a short window has a large part of its time at its ends. */
static void print_worst(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	if (books->balance_count < 2)
		return;
	display_number(books->worst_residual_ns, number);
	print_label("largest of a window", out);
	(void)fprintf(out, "%7s ns", number);
	if (books->worst_exec_ns > 0)
		(void)fprintf(out, "  = %.2f ppm of its exec time",
			      1e6 * (double)books->worst_residual_ns /
				      (double)books->worst_exec_ns);
	(void)fputc('\n', out);
}

/*
 * In any mode but the exact one it is the bound of the error, so that a 0 says something, if all
 * changes of context were counted.
 */
static void print_ambiguous(const struct totals *totals, FILE *out)
{
	const struct recording *recording = &totals->recording;
	bool is_inexact = false;

	for (size_t i = 0; i < recording->mode_count; i++)
		is_inexact |= strcmp(recording->modes[i].mode, "exact") != 0;
	if (costs_has(&totals->observed, COST_AMBIGUOUS) &&
	    (is_inexact || totals->observed.sums[COST_AMBIGUOUS] > 0))
		print_line(recording->lacks_bound ? "ambiguous, no bound" : "ambiguous, at most",
			   totals->observed.sums[COST_AMBIGUOUS], totals->books.exec_ns, out);
}

static void print_stolen(const struct costs *all, size_t width, FILE *out)
{
	char duration[DISPLAY_NUMBER_BYTES];

	if (!costs_has(all, COST_STOLEN) || all->sums[COST_STOLEN] == 0)
		return;
	display_duration(all->sums[COST_STOLEN], duration);
	display_sentence(
		out, width, DISPLAY_INDENT,
		"  stolen %s: taken from the CPUs by the hypervisor or interrupts, part of no "
		"request",
		duration);
}

static void print_mismatch(const struct totals *totals, size_t width, FILE *out)
{
	const struct books *books = &totals->books;
	const struct {
		const char *what;
		const struct costs *costs;
		int64_t charged_ns;
	} sums[] = {
		{ "CPU", &totals->all, books_charged_ns(books) },
		{ "unattributed CPU", &totals->unattributed, books->unattributed_ns },
		{ "overflow", &totals->overflow, books->overflow_ns },
	};
	char table[DISPLAY_NUMBER_BYTES], charged[DISPLAY_NUMBER_BYTES];

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		int64_t table_ns =
			costs_has(sums[i].costs, COST_CPU) ? sums[i].costs->sums[COST_CPU] : 0;

		if (costs_has(sums[i].costs, COST_CPU) && table_ns == sums[i].charged_ns)
			continue;
		display_number(table_ns, table);
		display_number(sums[i].charged_ns, charged);
		display_sentence(out, width, DISPLAY_INDENT,
				 "THE TABLE DOES NOT MATCH THE BOOKS: its %s adds up to %s ns, the "
				 "balance records charged %s ns",
				 sums[i].what, table, charged);
	}
}

static void print_verdicts(const struct totals *totals, size_t width, FILE *out)
{
	const struct books *books = &totals->books;
	char first[DISPLAY_NUMBER_BYTES], second[DISPLAY_NUMBER_BYTES];

	if (!books_balance(books)) {
		display_number(books_residual_ns(books), first);
		display_number(books->exec_ns, second);
		display_sentence(out, width, DISPLAY_INDENT,
				 "THE BOOKS DO NOT BALANCE: %s ns of %s ns of exec time are not "
				 "accounted for (the limit is 0.1 %%)",
				 first, second);
	}
	if (books->stated_residual_ns != books_residual_ns(books)) {
		display_number(books->stated_residual_ns, first);
		display_number(books_residual_ns(books), second);
		display_sentence(
			out, width, DISPLAY_INDENT,
			"THE BALANCE RECORDS CONTRADICT THEMSELVES: they state a residual of "
			"%s ns, their own times leave %s ns",
			first, second);
	}
	if (!totals_match_books(totals))
		print_mismatch(totals, width, out);
}

static void print_losses(const struct books *books, size_t width, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES], segments[DISPLAY_NUMBER_BYTES];

	for (int i = 0; i < _COUNTER_MAX; i++) {
		if (books->losses[i] == 0)
			continue;
		display_number(books->losses[i], number);
		display_sentence(out, width, DISPLAY_INDENT, "  %s %s: %s",
				 books_loss_name((enum counter)i), number,
				 books_loss_text((enum counter)i));
	}
	if (books->gap_count == 0)
		return;
	display_number(books->dropped_records, number);
	display_number(books->dropped_segments, segments);
	display_sentence(
		out, width, DISPLAY_INDENT,
		"RECORDS ARE MISSING: %s records in %s segments were dropped (%s); the times "
		"above are too low",
		number, segments, books->gap_reason);
}

static void print_damage(const struct format_options *options, FILE *out)
{
	char bytes[DISPLAY_NUMBER_BYTES], places[DISPLAY_NUMBER_BYTES];
	uint64_t byte_count = 0, place_count = 0;

	for (size_t i = 0; i < options->file_count; i++) {
		byte_count += options->files[i].damaged_bytes;
		place_count += options->files[i].damaged_places;
	}
	if (place_count == 0)
		return;
	display_number((int64_t)byte_count, bytes);
	display_number((int64_t)place_count, places);
	display_sentence(out, options->width, DISPLAY_INDENT,
			 "RECORDS ARE MISSING: the recording is damaged, %s byte%s in %s place%s; "
			 "what they held is in no figure above",
			 bytes, byte_count == 1 ? "" : "s", places, place_count == 1 ? "" : "s");
}

static void print_doubles(const struct totals *totals, size_t width, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	display_number((int64_t)totals->double_records, number);
	if (totals->double_records > 0)
		display_sentence(out, width, DISPLAY_INDENT,
				 "  %s record%s read again, which %s counted once", number,
				 totals->double_records == 1 ? " was" : "s were",
				 totals->double_records == 1 ? "is" : "are");
	if (totals->known.is_full)
		display_sentence(out, width, DISPLAY_INDENT,
				 "  too many records to remember: of some it is not known whether "
				 "they were read before");
}

static void print_books(const struct totals *totals, const struct format_options *options,
			FILE *out)
{
	const struct books *books = &totals->books;

	print_title(totals->filter.condition_count > 0 ? "the books, of all that was observed"
						       : "the books",
		    options, out);
	if (books->balance_count == 0) {
		(void)fputs("  - (no balance records)\n", out);
	} else {
		print_line("the kernel's exec time", books->exec_ns, 0, out);
		print_line("attributed", books->attributed_ns, books->exec_ns, out);
		print_line("unattributed", books->unattributed_ns, books->exec_ns, out);
		print_line("overflow", books->overflow_ns, books->exec_ns, out);
		print_residual(books, out);
		print_worst(books, out);
		print_sampled(books, out);
		print_ambiguous(totals, out);
		print_verdicts(totals, options->width, out);
	}
	print_stolen(&totals->observed, options->width, out);
	print_losses(books, options->width, out);
	print_doubles(totals, options->width, out);
	print_damage(options, out);
}

static void print_program(const struct own_cost_program *program, int64_t observed_ns, FILE *out)
{
	char name[4 * OWN_COST_NAME_BYTES], label[4 * OWN_COST_NAME_BYTES];
	char runs[DISPLAY_NUMBER_BYTES], each[DISPLAY_NUMBER_BYTES];

	if (program->run_count == 0)
		return;
	(void)display_escape(program->name, strlen(program->name), name, sizeof(name));
	(void)memset(label, ' ', INDENT);
	display_fit(name, LABEL_COLUMNS - INDENT, label + INDENT, sizeof(label) - INDENT);
	display_number(program->run_count, runs);
	display_duration(program->run_ns / program->run_count, each);
	print_part(label, program->run_ns, observed_ns, out);
	(void)fprintf(out, ", %s run%s of %s\n", runs, program->run_count == 1 ? "" : "s", each);
}

static void print_programs(const struct own_cost *cost, int64_t observed_ns, FILE *out)
{
	char measured[DISPLAY_NUMBER_BYTES], samples[DISPLAY_NUMBER_BYTES];
	char error[TEXT_ESCAPE_BYTES * OWN_COST_NAME_BYTES];

	if (!cost->has_programs) {
		(void)display_escape(cost->programs_error, strlen(cost->programs_error), error,
				     sizeof(error));
		print_label("in its BPF programs", out);
		(void)fprintf(out, "%10s (not measured%s%s)\n", "-", error[0] ? ": " : "", error);
		return;
	}
	print_line("in its BPF programs", cost->run_ns, observed_ns, out);
	if (cost->programs_samples > 0) {
		display_duration(cost->programs_measured_ns, measured);
		display_number(cost->programs_samples, samples);
		(void)fprintf(out, "    estimated from %s sample%s, %s in all\n", samples,
			      cost->programs_samples == 1 ? "" : "s", measured);
	}
	for (size_t i = 0; i < cost->program_count; i++)
		print_program(&cost->programs[i], observed_ns, out);
}

static void print_fills(const struct own_cost *cost, FILE *out)
{
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		const struct own_cost_fill *fill = &cost->fills[map];
		char used[DISPLAY_NUMBER_BYTES], limit[DISPLAY_NUMBER_BYTES],
			label[DISPLAY_NUMBER_BYTES];

		if (fill->limit == 0)
			continue;
		display_number(fill->used, used);
		display_number(fill->limit, limit);
		(void)snprintf(label, sizeof(label), "%s, at most",
			       own_cost_map_name((enum own_cost_map)map));
		print_label(label, out);
		(void)fprintf(out, "%10s %8.2f %% of %s\n", used,
			      100.0 * (double)fill->used / (double)fill->limit, limit);
	}
}

/* Beside an idle process it is many times what was observed, which as a percentage says nothing. */
static void print_own_cpu(int64_t ns, const struct costs *observed, FILE *out)
{
	bool has_cpu = costs_has(observed, COST_CPU);
	int64_t observed_ns = has_cpu ? observed->sums[COST_CPU] : 0;
	bool is_more = has_cpu && ns > observed_ns;

	print_part("correlator's own CPU", ns, is_more ? 0 : observed_ns, out);
	if (has_cpu)
		(void)fputs(is_more ? ", more than was observed" : " of the observed CPU", out);
	(void)fputc('\n', out);
}

static void print_cost(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct own_cost *cost = &totals->own_cost;
	bool has_self = cost->record_count > 0, has_cpu = costs_has(&totals->observed, COST_CPU);
	int64_t observed_ns = has_cpu ? totals->observed.sums[COST_CPU] : 0;
	char memory[DISPLAY_NUMBER_BYTES];

	print_title("what watching cost", options, out);
	if (!has_self && totals->books.balance_count == 0) {
		(void)fputs("  - (no self records)\n", out);
		return;
	}
	print_own_cpu(has_self ? cost->cpu_ns : totals->books.own_cpu_ns, &totals->observed, out);
	if (has_self)
		print_programs(cost, observed_ns, out);
	if (cost->rss_bytes_max > 0) {
		display_bytes(cost->rss_bytes_max, memory);
		print_label("memory, at most", out);
		(void)fprintf(out, "%10s\n", memory);
	}
	print_fills(cost, out);
}

void format_books(const struct totals *totals, const struct format_options *options, FILE *out)
{
	print_books(totals, options, out);
	print_cost(totals, options, out);
}
