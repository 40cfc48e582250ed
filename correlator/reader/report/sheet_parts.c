/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/sheet_parts.h"

void sheet_put_text(struct sheet *sheet, size_t column, const struct frames_text *text)
{
	if (text)
		sheet_put(sheet, column,
			  cell_text((struct record_text){ text->bytes, text->size_bytes }));
}

size_t sheet_add_keys(struct sheet *sheet, const struct grouping *grouping)
{
	size_t first = sheet->column_count;

	for (size_t i = 0; i < grouping->key_count; i++) {
		size_t column = sheet_add(sheet, "keys", grouping->keys[i]);

		sheet->columns[column].csv_name = grouping->keys[i];
	}
	if (grouping->key_count == 1) {
		sheet->columns[first].object = NULL;
		sheet->columns[first].name = "key";
	}
	return first;
}

void sheet_put_keys(struct sheet *sheet, size_t first, const struct grouping *grouping,
		    const struct group *group, bool with_host)
{
	for (size_t i = 0; i < grouping->key_count; i++) {
		struct record_text value = grouping_part(group, i, with_host);

		if (value.size_bytes > 0)
			sheet_put(sheet, first + i, cell_text(value));
	}
}

size_t sheet_add_costs(struct sheet *sheet, const char *object)
{
	size_t first = sheet->column_count;

	for (enum cost cost = 0; cost < _COST_MAX; cost++)
		(void)sheet_add(sheet, object, figure_infos[figure_of_cost(cost)].field);
	(void)sheet_add(sheet, object, figure_infos[FIGURE_CHILDREN].field);
	return first;
}

void sheet_put_costs(struct sheet *sheet, size_t first, const struct costs *costs,
		     const struct recording *recording)
{
	for (enum cost cost = 0; cost < _COST_MAX; cost++)
		if (costs_has(costs, cost))
			sheet_put(sheet, first + cost, cell_integer(costs->sums[cost]));
	if (costs->children_ns > 0 || recording->has_children)
		sheet_put(sheet, first + _COST_MAX, cell_integer(costs->children_ns));
}

enum change_column {
	CHANGE_BEFORE,
	CHANGE_AFTER,
	CHANGE_VALUE,
	CHANGE_LOW,
	CHANGE_HIGH,
	CHANGE_PROBABILITY,
	CHANGE_CORRECTED,
	CHANGE_IS_CHANGED,
	_CHANGE_MAX,
};

size_t sheet_add_change(struct sheet *sheet, const char *object)
{
	static const char *const names[_CHANGE_MAX] = {
		[CHANGE_BEFORE] = "before_ns",	  [CHANGE_AFTER] = "after_ns",
		[CHANGE_VALUE] = "change_ns",	  [CHANGE_LOW] = "low_ns",
		[CHANGE_HIGH] = "high_ns",	  [CHANGE_PROBABILITY] = "probability",
		[CHANGE_CORRECTED] = "corrected", [CHANGE_IS_CHANGED] = "changed",
	};
	size_t first = sheet->column_count;

	for (size_t i = 0; i < _CHANGE_MAX; i++)
		(void)sheet_add(sheet, object, names[i]);
	return first;
}

void sheet_put_change(struct sheet *sheet, size_t first, const struct diff_figure *figure)
{
	const struct difference *difference = &figure->difference;

	if (!figure->is_known)
		return;
	sheet_put(sheet, first + CHANGE_BEFORE, cell_integer(figure->before_ns));
	sheet_put(sheet, first + CHANGE_AFTER, cell_integer(figure->after_ns));
	if (!figure->is_tested)
		return;
	sheet_put(sheet, first + CHANGE_VALUE, cell_real(difference->value));
	sheet_put(sheet, first + CHANGE_LOW, cell_real(difference->low));
	sheet_put(sheet, first + CHANGE_HIGH, cell_real(difference->high));
	sheet_put(sheet, first + CHANGE_PROBABILITY, cell_real(difference->probability));
	sheet_put(sheet, first + CHANGE_CORRECTED, cell_real(figure->corrected));
	sheet_put(sheet, first + CHANGE_IS_CHANGED, cell_bool(diff_has_changed(figure)));
}
