/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One process as a target. One walk over its mappings and the objects that it has loaded serves all
 * that is looked for: Ruby and the IDs of its keys, who publishes Ruby's contexts and
 * OpenTelemetry's, the dynamic loader. What is not there yet (a server that boots) is found by a
 * later look, and what is not there any more is noticed. Owned by the caller; single thread. Logs
 * what is refused (a TLS model, two ways to a variable that disagree, a process context), never
 * what is merely missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "base/cleanup.h"
#include "recorder/target/elf/object_walk.h"
#include "recorder/target/otel/otel_target.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/publisher/publisher.h"
#include "recorder/target/ruby/ruby_target.h"

/* What is looked for. The names are borrowed for the life of the target. */
struct target_keys {
	const char *const *ruby_names; /* by key; NULL = not a key of Ruby's */
	const char *const *otel_names; /* by key, without the prefix; NULL = not OpenTelemetry's */
	size_t count;
	bool wants_ruby; /* contexts of Ruby count */
	bool wants_otel; /* contexts of OpenTelemetry are looked for, and count */
};

struct target {
	struct process_info info;
	struct target_keys keys;
	struct ruby_target ruby;
	bool shares_native_threads; /* Ruby's threads do, among them (M:N) */
	struct publishers publishers; /* of Ruby's contexts */
	struct otel_target otel;
	struct object_file *loader; /* the dynamic loader; NULL = not found. Owned. */
	uint64_t loader_offset; /* in it, of the function that it calls when it loads objects */
	struct link_map_layout link_map;
	struct object_walk walk;
	bool is_fresh; /* looked at, and not for keys */
};

/*
 * Walks process pid's objects; its keys are looked for by the first refresh. map: of the process,
 * read just before, taken over and emptied; NULL = it is read here. files: what is known of the
 * objects of others, which outlives the target; NULL = nothing. What is missing is not an error. 0,
 * -ESRCH (no such process), -EPERM/-EACCES (it may not be read), -ENOMEM, -EMFILE, -errno.
 */
int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target);
void target_free(struct target *target);
DEFINE_CLEANUP(struct target *, target_free);

/*
 * Looks for the keys, and, but right after target_open, first whether what was found is still there
 * and what was missing is. Returns 1 if something was found, 0 if nothing changed, -ESRCH (gone, or
 * the pid is another process now), -errno.
 */
int target_refresh(struct target *target);

/* The object whose variable for Ruby's contexts is read; NULL: none (yet). */
const struct publisher *target_publisher(const struct target *target);
/* True if all contexts and keys that are wanted have been found. */
bool target_is_complete(const struct target *target);
/*
 * Ruby threads share native ones, and nobody who publishes follows them when they change: what is
 * published may be the context of another Ruby thread of the same native one.
 */
bool target_mixes_threads(const struct target *target);
/* By one small read: our gem counts how long Ruby's threads wait for the GVL. */
bool target_counts_gvl(const struct target *target);

/* The same of how long they collect garbage. */
bool target_times_gc(const struct target *target);
/* By one small read: OpenTelemetry's process context is another one by now, or gone. */
bool target_has_changed(const struct target *target);

/* What the kernel programs need to know of Ruby's contexts; otel_target_config has the others. */
void target_config(const struct target *target, struct process_config *ret_config);
