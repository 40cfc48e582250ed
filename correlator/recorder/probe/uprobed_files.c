/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes use a uprobe_multi link (6.6) where the kernel has it: no perf events, hence no cost at
 * context switches, and no CAP_SYS_ADMIN. The installed libbpf may be older than that link type, so
 * the call is made here.
 */
#include "recorder/probe/uprobed_files.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <correlator/context_hash.h>
#include <correlator/file_question.h>
#include <correlator/limits.h>
#include <correlator/share.h>

#include "base/hash_table.h"
#include "correlator.skel.h"
#include "recorder/probe/features.h"

enum {
	/*
	 * Attempts to get the inode, and the pause between two: others hold the mappings for
	 * microseconds, or until they get a CPU again.
	 */
	IDENTIFY_ATTEMPTS = 10000,
	IDENTIFY_PAUSE_NS = 100 * 1000,
};

struct uprobed_file {
	struct {
		/* Its address in the kernel, which is not reused while it is probed. */
		uint64_t inode;
		uint64_t kind; /* enum session_probe_kind */
	} key;
	size_t user_count;
	int multi_fd; /* of a uprobe_multi link; -1 = none */
	struct bpf_link *links[SESSION_PROBE_OFFSETS_MAX]; /* otherwise, one for each offset */
	UT_hash_handle hh;
};

/* A process that maps some of the files. */
struct uprobed_user {
	uint64_t life;
	size_t count;
	struct uprobed_file *files[SESSION_PROBES_MAX];
	UT_hash_handle hh;
};

struct uprobed_files {
	struct correlator_bpf *skeleton;
	struct bpf_program *programs[_SESSION_PROBE_KIND_MAX]; /* NULL: that kind is not wanted */
	bool has_multi;
	struct uprobed_file *files; /* uthash, by key */
	struct uprobed_user *users; /* uthash, by life */
};

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi: include/uapi/linux/bpf.h,
 * v6.6 (link_create.uprobe_multi). */
struct uprobe_multi_attributes {
	__u32 program_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 link_flags;
	__u64 path;
	__u64 offsets;
	__u64 reference_counter_offsets;
	__u64 cookies;
	__u32 count;
	__u32 flags;
	__u32 pid;
	__u32 reserved;
};

static struct bpf_program *loaded(struct bpf_program *program)
{
	return bpf_program__fd(program) < 0 ? NULL : program;
}

int uprobed_files_new(struct correlator_bpf *skeleton, struct uprobed_files **ret_files)
{
	struct uprobed_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->skeleton = skeleton;
	files->programs[SESSION_PROBE_CONTEXT] = loaded(skeleton->progs.on_context_change);
	files->programs[SESSION_PROBE_LOADER] = loaded(skeleton->progs.on_load);
	files->has_multi = bpf_program__expected_attach_type(skeleton->progs.on_load) ==
			   (enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI;
	*ret_files = files;
	return 0;
}

size_t uprobed_files_count(const struct uprobed_files *files)
{
	return HASH_COUNT(files->files);
}

static int attach_multi(struct uprobed_file *file, const struct bpf_program *program,
			const char *path, const struct session_probe *probe)
{
	const struct uprobe_multi_attributes attributes = {
		.program_fd = (__u32)bpf_program__fd(program),
		.attach_type = FEATURE_ATTACH_TYPE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)probe->file_offsets,
		.count = (__u32)probe->count,
	};

	file->multi_fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
	return file->multi_fd < 0 ? -errno : 0;
}

static int attach_each(struct uprobed_file *file, const struct bpf_program *program,
		       const char *path, const struct session_probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		file->links[i] = bpf_program__attach_uprobe(program, false, -1, path,
							    probe->file_offsets[i]);
		if (!file->links[i])
			return -errno;
	}
	return 0;
}

static void file_free(struct uprobed_file *file)
{
	if (file->multi_fd >= 0)
		(void)close(file->multi_fd);
	for (size_t i = 0; i < SESSION_PROBE_OFFSETS_MAX; i++)
		(void)bpf_link__destroy(file->links[i]);
	free(file);
}

DEFINE_CLEANUP(struct uprobed_file *, file_free);

static int attach(struct uprobed_files *files, const struct session_probe *probe, uint64_t inode,
		  struct uprobed_file **ret_file)
{
	_cleanup_(file_freep) struct uprobed_file *file = calloc(1, sizeof(*file));
	const struct bpf_program *program = files->programs[probe->kind];
	char path[32];
	int r;

	if (!file)
		return -ENOMEM;
	file->key.inode = inode;
	file->key.kind = probe->kind;
	file->multi_fd = -1;
	if (uprobed_files_count(files) == UPROBED_FILES_MAX ||
	    probe->count > SESSION_PROBE_OFFSETS_MAX)
		return -ENOSPC;
	/* By the open file, so that it is the inspected one, whatever its path refers to now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->fd);
	r = files->has_multi ? attach_multi(file, program, path, probe)
			     : attach_each(file, program, path, probe);
	if (r != 0)
		return r;
	HASH_ADD(hh, files->files, key, sizeof(file->key), file);
	if (!file->hh.tbl)
		return -ENOMEM;
	*ret_file = TAKE_PTR(file);
	return 0;
}

/* One of the program's answers about a mapping (file_question.h), or -errno. */
static int ask(int program_fd, const void *mapping, int part)
{
	__u64 arguments[] = { (uintptr_t)mapping, (__u64)part };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));

	for (int attempt = 0; attempt < IDENTIFY_ATTEMPTS; attempt++) {
		const struct timespec pause = { .tv_nsec = IDENTIFY_PAUSE_NS };

		if (bpf_prog_test_run_opts(program_fd, &options))
			return -errno;
		if ((int)options.retval != -EBUSY)
			return (int)options.retval;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static int ask_all(int program_fd, const void *mapping, uint64_t *ret_inode)
{
	uint64_t inode = 0;

	for (int part = 0; part < FILE_INODE_PARTS; part++) {
		int r = ask(program_fd, mapping, part);

		if (r < 0)
			return r;
		inode |= (uint64_t)r << part * FILE_INODE_PART_BITS;
	}
	*ret_inode = inode;
	return 0;
}

int uprobed_file_identify(int program_fd, int fd, uint64_t *ret_inode)
{
	size_t size_bytes = (size_t)sysconf(_SC_PAGESIZE);
	/* Never accessed: the file may have been truncated. */
	void *mapping = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	int r;

	if (mapping == MAP_FAILED)
		return -errno;
	r = ask_all(program_fd, mapping, ret_inode);
	(void)munmap(mapping, size_bytes);
	return r;
}

/* Gets the file of a probe, and counts one more user. 0 or -errno. */
static int take(struct uprobed_files *files, const struct session_probe *probe,
		struct uprobed_file **ret_file)
{
	struct uprobed_file *file;
	__typeof__(file->key) key = { .kind = probe->kind };
	int r = probe->identify(probe->file, false, &key.inode);

	if (r < 0)
		return r;
	HASH_FIND(hh, files->files, &key, sizeof(key), file);
	if (!file) {
		/* An overlay may now have another file below. */
		r = probe->identify(probe->file, true, &key.inode);
		if (r < 0)
			return r;
		HASH_FIND(hh, files->files, &key, sizeof(key), file);
	}
	if (!file) {
		r = attach(files, probe, key.inode, &file);
		if (r < 0)
			return r;
	}
	file->user_count++;
	*ret_file = file;
	return 0;
}

static void give_back(struct uprobed_files *files, struct uprobed_file *file)
{
	if (--file->user_count)
		return;
	HASH_DEL(files->files, file);
	file_free(file);
}

static struct uprobed_user *find_user(const struct uprobed_files *files, uint64_t life)
{
	struct uprobed_user *user;

	HASH_FIND(hh, files->users, &life, sizeof(life), user);
	return user;
}

static struct uprobed_user *make_user(struct uprobed_files *files, uint64_t life)
{
	struct uprobed_user *user = find_user(files, life);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->life = life;
	HASH_ADD(hh, files->users, life, sizeof(user->life), user);
	if (user->hh.tbl)
		return user;
	free(user);
	return NULL;
}

void uprobed_files_set(struct uprobed_files *files, uint64_t life, struct session_probe *probes,
		       size_t count)
{
	struct uprobed_user *user = make_user(files, life), before;

	for (size_t i = 0; i < count; i++)
		probes[i].error = user ? -E2BIG : -ENOMEM;
	if (!user)
		return;
	/* Takes the new files before giving back the old: what stays is not detached in between. */
	before = *user;
	user->count = 0;
	for (size_t i = 0; i < count && user->count < SESSION_PROBES_MAX; i++) {
		struct uprobed_file *file = NULL;

		probes[i].error =
			files->programs[probes[i].kind] ? take(files, &probes[i], &file) : 0;
		if (file)
			user->files[user->count++] = file;
	}
	for (size_t i = 0; i < before.count; i++)
		give_back(files, before.files[i]);
}

int uprobed_files_inherit(struct uprobed_files *files, uint64_t parent, uint64_t child)
{
	const struct uprobed_user *from = find_user(files, parent);
	struct uprobed_user *to;

	if (!from || find_user(files, child))
		return 0;
	to = make_user(files, child);
	if (!to)
		return -ENOMEM;
	to->count = from->count;
	for (size_t i = 0; i < from->count; i++) {
		to->files[i] = from->files[i];
		to->files[i]->user_count++;
	}
	return 0;
}

void uprobed_files_release(struct uprobed_files *files, uint64_t life)
{
	struct uprobed_user *user = find_user(files, life);

	if (!user)
		return;
	for (size_t i = 0; i < user->count; i++)
		give_back(files, user->files[i]);
	HASH_DEL(files->users, user);
	free(user);
}

void uprobed_files_drop(struct uprobed_files *files, uint64_t life, enum session_probe_kind kind)
{
	struct uprobed_user *user = find_user(files, life);
	size_t kept = 0;

	for (size_t i = 0; user && i < user->count; i++) {
		if (user->files[i]->key.kind == kind)
			give_back(files, user->files[i]);
		else
			user->files[kept++] = user->files[i];
	}
	if (user)
		user->count = kept;
}

void uprobed_files_free(struct uprobed_files *files)
{
	struct uprobed_user *user, *next;

	if (!files)
		return;
	HASH_ITER(hh, files->users, user, next) {
		uprobed_files_release(files, user->life);
	}
	free(files);
}
