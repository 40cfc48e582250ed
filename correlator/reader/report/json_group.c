/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/json_group.h"

#include "reader/report/json_part.h"

void json_group_keys(json_t *object, const struct grouping *grouping, const struct group *group,
		     bool with_host, int *r)
{
	struct record_text value = grouping_label(group, with_host);
	json_t *keys;

	if (grouping->key_count == 1) {
		if (value.size_bytes > 0)
			json_part_set(object, "key", json_part_bytes(value.bytes, value.size_bytes),
				      r);
		return;
	}
	keys = json_object();
	for (size_t i = 0; i < grouping->key_count; i++) {
		value = grouping_part(group, i, with_host);
		if (value.size_bytes > 0)
			json_part_set(keys, grouping->keys[i],
				      json_part_bytes(value.bytes, value.size_bytes), r);
	}
	json_part_set(object, "keys", keys, r);
}

void json_group_costs(json_t *object, const struct costs *costs, int *r)
{
	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (costs_has(costs, (enum cost)cost))
			json_part_set(object, figure_infos[figure_of_cost((enum cost)cost)].field,
				      json_integer(costs->sums[cost]), r);
	}
	if (costs->children_ns > 0)
		json_part_set(object, figure_infos[FIGURE_CHILDREN].field,
			      json_integer(costs->children_ns), r);
}

json_t *json_group_figure(const struct diff_figure *figure, int *r)
{
	json_t *object = json_object();

	json_part_set(object, "before_ns", json_integer(figure->before_ns), r);
	json_part_set(object, "after_ns", json_integer(figure->after_ns), r);
	if (!figure->is_tested)
		return object;
	json_part_set(object, "change_ns", json_real(figure->difference.value), r);
	json_part_set(object, "low_ns", json_real(figure->difference.low), r);
	json_part_set(object, "high_ns", json_real(figure->difference.high), r);
	json_part_set(object, "probability", json_real(figure->difference.probability), r);
	json_part_set(object, "corrected", json_real(figure->corrected), r);
	json_part_set(object, "changed", json_boolean(diff_has_changed(figure)), r);
	return object;
}
