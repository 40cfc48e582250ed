/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of the books and of our own cost, of figures that are set and not added up. */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/display.h"
#include "reader/report/printed.h"
#include "reader/report/totals_view.h"

static struct totals totals;
static struct input_file files[2];
static struct view_options options;

static const uint32_t nothing_measured = UINT32_MAX;

/* A second of exec time that balances: 900 ms attributed, 80 not, 20 in overflow. */
static int setup(void **state)
{
	(void)state;
	memset(&totals, 0, sizeof(totals));
	memset(files, 0, sizeof(files));
	options = (struct view_options){
		.width = 400, .has_books = true, .has_cost = true, .files = files, .file_count = 2
	};
	totals.books = (struct books){
		.balance_count = 1,
		.exec_ns = 1000000000,
		.attributed_ns = 900000000,
		.unattributed_ns = 80000000,
		.overflow_ns = 20000000,
		.own_cpu_ns = 5000000,
	};
	totals.all = (struct costs){ .record_count = 3, .sums = { [COST_CPU] = 1000000000 } };
	totals.observed = totals.all;
	totals.unattributed =
		(struct costs){ .record_count = 1, .sums = { [COST_CPU] = 80000000 } };
	totals.overflow = (struct costs){ .record_count = 1, .sums = { [COST_CPU] = 20000000 } };
	totals.selection.recording.mode_count = 1;
	(void)strcpy(totals.selection.recording.modes[0].mode, "exact");
	totals.self_cost = (struct self_cost){
		.record_count = 1,
		.cpu_ns = 10000000,
		.has_programs = true,
		.run_ns = 20000000,
	};
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static void print(void)
{
	FILE *out = printed_begin();

	books_text_print(&totals, &options, out);
	printed_end(out);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, printed_forget)

FIXTURE_TEST(books_show_parts_of_exec_time_if_balanced)
{
	print();
	says("the books");
	says("the kernel's exec time 1.000 s");
	says("attributed 900.0 ms 90.00 %");
	says("unattributed 80.00 ms 8.00 %");
	says("overflow 20.00 ms 2.00 %");
	says("residual 0 ns = 0.00 ppm of the exec time");
	says_nothing_of("largest of a window");
	says_nothing_of("by samples");
	says_nothing_of("ambiguous");
	says_nothing_of("stolen");
	says_nothing_of("DO NOT");
	says_nothing_of("CONTRADICT");
	says_nothing_of("MISSING");
	says_nothing_of("again");
	says_nothing_of("\033");
}

FIXTURE_TEST(books_short_form_shows_one_line_and_warnings)
{
	options.has_books = options.has_cost = false;
	totals.books.losses[COUNTER_CONTEXT_INHERITED] = 3;
	print();
	assert_string_equal(printed, "\nbooks      balanced to 0 ns of 1.000 s; 0 lost; watching "
				     "cost 1.00 % + 2.00 % in the kernel\n");
	totals.books.losses[COUNTER_EVENTS_LOST] = 4;
	totals.books.dropped_records = 7;
	totals.books.gap_count = 1;
	totals.self_cost.has_programs = false;
	print();
	says("books balanced to 0 ns of 1.000 s; 11 lost; watching cost 1.00 % + - in the kernel");
	says("events_lost 4: events that found the ring full");
	says_nothing_of("contexts_inherited");
	assert_non_null(strstr(printed, "RECORDS ARE MISSING: 7 records"));
	totals.self_cost = (struct self_cost){ 0 };
	print();
	says("books balanced to 0 ns of 1.000 s; 11 lost; watching cost 0.50 %");
	totals.observed.sums[COST_CPU] = 0;
	totals.books.attributed_ns -= 2000000;
	(void)strcpy(totals.selection.recording.modes[0].mode, "lean");
	print();
	says("books NOT BALANCED: off by 2,000,000 ns of 1.000 s; 11 lost; 0.00 % ambiguous at most; "
	     "watching cost 5.000 ms");
	assert_non_null(strstr(printed, "THE BOOKS DO NOT BALANCE"));
	totals.books = (struct books){ 0 };
	print();
	assert_string_equal(printed, "\nbooks      - (no balance records)\n");
}

FIXTURE_TEST(books_show_samples_beside_exec_time)
{
	totals.books.sampled_count = 2;
	totals.books.sampled_exec_ns = 1000000000;
	totals.books.samples = 1234;
	totals.books.sampled_ns = 987500000;
	print();
	says("by samples 987.5 ms 98.75 % = 1,234 samples");
	totals.books.samples = 1;
	print();
	says("by samples 987.5 ms 98.75 % = 1 sample");
	says_nothing_of("1 samples");
}

FIXTURE_TEST(books_show_dash_without_balance_records)
{
	totals.books = (struct books){ 0 };
	print();
	says("- (no balance records)");
	says_nothing_of("residual");
	says("correlator's own CPU 10.00 ms 1.00 % of the observed CPU");
	totals.self_cost = (struct self_cost){ 0 };
	print();
	says("- (no self records)");
	says_nothing_of("own CPU");
}

FIXTURE_TEST(books_show_no_percentages_of_zero_time)
{
	totals.books.exec_ns = 0;
	totals.books.attributed_ns = totals.books.unattributed_ns = totals.books.overflow_ns = 0;
	totals.all.sums[COST_CPU] = totals.unattributed.sums[COST_CPU] = 0;
	totals.overflow.sums[COST_CPU] = 0;
	print();
	says("the kernel's exec time 0 ns");
	says("attributed 0 ns");
	says("residual 0 ns");
	says_nothing_of("MATCH");
	totals.books.exec_ns = totals.books.attributed_ns = totals.all.sums[COST_CPU] = 1;
	print();
	says("attributed 1 ns 100.00 %");
	says("residual 0 ns = 0.00 ppm of the exec time");
}

FIXTURE_TEST(books_titles_are_bold_on_screen)
{
	options.is_bold = true;
	print();
	says("\033[1mthe books\033[0m");
	says("\033[1mwhat watching cost\033[0m");
}

FIXTURE_TEST(books_show_worst_of_several_windows)
{
	totals.books.balance_count = 2;
	totals.books.worst_residual_ns = -1234;
	totals.books.worst_exec_ns = 10000000;
	print();
	says("largest of a window -1,234 ns = -123.40 ppm of its exec time");
	totals.books.worst_residual_ns = 1;
	totals.books.worst_exec_ns = 1;
	print();
	says("largest of a window 1 ns = 1000000.00 ppm of its exec time");
	totals.books.worst_exec_ns = 0;
	print();
	says("largest of a window 1 ns");
}

FIXTURE_TEST(books_show_ambiguous_time_if_it_bounds_error)
{
	totals.observed.sums[COST_AMBIGUOUS] = 1;
	print();
	says("ambiguous, at most 1 ns 0.00 %");
	totals.observed.sums[COST_AMBIGUOUS] = 50000000;
	print();
	says("ambiguous, at most 50.00 ms 5.00 %");
	totals.observed.sums[COST_AMBIGUOUS] = 0;
	(void)strcpy(totals.selection.recording.modes[0].mode, "lean");
	print();
	says("ambiguous, at most 0 ns 0.00 %");
	/* It is enough that it once was. */
	(void)strcpy(totals.selection.recording.modes[1].mode, "exact");
	totals.selection.recording.mode_count = 2;
	print();
	says("ambiguous, at most 0 ns 0.00 %");
	totals.observed.missing = 1U << COST_AMBIGUOUS;
	totals.observed.sums[COST_AMBIGUOUS] = 7;
	print();
	says_nothing_of("ambiguous");
}

FIXTURE_TEST(books_label_ambiguous_time_without_bound)
{
	totals.selection.recording.lacks_bound = true;
	totals.observed.sums[COST_AMBIGUOUS] = 50000000;
	print();
	says("ambiguous, no bound 50.00 ms 5.00 %");
}

FIXTURE_TEST(books_show_stolen_time_if_measured)
{
	totals.observed.sums[COST_STOLEN] = 1500;
	print();
	assert_non_null(strstr(printed, "stolen 1.500 us"));
	totals.observed.missing = 1U << COST_STOLEN;
	print();
	says_nothing_of("stolen");
}

FIXTURE_TEST(books_warn_of_each_table_sum_that_mismatches)
{
	static const char head[] = "THE TABLE DOES NOT MATCH THE BOOKS: its ";
	struct costs *costs[] = { &totals.all, &totals.unattributed, &totals.overflow };
	static const char *const said[][2] = {
		{ "CPU adds up to 1,000,000,001 ns, the balance records charged 1,000,000,000 ns",
		  "CPU adds up to 0 ns, the balance records charged 1,000,000,000 ns" },
		{ "unattributed CPU adds up to 80,000,001 ns, the balance records charged "
		  "80,000,000 ns",
		  "unattributed CPU adds up to 0 ns, the balance records charged 80,000,000 ns" },
		{ "overflow adds up to 20,000,001 ns, the balance records charged 20,000,000 ns",
		  "overflow adds up to 0 ns, the balance records charged 20,000,000 ns" },
	};
	char line[256];

	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		costs[i]->sums[COST_CPU]++;
		print();
		(void)snprintf(line, sizeof(line), "%s%s", head, said[i][0]);
		says(line);
		/* No other one. */
		assert_null(strstr(strstr(printed, head) + 1, head));
		costs[i]->missing = 1U << COST_CPU;
		print();
		(void)snprintf(line, sizeof(line), "%s%s", head, said[i][1]);
		says(line);
		costs[i]->missing = 0;
		costs[i]->sums[COST_CPU]--;
	}
}

FIXTURE_TEST(books_warn_above_one_per_mille_residual)
{
	totals.books.attributed_ns -= 1000000;
	totals.books.stated_residual_ns = 1000000;
	totals.all.sums[COST_CPU] -= 1000000;
	print();
	says("residual 1,000,000 ns = 1000.00 ppm of the exec time");
	says_nothing_of("DO NOT BALANCE");
	totals.books.attributed_ns--;
	totals.books.stated_residual_ns++;
	totals.all.sums[COST_CPU]--;
	print();
	assert_non_null(
		strstr(printed, "THE BOOKS DO NOT BALANCE: 1,000,001 ns of 1,000,000,000 ns"));
	says_nothing_of("CONTRADICT");
	says_nothing_of("MATCH");
}

FIXTURE_TEST(books_warn_of_contradicting_stated_residual)
{
	totals.books.stated_residual_ns = 3;
	print();
	assert_non_null(strstr(printed, "a residual of 3 ns, their own times leave 0 ns"));
	says_nothing_of("DO NOT BALANCE");
}

FIXTURE_TEST(books_show_nonzero_losses)
{
	totals.books.losses[0] = 1;
	totals.books.losses[_COUNTER_MAX - 1] = 2345;
	print();
	for (int i = 0; i < _COUNTER_MAX; i++) {
		const char *name = books_loss_name((enum counter)i);
		char line[PRINTED_LINE_BYTES];

		(void)snprintf(line, sizeof(line), "%s %s: %s", name, i ? "2,345" : "1",
			       books_loss_text((enum counter)i));
		assert_true(printed_has_line(printed, line) == (i == 0 || i == _COUNTER_MAX - 1));
	}
	says_nothing_of("MISSING");
	totals.books.gap_count = 1;
	totals.books.dropped_records = 1200;
	totals.books.dropped_segments = 4;
	(void)strcpy(totals.books.gap_reason, "spool full");
	print();
	assert_non_null(strstr(printed, "1,200 records in 4 segments were dropped (spool full)"));
}

FIXTURE_TEST(books_show_maximum_cpu_moved_by_losses)
{
	totals.books.losses[COUNTER_ACCOUNTS_FULL] = 5;
	totals.books.losses[COUNTER_STATE_MALFORMED] = 6;
	totals.books.losses[COUNTER_CHANGE_UNSEEN] = 7;
	totals.observed.sums[COST_AMBIGUOUS] = 3000000;
	print();
	says("accounts_full 5: charges with no account: the map was full, or the family's share; in "
	     "overflow; at most 20.00 ms");
	says("states_malformed 6: state tables that break the ABI (size, capacity, alignment); at "
	     "most 80.00 ms");
	says("changes_unseen 7: context changes that no probe saw; at most 3.000 ms");
}

FIXTURE_TEST(books_sum_damage_of_all_files)
{
	files[1] = (struct input_file){ .damaged_places = 1, .damaged_bytes = 1 };
	print();
	assert_non_null(strstr(printed, "damaged, 1 byte in 1 place;"));
	files[0] = (struct input_file){ .damaged_places = 2, .damaged_bytes = 1500 };
	print();
	assert_non_null(strstr(printed, "damaged, 1,501 bytes in 3 places;"));
}

FIXTURE_TEST(books_report_duplicate_records)
{
	totals.selection.double_records = 1;
	print();
	says("1 record was read again, which is counted once");
	totals.selection.double_records = 2;
	print();
	says("2 records were read again, which are counted once");
	says_nothing_of("too many");
	totals.selection.double_records = 0;
	totals.selection.known.is_full = true;
	print();
	says_nothing_of("counted once");
	assert_non_null(strstr(printed, "too many records to remember"));
}

FIXTURE_TEST(books_show_own_cost_as_share_of_observed_cpu)
{
	print();
	says("what watching cost");
	says("correlator's own CPU 10.00 ms 1.00 % of the observed CPU");
	says("in its BPF programs 20.00 ms 2.00 %");
	says_nothing_of("estimated");
	says_nothing_of("memory");
	says_nothing_of("contexts, at most");
	/* Without records of ours the balance records say it. */
	totals.self_cost = (struct self_cost){ 0 };
	print();
	says("correlator's own CPU 5.000 ms 0.50 % of the observed CPU");
	says_nothing_of("BPF");
	/* Where next to nothing ran it is no part of that. */
	totals.observed.sums[COST_CPU] = 5000000;
	print();
	says("correlator's own CPU 5.000 ms 100.00 % of the observed CPU");
	totals.observed.sums[COST_CPU] = 4999999;
	print();
	says("correlator's own CPU 5.000 ms, more than was observed");
	totals.observed.sums[COST_CPU] = 0;
	print();
	says("correlator's own CPU 5.000 ms, more than was observed");
	totals.all.missing = totals.observed.missing = nothing_measured;
	print();
	says("correlator's own CPU 5.000 ms");
	says_nothing_of("observed");
}

FIXTURE_TEST(books_show_dash_for_untimed_bpf_programs)
{
	totals.self_cost.has_programs = false;
	print();
	says("in its BPF programs - (not measured)");
	(void)strcpy(totals.self_cost.programs_error, "not allowed");
	print();
	says("in its BPF programs - (not measured: not allowed)");
	(void)strcpy(totals.self_cost.programs_error, "?");
	print();
	says("in its BPF programs - (not measured: ?)");
}

FIXTURE_TEST(books_say_how_many_runs_of_programs_were_left_out)
{
	print();
	says_nothing_of("left out");
	totals.self_cost.skipped_runs = 1;
	print();
	says("The kernel left out 1 run of the kernel programs: system calls are missing, and user and "
	     "kernel time may be taken for each other.");
	totals.self_cost.skipped_runs = 1234;
	print();
	says("The kernel left out 1,234 runs of the kernel programs: system calls are missing, and user and "
	     "kernel time may be taken for each other.");
}

FIXTURE_TEST(books_show_samples_behind_estimated_cost)
{
	totals.self_cost.programs_samples = 1;
	totals.self_cost.programs_measured_ns = 40000000;
	print();
	says("estimated from 1 sample, 40.00 ms in all");
	totals.self_cost.programs_samples = 2500;
	print();
	says("estimated from 2,500 samples, 40.00 ms in all");
}

/* Where on the line, in columns, that begins. */
static size_t column_of(const char *line, const char *part)
{
	const char *found = strstr(line, part);
	char before[PRINTED_LINE_BYTES];

	assert_non_null(found);
	(void)snprintf(before, sizeof(before), "%.*s", (int)(found - line), line);
	return display_columns(before);
}

FIXTURE_TEST(books_list_each_bpf_program_that_ran)
{
	struct self_cost *cost = &totals.self_cost;

	cost->program_count = 3;
	cost->programs[0] = (struct self_cost_program){ "on_switch", 1000, 15000000 };
	cost->programs[1] = (struct self_cost_program){ "on_exit", 0, 0 };
	cost->programs[2] = (struct self_cost_program){ "on_fork", 1, 5000000 };
	print();
	says("on_switch 15.00 ms 1.50 %, 1,000 runs of 15.00 us");
	says("on_fork 5.000 ms 0.50 %, 1 run of 5.000 ms");
	says_nothing_of("on_exit");
	/* In line with what is above it, however long the name is. */
	(void)strcpy(cost->programs[0].name, "a_name_that_is_much_longer_than_its_column");
	print();
	assert_int_equal(column_of(strstr(printed, "  in its BPF"), " 20.00 ms"),
			 column_of(strstr(printed, "    a_name"), " 15.00 ms"));
}

FIXTURE_TEST(books_show_memory_and_fullest_maps)
{
	struct self_cost *cost = &totals.self_cost;

	cost->rss_bytes_max = 3 << 20;
	cost->fills[SELF_COST_MAP_ACCOUNTS] =
		(struct self_cost_fill){ .used = 1500, .limit = 6000 };
	cost->fills[SELF_COST_MAP_PROCESSES] = (struct self_cost_fill){ .used = 0, .limit = 1 };
	print();
	says("memory, at most 3.0 MiB");
	says("accounts, at most 1,500 25.00 % of 6,000");
	says("processes, at most 0 0.00 % of 1");
	says_nothing_of("contexts, at most");
	cost->rss_bytes_max = 1;
	print();
	says("memory, at most 1 B");
}
