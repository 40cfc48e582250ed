/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/json_group.h"

#include "report/json_part.h"

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
			json_part_set(object, costs_name((enum cost)cost),
				      json_integer(costs->sums[cost]), r);
	}
}
