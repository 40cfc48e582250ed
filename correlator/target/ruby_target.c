#include "target/ruby_target.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/state_abi.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "target/elf_image.h"
#include "target/mapped_file.h"
#include "target/memory_map.h"
#include "target/memory_reader.h"

DEFINE_CLEANUP(struct ruby_target *, ruby_target_free);

/* Writable pieces of one object: .data, .bss and what relro left; more is not an object's shape. */
enum {
	DATA_RANGES_MAX = 16
};

static void cleanup_map(struct memory_map *map)
{
	memory_map_deinit(map);
}

static void cleanup_image(struct elf_image **image)
{
	elf_image_free(*image);
}

#define _cleanup_map_	_cleanup_(cleanup_map)
#define _cleanup_image_ _cleanup_(cleanup_image)

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
	if (memory_read(reader, address, version, sizeof(version) - 1))
		return;
	version[strspn(version, "0123456789.devpreviewrc-")] = '\0';
	memcpy(target->ruby_version, version, sizeof(version));
}

/* 1: this object is Ruby; 0: it is not; -errno. */
static int look_for_ruby(struct ruby_target *target, const struct memory_map *map,
			 const struct memory_map_entry *entry, const struct elf_image *image,
			 const struct memory_reader *reader)
{
	struct ruby_data_range ranges[DATA_RANGES_MAX];
	struct elf_symbol version, table;
	uint64_t bias, table_address = 0;
	int result;

	if (elf_image_find_symbol(image, "ruby_version", &version) || !version.is_defined ||
	    elf_image_find_symbol(image, "rb_sym_all_symbols", &table) || !table.is_defined)
		return 0;
	if (elf_image_load_bias(image, entry, &bias))
		return 0;
	target->is_ruby = true;
	(void)snprintf(target->ruby_path, sizeof(target->ruby_path), "%s", entry->path);
	read_version(target, reader, bias + version.value);
	if (!elf_image_find_symbol(image, "ruby_global_symbols", &table) && table.is_defined)
		table_address = bias + table.value;
	result = ruby_symbols_new(reader, table_address, ranges,
				  find_data_ranges(map, entry, ranges), &target->symbols);
	/* Not there yet is normal while Ruby starts. */
	if (result && result != -ENOENT && result != -EAGAIN && result != -EFAULT)
		return result;
	return 1;
}

static bool is_musl(const struct memory_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		if (strstr(map->entries[i].path, "/ld-musl-"))
			return true;
	return false;
}

/* 1: this object publishes the variable; 0: it does not, or is not relocated yet; -errno. */
static int look_for_publisher(struct ruby_target *target, const struct memory_map *map,
			      const struct memory_map_entry *entry, const struct elf_image *image,
			      const struct memory_reader *reader)
{
	struct elf_symbol symbol;
	uint64_t bias;
	int result;

	if (elf_image_find_symbol(image, STATE_SYMBOL, &symbol) || !symbol.is_defined ||
	    symbol.type != STT_TLS || elf_image_load_bias(image, entry, &bias))
		return 0;
	(void)snprintf(target->publisher_path, sizeof(target->publisher_path), "%s", entry->path);
	result = tls_symbol_resolve(image, bias, reader, STATE_SYMBOL, is_musl(map), &target->tls);
	if (result)
		return result == -EAGAIN ? 0 : result;
	result = probe_site_find(image, target->sites);
	target->site_count = result > 0 ? (size_t)result : 0;
	target->publisher_fd = mapped_file_open(target->info.pid, entry);
	target->is_publishing = true;
	return 1;
}

static bool may_be_object(const struct memory_map_entry *entry)
{
	return entry->is_readable && entry->path[0] == '/';
}

/* Walks the loaded objects for what is still missing. */
static int look_at_objects(struct ruby_target *target, const struct memory_reader *reader)
{
	_cleanup_map_ struct memory_map map = { 0 };
	const struct memory_map_entry *entry;
	size_t cursor = 0;
	int result = memory_map_of_process(target->info.pid, &map);

	while (!result && (entry = memory_map_next_object(&map, &cursor))) {
		_cleanup_image_ struct elf_image *image = NULL;

		if (!may_be_object(entry) ||
		    elf_image_open_mapping(target->info.pid, entry, &image))
			continue;
		if (!target->symbols)
			result = look_for_ruby(target, &map, entry, image, reader);
		if (result >= 0 && !target->is_publishing)
			result = look_for_publisher(target, &map, entry, image, reader);
		result = result < 0 ? result : 0;
		if (target->symbols && target->is_publishing)
			break;
	}
	return result;
}

static int look_for_keys(struct ruby_target *target, const char *const *key_names)
{
	int result;

	if (!target->symbols || !target->keys_missing)
		return 0;
	result = ruby_symbols_find_ids(target->symbols, key_names, target->key_count,
				       target->key_ids);
	if (result >= 0)
		target->keys_missing = (size_t)result;
	return result == -EAGAIN || result == -EFAULT ? 0 : (result < 0 ? result : 0);
}

bool ruby_target_is_complete(const struct ruby_target *target)
{
	return target->symbols && target->is_publishing && !target->keys_missing;
}

int ruby_target_refresh(struct ruby_target *target, const char *const *key_names)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);
	bool had_symbols = target->symbols, was_publishing = target->is_publishing;
	size_t were_missing = target->keys_missing;
	struct process_info info;
	int result = process_read_info(target->info.pid, &info);

	if (result)
		return result;
	if (info.start_ticks != target->info.start_ticks)
		return -ESRCH;
	target->info = info;
	if (!target->symbols || !target->is_publishing)
		result = look_at_objects(target, &reader);
	if (!result)
		result = look_for_keys(target, key_names);
	if (result)
		return result;
	return !had_symbols != !target->symbols || was_publishing != target->is_publishing ||
	       were_missing != target->keys_missing;
}

int ruby_target_open(pid_t pid, const char *const *key_names, size_t key_count,
		     struct ruby_target **ret_target)
{
	_cleanup_(ruby_target_freep) struct ruby_target *target = calloc(1, sizeof(*target));
	int result;

	if (!target)
		return -ENOMEM;
	target->publisher_fd = -1;
	target->key_count = target->keys_missing = key_count;
	result = process_read_info(pid, &target->info);
	if (result)
		return result;
	result = ruby_target_refresh(target, key_names);
	if (result < 0)
		return result;
	*ret_target = TAKE_PTR(target);
	return 0;
}

void ruby_target_free(struct ruby_target *target)
{
	if (!target)
		return;
	ruby_symbols_free(target->symbols);
	if (target->publisher_fd >= 0)
		(void)close(target->publisher_fd);
	free(target);
}

void ruby_target_config(const struct ruby_target *target, struct process_config *ret_config)
{
	enum {
		BIGNUM_MASK_BEFORE_4 = 7,
		BIGNUM_MASK_SINCE_4 = 0x1ff
	};

	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->key_count = (uint32_t)target->key_count;
	memcpy(ret_config->key_ids, target->key_ids, sizeof(ret_config->key_ids));
	/* The one fact that depends on the version: struct RBignum, v4_0_0. */
	ret_config->bignum_embed_mask =
		atoi(target->ruby_version) >= 4 ? BIGNUM_MASK_SINCE_4 : BIGNUM_MASK_BEFORE_4;
	if (!target->symbols || !target->is_publishing)
		return;
	ret_config->tls = target->tls.location;
	ret_config->string_layout = (uint32_t)ruby_symbols_string_layout(target->symbols);
	ret_config->flags = PROCESS_READY;
}
