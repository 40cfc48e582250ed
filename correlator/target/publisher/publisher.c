/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/publisher/publisher.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static uint64_t device_of(const struct memory_map_entry *entry)
{
	return (uint64_t)entry->device_major << 32 | entry->device_minor;
}

/* The object's mappings from entry on; the loader reserves them in one piece. */
static uint64_t find_end(const struct memory_map *map, const struct memory_map_entry *entry)
{
	const struct memory_map_entry *next = entry;
	uint64_t end = entry->end;

	while (next < map->entries + map->count && memory_map_same_object(entry, next))
		end = next++->end;
	return end;
}

static void publisher_free(struct publisher *publisher)
{
	(void)close(publisher->fd);
	free(publisher);
}

void publishers_deinit(struct publishers *publishers)
{
	for (size_t i = 0; i < publishers->count; i++)
		publisher_free(publishers->list[i]);
	publishers->count = 0;
}

static bool has(const struct publishers *publishers, const struct memory_map_entry *entry)
{
	for (size_t i = 0; i < publishers->count; i++)
		if (publishers->list[i]->start == entry->start)
			return true;
	return false;
}

int publishers_note(struct publishers *publishers, const struct loaded_object *object)
{
	const struct memory_map_entry *entry = object->entry;
	_cleanup_fd_ int fd = -1;
	struct publisher *publisher;
	struct elf_symbol symbol;
	int sites = 0;

	if (publishers->count == PUBLISHERS_MAX || has(publishers, entry) ||
	    !elf_image_find_defined(object->image, publishers->symbol, &symbol) ||
	    symbol.type != STT_TLS)
		return 0;
	fd = fcntl(object->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	publisher = malloc(sizeof(*publisher));
	if (!publisher)
		return -ENOMEM;
	*publisher = (struct publisher){
		.is_deleted = entry->is_deleted,
		.device = device_of(entry),
		.inode = entry->inode,
		.start = entry->start,
		.end = find_end(object->map, entry),
		.fd = TAKE_FD(fd),
	};
	(void)snprintf(publisher->path, sizeof(publisher->path), "%s", entry->path);
	if (publishers->has_sites)
		sites = probe_site_find(object->image, publishers->symbol, publisher->sites);
	publisher->site_count = sites > 0 ? (size_t)sites : 0;
	publishers->list[publishers->count++] = publisher;
	return 0;
}

static const struct memory_map_entry *find_mapping(const struct publisher *publisher,
						   const struct memory_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct memory_map_entry *entry = &map->entries[i];

		if (entry->start == publisher->start)
			return entry->inode == publisher->inode &&
					       device_of(entry) == publisher->device
				       ? entry
				       : NULL;
	}
	return NULL;
}

bool publishers_drop_unmapped(struct publishers *publishers, const struct memory_map *map)
{
	size_t count = publishers->count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct publisher *publisher = publishers->list[i];

		if (!find_mapping(publisher, map)) {
			publisher_free(publisher);
			publishers->live = 0;
			continue;
		}
		if (publishers->live == i)
			publishers->live = kept;
		publishers->list[kept++] = publisher;
	}
	publishers->count = kept;
	return kept < count;
}

static int resolve(struct publisher *publisher, const char *symbol,
		   const struct memory_map_entry *entry, const struct memory_reader *reader,
		   const struct link_map_layout *layout)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t bias;
	int r = elf_image_open(publisher->fd, &image);

	if (r == 0)
		r = elf_image_load_bias(image, entry, &bias);
	if (r == 0)
		r = tls_symbol_resolve(image, bias, reader, symbol, layout->is_musl,
				       &publisher->tls);
	if (r < 0)
		return r;
	r = link_map_confirm(layout, reader, bias, &publisher->tls);
	publisher->tls.is_confirmed = r == 0;
	return r == -ENOENT ? 0 : r;
}

static int locate(struct publisher *publisher, const char *symbol, const struct memory_map *map,
		  const struct memory_reader *reader, const struct link_map_layout *layout)
{
	const struct memory_map_entry *entry = find_mapping(publisher, map);
	int r;

	if (!entry || publisher->is_refused)
		return 0;
	/* The loader maps the whole file first, then each segment over it. */
	publisher->end = find_end(map, entry);
	r = resolve(publisher, symbol, entry, reader, layout);
	/* Not relocated yet, or its memory cannot be read for a moment. */
	if (r == -EAGAIN || r == -EFAULT)
		return 0;
	publisher->is_located = r == 0;
	publisher->is_refused = r < 0;
	return r;
}

int publishers_locate(struct publishers *publishers, const struct memory_map *map,
		      const struct memory_reader *reader, const struct link_map_layout *layout)
{
	int failure = 0;

	for (size_t i = 0; i < publishers->count; i++) {
		struct publisher *publisher = publishers->list[i];
		int r;

		if (publisher->is_located)
			continue;
		r = locate(publisher, publishers->symbol, map, reader, layout);
		failure = r < 0 ? r : failure;
		if (publisher->is_located && !publishers->list[publishers->live]->is_located)
			publishers->live = i;
	}
	return publishers_live(publishers) ? 0 : failure;
}

const struct publisher *publishers_live(const struct publishers *publishers)
{
	if (publishers->live >= publishers->count ||
	    !publishers->list[publishers->live]->is_located)
		return NULL;
	return publishers->list[publishers->live];
}

bool publishers_prefer(struct publishers *publishers, uint64_t address)
{
	for (size_t i = 0; i < publishers->count; i++) {
		const struct publisher *publisher = publishers->list[i];

		if (i == publishers->live || !publisher->is_located || address < publisher->start ||
		    address >= publisher->end)
			continue;
		publishers->live = i;
		return true;
	}
	return false;
}

bool publisher_is_there(const struct publisher *publisher, pid_t pid)
{
	struct memory_reader reader = memory_reader_of_process(pid);
	char magic[SELFMAG];

	return memory_read(&reader, publisher->start, magic, sizeof(magic)) == 0 &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}
