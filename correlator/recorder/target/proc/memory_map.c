/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/memory_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recorder/target/proc/living_thread.h"
#include "recorder/target/proc/proc_file.h"

static const char DELETED_MARK[] = " (deleted)";

/* The unparsed rest of one line. The text ends in a NUL, which is no digit, so reads stop there. */
struct line_cursor {
	const char *at;
};

static int digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	return -1;
}

static bool take_number(struct line_cursor *line, int base, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *start = line->at;
	int digit;

	while ((digit = digit_of(*line->at)) >= 0 && digit < base) {
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
		line->at++;
	}
	if (line->at == start)
		return false;
	*ret_number = number;
	return true;
}

static bool take_u32(struct line_cursor *line, int base, uint32_t *ret_number)
{
	uint64_t number;

	if (!take_number(line, base, &number) || number > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static bool take_character(struct line_cursor *line, char character)
{
	if (*line->at != character)
		return false;
	line->at++;
	return true;
}

static bool take_flag(struct line_cursor *line, char character, bool *ret_is_set)
{
	if (*line->at != character && *line->at != '-')
		return false;
	*ret_is_set = *line->at++ == character;
	return true;
}

static bool take_permissions(struct line_cursor *line, struct memory_map_entry *entry)
{
	return take_flag(line, 'r', &entry->is_readable) &&
	       take_flag(line, 'w', &entry->is_writable) &&
	       take_flag(line, 'x', &entry->is_executable) &&
	       (take_character(line, 'p') || take_character(line, 's'));
}

/* The kernel escapes nothing but the newline (seq_file_path in fs/proc/task_mmu.c). */
static void decode_newlines(char *path)
{
	char *to = strstr(path, "\\012");
	const char *from = to;

	if (!to)
		return;
	while (*from) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static void take_path(char *path, struct memory_map_entry *entry)
{
	size_t mark_bytes = sizeof(DELETED_MARK) - 1;
	size_t length;

	path += strspn(path, " ");
	length = strlen(path);
	if (length > mark_bytes && strcmp(path + length - mark_bytes, DELETED_MARK) == 0) {
		path[length - mark_bytes] = '\0';
		entry->is_deleted = true;
	}
	decode_newlines(path);
	entry->path = path;
}

static bool parse_line(char *text, struct memory_map_entry *entry)
{
	struct line_cursor line = { .at = text };

	if (!take_number(&line, 16, &entry->start) || !take_character(&line, '-') ||
	    !take_number(&line, 16, &entry->end) || !take_character(&line, ' ') ||
	    !take_permissions(&line, entry) || !take_character(&line, ' ') ||
	    !take_number(&line, 16, &entry->offset) || !take_character(&line, ' ') ||
	    !take_u32(&line, 16, &entry->device_major) || !take_character(&line, ':') ||
	    !take_u32(&line, 16, &entry->device_minor) || !take_character(&line, ' ') ||
	    !take_number(&line, 10, &entry->inode))
		return false;
	if (entry->start >= entry->end || (*line.at != ' ' && *line.at != '\0'))
		return false;
	take_path(text + (line.at - text), entry);
	return true;
}

static size_t count_lines(const char *text, size_t size_bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < size_bytes; i++)
		count += text[i] == '\n';
	return count + (size_bytes > 0 && text[size_bytes - 1] != '\n');
}

/* Holds files, most of them data. */
static bool is_in_shared_memory(const struct memory_map_entry *entry)
{
	return strncmp(entry->path, "/dev/shm/", strlen("/dev/shm/")) == 0;
}

/* Non-file memory and devices have names, too. */
static bool is_file(const struct memory_map_entry *entry)
{
	static const char *const others[] = { "/dev/", "/memfd:", "/SYSV" };

	if (entry->inode == 0 || entry->path[0] != '/')
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(entry->path, others[i], strlen(others[i])) == 0)
			return is_in_shared_memory(entry);
	return true;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_objects(const void *left, const void *right)
{
	const struct memory_map_entry *a = *(const struct memory_map_entry *const *)left;
	const struct memory_map_entry *b = *(const struct memory_map_entry *const *)right;

	if (a->inode != b->inode)
		return COMPARE(a->inode, b->inode);
	if (a->device_major != b->device_major)
		return COMPARE(a->device_major, b->device_major);
	if (a->device_minor != b->device_minor)
		return COMPARE(a->device_minor, b->device_minor);
	return COMPARE(a, b);
}

/* Sorts: comparing all pairs would let a target with many mappings cost minutes. */
static int mark_object_starts(struct memory_map *map)
{
	_cleanup_free_ struct memory_map_entry **order = NULL;
	size_t count = 0;

	order = calloc(map->count + 1, sizeof(struct memory_map_entry *));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++)
		if (is_file(&map->entries[i]))
			order[count++] = &map->entries[i];
	qsort(order, count, sizeof(struct memory_map_entry *), compare_objects);
	for (size_t begin = 0, end; begin < count; begin = end) {
		bool has_code = false;

		for (end = begin; end < count && (end == begin ||
						  memory_map_same_object(order[begin], order[end]));
		     end++)
			has_code |= order[end]->is_executable;
		order[begin]->is_object_start = has_code || !is_in_shared_memory(order[begin]);
	}
	return 0;
}

static int parse_lines(struct memory_map *map, size_t size_bytes)
{
	char *line = map->text;
	char *text_end = map->text + size_bytes;

	for (map->count = 0; line < text_end; map->count++) {
		char *line_end = memchr(line, '\n', (size_t)(text_end - line));

		if (!line_end)
			line_end = text_end;
		*line_end = '\0';
		if (!parse_line(line, &map->entries[map->count]))
			return -EINVAL;
		line = line_end + 1;
	}
	return mark_object_starts(map);
}

int memory_map_parse(const char *text, size_t size_bytes, struct memory_map *ret_map)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	size_t line_count = count_lines(text, size_bytes);
	int r;

	if (line_count > MEMORY_MAP_ENTRIES_MAX || size_bytes > MEMORY_MAP_TEXT_BYTES_MAX)
		return -E2BIG;
	map.text = malloc(size_bytes + 1);
	map.entries = calloc(line_count + 1, sizeof(*map.entries));
	if (!map.text || !map.entries)
		return -ENOMEM;
	if (size_bytes > 0)
		memcpy(map.text, text, size_bytes);
	map.text[size_bytes] = '\0';
	/* A NUL would end a path early; the kernel prints none. */
	if (size_bytes > 0 && memchr(text, '\0', size_bytes))
		return -EINVAL;
	r = parse_lines(&map, size_bytes);
	if (r < 0)
		return r;
	*ret_map = map;
	map = (struct memory_map){ 0 };
	return 0;
}

int memory_map_of_process(pid_t pid, struct memory_map *ret_map)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;
	int r = proc_file_read(pid, "maps", MEMORY_MAP_TEXT_BYTES_MAX, &text, &size_bytes);
	pid_t living = r == 0 && size_bytes == 0 ? living_thread_of(pid) : pid;

	if (living != pid) {
		free(text);
		text = NULL;
		r = proc_file_read(living, "maps", MEMORY_MAP_TEXT_BYTES_MAX, &text, &size_bytes);
	}
	return r < 0 ? r : memory_map_parse(text, size_bytes, ret_map);
}

void memory_map_deinit(struct memory_map *map)
{
	free(map->entries);
	free(map->text);
	*map = (struct memory_map){ 0 };
}

const struct memory_map_entry *memory_map_next_object(const struct memory_map *map, size_t *cursor)
{
	while (*cursor < map->count) {
		const struct memory_map_entry *entry = &map->entries[(*cursor)++];

		if (entry->is_object_start)
			return entry;
	}
	return NULL;
}

bool memory_map_same_object(const struct memory_map_entry *a, const struct memory_map_entry *b)
{
	return a->inode != 0 && a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor;
}
