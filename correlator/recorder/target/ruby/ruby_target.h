/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes one process Ruby: the object that is its interpreter, its version, its symbol table,
 * and the ID of each wanted key. What is not there yet (a server that boots) is found by a later
 * look. Where another process of the same file has them is tried first, and put to the same test. A
 * part of a target, which owns it; single thread; does not log. Facts: the exported symbols
 * ruby_version and rb_sym_all_symbols, in every CRuby from 2.7 on; ruby_symbols.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "recorder/target/elf/object_walk.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_stack_finder.h"
#include "recorder/target/ruby/ruby_symbols.h"

enum {
	RUBY_VERSION_BYTES = 16
};

struct ruby_target {
	bool is_ruby; /* an object of it defines ruby_version */
	char version[RUBY_VERSION_BYTES]; /* "" = not read */
	char path[OBJECT_PATH_BYTES]; /* of that object */
	struct ruby_symbols *symbols; /* NULL = not found (yet). Owned. */
	struct object_file *file; /* of that object, once they are found. Owned. */
	uint64_t bias; /* where it is loaded */
	uint64_t key_ids[KEYS_MAX]; /* by key; 0 = not Ruby's, or not found */
	size_t keys_missing; /* keys without an ID; set at first by the owner */
	uint32_t symbol_count; /* Ruby's, before they were looked for */
};

/*
 * Looks into a loaded object, unless the symbol table was found. 1: it is Ruby, which is still
 * starting: to be looked into again; 0; -ENOMEM, -errno of ruby_symbols_new().
 */
int ruby_target_note(struct ruby_target *target, const struct loaded_object *object,
		     const struct memory_reader *reader);

/*
 * Looks for the keys without an ID. names: by key, count of them; NULL = not Ruby's. 0, also when
 * some are not there yet; -ENOMEM, -errno of the reader.
 */
int ruby_target_find_keys(struct ruby_target *target, const char *const *names, size_t count,
			  const struct memory_reader *reader);

/*
 * Where its frames are (ruby_stack_layout.h), by a look at its objects and its memory. -ENOENT: its
 * symbol table was not found (yet); else as ruby_stack_finder_find(), or -errno of reading its
 * maps.
 */
int ruby_target_find_stack(const struct ruby_target *target, pid_t pid, bool is_musl,
			   struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report);

/* Sets what the kernel programs need to know of Ruby, and nothing else. */
void ruby_target_config(const struct ruby_target *target, struct process_config *config);

void ruby_target_deinit(struct ruby_target *target);
