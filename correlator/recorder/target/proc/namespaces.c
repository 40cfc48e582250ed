/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/namespaces.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static const struct {
	const char *file;
	const char *name;
	uint64_t initial_inode; /* include/linux/proc_ns.h, v3.8; 0 = not fixed */
} kinds[_NAMESPACE_KIND_MAX] = {
	[NAMESPACE_PID] = { "pid", "pid", 0xEFFFFFFC },
	[NAMESPACE_MOUNT] = { "mnt", "mount", 0 },
	[NAMESPACE_USER] = { "user", "user", 0xEFFFFFFD },
};

int namespaces_read(pid_t pid, struct namespaces *ret_namespaces)
{
	struct namespaces namespaces = { 0 };
	struct stat status;
	char path[64];

	for (int kind = 0; kind < _NAMESPACE_KIND_MAX; kind++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kinds[kind].file);
		if (stat(path, &status) == 0)
			namespaces.inodes[kind] = status.st_ino;
		else if (errno == ENOENT && kill(pid, 0) < 0 && errno == ESRCH)
			return -ESRCH;
	}
	*ret_namespaces = namespaces;
	return 0;
}

bool namespaces_is_initial(const struct namespaces *namespaces, enum namespace_kind kind)
{
	return namespaces->inodes[kind] == kinds[kind].initial_inode;
}

void namespaces_differences(const struct namespaces *a, const struct namespaces *b,
			    char ret_text[static NAMESPACES_TEXT_BYTES])
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (int kind = 0; kind < _NAMESPACE_KIND_MAX; kind++) {
		if (!a->inodes[kind] || !b->inodes[kind] || a->inodes[kind] == b->inodes[kind])
			continue;
		used += (size_t)snprintf(ret_text + used, NAMESPACES_TEXT_BYTES - used, "%s%s",
					 used ? ", " : "", kinds[kind].name);
	}
}

int namespaces_check_own_proc(void)
{
	char text[32];
	ssize_t size = readlink("/proc/self", text, sizeof(text) - 1);

	text[size > 0 ? size : 0] = '\0';
	if (atoi(text) == getpid())
		return 0;
	return log_error(ENOTSUP,
			 "/proc does not show our pid namespace: mount it here (mount -t proc proc "
			 "/proc), or start Correlator where /proc comes from");
}
