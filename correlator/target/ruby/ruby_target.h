/*
 * One Ruby process as a target: the objects that publish the thread-local, the ID of each wanted
 * key. What is not there yet (a server that boots) is found by a later refresh, and what is not
 * there any more is noticed. Owned by the caller; single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "target/proc/process.h"
#include "target/publisher/publisher.h"
#include "target/ruby/ruby_symbols.h"

enum {
	RUBY_VERSION_BYTES = 16,
	PUBLISHERS_MAX = 8 /* objects of one process that publish; more are not looked at */
};

struct known_object;

struct ruby_target {
	struct process_info info;
	bool is_ruby; /* an object of it defines ruby_version */
	char ruby_version[RUBY_VERSION_BYTES]; /* "" = not read */
	char ruby_path[OBJECT_PATH_BYTES];
	struct publisher publishers[PUBLISHERS_MAX]; /* in the order they were found in */
	size_t publisher_count;
	size_t live; /* which of them is read */
	int loader_fd; /* of the dynamic loader; -1 = not found. Owned. */
	uint64_t loader_offset; /* in it, of the function that it calls when it loads objects */
	struct link_map_layout link_map;
	struct known_object *known; /* looked into, and not to be again. Owned. */
	size_t known_count;
	size_t unreadable_count; /* mapped files that could not be opened, at the last look */
	char unreadable_path[OBJECT_PATH_BYTES]; /* one of them */
	struct ruby_symbols *symbols; /* NULL = not found (yet). Owned. */
	uint64_t key_ids[KEYS_MAX];
	size_t keys_missing; /* keys without an ID */
	uint32_t symbol_count; /* Ruby's, before they were looked for */
	size_t key_count;
};

/*
 * Looks at process pid. What is missing is not an error: see is_ruby, ruby_target_publisher,
 * keys_missing.
 * 0, -ESRCH (no such process), -EPERM/-EACCES (it may not be read), -errno. Does not log what is
 * merely missing; logs a file that cannot be read or an unsupported TLS model. A name that is NULL
 * is not a key of Ruby's: it is never looked for.
 */
int ruby_target_open(pid_t pid, const char *const *key_names, size_t key_count,
		     struct ruby_target **ret_target);
void ruby_target_free(struct ruby_target *target);

/* The object whose variable is read; NULL: none publishes, or the loader is not done with it. */
const struct publisher *ruby_target_publisher(const struct ruby_target *target);

/*
 * Reads the variable of the object that has code at address from now on, because a probe was hit
 * there. True: it was another one before.
 */
bool ruby_target_prefer(struct ruby_target *target, uint64_t address);

/* True if everything that was wanted has been found. */
bool ruby_target_is_complete(const struct ruby_target *target);

/*
 * Looks again for what is missing, and whether the publishers are still there. Returns 1 if
 * something was found, 0 if nothing changed, -ESRCH (gone, or the pid is another process now),
 * -errno.
 */
int ruby_target_refresh(struct ruby_target *target, const char *const *key_names);

/* What the kernel programs need to know of it. */
void ruby_target_config(const struct ruby_target *target, struct process_config *ret_config);
