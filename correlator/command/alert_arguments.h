/* SPDX-License-Identifier: GPL-2.0-only */
/* Alerts as arguments: record and report take them alike. */
#pragma once

#include "alert/alert_set.h"

/* Adds what --alert takes; *set is made if it is NULL, and the caller's. 0, or -errno: logged, with
 * the place that is wrong. */
int alert_arguments_add(struct alert_set **set, const char *text);
