/*
 * What one process, Ruby or not, publishes of OpenTelemetry: the object with the thread context's
 * variable, where that is, and the process context, which names the attributes. What is not there
 * yet is found by a later refresh. Owned by the caller; single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "base/cleanup.h"
#include "target/elf/tls_symbol.h"
#include "target/otel/otel_announcement.h"

enum {
	OTEL_PATH_BYTES = 512
};

struct otel_target {
	pid_t pid;
	uint64_t start_ticks; /* tells it from a later process of the same ID */

	bool is_publishing; /* an object of it defines the variable, and it is located */
	char publisher_path[OTEL_PATH_BYTES];
	struct tls_symbol tls;
	uint64_t publisher_start; /* of that object's mappings, and its file */
	uint64_t publisher_inode;
	uint64_t objects_digest; /* of those that were looked through in vain */
	struct otel_announcement announcement;
};

/*
 * Looks at process pid. names: borrowed for the life of the target. What is missing is not an
 * error. 0, -ESRCH, -EPERM/-EACCES (it may not be read), -errno. Logs as ruby_target_open(), and a
 * process context that is refused or damaged, once for each time it is published.
 */
int otel_target_open(pid_t pid, const char *const *names, size_t key_count,
		     struct otel_target **ret_target);
void otel_target_free(struct otel_target *target);
DEFINE_CLEANUP(struct otel_target *, otel_target_free);

/* 1: there is news; 0; -ESRCH: gone, or the pid is another process now; -errno. */
int otel_target_refresh(struct otel_target *target);

/* True if contexts of it can be read now. */
bool otel_target_is_readable(const struct otel_target *target);
/* True if no wanted key is missing any more. */
bool otel_target_is_complete(const struct otel_target *target);

/* By one small read: a refresh would find something else in what was found before. */
bool otel_target_has_changed(const struct otel_target *target);

/*
 * Of a process that was forked off the parent's and runs the same program: what is known of the
 * parent is true of it, too, but that it has no process context (yet). 0, -ESRCH, -ENOMEM.
 */
int otel_target_fork(const struct otel_target *parent, pid_t pid, struct otel_target **ret_target);

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config);
