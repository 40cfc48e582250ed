/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A walk over the objects that a process has loaded: it reads the mappings once and opens each
 * object once, for all users that search it. An object that another walked process also maps is not
 * opened at all. A later walk does not return a searched object again as long as the object stays
 * where it is. Owned by a target; single thread; does not log. A returned object lives until the
 * next call, except for a file that is held.
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
	pid_t pid; /* set by the owner; all else starts zeroed */
	struct object_files *files; /* shared files, borrowed; set by the owner, may be NULL */
	struct memory_map map; /* of the current walk */
	size_t cursor;
	struct loaded_object object; /* the current object */
	struct known_object *known; /* searched, and skipped from now on. Owned. */
	size_t known_count;
	size_t known_room;
	size_t unreadable_count; /* mapped files that could not be opened, in the last walk */
	char unreadable_path[OBJECT_PATH_BYTES]; /* one of them */
};

/*
 * Begins a walk. map: the process's mappings, read just before; the walk takes them over and leaves
 * map empty. NULL = the walk reads them now. 0; -ESRCH: no such process, or a zombie (the process
 * is gone, not its objects, so they stay known); or as memory_map_of_process.
 */
int object_walk_begin(struct object_walk *walk, struct memory_map *map);
/*
 * Moves on to the next object that is not known. 1: it is in walk->object; 0 at the end; -ENOMEM,
 * -EMFILE, -ENFILE; -ETIMEDOUT (object_file.h). An object that cannot be opened is counted; one
 * that is not an ELF file becomes known.
 */
int object_walk_next(struct object_walk *walk);
/* Makes the current object known, so that it is not searched again. 0 or -ENOMEM. */
int object_walk_keep(struct object_walk *walk);
/* Forgets the known objects, which may have changed: the next walk returns all objects again. */
void object_walk_forget(struct object_walk *walk);
/* Ends a walk; known objects stay known. Accepts a zeroed walk. */
void object_walk_end(struct object_walk *walk);
void object_walk_deinit(struct object_walk *walk);
