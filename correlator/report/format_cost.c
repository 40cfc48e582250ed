#include "report/format.h"

#include <string.h>

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

/* A cost as a time, and as a part of the CPU of all that was observed. */
static void print_cpu(const char *label, int64_t ns, const struct costs *all, FILE *out)
{
	char duration[DISPLAY_NUMBER_BYTES];

	display_duration(ns, duration);
	print_label(label, out);
	(void)fprintf(out, "%10s", duration);
	if (costs_has(all, COST_CPU) && all->sums[COST_CPU] > 0)
		(void)fprintf(out, " %8.2f %%", 100.0 * (double)ns / (double)all->sums[COST_CPU]);
}

static void print_program(const struct own_cost_program *program, const struct costs *all,
			  FILE *out)
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
	print_cpu(label, program->run_ns, all, out);
	(void)fprintf(out, ", %s run%s of %s\n", runs, program->run_count == 1 ? "" : "s", each);
}

static void print_programs(const struct own_cost *cost, const struct costs *all, FILE *out)
{
	if (!cost->has_programs)
		return;
	print_cpu("in its BPF programs", cost->run_ns, all, out);
	(void)fputc('\n', out);
	for (size_t i = 0; i < cost->program_count; i++)
		print_program(&cost->programs[i], all, out);
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

void format_cost(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct own_cost *cost = &totals->own_cost;
	bool has_self = cost->record_count > 0;
	char memory[DISPLAY_NUMBER_BYTES];

	(void)fprintf(out, "\n%swhat watching cost%s\n", options->is_bold ? "\033[1m" : "",
		      options->is_bold ? "\033[0m" : "");
	if (!has_self && totals->books.balance_count == 0) {
		(void)fputs("  - (no self records)\n", out);
		return;
	}
	print_cpu("correlator's own CPU", has_self ? cost->cpu_ns : totals->books.own_cpu_ns,
		  &totals->all, out);
	(void)fputs(costs_has(&totals->all, COST_CPU) ? " of the observed CPU\n" : "\n", out);
	print_programs(cost, &totals->all, out);
	if (cost->rss_bytes_max > 0) {
		display_bytes(cost->rss_bytes_max, memory);
		print_label("memory, at most", out);
		(void)fprintf(out, "%10s\n", memory);
	}
	print_fills(cost, out);
}
