/* SPDX-License-Identifier: GPL-2.0-only */
/* Which keys are wanted, of whom, and what they are called in the records. Single thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/limits.h>

#include "recorder/target/target.h"

/* Keys that begin so are OpenTelemetry's: "otel.trace_id", "otel.span_id", "otel.ATTRIBUTE". */
#define OTEL_KEY_PREFIX "otel."

/* Keys of Ruby's that the gem's integrations set for each request: what tells it from all others,
 * and what is known of it only when it was routed. */
#define REQUEST_KEY "request_id"
#define LATE_KEY    "endpoint"

/*
 * The wanted keys: what they are called in the target, and in the records. Each is Ruby's or
 * OpenTelemetry's.
 */
struct key_options {
	const char *names[KEYS_MAX]; /* as given; allocated by key_options_add */
	const char *record_names[KEYS_MAX]; /* field in records */
	const char *ruby_names[KEYS_MAX]; /* symbol; NULL = not a key of Ruby's */
	const char *otel_names[KEYS_MAX]; /* without the prefix; NULL = not OpenTelemetry's */
	size_t count;
	size_t ruby_count;
	size_t otel_count;
	uint32_t late; /* bit N: key N is a late one (correlator/late_key.h) */
	uint32_t request; /* if there is one: 1 + number of the key that it depends on */
};

/*
 * Adds "KEY" or "KEY=NAME". 0, or -EINVAL, logged: empty, too many, a NAME twice, or one that is a
 * field of the records already; so is a key of OpenTelemetry's that is asked for a second time.
 */
int key_options_add(struct key_options *keys, const char *text);
/* The key of our integrations that a name which no context has is a slip of; NULL: of none. */
const char *key_options_nearest(const char *name);
void key_options_deinit(struct key_options *keys);

/* The keys as a target looks for them; they borrow the names. */
struct target_keys key_options_target(const struct key_options *keys);
