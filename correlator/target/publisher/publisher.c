#include "target/publisher/publisher.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <correlator/state_abi.h>

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

int publisher_open(const struct memory_map *map, const struct memory_map_entry *entry, int fd,
		   const struct elf_image *image, struct publisher *ret_publisher)
{
	struct elf_symbol symbol;
	int sites;

	if (elf_image_find_symbol(image, STATE_SYMBOL, &symbol) || !symbol.is_defined ||
	    symbol.type != STT_TLS)
		return 0;
	*ret_publisher = (struct publisher){
		.is_deleted = entry->is_deleted,
		.device = device_of(entry),
		.inode = entry->inode,
		.start = entry->start,
		.end = find_end(map, entry),
		.fd = fd,
	};
	(void)snprintf(ret_publisher->path, sizeof(ret_publisher->path), "%s", entry->path);
	sites = probe_site_find(image, STATE_SYMBOL, ret_publisher->sites);
	ret_publisher->site_count = sites > 0 ? (size_t)sites : 0;
	return 1;
}

void publisher_deinit(struct publisher *publisher)
{
	if (publisher->fd >= 0)
		(void)close(publisher->fd);
	publisher->fd = -1;
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

bool publisher_is_mapped(const struct publisher *publisher, const struct memory_map *map)
{
	return find_mapping(publisher, map) != NULL;
}

bool publisher_is_there(const struct publisher *publisher, pid_t pid)
{
	struct memory_reader reader = memory_reader_of_process(pid);
	char magic[SELFMAG];

	return !memory_read(&reader, publisher->start, magic, sizeof(magic)) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static int resolve(struct publisher *publisher, const struct memory_map_entry *entry,
		   const struct memory_reader *reader, const struct link_map_layout *layout)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t bias;
	int result = elf_image_open(publisher->fd, &image);

	if (!result)
		result = elf_image_load_bias(image, entry, &bias);
	if (!result)
		result = tls_symbol_resolve(image, bias, reader, STATE_SYMBOL, layout->is_musl,
					    &publisher->tls);
	if (result)
		return result;
	result = link_map_confirm(layout, reader, bias, &publisher->tls);
	publisher->tls.is_confirmed = result == 0;
	return result == -ENOENT ? 0 : result;
}

int publisher_locate(struct publisher *publisher, const struct memory_map *map,
		     const struct memory_reader *reader, const struct link_map_layout *layout)
{
	const struct memory_map_entry *entry = find_mapping(publisher, map);
	int result;

	if (!entry || publisher->is_refused)
		return 0;
	/* The loader maps the whole file first, then each segment over it. */
	publisher->end = find_end(map, entry);
	result = resolve(publisher, entry, reader, layout);
	/* Not relocated yet, or its memory cannot be read for a moment. */
	if (result == -EAGAIN || result == -EFAULT)
		return 0;
	publisher->is_located = result == 0;
	publisher->is_refused = result < 0;
	return result ? result : 1;
}
