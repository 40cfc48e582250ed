/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/faulted_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Shorter readings of the mappings are no looks at the process. */
#define LONG_READING_NS NS_PER_MS

static bool is_on(const struct memory_map_entry *entry, uint32_t device)
{
	return entry->device_major == device >> 20 && entry->device_minor == (device & 0xfffff);
}

/* The number of paths of the inode, up to 2, on the device or, if is_any, on file systems without
 * one; sets *ret_path to the first. */
static unsigned int find_paths(const struct memory_map *map, uint64_t inode, uint32_t device,
			       bool is_any, const char **ret_path)
{
	unsigned int count = 0;

	for (size_t i = 0; i < map->count && count < 2; i++) {
		const struct memory_map_entry *entry = &map->entries[i];

		if (entry->inode != inode ||
		    !(is_any ? entry->device_major == 0 : is_on(entry, device)))
			continue;
		if (count == 0)
			*ret_path = entry->path;
		count += count == 0 || strcmp(*ret_path, entry->path) != 0;
	}
	return count;
}

const char *faulted_file_path(const struct memory_map *map, uint64_t inode, uint32_t device)
{
	const char *path = NULL;
	unsigned int count = find_paths(map, inode, device, false, &path);

	if (count == 0)
		count = find_paths(map, inode, device, true, &path);
	return count == 1 ? path : NULL;
}

static bool lacks_name(const struct stall *stall)
{
	return stall->object == STALL_OBJECT_MAPPED && !stall->names[0][0];
}

static void put_name(struct stall *stall, const char *path)
{
	char *name = stall->names[0];
	size_t length = strlen(path), room = sizeof(stall->names) - 1;

	if (length <= room)
		(void)snprintf(name, room + 1, "%s", path);
	else
		(void)snprintf(name, room + 1, "...%s", path + length - (room - 3));
}

/* The mappings of a process, unless reading them has cost its family too much; else none. */
static void read_map(struct observed *process, struct memory_map *ret_map)
{
	struct look_budget *budget = &process->family->looks;
	uint64_t begin_ns = clock_monotonic_ns(), end_ns;

	*ret_map = (struct memory_map){ 0 };
	if (look_budget_next_ns(budget, begin_ns) != begin_ns)
		return;
	(void)memory_map_of_process(process->pid, ret_map);
	end_ns = clock_monotonic_ns();
	if (end_ns - begin_ns >= LONG_READING_NS)
		look_budget_spend(budget, end_ns, end_ns - begin_ns);
}

/* Names those of the first one's process. */
static void name_of_process(struct stall *stalls, size_t count, struct observed *process)
{
	struct memory_map map;
	const char *path;

	read_map(process, &map);
	for (size_t i = 0; i < count; i++) {
		if (stalls[i].life != process->life || !lacks_name(&stalls[i]))
			continue;
		path = faulted_file_path(&map, stalls[i].inode, stalls[i].device);
		if (path)
			put_name(&stalls[i], path);
		else
			stalls[i].object = STALL_OBJECT_NONE;
	}
	memory_map_deinit(&map);
}

void faulted_files_name(struct stall *stalls, size_t count, const struct observed_table *processes)
{
	for (size_t i = 0; i < count; i++) {
		struct observed *process;

		if (!lacks_name(&stalls[i]))
			continue;
		process = observed_find(processes, stalls[i].life);
		if (process)
			name_of_process(stalls + i, count - i, process);
	}
}
