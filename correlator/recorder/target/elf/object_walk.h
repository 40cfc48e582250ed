/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A walk over what a process has loaded: one reading of its mappings, and each object opened once,
 * for all that look for something in it, and not at all if another process maps it that was walked
 * through. An object that was looked into is not handed out again by a later walk while it stays
 * where it is. Owned by a target; single thread; does not log. What a walk hands out lives until
 * the next call, but for a file that is held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/object_file.h"
#include "recorder/target/proc/memory_map.h"

enum {
	OBJECT_PATH_BYTES = 512
};

struct known_object;

/* One object that a process has loaded. All borrowed. */
struct loaded_object {
	const struct memory_map *map;
	const struct memory_map_entry *entry; /* its first mapping */
	struct object_file *file;
	const struct elf_image *image; /* the file's */
	bool has_bias;
	uint64_t bias; /* where it is loaded */
};

struct object_walk {
	pid_t pid; /* of the process, set by the owner; all else zero at first */
	struct object_files *files; /* those of others, borrowed; may be set, too */
	struct memory_map map; /* of the walk at hand */
	size_t cursor;
	struct loaded_object object; /* handed out */
	struct known_object *known; /* looked into, and not to be again. Owned. */
	size_t known_count;
	size_t known_room;
	size_t unreadable_count; /* mapped files that could not be opened, in the last walk */
	char unreadable_path[OBJECT_PATH_BYTES]; /* one of them */
};

/*
 * Begins a walk. map: of the process, read just before, taken over and emptied; NULL = it is read
 * now. 0; -ESRCH: no such process, or a zombie, whose objects are not gone: it is; or as
 * memory_map_of_process.
 */
int object_walk_begin(struct object_walk *walk, struct memory_map *map);
/*
 * The next object that is not known. 1: there is one in walk->object; 0 at the end; -ENOMEM,
 * -EMFILE, -ENFILE; -ETIMEDOUT (object_file.h). What cannot be opened is counted, and what is no
 * ELF file is known from now on.
 */
int object_walk_next(struct object_walk *walk);
/* The object at hand is not to be looked into again. 0 or -ENOMEM. */
int object_walk_keep(struct object_walk *walk);
/* What is known may be something else by now: the next walk begins anew. */
void object_walk_forget(struct object_walk *walk);
/* Ends a walk; what is known stays. Accepts a zeroed one. */
void object_walk_end(struct object_walk *walk);
void object_walk_deinit(struct object_walk *walk);
