/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON text, built with jansson and printed part by part, so that a million rows are never held in
 * memory as JSON. jansson's setters accept NULL values and fail: a failed allocation becomes an
 * error in json_part_print.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "record/record_view.h"

/* A JSON string of any bytes, at most RECORD_VIEW_TEXT_BYTES_MAX, unprintable ones escaped
 * (display_escape). NULL: no memory. */
json_t *json_part_bytes(const char *text, size_t size_bytes);
json_t *json_part_text(const char *text);

/* Each adds a value and takes over its reference; *r becomes -ENOMEM on failure, and is left alone
 * otherwise. */
void json_part_set(json_t *object, const char *name, json_t *value, int *r);
void json_part_append(json_t *array, json_t *value, int *r);

/*
 * Prints `before`, then the part, and frees the part. 0, or -ENOMEM if r < 0 or memory is lacking.
 * It prints straight to the stream: json_dumps() drops names of members if its buffer cannot grow,
 * and returns no error (jansson 2.14).
 */
int json_part_print(const char *before, json_t *part, int r, FILE *out);

/* Prints all fields of a record as one line: {"kind":"cpu",...}. 0, -ENOMEM. */
int json_part_print_record(const struct record_view *record, FILE *out);
