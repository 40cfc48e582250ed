/* SPDX-License-Identifier: GPL-2.0-only */
/* A record as a line of JSON, written without building it in memory first: there are many. */
#pragma once

#include <stdio.h>

#include "record/record_view.h"

/*
 * {"wall_ns":1700000000000000000,"schema":1,"kind":"cpu",...} and a newline: all fields in their
 * order, bytes that are no text escaped (display_escape). A name that is there twice is there once,
 * with the last value. 0, -ENOMEM; the caller checks ferror(out).
 */
int json_record_print(const struct record_view *record, FILE *out);
