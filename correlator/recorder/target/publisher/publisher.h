/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loaded objects of a process that define one thread-local: where each lies, its file, where
 * the variable is once the loader has relocated it, and where uprobes go. A process may have
 * several (two versions of the gem, or two gems): each has a variable of its own, and one of them
 * is read. Owned by a target; returned pointers are valid until the next look; single thread. Logs
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
	PUBLISHERS_MAX = 8, /* objects of one process; more are ignored */
	/*
	 * Number of consecutive looks that may find values which no loader writes: a loader that is
	 * still at work leaves such values temporarily. The pauses between looks double from 0.2 ms
	 * on (process_state.h): about 0.8 s in total.
	 */
	PUBLISHER_DOUBTS_MAX = 12
};

struct publisher {
	char path[OBJECT_PATH_BYTES];
	bool is_deleted; /* the file's name was removed, or another file has it now */
	uint64_t device;
	uint64_t inode;
	uint64_t start; /* of all its mappings in the process */
	uint64_t end;
	struct object_file *file; /* Owned. */
	struct probe_site sites[PROBE_SITES_MAX];
	size_t site_count;
	bool has_fiber_site; /* the object reports fiber switches */
	struct probe_site fiber_site;
	bool tells_serials; /* at its sites, argument 3 is the serial of the state (gem_abi.h) */
	unsigned int doubts; /* consecutive looks that found values no loader writes */
	bool is_located; /* tls is valid: the loader is done with the object */
	struct tls_symbol tls;
	/*
	 * Our gem's, in the same module: GEM_THREAD_SYMBOL exists (gem_abi.h), at this distance
	 * from tls.
	 */
	bool has_threads;
	int64_t thread_offset;
	int32_t changes_words; /* words from tls to GEM_CHANGES_SYMBOL; 0 = not counted */
	uint64_t watch_address; /* of GEM_WATCH_SYMBOL in the process; 0 = none */
	bool is_interposed; /* its variable is bound to another publisher's: it only sets it */
	bool is_refused; /* two locations disagree, or the values are none that a loader writes */
};

struct publishers {
	const char *symbol; /* the variable's name, static text */
	bool has_sites; /* uprobes can sit where it changes */
	struct publisher *list[PUBLISHERS_MAX]; /* in the order found. Owned. */
	size_t count;
	size_t live; /* index of the publisher that is read */
	/* A publisher is notified of Ruby threads that move to another native thread. */
	bool follows_threads;
};

/* For a set with symbol and has_sites set and all else zero. */
void publishers_deinit(struct publishers *publishers);

/*
 * Adds an object if it defines the variable, not located yet. 0, -ENOMEM; -ETIMEDOUT: its file does
 * not answer.
 */
int publishers_note(struct publishers *publishers, const struct loaded_object *object);
/* Drops publishers that are no longer mapped where they were. True if any was dropped. */
bool publishers_drop_unmapped(struct publishers *publishers, const struct memory_map *map);
/*
 * Locates the variable in each publisher without a location, by the object's relocation and, where
 * the loader's list can be read, by that. 0; or, while none is located, -ETIMEDOUT (the file does
 * not answer) or a negative result of tls_symbol_resolve() or link_map_confirm(), which is final
 * for that object. Not an error: a loader that is not done with an object, and impossible values
 * during PUBLISHER_DOUBTS_MAX looks.
 */
int publishers_locate(struct publishers *publishers, const struct memory_map *map,
		      const struct memory_reader *reader, const struct link_map_layout *layout);

/* Number of distinct variables: publishers, without those that only set another's. */
size_t publishers_count_variables(const struct publishers *publishers);

/* The publisher that is read; NULL = none, or the loader is not done with it. */
const struct publisher *publishers_live(const struct publishers *publishers);
/*
 * Reads the publisher whose mappings contain address from now on. True if another one was read
 * before.
 */
bool publishers_prefer(struct publishers *publishers, uint64_t address);

/*
 * True if the process still maps it where it was. One small read of the process, which a mapping of
 * another file can deceive.
 */
bool publisher_is_there(const struct publisher *publisher, pid_t pid);
