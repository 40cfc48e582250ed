/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/elf/object_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct known_object {
	uint64_t start;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
};

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
	return walk->map.count ? 0 : -ESRCH;
}

static void close_object(struct object_walk *walk)
{
	if (!walk->image)
		return;
	elf_image_free(TAKE_PTR(walk->image));
	(void)close(walk->object.fd);
}

static bool is_known(const struct object_walk *walk, const struct memory_map_entry *entry)
{
	for (size_t i = 0; i < walk->known_count; i++) {
		const struct known_object *known = &walk->known[i];

		if (known->start == entry->start && known->inode == entry->inode &&
		    known->device_major == entry->device_major &&
		    known->device_minor == entry->device_minor)
			return true;
	}
	return false;
}

static int make_known(struct object_walk *walk, const struct memory_map_entry *entry)
{
	size_t count = walk->known_count;
	struct known_object *known = walk->known;

	/* Grows at powers of two. */
	if (!(count & (count - 1))) {
		known = reallocarray(known, count ? 2 * count : 1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		walk->known = known;
	}
	known[walk->known_count++] = (struct known_object){
		.start = entry->start,
		.inode = entry->inode,
		.device_major = entry->device_major,
		.device_minor = entry->device_minor,
	};
	return 0;
}

/* 1: it is at hand; 0: it is passed over; -ENOMEM. */
static int open_object(struct object_walk *walk, const struct memory_map_entry *entry)
{
	_cleanup_fd_ int fd = memory_map_open_file(walk->pid, entry);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct loaded_object *object = &walk->object;

	if (fd < 0) {
		walk->unreadable_count++;
		(void)snprintf(walk->unreadable_path, sizeof(walk->unreadable_path), "%s",
			       entry->path);
		return 0;
	}
	if (elf_image_open(fd, &image) < 0)
		return make_known(walk, entry);
	*object = (struct loaded_object){ .map = &walk->map, .entry = entry, .image = image };
	object->has_bias = elf_image_load_bias(image, entry, &object->bias) == 0;
	object->fd = TAKE_FD(fd);
	walk->image = TAKE_PTR(image);
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
	return make_known(walk, walk->object.entry);
}

void object_walk_forget(struct object_walk *walk)
{
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
	free(walk->known);
	walk->known = NULL;
	walk->known_count = 0;
}
