/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One process as a target. One walk over its mappings and loaded objects serves every search: Ruby
 * and the IDs of its keys, the publishers of Ruby's and OpenTelemetry's contexts, the dynamic
 * loader. A later look finds what is not there yet (a server that boots) and notices what is gone.
 * Owned by the caller; single thread. Logs what is refused (a TLS model, two locations of a
 * variable that disagree, a process context), never what is merely missing.
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

/* Keys and contexts to look for. The names are borrowed for the life of the target. */
struct target_keys {
	const char *const *ruby_names; /* by key; NULL = not a Ruby key */
	const char *const *otel_names; /* by key, without prefix; NULL = not an OpenTelemetry key */
	size_t count;
	bool wants_ruby; /* contexts of Ruby count */
	bool wants_otel; /* looks for contexts of OpenTelemetry, which count */
};

struct target {
	struct process_info info;
	struct target_keys keys;
	struct ruby_target ruby;
	bool shares_native_threads; /* Ruby threads share native threads (M:N) */
	struct publishers publishers; /* of Ruby's contexts */
	struct otel_target otel;
	struct object_file *loader; /* the dynamic loader; NULL = not found. Owned. */
	uint64_t loader_offset; /* file offset of its function that runs when it loads objects */
	struct link_map_layout link_map;
	struct object_walk walk;
	bool is_fresh; /* walked, but not searched for keys */
};

/*
 * Walks the objects of process pid; the first refresh looks for its keys. map: the process's, read
 * just before, taken over and emptied; NULL = read here. files: cache of objects, shared with other
 * targets, outlives the target; NULL = none. Something missing is not an error. 0, -ESRCH (no such
 * process), -EPERM/-EACCES (may not be read), -ENOMEM, -EMFILE, -errno.
 */
int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target);
void target_free(struct target *target);
DEFINE_CLEANUP(struct target *, target_free);

/*
 * Looks for the keys. Except right after target_open, first checks whether everything found is
 * still there and looks for what was missing. Returns 1 if something was found or lost, 0 if
 * nothing changed, -ESRCH (the process is gone, runs another program, or the pid belongs to another
 * one), -errno.
 */
int target_refresh(struct target *target);

/* The object whose variable for Ruby's contexts is read; NULL = none (yet). */
const struct publisher *target_publisher(const struct target *target);
/* True if all wanted contexts and keys have been found. */
bool target_is_complete(const struct target *target);
/*
 * True if Ruby threads share native threads and no publisher follows them when they switch: the
 * published context may belong to another Ruby thread of the same native thread.
 */
bool target_mixes_threads(const struct target *target);
/* True if the kernel programs can tell a thread's waits for the GVL from outside (gvl_futex.h). */
bool target_shows_gvl(const struct target *target);

/* True if our gem counts how long Ruby threads wait for the GVL. One small read. */
bool target_counts_gvl(const struct target *target);

/* True if our gem measures how long Ruby threads collect garbage. One small read. */
bool target_times_gc(const struct target *target);
/* True if OpenTelemetry's process context was replaced or is gone. One small read. */
bool target_has_changed(const struct target *target);

/*
 * Configures the kernel programs for Ruby's contexts; otel_target_config does for OpenTelemetry's.
 */
void target_config(const struct target *target, struct process_config *ret_config);
