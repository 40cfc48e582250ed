/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/target_file.h"

enum {
	/* Entries inspected before an address: code that was freed may still be in front. */
	LOOK_BACK = 32,
	HEX_DIGITS_MAX = 16,
};

struct entry {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* offset in texts */
	uint32_t line; /* the number of lines before it */
};

struct perf_map {
	pid_t pid;
	bool was_looked_at;
	uint64_t looked_ns;
	struct target_file_key key; /* of the file that was read last */
	uint64_t read_bytes;
	struct entry *entries;
	size_t count;
	size_t capacity;
	bool is_sorted;
	char *texts; /* each with its NUL */
	size_t text_bytes;
	size_t text_capacity;
};

struct perf_map *perf_map_new(pid_t pid)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (map)
		map->pid = pid;
	return map;
}

static void forget(struct perf_map *map)
{
	free(map->entries);
	free(map->texts);
	*map = (struct perf_map){ .pid = map->pid,
				  .was_looked_at = map->was_looked_at,
				  .looked_ns = map->looked_ns };
}

void perf_map_free(struct perf_map *map)
{
	if (map)
		forget(map);
	free(map);
}

/* ---- lines ---- */

/* Reads a number up to the blank after it. Returns the text behind that; NULL: it is none. */
static const char *read_hex(const char *text, const char *end, uint64_t *ret_value)
{
	const char *begin = text;
	uint64_t value = 0;

	if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		begin = text += 2;
	for (; text < end && *text != ' '; text++) {
		char c = *text;

		if (text - begin >= HEX_DIGITS_MAX)
			return NULL;
		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			value = value << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			return NULL;
	}
	*ret_value = value;
	return text > begin && text < end ? text + 1 : NULL;
}

/* Without memory or room the line is passed over. */
static void add_entry(struct perf_map *map, struct entry entry, const char *name, size_t length)
{
	if (length >= PERF_MAP_NAME_BYTES)
		length = PERF_MAP_NAME_BYTES - 1;
	if (map->count == PERF_MAP_ENTRIES_MAX ||
	    map->text_bytes + length + 1 > PERF_MAP_TEXT_BYTES_MAX ||
	    array_reserve(&map->entries, &map->capacity, map->count + 1) < 0 ||
	    array_reserve(&map->texts, &map->text_capacity, map->text_bytes + length + 1) < 0)
		return;
	entry.name = (uint32_t)map->text_bytes;
	entry.line = (uint32_t)map->count;
	memcpy(map->texts + map->text_bytes, name, length);
	map->texts[map->text_bytes + length] = '\0';
	map->text_bytes += length + 1;
	map->entries[map->count++] = entry;
	map->is_sorted = false;
}

static void add_line(struct perf_map *map, const char *line, const char *end)
{
	struct entry entry = { 0 };
	uint64_t size_bytes;
	const char *name = read_hex(line, end, &entry.start);

	if (name)
		name = read_hex(name, end, &size_bytes);
	if (!name || size_bytes == 0 || name == end || size_bytes > UINT64_MAX - entry.start)
		return;
	entry.end = entry.start + size_bytes;
	add_entry(map, entry, name, (size_t)(end - name));
}

size_t perf_map_add(struct perf_map *map, const char *text, size_t size_bytes)
{
	const char *line = text, *end;

	while ((end = memchr(line, '\n', size_bytes - (size_t)(line - text))) != NULL) {
		add_line(map, line, end);
		line = end + 1;
	}
	return (size_t)(line - text);
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

const char *perf_map_find(struct perf_map *map, uint64_t address)
{
	const struct entry *best = NULL;
	size_t end;

	if (!map->is_sorted && map->count > 0)
		qsort(map->entries, map->count, sizeof(*map->entries), compare);
	map->is_sorted = true;
	end = array_count_up_to(map->entries, map->count, sizeof(*map->entries), address);
	for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
		const struct entry *entry = &map->entries[i];

		if (address < entry->end && (!best || entry->line > best->line))
			best = entry;
	}
	return best ? map->texts + best->name : NULL;
}

/* ---- the file ---- */

/* Opens the file. 0 or -errno, also -EPERM: the process's user does not own it. */
static int open_file(const struct perf_map *map, struct target_file **ret_file)
{
	struct process_info info;
	char path[64];
	int r = process_read_info(map->pid, &info);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", info.ns_pid);
	r = target_file_open_path(map->pid, path, ret_file);
	if (r < 0)
		return r;
	return target_file_owner(*ret_file) == info.effective_uid ? 0 : -EPERM;
}

/* Adds lines from where the last look ended. */
static void read_on(struct perf_map *map, struct target_file *file)
{
	uint64_t left_bytes = target_file_size_bytes(file) - map->read_bytes;
	size_t size_bytes =
		left_bytes < PERF_MAP_READ_BYTES_MAX ? (size_t)left_bytes : PERF_MAP_READ_BYTES_MAX;
	_cleanup_free_ char *text = size_bytes ? malloc(size_bytes) : NULL;
	size_t used_bytes;

	if (!text || target_file_read(file, map->read_bytes, text, size_bytes) < 0)
		return;
	used_bytes = perf_map_add(map, text, size_bytes);
	/* A line that fills the whole room is none. */
	if (used_bytes == 0 && size_bytes == PERF_MAP_READ_BYTES_MAX)
		used_bytes = size_bytes;
	map->read_bytes += used_bytes;
}

void perf_map_look(struct perf_map *map, uint64_t now_ns)
{
	_cleanup_(target_file_closep) struct target_file *file = NULL;
	struct target_file_key key;

	if (map->was_looked_at && now_ns - map->looked_ns < NS_PER_S)
		return;
	map->was_looked_at = true;
	map->looked_ns = now_ns;
	if (open_file(map, &file) < 0)
		return;
	key = target_file_key(file);
	if (key.device != map->key.device || key.inode != map->key.inode ||
	    target_file_size_bytes(file) < map->read_bytes)
		forget(map);
	map->key = key;
	read_on(map, file);
}
