#include "target/otel/otel_target.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/otel_record.h>

#include "base/hash.h"
#include "base/log.h"
#include "target/elf/elf_image.h"
#include "target/elf/link_map.h"
#include "target/proc/memory_map.h"
#include "target/proc/memory_reader.h"
#include "target/proc/process.h"

static uint64_t digest_objects(const struct memory_map *map)
{
	uint64_t digest = 0;
	const struct memory_map_entry *entry;
	size_t cursor = 0;

	while ((entry = memory_map_next_object(map, &cursor))) {
		const uint64_t words[] = { entry->start, entry->inode, entry->device_minor };

		digest = hash_bytes(digest, words, sizeof(words));
	}
	return digest;
}

/* 1: this object defines the variable, and it is located; 0; -EAGAIN: not relocated yet; -errno. */
static int look_at_object(struct otel_target *target, const struct memory_map *map,
			  const struct memory_map_entry *entry, const struct memory_reader *reader)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct link_map_layout layout = { 0 };
	struct elf_symbol symbol;
	uint64_t bias;
	int r;

	if (!entry->is_readable || entry->path[0] != '/' ||
	    elf_image_open_mapping(target->pid, entry, &image) ||
	    elf_image_find_symbol(image, OTEL_RECORD_SYMBOL, &symbol) || !symbol.is_defined ||
	    symbol.type != STT_TLS || elf_image_load_bias(image, entry, &bias))
		return 0;
	link_map_note_objects(target->pid, map, &layout);
	r = tls_symbol_resolve(image, bias, reader, OTEL_RECORD_SYMBOL, layout.is_musl,
			       &target->tls);
	if (r < 0)
		return r;
	r = link_map_confirm(&layout, reader, bias, &target->tls);
	if (r < 0 && r != -ENOENT)
		return r;
	target->tls.is_confirmed = r == 0;
	(void)snprintf(target->publisher_path, sizeof(target->publisher_path), "%s", entry->path);
	target->publisher_start = entry->start;
	target->publisher_inode = entry->inode;
	target->is_publishing = true;
	return 1;
}

/* Walks the loaded objects, unless they are those that were walked in vain. 1, 0, -ESRCH, -ENOMEM.
 */
static int look_for_variable(struct otel_target *target, const struct memory_map *map,
			     const struct memory_reader *reader)
{
	uint64_t digest = digest_objects(map);
	const struct memory_map_entry *entry;
	bool is_late = false;
	size_t cursor = 0;
	int r = 0;

	if (target->is_publishing || digest == target->objects_digest)
		return 0;
	while (!target->is_publishing && (entry = memory_map_next_object(map, &cursor))) {
		r = look_at_object(target, map, entry, reader);
		if (r == -ESRCH || r == -ENOMEM)
			return r;
		/* Any other failure is logged, and stays until other objects are loaded. */
		is_late |= r == -EAGAIN;
	}
	target->objects_digest = is_late ? 0 : digest;
	return target->is_publishing;
}

static bool is_mapped(const struct otel_target *target, const struct memory_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].start == target->publisher_start &&
		    map->entries[i].inode == target->publisher_inode)
			return true;
	return false;
}

static int look(struct otel_target *target)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct memory_reader reader = memory_reader_of_process(target->pid);
	bool was_publishing = target->is_publishing;
	int r = memory_map_of_process(target->pid, &map);

	if (r < 0)
		return r;
	/* A zombie has none. */
	if (!map.count)
		return -ESRCH;
	if (target->is_publishing && !is_mapped(target, &map)) {
		target->is_publishing = false;
		target->objects_digest = 0;
	}
	r = look_for_variable(target, &map, &reader);
	if (r >= 0)
		r = otel_announcement_look(&target->announcement, &map, &reader);
	return r < 0 ? r : r > 0 || target->is_publishing != was_publishing;
}

int otel_target_refresh(struct otel_target *target)
{
	struct process_info info;
	int r = process_read_info(target->pid, &info);

	if (r)
		return r;
	return info.start_ticks == target->start_ticks ? look(target) : -ESRCH;
}

int otel_target_open(pid_t pid, const char *const *names, size_t key_count,
		     struct otel_target **ret_target)
{
	_cleanup_(otel_target_freep) struct otel_target *target = calloc(1, sizeof(*target));
	struct process_info info;
	int r;

	if (!target)
		return -ENOMEM;
	r = process_read_info(pid, &info);
	if (r)
		return r;
	target->pid = pid;
	target->start_ticks = info.start_ticks;
	otel_announcement_init(&target->announcement, names, key_count);
	r = look(target);
	if (r < 0)
		return r;
	*ret_target = TAKE_PTR(target);
	return 0;
}

void otel_target_free(struct otel_target *target)
{
	free(target);
}

int otel_target_fork(const struct otel_target *parent, pid_t pid, struct otel_target **ret_target)
{
	_cleanup_(otel_target_freep) struct otel_target *target = malloc(sizeof(*target));
	struct process_info info;
	int r;

	if (!target)
		return -ENOMEM;
	r = process_read_info(pid, &info);
	if (r)
		return r;
	*target = *parent;
	target->pid = pid;
	target->start_ticks = info.start_ticks;
	target->announcement.header_address = 0;
	*ret_target = TAKE_PTR(target);
	return 0;
}

bool otel_target_has_changed(const struct otel_target *target)
{
	struct memory_reader reader = memory_reader_of_process(target->pid);

	return otel_announcement_has_changed(&target->announcement, &reader);
}

bool otel_target_is_readable(const struct otel_target *target)
{
	return target->is_publishing && target->announcement.state != OTEL_ANNOUNCEMENT_REFUSED;
}

bool otel_target_is_complete(const struct otel_target *target)
{
	return otel_target_is_readable(target) && !target->announcement.names_missing;
}

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config)
{
	const struct otel_announcement *announcement = &target->announcement;
	struct otel_config config = { .tls = target->tls.location };

	if (!otel_target_is_readable(target)) {
		config.tls.model = TLS_MODEL_NONE;
		*ret_config = config;
		return;
	}
	for (size_t key = 0; key < announcement->key_count; key++) {
		const char *name = announcement->names[key];

		if (!name)
			continue;
		if (!strcmp(name, "trace_id"))
			config.trace_key = (uint8_t)(key + 1);
		else if (!strcmp(name, "span_id"))
			config.span_key = (uint8_t)(key + 1);
		else
			config.reads_attributes = 1;
	}
	config.known_indexes = (uint16_t)announcement->index_count;
	memcpy(config.key_of_index, announcement->key_of_index, sizeof(config.key_of_index));
	*ret_config = config;
}
