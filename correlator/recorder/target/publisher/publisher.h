/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loaded objects of a process that define one thread-local: where each lies, its file, where
 * the variable is once the loader has relocated it, and where uprobes go. A process may have
 * several (two versions of the gem, or two gems): each has a variable of its own, and one of them
 * is read. Owned by a target, what is handed out lives until the next look; single thread. Logs
 * what is refused, once. Facts: correlator/state_abi.h, correlator/otel_record.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/target/elf/link_map.h"
#include "recorder/target/elf/object_walk.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/publisher/probe_site.h"

enum {
	PUBLISHERS_MAX = 8, /* objects of one process; more are not looked at */
	/*
	 * Looks that may find in an object what no loader writes there: one that is still at work
	 * does so in between. The pauses between them double from 0.2 ms on (process_state.h):
	 * some 0.8 s.
	 */
	PUBLISHER_DOUBTS_MAX = 12
};

struct publisher {
	char path[OBJECT_PATH_BYTES];
	bool is_deleted; /* the file has no name any more, or another file has it now */
	uint64_t device;
	uint64_t inode;
	uint64_t start; /* of its mappings in the process, all of them */
	uint64_t end;
	struct object_file *file; /* Owned. */
	struct probe_site sites[PROBE_SITES_MAX];
	size_t site_count;
	bool has_fiber_site; /* it tells which fiber it is */
	struct probe_site fiber_site;
	unsigned int doubts; /* looks that found there what no loader writes, one after the other */
	bool is_located; /* tls is valid: the loader is done with it */
	struct tls_symbol tls;
	/* Our gem's, in the same module: from there to GEM_THREAD_SYMBOL (gem_abi.h). */
	bool has_threads;
	int64_t thread_offset;
	int32_t changes_words; /* and to GEM_CHANGES_SYMBOL; 0 = it does not count them */
	uint64_t watch_address; /* of GEM_WATCH_SYMBOL in the process; 0 = there is none */
	bool is_interposed; /* its variable is another's in this list: it only sets that one, too */
	bool is_refused; /* the two ways disagree, or no loader writes what is there */
};

struct publishers {
	const char *symbol; /* the variable's name, static text */
	bool has_sites; /* uprobes can sit where it changes */
	struct publisher *list[PUBLISHERS_MAX]; /* in the order they were found in. Owned. */
	size_t count;
	size_t live; /* which of them is read */
	/* Who sets the variable hears of Ruby threads that get another native thread. */
	bool follows_threads;
};

/* Of a set whose symbol and has_sites are set and all else zero. */
void publishers_deinit(struct publishers *publishers);

/* Adds an object if it defines the variable, not located yet. 0, -ENOMEM, -EMFILE, -ENFILE. */
int publishers_note(struct publishers *publishers, const struct loaded_object *object);
/* Drops those that are not mapped any more where they were. True: there was one. */
bool publishers_drop_unmapped(struct publishers *publishers, const struct memory_map *map);
/*
 * Locates the variable in those where it is not, by the object's relocation and, where the loader's
 * list can be read, by that. 0; or, while none is located, a negative result of
 * tls_symbol_resolve() or link_map_confirm(), which is final for that object. That the loader is
 * not done with one yet is not an error, nor what cannot be true, PUBLISHER_DOUBTS_MAX looks long.
 */
int publishers_locate(struct publishers *publishers, const struct memory_map *map,
		      const struct memory_reader *reader, const struct link_map_layout *layout);

/* How many variables there are: as many as publishers, without those that only set another's. */
size_t publishers_count_variables(const struct publishers *publishers);

/* The one that is read; NULL: there is none, or the loader is not done with it. */
const struct publisher *publishers_live(const struct publishers *publishers);
/* Reads the one that has code at address from now on. True: it was another one before. */
bool publishers_prefer(struct publishers *publishers, uint64_t address);

/*
 * True if the process still maps it where it was, by one small read of the process, which another
 * file's mapping can deceive.
 */
bool publisher_is_there(const struct publisher *publisher, pid_t pid);
