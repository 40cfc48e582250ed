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
#include "target/tls_symbol.h"

enum {
	OTEL_PATH_BYTES = 512,
	/* Of a text of the process context as it is kept: escaped, cut. */
	OTEL_DISPLAY_BYTES = 256,
};

enum otel_context_state {
	OTEL_CONTEXT_MISSING = 0, /* no process context (yet): IDs can be read, attributes not */
	OTEL_CONTEXT_READ = 1,
	OTEL_CONTEXT_REFUSED = 2, /* of a version that is not known: nothing is read */
};

struct otel_target {
	pid_t pid;
	uint64_t start_ticks; /* tells it from a later process of the same ID */
	const char *const *names; /* of the wanted keys; NULL = not one of OpenTelemetry's */
	size_t key_count;

	bool is_publishing; /* an object of it defines the variable, and it is located */
	char publisher_path[OTEL_PATH_BYTES];
	struct tls_symbol tls;
	uint64_t objects_digest; /* of those that were looked through in vain */

	enum otel_context_state state;
	uint64_t header_address; /* 0 = no mapping was found */
	uint64_t published_ns;
	size_t index_count; /* names in the key map */
	uint8_t key_of_index[OTEL_INDEXES]; /* as otel_config has it */
	size_t names_missing; /* wanted attributes that the key map does not name */
	/* Valid UTF-8 without control characters; "" = not there. */
	char schema_version[OTEL_DISPLAY_BYTES];
	char service_name[OTEL_DISPLAY_BYTES];
	char service_instance_id[OTEL_DISPLAY_BYTES];
	char environment_name[OTEL_DISPLAY_BYTES];
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

/*
 * The names of the process that a forked one without a process context of its own (yet) comes from:
 * its memory is a copy, but for that mapping.
 */
void otel_target_inherit(struct otel_target *target, const struct otel_target *parent);

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config);
