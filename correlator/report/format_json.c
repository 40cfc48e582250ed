#include "report/format.h"

#include "report/json_part.h"

static void add_machine_view(const struct totals *totals, const struct row *row, json_t *object,
			     int *r)
{
	static const char *const names[_GROUP_NAME_MAX] = {
		[GROUP_NAME_THREAD] = "thread",
		[GROUP_NAME_COMM] = "comm",
	};
	double percent;

	for (int i = 0; row->group && i < _GROUP_NAME_MAX; i++) {
		if (row->group->names[i])
			json_part_set(object, names[i], json_part_text(row->group->names[i]), r);
	}
	if (totals_cpu_percent(totals, row->costs, &percent))
		json_part_set(object, "cpu_percent", json_real(percent), r);
	if (totals_machine_percent(totals, row->costs, &percent))
		json_part_set(object, "machine_percent", json_real(percent), r);
}

static json_t *row_object(const struct rows *rows, const struct row *row, int *r)
{
	json_t *object = json_object();
	double percent;

	if (row->group) {
		struct record_text value =
			grouping_label(row->group, rows->totals->recording.has_several_hosts);

		json_part_set(object, "key", json_part_bytes(value.bytes, value.size_bytes), r);
	}
	if (row->kind == ROW_KIND_HIDDEN)
		json_part_set(object, "groups", json_integer((json_int_t)rows->hidden_count), r);
	if (row->request_count > 0)
		json_part_set(object, "requests", json_integer((json_int_t)row->request_count), r);
	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (costs_has(row->costs, (enum cost)cost))
			json_part_set(object, costs_name((enum cost)cost),
				      json_integer(row->costs->sums[cost]), r);
	}
	if (costs_share_percent(row->costs, &rows->totals->all, &percent))
		json_part_set(object, "share_percent", json_real(percent), r);
	if (rows->grouping->has_all_time)
		add_machine_view(rows->totals, row, object, r);
	return object;
}

static int print_row(const struct rows *rows, size_t index, const char *before, FILE *out)
{
	struct row row = rows_at(rows, index);
	int r = 0;
	json_t *object = row_object(rows, &row, &r);

	return json_part_print(before, object, r, out);
}

static int print_rows(const struct rows *rows, FILE *out)
{
	static const char *const names[_ROW_KIND_MAX] = {
		[ROW_KIND_HIDDEN] = ",\n\"hidden\":",
		[ROW_KIND_WITHOUT_KEY] = ",\n\"without_key\":",
		[ROW_KIND_UNATTRIBUTED] = ",\n\"unattributed\":",
		[ROW_KIND_OVERFLOW] = ",\n\"overflow\":",
		[ROW_KIND_TOTAL] = ",\n\"total\":",
	};
	int r = 0;

	(void)fputs(",\n\"rows\":[", out);
	for (size_t i = 0; i < rows->group_count && r == 0 && !ferror(out); i++)
		r = print_row(rows, i, i == 0 ? "\n" : ",\n", out);
	(void)fputs("]", out);
	for (size_t i = rows->group_count; i < rows_count(rows) && r == 0; i++)
		r = print_row(rows, i, names[rows_at(rows, i).kind], out);
	return r;
}

static int print_inherited(const struct totals *totals, FILE *out)
{
	const struct costs *inherited = &totals->inherited;
	json_int_t request_count = (json_int_t)totals->inherited_requests.count;
	json_t *object;
	int r = 0;

	if (inherited->record_count == 0)
		return 0;
	object = json_object();
	json_part_set(object, "requests", json_integer(request_count), &r);
	if (costs_has(inherited, COST_CPU))
		json_part_set(object, "cpu_ns", json_integer(inherited->sums[COST_CPU]), &r);
	return json_part_print(",\n\"inherited\":", object, r, out);
}

int format_json(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	struct rows rows;
	int r = rows_init(&rows, totals, grouping, options->sort, options->top_count);

	if (r < 0)
		return r;
	r = json_part_print("{\"by\":", json_part_text(grouping->by), 0, out);
	if (r == 0)
		r = print_rows(&rows, out);
	if (r == 0)
		r = print_inherited(totals, out);
	if (r == 0)
		r = format_json_books(totals, out);
	if (r == 0)
		r = format_json_meta(totals, options, out);
	if (r == 0)
		(void)fputs("}\n", out);
	rows_deinit(&rows);
	return r;
}
