/* SPDX-License-Identifier: GPL-2.0-only */
/* The argument of --alert, for record and report. */
#pragma once

#include "alert/alert_set.h"

/* Adds an expression to *set, which is allocated if it is NULL; the caller frees it. 0, or -errno,
 * logged with a mark at the error. */
int alert_arguments_add(struct alert_set **set, const char *text);
