/* SPDX-License-Identifier: GPL-2.0-only */
/* `report --alert`: prints which alerts would have fired, instead of a report. */
#pragma once

#include <stddef.h>

#include "alert/alert_set.h"
#include "reader/query/filter.h"

/* Prints a line for each change. Returns an exit code: EXIT_CODE_ALERT if an alert fired. */
int report_alerts(const struct alert_set *set, struct filter *filter, char *const *paths,
		  size_t path_count);
