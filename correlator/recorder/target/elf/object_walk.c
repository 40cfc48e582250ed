/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/object_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct known_object {
	uint64_t start;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	struct object_file *file; /* held for the next process that maps it; NULL = not shared */
};

static bool is_mapping_of(const struct known_object *known, const struct memory_map_entry *entry)
{
	return known->start == entry->start && known->inode == entry->inode &&
	       known->device_major == entry->device_major &&
	       known->device_minor == entry->device_minor;
}

static int compare_start(const void *key, const void *member)
{
	const struct known_object *known = key;
	const struct memory_map_entry *entry = member;

	return (known->start > entry->start) - (known->start < entry->start);
}

/*
 * Forgets objects that are no longer where they were: a walk returns them again, wherever they are.
 * Releases their files.
 */
static void drop_unmapped(struct object_walk *walk)
{
	size_t count = walk->known_count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct known_object *known = &walk->known[i];
		const struct memory_map_entry *entry =
			bsearch(known, walk->map.entries, walk->map.count,
				sizeof(walk->map.entries[0]), compare_start);

		if (entry && is_mapping_of(known, entry))
			walk->known[kept++] = *known;
		else
			object_file_release(known->file);
	}
	walk->known_count = kept;
}

int object_walk_begin(struct object_walk *walk, struct memory_map *map)
{
	int r = 0;

	object_walk_end(walk);
	if (map) {
		walk->map = *map;
		*map = (struct memory_map){ 0 };
	} else {
		r = memory_map_of_process(walk->pid, &walk->map);
	}
	if (r < 0)
		return r;
	walk->cursor = 0;
	walk->unreadable_count = 0;
	if (!walk->map.count)
		return -ESRCH;
	drop_unmapped(walk);
	return 0;
}

static void close_object(struct object_walk *walk)
{
	if (!walk->object.file)
		return;
	elf_image_rest(walk->object.image);
	object_file_release(walk->object.file);
	walk->object = (struct loaded_object){ 0 };
}

static bool is_known(const struct object_walk *walk, const struct memory_map_entry *entry)
{
	for (size_t i = 0; i < walk->known_count; i++)
		if (is_mapping_of(&walk->known[i], entry))
			return true;
	return false;
}

/* 0, or -ENOMEM with the list unchanged. */
static int make_known(struct object_walk *walk, const struct memory_map_entry *entry,
		      struct object_file *file)
{
	size_t room = walk->known_room;
	struct known_object *known = walk->known;

	if (walk->known_count == room) {
		room = room ? 2 * room : 16;
		known = reallocarray(known, room, sizeof(*known));
		if (!known)
			return -ENOMEM;
		walk->known = known;
		walk->known_room = room;
	}
	known[walk->known_count++] = (struct known_object){
		.start = entry->start,
		.inode = entry->inode,
		.device_major = entry->device_major,
		.device_minor = entry->device_minor,
		.file = object_file_is_shared(file) ? object_file_hold(file) : NULL,
	};
	return 0;
}

/* 1: it is the current object; 0: it is skipped; -ENOMEM, -EMFILE, -ENFILE, -ETIMEDOUT. */
static int open_object(struct object_walk *walk, const struct memory_map_entry *entry)
{
	_cleanup_(object_file_releasep) struct object_file *file = NULL;
	struct loaded_object *object = &walk->object;
	int r = object_file_get(walk->files, walk->pid, entry, &file);

	/* A shortage of our own says nothing about the target. */
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0) {
		walk->unreadable_count++;
		(void)snprintf(walk->unreadable_path, sizeof(walk->unreadable_path), "%s",
			       entry->path);
		return r == -ETIMEDOUT ? r : 0;
	}
	if (!object_file_image(file))
		return make_known(walk, entry, file);
	*object = (struct loaded_object){
		.map = &walk->map,
		.entry = entry,
		.image = object_file_image(file),
	};
	object->has_bias = elf_image_load_bias(object->image, entry, &object->bias) == 0;
	object->file = TAKE_PTR(file);
	return 1;
}

int object_walk_next(struct object_walk *walk)
{
	const struct memory_map_entry *entry;
	int r = 0;

	close_object(walk);
	while (r == 0 && (entry = memory_map_next_object(&walk->map, &walk->cursor)))
		if (entry->is_readable && entry->path[0] == '/' && !is_known(walk, entry))
			r = open_object(walk, entry);
	return r;
}

int object_walk_keep(struct object_walk *walk)
{
	return make_known(walk, walk->object.entry, walk->object.file);
}

void object_walk_forget(struct object_walk *walk)
{
	for (size_t i = 0; i < walk->known_count; i++)
		object_file_release(walk->known[i].file);
	walk->known_count = 0;
}

void object_walk_end(struct object_walk *walk)
{
	close_object(walk);
	memory_map_deinit(&walk->map);
}

void object_walk_deinit(struct object_walk *walk)
{
	object_walk_end(walk);
	object_walk_forget(walk);
	free(walk->known);
	walk->known = NULL;
	walk->known_room = 0;
}
