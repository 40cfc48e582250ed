/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/process_access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rights.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/proc/proc_file.h"

enum {
	STATUS_BYTES_MAX = 1024 * 1024, /* as process.c */
	CAPABILITY_SYS_PTRACE = 19, /* include/uapi/linux/capability.h */
	YAMA_NOBODY = 3, /* ptrace_scope: denied even with the capability, until the next boot */
};

int process_access_check(pid_t pid, const struct memory_map *map)
{
	struct memory_reader reader = memory_reader_of_process(pid);
	char byte;

	for (size_t i = 0; i < map->count; i++) {
		const struct memory_map_entry *entry = &map->entries[i];
		int r;

		if (!entry->is_readable || entry->path[0] != '/')
			continue;
		r = memory_read(&reader, entry->start, &byte, sizeof(byte));
		return r == -EPERM || r == -ESRCH ? r : 0;
	}
	return 0;
}

/* A number from /proc/PID/status; UINT64_MAX = not available. */
static uint64_t read_status(pid_t pid, const char *name, int base)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;
	const char *line;

	if (proc_file_read(pid, "status", STATUS_BYTES_MAX, &text, &size_bytes) < 0)
		return UINT64_MAX;
	line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, base) : UINT64_MAX;
}

/* Yama's ptrace_scope; 0 without Yama. */
static int read_ptrace_scope(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	return scope;
}

bool process_access_is_general(void)
{
	return read_status(getpid(), "\nCapEff:", 16) >> CAPABILITY_SYS_PTRACE & 1;
}

void process_access_explain(pid_t pid, char ret_text[static PROCESS_ACCESS_TEXT_BYTES])
{
	uint64_t user = read_status(pid, "\nUid:", 10);
	int scope = read_ptrace_scope();

	if (scope >= YAMA_NOBODY)
		(void)snprintf(ret_text, PROCESS_ACCESS_TEXT_BYTES,
			       "kernel.yama.ptrace_scope is %d: nobody may until the next boot",
			       scope);
	else if (!rights_reach(pid))
		(void)snprintf(
			ret_text, PROCESS_ACCESS_TEXT_BYTES,
			"it is user %" PRIu64
			"'s, or has privileges: for root, and members of the group " RIGHTS_GROUP,
			user);
	else if (process_access_is_general())
		(void)snprintf(
			ret_text, PROCESS_ACCESS_TEXT_BYTES,
			"a container, its user namespace or a security module forbids it, in "
			"spite of CAP_SYS_PTRACE");
	else if (user != getuid())
		(void)snprintf(ret_text, PROCESS_ACCESS_TEXT_BYTES,
			       "it is user %" PRIu64
			       "'s, which needs CAP_SYS_PTRACE (or run as root%s)",
			       user, scope ? "" : ", or as its user");
	else if (scope)
		(void)snprintf(ret_text, PROCESS_ACCESS_TEXT_BYTES,
			       "kernel.yama.ptrace_scope is %d, so one's own processes need "
			       "CAP_SYS_PTRACE, too (or run as root)",
			       scope);
	else
		(void)snprintf(
			ret_text, PROCESS_ACCESS_TEXT_BYTES,
			"it has privileges of its own, which needs CAP_SYS_PTRACE (or run as "
			"root)");
}
