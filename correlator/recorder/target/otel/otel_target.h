/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process's OpenTelemetry data, whether it is Ruby or not: the objects with the thread context's
 * variable, and the process context, which names the attributes. A later look finds what is not
 * there yet. Part of a target, which owns it; single thread. Logs a process context that is refused
 * or damaged, once each time it is published, at most three times. Facts: OTEP 4947.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <correlator/config.h>

#include "recorder/target/otel/otel_announcement.h"
#include "recorder/target/publisher/publisher.h"

struct otel_target {
	struct publishers publishers;
	struct otel_announcement announcement;
};

/* names: by key, borrowed for the life of the target; NULL = not OpenTelemetry's. */
void otel_target_init(struct otel_target *target, const char *const *names, size_t count);
void otel_target_deinit(struct otel_target *target);

/* The object whose variable is read; NULL = none publishes, or the loader is not done with it. */
const struct publisher *otel_target_publisher(const struct otel_target *target);
/* True if its contexts can be read now. */
bool otel_target_is_readable(const struct otel_target *target);
/* True if no wanted key is missing. */
bool otel_target_is_complete(const struct otel_target *target);

/*
 * For a process that was forked from parent and runs the same program: adopts parent's process
 * context, unless the process's own one was read.
 */
void otel_target_inherit(struct otel_target *target, const struct otel_target *parent);

/* Configures the kernel programs; model TLS_MODEL_NONE = nothing can be read. */
void otel_target_config(const struct otel_target *target, struct otel_config *ret_config);
