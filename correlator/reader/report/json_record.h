/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a record as a line of JSON. There are many, so it is not built in memory first. */
#pragma once

#include <stdio.h>

#include "record/record_view.h"

/*
 * Prints {"wall_ns":1700000000000000000,"schema":1,"kind":"cpu",...} and a newline: all fields in
 * their order, unprintable bytes escaped (display_escape). A name that occurs twice is printed
 * once, with its last value. 0, -ENOMEM; the caller checks ferror(out).
 */
int json_record_print(const struct record_view *record, FILE *out);
