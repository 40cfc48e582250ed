/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	GROUP_BYTES_MAX = 1024 * 1024, /* of its members' names */
};

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* Returns false if the capabilities cannot be read; none count as given then. */
static bool read_own(struct capabilities *ret_own)
{
	*ret_own = (struct capabilities){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
	return syscall(SYS_capget, &ret_own->header, ret_own->data) == 0;
}

static bool is_given(const struct capabilities *own)
{
	return getuid() != 0 && (own->data[0].permitted || own->data[1].permitted);
}

static bool is_raised(const struct capabilities *own)
{
	return own->data[0].effective || own->data[1].effective;
}

bool rights_are_given(void)
{
	struct capabilities own;

	return read_own(&own) && is_given(&own);
}

/* Dropping effective capabilities, or raising permitted ones, is always allowed. */
static void put_in_force(struct capabilities *own, bool all)
{
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		own->data[i].effective = all ? own->data[i].permitted : 0;
	if (syscall(SYS_capset, &own->header, own->data) < 0)
		abort();
}

void rights_raise(void)
{
	struct capabilities own;

	if (read_own(&own) && is_given(&own))
		put_in_force(&own, true);
}

bool rights_lower(void)
{
	struct capabilities own;

	if (!read_own(&own) || !is_given(&own) || !is_raised(&own))
		return false;
	put_in_force(&own, false);
	return true;
}

int rights_begin(void)
{
	if (getuid() != geteuid() || getgid() != getegid())
		return -EPERM;
	if (!rights_are_given())
		return 0;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)rights_lower();
	return 0;
}

void rights_give_up(void)
{
	struct capabilities own;

	if (!read_own(&own) || !is_given(&own))
		return;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		own.data[i] = (struct __user_cap_data_struct){ 0 };
	if (syscall(SYS_capset, &own.header, own.data) < 0)
		abort();
}

/* At exec the kernel grants our file's capabilities again; ambient ones have to be raised. */
void rights_pass_on(void)
{
	struct capabilities own;

	if (!read_own(&own) || !is_given(&own))
		return;
	for (unsigned long i = 0; i <= CAP_LAST_CAP; i++) {
		const struct __user_cap_data_struct *data = &own.data[CAP_TO_INDEX(i)];

		if (data->permitted & data->inheritable & CAP_TO_MASK(i))
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
	}
}

/* Returns false if there is no such group, or it cannot be looked up. */
static bool find_group(gid_t *ret_gid)
{
	struct group group, *found = NULL;
	char *names = NULL;
	int r = ERANGE;

	for (size_t size_bytes = 1024; r == ERANGE && size_bytes <= GROUP_BYTES_MAX;
	     size_bytes *= 2) {
		free(names);
		names = malloc(size_bytes);
		r = names ? getgrnam_r(RIGHTS_GROUP, &group, names, size_bytes, &found) : ENOMEM;
	}
	if (r == 0 && found)
		*ret_gid = found->gr_gid;
	free(names);
	return r == 0 && found;
}

bool rights_reach_others(void)
{
	gid_t group;

	return !rights_are_given() ||
	       (find_group(&group) && (getegid() == group || group_member(group)));
}

/* Asks the kernel (ptrace(2), PTRACE_MODE_READ_FSCREDS, by proc_pid_readlink() in fs/proc/base.c),
 * which judges by the effective capabilities. */
static bool may_look(pid_t pid)
{
	char path[64], target[8];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, target, sizeof(target)) >= 0;
}

/* Returns 0 if the process is gone. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512] = "";
	_cleanup_file_ FILE *file = NULL;
	const char *behind_name;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return 0;
	behind_name = strrchr(text, ')');
	return behind_name && sscanf(behind_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* A child that we forked and that has not called exec yet: it holds the capabilities we were given,
 * so the caller's own rights do not reach it. */
static bool is_own_fork(pid_t pid)
{
	char path[64];
	struct stat ours, its;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat("/proc/self/exe", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino && parent_of(pid) == getpid();
}

bool rights_reach(pid_t pid)
{
	bool was_raised, may;

	if (rights_reach_others())
		return true;
	was_raised = rights_lower();
	may = may_look(pid);
	rights_raise();
	/* Kernel threads and exited processes have no exe link. */
	may = may || !may_look(pid) || is_own_fork(pid);
	if (!was_raised)
		(void)rights_lower();
	return may;
}
