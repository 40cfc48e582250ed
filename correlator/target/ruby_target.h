/*
 * One Ruby process as a target: the object that publishes the thread-local, where the variable
 * is, the ID of each wanted key, and where uprobes go. What is not there yet (a server that
 * boots) is found by a later refresh. Owned by the caller; single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "target/probe_site.h"
#include "target/process.h"
#include "target/ruby_symbols.h"
#include "target/tls_symbol.h"

enum {
	RUBY_VERSION_BYTES = 16,
	OBJECT_PATH_BYTES = 512
};

struct ruby_target {
	struct process_info info;
	bool is_ruby; /* an object of it defines ruby_version */
	char ruby_version[RUBY_VERSION_BYTES]; /* "" = not read */
	char ruby_path[OBJECT_PATH_BYTES];
	bool is_publishing; /* an object of it defines the thread-local, and it is located */
	char publisher_path[OBJECT_PATH_BYTES];
	int publisher_fd; /* of the publishing object, for uprobes; -1 = none. Owned. */
	struct tls_symbol tls;
	struct probe_site sites[PROBE_SITES_MAX];
	size_t site_count;
	struct ruby_symbols *symbols; /* NULL = not found (yet). Owned. */
	uint64_t key_ids[KEYS_MAX];
	size_t keys_missing; /* keys without an ID */
	size_t key_count;
};

/*
 * Looks at process pid. What is missing is not an error: see is_ruby, is_publishing, keys_missing.
 * 0, -ESRCH (no such process), -EPERM/-EACCES (it may not be read), -errno. Does not log what is
 * merely missing; logs a file that cannot be read or an unsupported TLS model.
 */
int ruby_target_open(pid_t pid, const char *const *key_names, size_t key_count,
		     struct ruby_target **ret_target);
void ruby_target_free(struct ruby_target *target);

/* True if everything that was wanted has been found. */
bool ruby_target_is_complete(const struct ruby_target *target);

/*
 * Looks again for what is missing. Returns 1 if something was found, 0 if nothing changed, -ESRCH
 * (gone, or the pid is another process now), -errno.
 */
int ruby_target_refresh(struct ruby_target *target, const char *const *key_names);

/* What the kernel programs need to know of it. */
void ruby_target_config(const struct ruby_target *target, struct process_config *ret_config);
