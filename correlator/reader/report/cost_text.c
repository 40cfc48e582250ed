/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/totals_view.h"

#include <string.h>

#include "base/display.h"
#include "base/text.h"
#include "reader/report/label.h"

static void print_program(const struct self_cost_program *program, int64_t observed_ns, FILE *out)
{
	char name[4 * SELF_COST_NAME_BYTES], label[4 * SELF_COST_NAME_BYTES];
	char runs[DISPLAY_NUMBER_BYTES], each[DISPLAY_NUMBER_BYTES];

	if (program->run_count == 0)
		return;
	(void)display_escape(program->name, strlen(program->name), name, sizeof(name));
	(void)memset(label, ' ', LABEL_INDENT);
	display_fit(name, LABEL_WIDTH - LABEL_INDENT, label + LABEL_INDENT,
		    sizeof(label) - LABEL_INDENT);
	display_number(program->run_count, runs);
	display_duration(program->run_ns / program->run_count, each);
	label_part(label, program->run_ns, observed_ns, out);
	(void)fprintf(out, ", %s run%s of %s\n", runs, display_plural(program->run_count), each);
}

static void print_programs(const struct self_cost *cost, int64_t observed_ns, FILE *out)
{
	char measured[DISPLAY_NUMBER_BYTES], samples[DISPLAY_NUMBER_BYTES];
	char error[TEXT_ESCAPE_BYTES * SELF_COST_NAME_BYTES];

	if (!cost->has_programs) {
		(void)display_escape(cost->programs_error, strlen(cost->programs_error), error,
				     sizeof(error));
		label_print("in its BPF programs", out);
		(void)fprintf(out, "%10s (not measured%s%s)\n", "-", error[0] ? ": " : "", error);
		return;
	}
	label_line("in its BPF programs", cost->run_ns, observed_ns, out);
	if (cost->programs_samples > 0) {
		display_duration(cost->programs_measured_ns, measured);
		display_number(cost->programs_samples, samples);
		(void)fprintf(out, "    estimated from %s sample%s, %s in all\n", samples,
			      display_plural(cost->programs_samples), measured);
	}
	for (size_t i = 0; i < cost->program_count; i++)
		print_program(&cost->programs[i], observed_ns, out);
}

static void print_fills(const struct self_cost *cost, FILE *out)
{
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++) {
		const struct self_cost_fill *fill = &cost->fills[map];
		char used[DISPLAY_NUMBER_BYTES], limit[DISPLAY_NUMBER_BYTES],
			label[DISPLAY_NUMBER_BYTES];

		if (fill->limit == 0)
			continue;
		display_number(fill->used, used);
		display_number(fill->limit, limit);
		(void)snprintf(label, sizeof(label), "%s, at most",
			       self_cost_map_name((enum self_cost_map)map));
		label_print(label, out);
		(void)fprintf(out, "%10s %8.2f %% of %s\n", used,
			      100.0 * (double)fill->used / (double)fill->limit, limit);
	}
}

/* Next to an idle process it is many times the observed CPU: a percentage would say nothing. */
static void print_own_cpu(int64_t ns, const struct costs *observed, FILE *out)
{
	bool has_cpu = costs_has(observed, COST_CPU);
	int64_t observed_ns = has_cpu ? observed->sums[COST_CPU] : 0;
	bool is_more = has_cpu && ns > observed_ns;

	label_part("correlator's own CPU", ns, is_more ? 0 : observed_ns, out);
	if (has_cpu)
		(void)fputs(is_more ? ", more than was observed" : " of the observed CPU", out);
	(void)fputc('\n', out);
}

void cost_text_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct self_cost *cost = &totals->self_cost;
	bool has_self = cost->record_count > 0, has_cpu = costs_has(&totals->observed, COST_CPU);
	int64_t observed_ns = has_cpu ? totals->observed.sums[COST_CPU] : 0;
	char memory[DISPLAY_NUMBER_BYTES];

	label_title("what watching cost", options, out);
	if (!has_self && totals->books.balance_count == 0) {
		(void)fputs("  - (no self records)\n", out);
		return;
	}
	print_own_cpu(has_self ? cost->cpu_ns : totals->books.own_cpu_ns, &totals->observed, out);
	if (has_self)
		print_programs(cost, observed_ns, out);
	if (cost->rss_bytes_max > 0) {
		display_bytes(cost->rss_bytes_max, memory);
		label_print("memory, at most", out);
		(void)fprintf(out, "%10s\n", memory);
	}
	print_fills(cost, out);
}
