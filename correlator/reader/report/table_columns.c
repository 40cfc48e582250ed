/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/table_columns.h"

size_t totals_text_tables(const struct totals *totals, const struct view_options *options)
{
	bool has_second = totals->grouping_count > 1 && totals->groupings[1].group_count > 0;

	return !options->is_slowest && has_second ? 2 : 1;
}

enum figure_view table_columns_view(const struct grouping *grouping,
				    const struct view_options *options)
{
	if (grouping->has_all_time)
		return FIGURE_VIEW_MACHINE;
	if (options->is_slowest)
		return FIGURE_VIEW_SLOWEST;
	return grouping->is_by_request ? FIGURE_VIEW_REQUESTS : FIGURE_VIEW_GROUPS;
}

bool table_columns_can_show(const struct grouping *grouping, enum figure figure)
{
	switch (figure_infos[figure].source) {
	case FIGURE_SOURCE_COST:
	case FIGURE_SOURCE_OF_COSTS:
		return true;
	case FIGURE_SOURCE_OF_ONE:
		return grouping->is_by_request;
	case FIGURE_SOURCE_NAME:
		return grouping->has_names[figure_infos[figure].what];
	case FIGURE_SOURCE_KEY:
		return (size_t)figure_infos[figure].what < grouping->key_count;
	default:
		return !grouping->is_by_request;
	}
}

bool table_columns_have(const struct totals *totals, const struct view_options *options,
			enum figure figure)
{
	for (size_t i = 0; i < totals_text_tables(totals, options); i++)
		if (table_columns_can_show(&totals->groupings[i], figure))
			return true;
	return false;
}

bool table_columns_has_field(const struct grouping *grouping, enum figure figure)
{
	if (figure_infos[figure].source == FIGURE_SOURCE_NAME)
		return grouping_has_name(grouping, (enum group_name)figure_infos[figure].what);
	/* A request's percentage of a CPU over the whole recording says little: others ran, too. */
	if (figure == FIGURE_CPU_PERCENT || figure == FIGURE_MACHINE_PERCENT)
		return grouping->has_all_time;
	return figure_infos[figure].field != NULL;
}

struct table_column table_column_of(enum figure figure, enum figure_view view)
{
	return (struct table_column){
		.title = figure_infos[figure].title,
		.rank = figure_infos[figure].places[view].rank,
		.is_text = figure_infos[figure].unit == FIGURE_UNIT_TEXT,
	};
}

size_t table_columns_choose(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX],
			    struct table_column ret_columns[static _FIGURE_MAX])
{
	size_t count = figures_of_view(view, ret_figures);

	for (size_t i = 0; i < count; i++)
		ret_columns[i] = table_column_of(ret_figures[i], view);
	return count;
}
