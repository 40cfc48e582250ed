/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/PID/maps, parsed; target_file.h opens the mapped files. memory_map_parse is pure. Any
 * thread, each map by one at a time; pointers into a map live as long as the map. Does not log.
 * Facts: fs/proc/task_mmu.c show_map_vma, seq_file_path (v6.18).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	/* A process with more mappings than this is refused (vm.max_map_count is 65530). */
	MEMORY_MAP_ENTRIES_MAX = 262144,
	/* A process with a longer text is refused, too. */
	MEMORY_MAP_TEXT_BYTES_MAX = 64 * 1024 * 1024,
};

struct memory_map_entry {
	uint64_t start;
	uint64_t end; /* > start */
	uint64_t offset; /* in the file */
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	bool is_readable;
	bool is_writable;
	bool is_executable;
	bool is_deleted; /* the path ended in " (deleted)", which is stripped */
	bool is_object_start; /* the first entry of its file, see memory_map_next_object */
	const char *path; /* "" for anonymous; "[stack]" and the like kept; \012 escapes decoded */
};

struct memory_map {
	struct memory_map_entry *entries; /* by address, as the kernel prints them */
	size_t count;
	char *text; /* owns the paths */
};

/*
 * Parses text (copied; need not end in a newline) as fs/proc/task_mmu.c show_map_vma prints it.
 * 0, -EINVAL (malformed line), -E2BIG (a limit above), -ENOMEM. Release with memory_map_deinit.
 */
int memory_map_parse(const char *text, size_t size_bytes, struct memory_map *ret_map);
/*
 * Reads and parses /proc/PID/maps. Errors as above, and -ESRCH (no such process), -EACCES/-EPERM. A
 * zombie and a kernel thread have no entries.
 */
int memory_map_of_process(pid_t pid, struct memory_map *ret_map);
/* Accepts a zeroed map. */
void memory_map_deinit(struct memory_map *map);

/*
 * Iterates the distinct file-backed objects (device, inode): the first entry of each, by address.
 * *cursor starts at 0. NULL at the end. Skips what is no file ("[vdso]", "/dev/...", "/memfd:",
 * "/SYSV"); of /dev/shm, only files of which no part is mapped as code.
 */
const struct memory_map_entry *memory_map_next_object(const struct memory_map *map, size_t *cursor);
/* True if b maps the same file as a; false when either is anonymous. */
bool memory_map_same_object(const struct memory_map_entry *a, const struct memory_map_entry *b);
