/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process, Ruby or not, publishes of OpenTelemetry: the objects with the thread context's
 * variable, and the process context, which names the attributes. What is not there yet is found by
 * a later look. A part of a target, which owns it; single thread. Logs a process context that is
 * refused or damaged, once for each time it is published. Facts: OTEP 4947.
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

/* The object whose variable is read; NULL: none publishes, or the loader is not done with it. */
const struct publisher *otel_target_publisher(const struct otel_target *target);
/* True if contexts of it can be read now. */
bool otel_target_is_readable(const struct otel_target *target);
/* True if no wanted key is missing any more. */
bool otel_target_is_complete(const struct otel_target *target);

/*
 * Of a process that was forked off the parent's and runs the same program: what the parent's
 * process context said is true of it, too, unless one of its own was read.
 */
void otel_target_inherit(struct otel_target *target, const struct otel_target *parent);

/* What the kernel programs need to know of it; model TLS_MODEL_NONE: nothing can be read. */
void otel_target_config(const struct otel_target *target, struct otel_config *ret_config);
