#include "target/ruby/ruby_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "target/elf/elf_image.h"
#include "target/proc/memory_map.h"
#include "target/proc/memory_reader.h"

DEFINE_CLEANUP(struct ruby_target *, ruby_target_free);

struct known_object {
	uint64_t start;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
};

/* Of glibc and musl: nothing happens there, it is for debuggers to stop at. */
static const char LOADER_HOOK[] = "_dl_debug_state";

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

static bool is_known(const struct ruby_target *target, const struct memory_map_entry *entry)
{
	for (size_t i = 0; i < target->known_count; i++) {
		const struct known_object *known = &target->known[i];

		if (known->start == entry->start && known->inode == entry->inode &&
		    known->device_major == entry->device_major &&
		    known->device_minor == entry->device_minor)
			return true;
	}
	return false;
}

static int make_known(struct ruby_target *target, const struct memory_map_entry *entry)
{
	size_t count = target->known_count;
	struct known_object *known = target->known;

	/* Grows at powers of two. */
	if (!(count & (count - 1))) {
		known = reallocarray(known, count ? 2 * count : 1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		target->known = known;
	}
	known[target->known_count++] = (struct known_object){
		.start = entry->start,
		.inode = entry->inode,
		.device_major = entry->device_major,
		.device_minor = entry->device_minor,
	};
	return 0;
}

/* Drops the publishers that are not mapped any more; what was known may be something else now. */
static void drop_unmapped(struct ruby_target *target, const struct memory_map *map)
{
	size_t kept = 0;

	for (size_t i = 0; i < target->publisher_count; i++) {
		struct publisher *publisher = &target->publishers[i];

		if (!publisher_is_mapped(publisher, map)) {
			publisher_deinit(publisher);
			target->live = 0;
			target->known_count = 0;
			continue;
		}
		if (target->live == i)
			target->live = kept;
		target->publishers[kept++] = *publisher;
	}
	target->publisher_count = kept;
}

static bool has_publisher(const struct ruby_target *target, const struct memory_map_entry *entry)
{
	for (size_t i = 0; i < target->publisher_count; i++)
		if (target->publishers[i].start == entry->start)
			return true;
	return false;
}

/* Of a statically linked program, too, which may publish as well. */
static void look_for_loader(struct ruby_target *target, const struct elf_image *image, int fd)
{
	struct elf_symbol hook;

	if (target->loader_fd >= 0 || elf_image_find_symbol(image, LOADER_HOOK, &hook) ||
	    !hook.is_defined || elf_image_file_offset(image, hook.value, &target->loader_offset))
		return;
	target->loader_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Looks into one object that was not looked into before. */
static int look_at_object(struct ruby_target *target, const struct memory_map *map,
			  const struct memory_map_entry *entry, const struct memory_reader *reader)
{
	_cleanup_fd_ int fd = memory_map_open_file(target->info.pid, entry);
	_cleanup_image_ struct elf_image *image = NULL;
	uint64_t bias;
	bool is_done = true;
	int result;

	if (fd < 0) {
		target->unreadable_count++;
		(void)snprintf(target->unreadable_path, sizeof(target->unreadable_path), "%s",
			       entry->path);
		return 0;
	}
	if (elf_image_open(fd, &image))
		return make_known(target, entry);
	if (!target->symbols) {
		result = look_for_ruby(target, map, entry, image, reader);
		if (result < 0)
			return result;
		/* Ruby that is still starting is looked into again. */
		is_done = result == 0 || target->symbols;
	}
	if (!elf_image_load_bias(image, entry, &bias))
		link_map_note(image, bias, &target->link_map);
	look_for_loader(target, image, fd);
	if (target->publisher_count < PUBLISHERS_MAX && !has_publisher(target, entry) &&
	    publisher_open(map, entry, fd, image, &target->publishers[target->publisher_count])) {
		target->publisher_count++;
		(void)TAKE_FD(fd);
	}
	return is_done ? make_known(target, entry) : 0;
}

static int locate_publishers(struct ruby_target *target, const struct memory_map *map,
			     const struct memory_reader *reader)
{
	int failure = 0;

	for (size_t i = 0; i < target->publisher_count; i++) {
		struct publisher *publisher = &target->publishers[i];
		int result;

		if (publisher->is_located)
			continue;
		result = publisher_locate(publisher, map, reader, &target->link_map);
		failure = result < 0 ? result : failure;
		if (publisher->is_located && !target->publishers[target->live].is_located)
			target->live = i;
	}
	return ruby_target_publisher(target) ? 0 : failure;
}

/* Walks the loaded objects. */
static int look_at_objects(struct ruby_target *target, const struct memory_reader *reader)
{
	_cleanup_map_ struct memory_map map = { 0 };
	const struct memory_map_entry *entry;
	size_t cursor = 0;
	int result = memory_map_of_process(target->info.pid, &map);

	if (result)
		return result;
	/* A zombie: what it had loaded is not gone, the process is. */
	if (!map.count)
		return -ESRCH;
	drop_unmapped(target, &map);
	target->unreadable_count = 0;
	while (!result && (entry = memory_map_next_object(&map, &cursor)))
		if (entry->is_readable && entry->path[0] == '/' && !is_known(target, entry))
			result = look_at_object(target, &map, entry, reader);
	return result ? result : locate_publishers(target, &map, reader);
}

static int look_for_keys(struct ruby_target *target, const struct memory_reader *reader,
			 const char *const *key_names)
{
	const char *names[KEYS_MAX];
	uint64_t ids[KEYS_MAX];
	size_t count = 0;
	int result;

	if (!target->symbols || !target->keys_missing)
		return 0;
	for (size_t i = 0; i < target->key_count; i++) {
		if (!key_names[i])
			continue;
		names[count] = key_names[i];
		ids[count++] = target->key_ids[i];
	}
	/* Before they are looked for: what is added meanwhile asks for another look. */
	if (memory_read(reader, ruby_symbols_table_address(target->symbols), &target->symbol_count,
			sizeof(target->symbol_count)))
		target->symbol_count = 0;
	result = ruby_symbols_find_ids(target->symbols, names, count, ids);
	for (size_t i = target->key_count; i-- > 0;)
		if (key_names[i])
			target->key_ids[i] = ids[--count];
	if (result >= 0)
		target->keys_missing = (size_t)result;
	return result == -EAGAIN || result == -EFAULT ? 0 : (result < 0 ? result : 0);
}

const struct publisher *ruby_target_publisher(const struct ruby_target *target)
{
	const struct publisher *live = &target->publishers[target->live];

	return target->live < target->publisher_count && live->is_located ? live : NULL;
}

bool ruby_target_prefer(struct ruby_target *target, uint64_t address)
{
	for (size_t i = 0; i < target->publisher_count; i++) {
		const struct publisher *publisher = &target->publishers[i];

		if (i == target->live || !publisher->is_located || address < publisher->start ||
		    address >= publisher->end)
			continue;
		target->live = i;
		return true;
	}
	return false;
}

bool ruby_target_is_complete(const struct ruby_target *target)
{
	return target->symbols && ruby_target_publisher(target) && !target->keys_missing;
}

int ruby_target_refresh(struct ruby_target *target, const char *const *key_names)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);
	bool had_symbols = target->symbols, was_publishing = ruby_target_publisher(target);
	size_t were_missing = target->keys_missing, were_publishing = target->publisher_count;
	struct process_info info;
	int result = process_read_info(target->info.pid, &info);

	if (result)
		return result;
	if (info.start_ticks != target->info.start_ticks)
		return -ESRCH;
	target->info = info;
	result = look_at_objects(target, &reader);
	if (!result)
		result = look_for_keys(target, &reader, key_names);
	if (result)
		return result;
	return had_symbols != !!target->symbols ||
	       was_publishing != !!ruby_target_publisher(target) ||
	       were_missing != target->keys_missing || were_publishing != target->publisher_count;
}

int ruby_target_open(pid_t pid, const char *const *key_names, size_t key_count,
		     struct ruby_target **ret_target)
{
	_cleanup_(ruby_target_freep) struct ruby_target *target = calloc(1, sizeof(*target));
	int result;

	if (!target)
		return -ENOMEM;
	target->loader_fd = -1;
	target->key_count = key_count;
	for (size_t i = 0; i < key_count; i++)
		target->keys_missing += key_names[i] != NULL;
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
	for (size_t i = 0; i < target->publisher_count; i++)
		publisher_deinit(&target->publishers[i]);
	if (target->loader_fd >= 0)
		(void)close(target->loader_fd);
	free(target->known);
	free(target);
}

void ruby_target_config(const struct ruby_target *target, struct process_config *ret_config)
{
	enum {
		BIGNUM_MASK_BEFORE_4 = 7,
		BIGNUM_MASK_SINCE_4 = 0x1ff
	};

	const struct publisher *publisher = ruby_target_publisher(target);

	memset(ret_config, 0, sizeof(*ret_config));
	ret_config->key_count = (uint32_t)target->key_count;
	memcpy(ret_config->key_ids, target->key_ids, sizeof(ret_config->key_ids));
	/* The one fact that depends on the version: struct RBignum, v4_0_0. */
	ret_config->bignum_embed_mask =
		atoi(target->ruby_version) >= 4 ? BIGNUM_MASK_SINCE_4 : BIGNUM_MASK_BEFORE_4;
	if (target->symbols && target->keys_missing) {
		ret_config->symbol_count_address = ruby_symbols_table_address(target->symbols);
		ret_config->symbol_count = target->symbol_count;
	}
	if (!target->symbols || !publisher)
		return;
	ret_config->publisher_start = publisher->start;
	ret_config->publisher_end = publisher->end;
	ret_config->tls = publisher->tls.location;
	ret_config->string_layout = (uint32_t)ruby_symbols_string_layout(target->symbols);
	ret_config->flags = PROCESS_READY;
}
