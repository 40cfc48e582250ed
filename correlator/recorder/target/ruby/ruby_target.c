/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writable pieces of one object: .data, .bss and the part that relro left; no object has more. */
enum {
	DATA_RANGES_MAX = 16
};

/* Found in one process that maps a file, and tried first in the others. */
struct ruby_note {
	uint64_t table_offset; /* from the load bias; 0 = not known */
	uint64_t key_ids[KEYS_MAX]; /* by key; 0 = not known */
};

static struct ruby_note *note_of(struct object_file *file)
{
	return object_file_note(file, "ruby", sizeof(struct ruby_note));
}

/* The writable mappings of an object, and the anonymous one that follows directly: its .bss. */
static size_t find_data_ranges(const struct memory_map *map, const struct memory_map_entry *object,
			       struct ruby_data_range ret_ranges[static DATA_RANGES_MAX])
{
	size_t count = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < map->count && count < DATA_RANGES_MAX; i++) {
		const struct memory_map_entry *entry = &map->entries[i];
		bool is_object = memory_map_same_object(object, entry);
		bool is_bss = !is_object && entry->path[0] == '\0' && end && entry->start == end;

		if (is_object || is_bss)
			end = entry->end;
		if ((!is_object && !is_bss) || !entry->is_writable || !entry->is_readable)
			continue;
		ret_ranges[count].address = entry->start;
		ret_ranges[count++].size_bytes = entry->end - entry->start;
	}
	return count;
}

static void read_version(struct ruby_target *target, const struct memory_reader *reader,
			 uint64_t address)
{
	char version[RUBY_VERSION_BYTES] = "";

	/* The text is short and followed by other constants: a whole read is the common case. */
	if (memory_read(reader, address, version, sizeof(version) - 1) < 0)
		return;
	version[strspn(version, "0123456789.devpreviewrc-")] = '\0';
	memcpy(target->version, version, sizeof(version));
}

int ruby_target_note(struct ruby_target *target, const struct loaded_object *object,
		     const struct memory_reader *reader)
{
	const struct memory_map_entry *entry = object->entry;
	struct ruby_data_range ranges[DATA_RANGES_MAX];
	struct elf_symbol version, table;
	struct ruby_note *note;
	uint64_t table_address = 0;
	int r;

	if (target->symbols || !object->has_bias ||
	    !elf_image_find_defined(object->image, "ruby_version", &version) ||
	    !elf_image_find_defined(object->image, "rb_sym_all_symbols", &table))
		return 0;
	target->is_ruby = true;
	(void)snprintf(target->path, sizeof(target->path), "%s", entry->path);
	read_version(target, reader, object->bias + version.value);
	if (elf_image_find_defined(object->image, "ruby_global_symbols", &table))
		table_address = object->bias + table.value;
	note = note_of(object->file);
	if (!note)
		return -ENOMEM;
	if (!table_address && note->table_offset)
		table_address = object->bias + note->table_offset;
	r = ruby_symbols_new(reader, table_address, ranges,
			     find_data_ranges(object->map, entry, ranges), &target->symbols);
	if (r == -ENOENT || r == -EAGAIN || r == -EFAULT)
		return 1;
	if (r < 0)
		return r;
	target->file = object_file_hold(object->file);
	target->bias = object->bias;
	note->table_offset = ruby_symbols_table_address(target->symbols) - object->bias;
	return 0;
}

static bool is_name(const struct value_snapshot *value, const char *name)
{
	size_t length = strlen(name);

	return !(value->flags & VALUE_TRUNCATED) && value->length_bytes == length &&
	       memcmp(value->bytes, name, length) == 0;
}

/* Takes an ID known from another process if it has the same name here. */
static void try_known_ids(struct ruby_target *target, const struct ruby_note *note,
			  const char *const *names, size_t count)
{
	struct value_snapshot value;

	for (size_t i = 0; i < count; i++)
		if (names[i] && !target->key_ids[i] && note->key_ids[i] &&
		    ruby_symbols_find_name(target->symbols, note->key_ids[i], &value) == 0 &&
		    is_name(&value, names[i]))
			target->key_ids[i] = note->key_ids[i];
}

int ruby_target_find_keys(struct ruby_target *target, const char *const *names, size_t count,
			  const struct memory_reader *reader)
{
	const char *wanted[KEYS_MAX];
	uint64_t ids[KEYS_MAX];
	size_t wanted_count = 0;
	struct ruby_note *note;
	int r;

	if (!target->symbols || target->keys_missing == 0)
		return 0;
	note = note_of(target->file);
	if (!note)
		return -ENOMEM;
	try_known_ids(target, note, names, count);
	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			continue;
		wanted[wanted_count] = names[i];
		ids[wanted_count++] = target->key_ids[i];
	}
	/* Read before the search: symbols added during it then cause another one. */
	if (memory_read(reader, ruby_symbols_table_address(target->symbols), &target->symbol_count,
			sizeof(target->symbol_count)) < 0)
		target->symbol_count = 0;
	r = ruby_symbols_find_ids(target->symbols, wanted, wanted_count, ids);
	for (size_t i = count; i-- > 0;)
		if (names[i] && (target->key_ids[i] = ids[--wanted_count]))
			note->key_ids[i] = target->key_ids[i];
	if (r >= 0)
		target->keys_missing = (size_t)r;
	return r >= 0 || r == -EAGAIN || r == -EFAULT ? 0 : r;
}

/* The first mapping of the target's object at its load bias. */
static const struct memory_map_entry *find_object(const struct memory_map *map,
						  const struct ruby_target *target)
{
	uint64_t bias;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->entries[i].path, target->path) == 0 &&
		    elf_image_load_bias(object_file_image(target->file), &map->entries[i], &bias) ==
			    0 &&
		    bias == target->bias)
			return &map->entries[i];
	return NULL;
}

int ruby_target_find_stack(const struct ruby_target *target, pid_t pid, bool is_musl,
			   struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct memory_reader reader = memory_reader_of_process(pid);
	struct ruby_data_range ranges[DATA_RANGES_MAX];
	struct ruby_stack_object object = { .ranges = ranges, .is_musl = is_musl };
	const struct memory_map_entry *entry;
	int r;

	if (!target->symbols)
		return -ENOENT;
	r = memory_map_of_process(pid, &map);
	if (r < 0)
		return r;
	entry = find_object(&map, target);
	if (!entry)
		return -ESRCH;
	object.range_count = find_data_ranges(&map, entry, ranges);
	object.image = object_file_image(target->file);
	object.bias = target->bias;
	object.string_layout = ruby_symbols_string_layout(target->symbols);
	r = ruby_stack_finder_find(&object, &reader, ret_layout, ret_report);
	elf_image_rest(object.image);
	return r;
}

void ruby_target_config(const struct ruby_target *target, struct process_config *config)
{
	enum {
		BIGNUM_MASK_BEFORE_4 = 7,
		BIGNUM_MASK_SINCE_4 = 0x1ff
	};

	memcpy(config->key_ids, target->key_ids, sizeof(config->key_ids));
	/* The one fact that depends on the version: struct RBignum, v4_0_0. */
	config->bignum_embed_mask =
		atoi(target->version) >= 4 ? BIGNUM_MASK_SINCE_4 : BIGNUM_MASK_BEFORE_4;
	if (!target->symbols)
		return;
	config->string_layout = (uint32_t)ruby_symbols_string_layout(target->symbols);
	if (target->keys_missing == 0)
		return;
	config->symbol_count_address = ruby_symbols_table_address(target->symbols);
	config->symbol_count = target->symbol_count;
}

void ruby_target_deinit(struct ruby_target *target)
{
	ruby_symbols_free(target->symbols);
	target->symbols = NULL;
	object_file_release(target->file);
	target->file = NULL;
}
