/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON text, built with jansson part by part and printed one by one, so that a million rows are
 * never held as JSON. jansson's setters take NULL values and fail: a part that lacks memory becomes
 * an error in json_part_print.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "record/record_view.h"

/* Any bytes, at most RECORD_VIEW_TEXT_BYTES_MAX, escaped where they are no text that can be shown
 * (display_escape). NULL without memory. */
json_t *json_part_bytes(const char *text, size_t size_bytes);
json_t *json_part_text(const char *text);

/* Each adds a value and takes it; *r becomes -ENOMEM on failure, and is left alone otherwise. */
void json_part_set(json_t *object, const char *name, json_t *value, int *r);
void json_part_append(json_t *array, json_t *value, int *r);

/*
 * Prints `before`, then the part, and frees it: 0, or -ENOMEM when r < 0 or without memory.
 * Straight to the stream: a text in memory that cannot grow loses names of members, and
 * json_dumps() does not say so (jansson 2.14).
 */
int json_part_print(const char *before, json_t *part, int r, FILE *out);

/* Prints all fields of a record as one line: {"kind":"cpu",...}. 0, -ENOMEM. */
int json_part_print_record(const struct record_view *record, FILE *out);
