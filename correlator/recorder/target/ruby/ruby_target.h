/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Ruby in a process: the object that contains the interpreter, its version, its symbol table,
 * and the ID of each wanted key. Parts that do not exist yet (a server that boots) are found by a
 * later look. Their locations in another process with the same file are tried first, and must pass
 * the same test. Part of a target, which owns it; single thread; does not log. Facts: the exported
 * symbols ruby_version and rb_sym_all_symbols, in every CRuby from 2.7 on; ruby_symbols.h.
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
	bool is_ruby; /* an object of the process defines both symbols above */
	char version[RUBY_VERSION_BYTES]; /* "" = not read */
	char path[OBJECT_PATH_BYTES]; /* of that object */
	struct ruby_symbols *symbols; /* NULL = not found (yet). Owned. */
	struct object_file *file; /* that object, set together with symbols. Owned. */
	uint64_t bias; /* where it is loaded */
	uint64_t key_ids[KEYS_MAX]; /* by key; 0 = not Ruby's, or not found */
	size_t keys_missing; /* keys without an ID; initialized by the owner */
	uint32_t symbol_count; /* Ruby's counter, read before the last search for keys */
};

/*
 * Inspects a loaded object, unless the symbol table was already found. 1: it is a Ruby that is
 * still starting, to be inspected again; 0; -ENOMEM, -errno of ruby_symbols_new().
 */
int ruby_target_note(struct ruby_target *target, const struct loaded_object *object,
		     const struct memory_reader *reader);

/*
 * Looks up the keys without an ID. names: by key, count of them; NULL = not Ruby's. 0, also if some
 * do not exist yet; -ENOMEM, -errno of the reader.
 */
int ruby_target_find_keys(struct ruby_target *target, const char *const *names, size_t count,
			  const struct memory_reader *reader);

/*
 * Finds where Ruby keeps its frames (ruby_stack_layout.h), from its objects and its memory.
 * -ENOENT: the symbol table was not found (yet); -ESRCH: its object is no longer mapped; else as
 * ruby_stack_finder_find(), or -errno of reading the maps.
 */
int ruby_target_find_stack(const struct ruby_target *target, pid_t pid, bool is_musl,
			   struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report);

/* Sets the fields that describe Ruby to the kernel programs, and nothing else. */
void ruby_target_config(const struct ruby_target *target, struct process_config *config);

void ruby_target_deinit(struct ruby_target *target);
