/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/totals_view.h"

#include <string.h>

#include "base/display.h"
#include "base/text.h"
#include "reader/report/label.h"

static void print_residual(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];
	double ppm;

	display_number(books_residual_ns(books), number);
	label_print("residual", out);
	(void)fprintf(out, "%7s ns", number);
	if (books_residual_ppm(books, &ppm))
		(void)fprintf(out, "  = %.2f ppm of the exec time", ppm);
	(void)fputc('\n', out);
}

/* The same CPU by samples: close to the exec time, unless some were lost. */
static void print_sampled(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	if (books->sampled_count == 0)
		return;
	display_number(books->samples, number);
	label_part("by samples", books->sampled_ns, books->sampled_exec_ns, out);
	(void)fprintf(out, "  = %s sample%s\n", number, display_plural(books->samples));
}

/* For information: in a short window, the inaccuracy at its ends is a large part of its time. */
static void print_worst(const struct books *books, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	if (books->balance_count < 2)
		return;
	display_number(books->worst_residual_ns, number);
	label_print("largest of a window", out);
	(void)fprintf(out, "%7s ns", number);
	if (books->worst_exec_ns > 0)
		(void)fprintf(out, "  = %.2f ppm of its exec time",
			      1e6 * (double)books->worst_residual_ns /
				      (double)books->worst_exec_ns);
	(void)fputc('\n', out);
}

/*
 * Whether to print ambiguous time: in exact mode only if there is some. In other modes it bounds
 * the error, if all changes of context were counted, so that even 0 is worth printing.
 */
static bool is_inexact(const struct totals *totals)
{
	bool is_inexact = false;

	for (size_t i = 0; i < totals->selection.recording.mode_count; i++)
		is_inexact |= watch_mode_is_inexact(totals->selection.recording.modes[i].mode);
	return costs_has(&totals->observed, COST_AMBIGUOUS) &&
	       (is_inexact || totals->observed.sums[COST_AMBIGUOUS] > 0);
}

static void print_ambiguous(const struct totals *totals, FILE *out)
{
	if (is_inexact(totals))
		label_line(totals->selection.recording.lacks_bound ? "ambiguous, no bound"
								   : "ambiguous, at most",
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

/* The most CPU that losses of this kind can have moved, in ns; -1: not known. */
static int64_t bound_of(const struct totals *totals, enum counter_kind kind)
{
	switch (kind) {
	case COUNTER_KIND_OVERFLOW:
		return totals->books.overflow_ns;
	case COUNTER_KIND_UNATTRIBUTED:
		return totals->books.unattributed_ns;
	case COUNTER_KIND_AMBIGUOUS:
		return costs_has(&totals->observed, COST_AMBIGUOUS)
			       ? totals->observed.sums[COST_AMBIGUOUS]
			       : -1;
	default:
		return -1;
	}
}

static void print_loss(const struct totals *totals, enum counter counter, size_t width, FILE *out)
{
	int64_t bound_ns = bound_of(totals, counter_kind(counter));
	char number[DISPLAY_NUMBER_BYTES], bound[DISPLAY_NUMBER_BYTES] = "";

	display_number(totals->books.losses[counter], number);
	if (bound_ns >= 0)
		display_duration(bound_ns, bound);
	display_sentence(out, width, DISPLAY_INDENT, "  %s %s: %s%s%s", books_loss_name(counter),
			 number, books_loss_text(counter), bound_ns >= 0 ? "; at most " : "",
			 bound);
}

/* has_normal: also prints counters of normal events; for --books only. */
static void print_losses(const struct totals *totals, bool has_normal, size_t width, FILE *out)
{
	for (int i = 0; i < _COUNTER_MAX; i++) {
		enum counter counter = (enum counter)i;

		if (totals->books.losses[i] != 0 && (has_normal || counter_is_loss(counter)))
			print_loss(totals, counter, width, out);
	}
}

static void print_skipped(const struct self_cost *cost, size_t width, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	if (cost->skipped_runs == 0)
		return;
	display_number(cost->skipped_runs, number);
	display_sentence(out, width, DISPLAY_INDENT,
			 "The kernel left out %s run%s of the kernel programs: system calls are "
			 "missing, and user and kernel time may be taken for each other.",
			 number, display_plural((uint64_t)cost->skipped_runs));
}

static void print_gaps(const struct books *books, size_t width, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES], segments[DISPLAY_NUMBER_BYTES];

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

static void print_damage(const struct view_options *options, FILE *out)
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
			 bytes, display_plural(byte_count), places, display_plural(place_count));
}

static void print_doubles(const struct totals *totals, size_t width, FILE *out)
{
	char number[DISPLAY_NUMBER_BYTES];

	display_number((int64_t)totals->selection.double_records, number);
	if (totals->selection.double_records > 0)
		display_sentence(out, width, DISPLAY_INDENT,
				 "  %s record%s read again, which %s counted once", number,
				 totals->selection.double_records == 1 ? " was" : "s were",
				 totals->selection.double_records == 1 ? "is" : "are");
	if (totals->selection.known.is_full)
		display_sentence(out, width, DISPLAY_INDENT,
				 "  too many records to remember: of some it is not known whether "
				 "they were read before");
}

static void print_all(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct books *books = &totals->books;

	label_title(totals->selection.filter.condition_count > 0
			    ? "the books, of all that was observed"
			    : "the books",
		    options, out);
	if (books->balance_count == 0) {
		(void)fputs("  - (no balance records)\n", out);
	} else {
		label_line("the kernel's exec time", books->exec_ns, 0, out);
		label_line("attributed", books->attributed_ns, books->exec_ns, out);
		label_line("unattributed", books->unattributed_ns, books->exec_ns, out);
		label_line("overflow", books->overflow_ns, books->exec_ns, out);
		print_residual(books, out);
		print_worst(books, out);
		print_sampled(books, out);
		print_ambiguous(totals, out);
	}
	print_stolen(&totals->observed, options->width, out);
}

/* Writes "0.42 %", a share of observed_ns, or the time itself if it exceeds that. */
static void describe_part(int64_t ns, int64_t observed_ns,
			  char ret_text[static DISPLAY_NUMBER_BYTES])
{
	if (ns > observed_ns || observed_ns <= 0)
		display_duration(ns, ret_text);
	else
		(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%.2f %%",
			       100.0 * (double)ns / (double)observed_ns);
}

/* Writes the cost of watching: Correlator's own CPU, and that of its BPF programs. */
static void describe_cost(const struct totals *totals, char *ret_text, size_t text_bytes)
{
	const struct self_cost *cost = &totals->self_cost;
	bool has_self = cost->record_count > 0;
	int64_t own_ns = has_self ? cost->cpu_ns : totals->books.own_cpu_ns;
	int64_t observed_ns =
		costs_has(&totals->observed, COST_CPU) ? totals->observed.sums[COST_CPU] : 0;
	char own[DISPLAY_NUMBER_BYTES], programs[DISPLAY_NUMBER_BYTES] = "-";

	ret_text[0] = '\0';
	if (!has_self && totals->books.balance_count == 0)
		return;
	describe_part(own_ns, observed_ns, own);
	if (cost->has_programs)
		describe_part(cost->run_ns, observed_ns, programs);
	(void)snprintf(ret_text, text_bytes, "; watching cost %s%s%s%s", own, has_self ? " + " : "",
		       has_self ? programs : "", has_self ? " in the kernel" : "");
}

/* Writes "; 0.10 % ambiguous at most" if is_inexact, else "". */
static void describe_bound(const struct totals *totals, char *ret_text, size_t text_bytes)
{
	char part[DISPLAY_NUMBER_BYTES];

	ret_text[0] = '\0';
	if (!is_inexact(totals))
		return;
	describe_part(totals->observed.sums[COST_AMBIGUOUS], totals->books.exec_ns, part);
	(void)snprintf(ret_text, text_bytes, "; %s ambiguous%s", part,
		       totals->selection.recording.lacks_bound ? ", no bound" : " at most");
}

static void print_short(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct books *books = &totals->books;
	char residual[DISPLAY_NUMBER_BYTES], exec[DISPLAY_NUMBER_BYTES], lost[DISPLAY_NUMBER_BYTES];
	char bound[2 * DISPLAY_NUMBER_BYTES], cost[4 * DISPLAY_NUMBER_BYTES];

	describe_cost(totals, cost, sizeof(cost));
	describe_bound(totals, bound, sizeof(bound));
	(void)fputc('\n', out);
	if (books->balance_count == 0) {
		(void)fprintf(out, "%-*s- (no balance records)%s\n", HEADING_COLUMNS, "books",
			      cost);
		return;
	}
	display_number(books_residual_ns(books), residual);
	display_duration(books->exec_ns, exec);
	display_number(books_lost(books), lost);
	display_sentence(
		out, options->width, HEADING_COLUMNS, "%-*s%s %s ns of %s%s; %s lost%s%s",
		HEADING_COLUMNS, "books",
		books_balance(books) ? "balanced to" : "NOT BALANCED: off by", residual, exec,
		totals->selection.filter.condition_count > 0 ? ", of all that was observed" : "",
		lost, bound, cost);
}

void books_text_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct books *books = &totals->books;

	if (options->has_books)
		print_all(totals, options, out);
	else
		print_short(totals, options, out);
	if (books->balance_count > 0)
		print_verdicts(totals, options->width, out);
	print_losses(totals, options->has_books, options->width, out);
	print_skipped(&totals->self_cost, options->width, out);
	print_gaps(books, options->width, out);
	print_doubles(totals, options->width, out);
	print_damage(options, out);
	if (options->has_cost)
		cost_text_print(totals, options, out);
}
