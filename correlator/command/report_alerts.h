/* SPDX-License-Identifier: GPL-2.0-only */
/* `report --alert`: what would have fired, instead of a report. */
#pragma once

#include <stddef.h>

#include "alert/alert_set.h"
#include "reader/query/filter.h"

/* Prints a line for each change. Exit code: EXIT_CODE_ALERT if something fired. */
int report_alerts(const struct alert_set *set, struct filter *filter, char *const *paths,
		  size_t path_count);
