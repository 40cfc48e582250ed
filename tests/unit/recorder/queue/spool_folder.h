/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder with a spool in it, for its tests. */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/queue/backlog_of_numbers.h"

static char parent[] = "/tmp/test_spool.XXXXXX";
static char spool[sizeof(parent) + 16];

static inline int run(const char *command, const char *path)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "%s %s", command, path);
	return system(line);
}

static inline int setup(void **state)
{
	(void)state;
	if (!mkdtemp(parent))
		return -1;
	(void)snprintf(spool, sizeof(spool), "%s/spool", parent);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	return run("rm -rf", parent);
}

static inline int empty(void **state)
{
	(void)state;
	return run("rm -rf", spool);
}

static inline struct backlog *open_spool(size_t segment_entries, uint64_t seal_ns,
					 uint64_t bytes_max)
{
	return make_backlog(&(struct backlog_options){ .segment_bytes = segment_entries * ENTRY,
						       .memory_bytes_max = 1024 * 1024,
						       .seal_ns = seal_ns,
						       .spool = spool,
						       .store_bytes_max = bytes_max });
}

/* ".chunk" and ".open" are an older correlator's, without checks. */
static inline bool ends_with(const char *name, const char *end)
{
	size_t name_bytes = strlen(name), end_bytes = strlen(end);

	return name_bytes > end_bytes && strcmp(name + name_bytes - end_bytes, end) == 0;
}

/* Files of the spool whose names end so; the path of the first in ret_path. */
static inline unsigned int count_files(const char *end, char ret_path[static PATH_MAX])
{
	struct dirent **names;
	int count = scandir(spool, &names, NULL, alphasort);
	unsigned int found = 0;

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;

		if (ends_with(name, end) && !found++)
			(void)snprintf(ret_path, PATH_MAX, "%s/%s", spool, name);
		free(names[i]);
	}
	free(names);
	return found;
}

static inline void await_files(const char *end, unsigned int count, char ret_path[static PATH_MAX])
{
	for (unsigned int ms = 0; count_files(end, ret_path) != count; ms++) {
		assert_true(ms < DEADLINE_MS);
		(void)usleep(1000);
	}
}
