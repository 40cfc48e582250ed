/*
 * Parts of a JSON text: built with jansson and printed one by one, so that a million rows are never
 * held as JSON. jansson's setters take NULL values and fail: a part that lacks memory becomes an
 * error in json_part_print. Texts may hold any bytes: they are escaped (display.h).
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* NULL without memory. */
json_t *json_part_bytes(const char *text, size_t size_bytes);
json_t *json_part_text(const char *text);

/* Each adds a value and takes it; *r becomes -ENOMEM on failure, and is left alone otherwise. */
void json_part_set(json_t *object, const char *name, json_t *value, int *r);
void json_part_append(json_t *array, json_t *value, int *r);

/* Prints and frees: 0, or -ENOMEM when r < 0 or without memory. The stream's own errors are the
 * caller's to see. */
int json_part_print(const char *before, json_t *part, int r, FILE *out);
