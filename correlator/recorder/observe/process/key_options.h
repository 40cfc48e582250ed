/* SPDX-License-Identifier: GPL-2.0-only */
/* The wanted keys, their source, and their names in the records. Single thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/limits.h>

#include "recorder/target/target.h"

/* Prefix of OpenTelemetry's keys: "otel.trace_id", "otel.span_id", "otel.ATTRIBUTE". */
#define OTEL_KEY_PREFIX "otel."

/*
 * Ruby keys that the gem's integrations set for each request: its unique id, and a value that is
 * known only once the request is routed.
 */
#define REQUEST_KEY "request_id"
#define LATE_KEY    "endpoint"

/* The wanted keys, Ruby's or OpenTelemetry's: their names in the target, and in the records. */
struct key_options {
	const char *names[KEYS_MAX]; /* as given; allocated by key_options_add */
	const char *record_names[KEYS_MAX]; /* field in records */
	const char *ruby_names[KEYS_MAX]; /* symbol; NULL = not a key of Ruby's */
	const char *otel_names[KEYS_MAX]; /* without the prefix; NULL = not OpenTelemetry's */
	size_t count;
	size_t ruby_count;
	size_t otel_count;
	uint32_t late; /* bit N: key N is a late one (correlator/late_key.h) */
	uint32_t request; /* 1 + number of the request's key, on which late keys depend; 0 = none */
};

/*
 * Adds "KEY" or "KEY=NAME". 0, or -EINVAL (logged): KEY or NAME is empty; there are too many keys;
 * NAME is taken by another key or by a field of the records; KEY is an OpenTelemetry key that was
 * already added. Or -ENOMEM (logged).
 */
int key_options_add(struct key_options *keys, const char *text);
/* The key of our integrations that `name`, which no context has, probably misspells; NULL: none. */
const char *key_options_nearest(const char *name);
void key_options_deinit(struct key_options *keys);

/* The keys in the form that a target uses; borrows the names. */
struct target_keys key_options_target(const struct key_options *keys);
