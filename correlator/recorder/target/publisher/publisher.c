/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/publisher/publisher.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/gem_abi.h>

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
	object_file_release(publisher->file);
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

/*
 * With it an extension learns that a Ruby thread resumes, on whichever native thread (Ruby 3.2+:
 * include/ruby/thread.h).
 */
static const char THREAD_EVENTS[] = "rb_internal_thread_add_event_hook";

/* The probe sites of an object, found once for all processes that map it. */
struct site_note {
	bool is_known;
	size_t count;
	struct probe_site sites[PROBE_SITES_MAX];
	bool has_fiber_site;
	struct probe_site fiber_site;
	bool tells_serials;
};

static void find_sites(const struct publishers *publishers, struct publisher *publisher)
{
	struct site_note fallback = { 0 };
	struct site_note *note =
		object_file_note(publisher->file, publishers->symbol, sizeof(*note));

	note = note ? note : &fallback;
	if (!note->is_known) {
		note->count = (size_t)probe_site_find(object_file_image(publisher->file),
						      publishers->symbol, note->sites);
		note->has_fiber_site =
			note->count && probe_site_find_fiber(object_file_image(publisher->file),
							     &note->fiber_site);
		note->tells_serials =
			note->count && probe_site_tells_serials(object_file_image(publisher->file));
		note->is_known = !object_file_is_late(publisher->file);
	}
	memcpy(publisher->sites, note->sites, sizeof(publisher->sites));
	publisher->site_count = note->count;
	publisher->has_fiber_site = note->has_fiber_site;
	publisher->fiber_site = note->fiber_site;
	publisher->tells_serials = note->tells_serials;
}

int publishers_note(struct publishers *publishers, const struct loaded_object *object)
{
	const struct memory_map_entry *entry = object->entry;
	struct publisher *publisher;
	struct elf_symbol symbol, hook;

	if (publishers->count == PUBLISHERS_MAX || has(publishers, entry) ||
	    !elf_image_find_defined(object->image, publishers->symbol, &symbol) ||
	    symbol.type != STT_TLS)
		return 0;
	publishers->follows_threads |=
		elf_image_find_symbol(object->image, THREAD_EVENTS, &hook) == 0;
	publisher = malloc(sizeof(*publisher));
	if (!publisher)
		return -ENOMEM;
	*publisher = (struct publisher){
		.is_deleted = entry->is_deleted,
		.device = device_of(entry),
		.inode = entry->inode,
		.start = entry->start,
		.end = find_end(object->map, entry),
		.file = object_file_hold(object->file),
	};
	(void)snprintf(publisher->path, sizeof(publisher->path), "%s", entry->path);
	if (publishers->has_sites)
		find_sites(publishers, publisher);
	if (object_file_is_late(publisher->file)) {
		publisher_free(publisher);
		return -ETIMEDOUT;
	}
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
			if (publishers->live == i)
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

/*
 * The distance of another thread-local of our gem from the variable. 1: same module, *ret_offset is
 * set; 0: it does not exist, or the loader bound either one to another object's; -EAGAIN: not
 * relocated yet.
 */
static int find_beside(const struct publisher *publisher, uint64_t bias,
		       const struct memory_reader *reader, bool is_musl, const char *name,
		       int64_t *ret_offset)
{
	const struct elf_image *image = object_file_image(publisher->file);
	const struct tls_location *own = &publisher->tls.location;
	struct elf_symbol symbol;
	struct tls_symbol other;
	int r;

	if (!elf_image_find_defined(image, name, &symbol) || symbol.type != STT_TLS)
		return 0;
	r = tls_symbol_resolve(image, bias, reader, name, is_musl, false, &other);
	if (r == -EAGAIN)
		return r;
	if (r < 0 || other.location.model != own->model || other.location.module != own->module)
		return 0;
	*ret_offset = other.location.offset - own->offset;
	return 1;
}

/* Finds the other variables of our gem. 0, or -EAGAIN: not relocated yet. */
static int find_neighbours(struct publisher *publisher, uint64_t bias,
			   const struct memory_reader *reader, bool is_musl)
{
	const struct elf_image *image = object_file_image(publisher->file);
	const int64_t word_bytes = sizeof(uint64_t);
	int64_t changes_offset = 0;
	struct elf_symbol symbol;
	int r;

	publisher->watch_address =
		elf_image_find_defined(image, GEM_WATCH_SYMBOL, &symbol) ? bias + symbol.value : 0;
	r = find_beside(publisher, bias, reader, is_musl, GEM_THREAD_SYMBOL,
			&publisher->thread_offset);
	publisher->has_threads = r > 0;
	if (r >= 0)
		r = find_beside(publisher, bias, reader, is_musl, GEM_CHANGES_SYMBOL,
				&changes_offset);
	publisher->changes_words = 0;
	if (r > 0 && changes_offset % word_bytes == 0 &&
	    llabs(changes_offset / word_bytes) <= GEM_CHANGES_WORDS_MAX)
		publisher->changes_words = (int32_t)(changes_offset / word_bytes);
	return r < 0 ? r : 0;
}

static int resolve(struct publisher *publisher, const char *symbol,
		   const struct memory_map_entry *entry, const struct memory_reader *reader,
		   const struct link_map_layout *layout)
{
	const struct elf_image *image = object_file_image(publisher->file);
	bool is_final = publisher->doubts == PUBLISHER_DOUBTS_MAX;
	uint64_t bias;
	int r = elf_image_load_bias(image, entry, &bias);

	if (r < 0)
		return r;
	r = tls_symbol_resolve(image, bias, reader, symbol, layout->is_musl, is_final,
			       &publisher->tls);
	if (r == 0)
		r = find_neighbours(publisher, bias, reader, layout->is_musl);
	elf_image_rest(image);
	if (r < 0)
		return r;
	r = link_map_confirm(layout, reader, bias, &publisher->tls, is_final);
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
	if (object_file_is_late(publisher->file))
		return -ETIMEDOUT;
	publisher->doubts = r == -EUCLEAN ? publisher->doubts + 1 : 0;
	/* Not relocated yet, or its memory is temporarily unreadable. */
	if (r == -EAGAIN || r == -EFAULT ||
	    (r == -EUCLEAN && publisher->doubts <= PUBLISHER_DOUBTS_MAX))
		return 0;
	publisher->is_located = r == 0;
	publisher->is_refused = r < 0;
	return r;
}

/*
 * True if the dynamic linker bound the object's variable to that of an object loaded before it: two
 * gems that publish. That is no second variable, but a second place that sets the first one.
 */
static bool is_interposed(const struct publishers *publishers, const struct publisher *publisher)
{
	const struct tls_location *own = &publisher->tls.location;

	for (size_t i = 0; i < publishers->count; i++) {
		const struct publisher *other = publishers->list[i];

		if (other != publisher && other->is_located && publisher->tls.relocation &&
		    memcmp(&other->tls.location, own, sizeof(*own)) == 0)
			return true;
	}
	return false;
}

int publishers_locate(struct publishers *publishers, const struct memory_map *map,
		      const struct memory_reader *reader, const struct link_map_layout *layout)
{
	int failure = 0;

	for (size_t i = 0; i < publishers->count; i++) {
		struct publisher *publisher = publishers->list[i];
		int r;

		if (publisher->is_located || publisher->is_interposed)
			continue;
		r = locate(publisher, publishers->symbol, map, reader, layout);
		failure = r < 0 ? r : failure;
		if (publisher->is_located && !publishers->list[publishers->live]->is_located)
			publishers->live = i;
	}
	for (size_t i = 0; i < publishers->count; i++) {
		struct publisher *publisher = publishers->list[i];

		if (!publisher->tls.is_confirmed && i != publishers->live &&
		    is_interposed(publishers, publisher)) {
			publisher->is_interposed = true;
			publisher->is_located = publisher->is_refused = false;
		}
	}
	return publishers_live(publishers) ? 0 : failure;
}

size_t publishers_count_variables(const struct publishers *publishers)
{
	size_t count = 0;

	for (size_t i = 0; i < publishers->count; i++)
		count += !publishers->list[i]->is_interposed;
	return count;
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
