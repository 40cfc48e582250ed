#include "report/format.h"

#include "report/json_part.h"

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
	json_t *object = json_object();
	int r = 0;

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
	if (cost->has_programs)
		json_part_set(object, "programs", programs_array(cost, &r), &r);
	return json_part_print(",\n\"own_cost\":", object, r, out);
}

static int print_books(const struct totals *totals, FILE *out)
{
	const struct books *books = &totals->books;
	json_t *object = json_object();
	json_t *losses = json_object();
	int r = 0;

	if (books->balance_count > 0) {
		double ppm;

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

int format_json_books(const struct totals *totals, FILE *out)
{
	int r = print_books(totals, out);

	if (r == 0 && totals->own_cost.record_count > 0)
		r = print_own_cost(&totals->own_cost, out);
	return r;
}
