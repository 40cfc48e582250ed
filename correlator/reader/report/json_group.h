/* SPDX-License-Identifier: GPL-2.0-only */
/* What JSON says of groups. *r as of json_part_set. */
#pragma once

#include <jansson.h>

#include "reader/aggregate/diff.h"
#include "reader/aggregate/grouping.h"

/* "key", or of several "keys", by name: one that the group has no value of is left out. */
void json_group_keys(json_t *object, const struct grouping *grouping, const struct group *group,
		     bool with_host, int *r);
/* Those that were measured, each by its field's name. */
void json_group_costs(json_t *object, const struct costs *costs, int *r);
/* A figure before and after, and, where it was tested, what the change is. */
json_t *json_group_figure(const struct diff_figure *figure, int *r);
