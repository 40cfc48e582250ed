/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of code that a process generates: from the map that it writes for perf(1),
 * /tmp/perf-PID.map in its own file system and by its own pid. A line is "START SIZE NAME", both
 * numbers hexadecimal (tools/perf/Documentation/jit-interface.txt, v6.18). A compiler appends
 * lines; the last line for an address counts. One object per process image; single thread; does not
 * log.
 *
 * The file is the target's: it must be a regular file that the process's effective user owns,
 * because anybody can make one of that name in /tmp. All is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

enum {
	PERF_MAP_ENTRIES_MAX = 131072, /* lines after that are ignored */
	PERF_MAP_NAME_BYTES = 512, /* with the NUL; longer names are cut */
	PERF_MAP_TEXT_BYTES_MAX = 8 * 1024 * 1024, /* of all names */
	PERF_MAP_READ_BYTES_MAX = 4 * 1024 * 1024, /* per look; the rest comes with the next ones */
};

struct perf_map;

/* NULL: out of memory. */
struct perf_map *perf_map_new(pid_t pid);
void perf_map_free(struct perf_map *map);
DEFINE_CLEANUP(struct perf_map *, perf_map_free);

/*
 * Reads what was appended since, at most once a second. A file that was replaced or has become
 * shorter is read anew. now_ns: CLOCK_MONOTONIC.
 */
void perf_map_look(struct perf_map *map, uint64_t now_ns);

/* The name of the code at an address, valid until the next look; NULL = none. */
const char *perf_map_find(struct perf_map *map, uint64_t address);

/*
 * Adds whole lines of such a file. Returns the number of bytes up to the end of the last whole
 * line; lines in another format are passed over.
 */
size_t perf_map_add(struct perf_map *map, const char *text, size_t size_bytes);
