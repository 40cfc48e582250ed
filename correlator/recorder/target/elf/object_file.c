/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/object_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "base/hash_table.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/target_file.h"

enum {
	NOTES_MAX = 5, /* users: Ruby, two kinds of publishers, names of native code */
	DEVICES_MAX = 64,
};

struct file_note {
	const char *name;
	void *bytes; /* owned */
};

struct object_file {
	struct object_files *files; /* the set it is shared in; NULL = not shared */
	struct target_file_key key;
	struct target_file *mapped; /* owned */
	struct elf_image *image; /* NULL = not an ELF file */
	unsigned int holders;
	struct file_note notes[NOTES_MAX];
	UT_hash_handle hh;
};

struct object_files {
	struct object_file *list; /* uthash, by key */
	size_t count_max;
	uint64_t opened;
	/* Devices in maps for which stat(2) reports another one; the oldest entry is dropped. */
	uint64_t devices[DEVICES_MAX];
	size_t device_count;
};

struct object_files *object_files_new(void)
{
	struct object_files *files = calloc(1, sizeof(*files));
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	if (!files)
		return NULL;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	files->count_max = limit.rlim_cur / 2;
	if (files->count_max > OBJECT_FILES_MAX)
		files->count_max = OBJECT_FILES_MAX;
	return files;
}

void object_files_free(struct object_files *files)
{
	free(files);
}

size_t object_files_count(const struct object_files *files)
{
	return HASH_COUNT(files->list);
}

uint64_t object_files_opened(const struct object_files *files)
{
	return files->opened;
}

static struct object_file *find(const struct object_files *files, struct target_file_key key)
{
	struct object_file *file;

	HASH_FIND(hh, files->list, &key, sizeof(key), file);
	return file;
}

/* Present holders keep the file; nobody else gets it. */
static void stop_sharing(struct object_file *file)
{
	if (!file->files)
		return;
	HASH_DEL(file->files->list, file);
	file->files = NULL;
}

/* Takes a reference to a known file. NULL: the file was overwritten since it was searched. */
static struct object_file *confirm(struct object_file *file)
{
	if (target_file_has_changed(file->mapped)) {
		stop_sharing(file);
		return NULL;
	}
	return object_file_hold(file);
}

static uint64_t device_of(const struct memory_map_entry *entry)
{
	return makedev(entry->device_major, entry->device_minor);
}

static bool has_others(const struct object_files *files, uint64_t device)
{
	for (size_t i = 0; i < DEVICES_MAX && i < files->device_count; i++)
		if (files->devices[i] == device)
			return true;
	return false;
}

static struct object_file *find_known(const struct object_files *files, pid_t pid,
				      const struct memory_map_entry *entry)
{
	struct target_file_key key = { device_of(entry), entry->inode };
	struct object_file *file = has_others(files, key.device) ? NULL : find(files, key);

	/* The file is held, so no other file has its inode. */
	if (file)
		return confirm(file);
	if (!has_others(files, key.device) || target_file_find_key(pid, entry, &key) < 0)
		return NULL;
	file = find(files, key);
	return file ? confirm(file) : NULL;
}

static void share(struct object_files *files, struct object_file *file)
{
	files->opened++;
	if (HASH_COUNT(files->list) >= files->count_max || find(files, file->key))
		return;
	HASH_ADD(hh, files->list, key, sizeof(file->key), file);
	if (file->hh.tbl)
		file->files = files;
}

static int read_mapped(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	return target_file_read(source, offset, buffer, size_bytes);
}

/* Opens the file of the mapping entry; if entry is NULL, the one at path. */
static int open_file(pid_t pid, const struct memory_map_entry *entry, const char *path,
		     struct object_file **ret_file)
{
	_cleanup_(object_file_releasep) struct object_file *file = calloc(1, sizeof(*file));
	struct elf_reader reader = { .read = read_mapped };
	int r;

	if (!file)
		return -ENOMEM;
	file->holders = 1;
	r = entry ? target_file_open(pid, entry, &file->mapped)
		  : target_file_open_path(pid, path, &file->mapped);
	if (r < 0)
		return r;
	file->key = target_file_key(file->mapped);
	reader.source = file->mapped;
	reader.size_bytes = target_file_size_bytes(file->mapped);
	r = elf_image_open(&reader, &file->image);
	/* Any other failure: it is not an ELF file that we support. */
	if (r == -ETIMEDOUT || r == -ENOMEM)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

/*
 * Returns the known file with the key of the one just opened, else the latter: the key was not
 * available before.
 */
static struct object_file *prefer_known(struct object_files *files,
					const struct memory_map_entry *entry,
					struct object_file *file)
{
	struct object_file *known = NULL;

	if (file->key.device != device_of(entry) && !has_others(files, device_of(entry))) {
		files->devices[files->device_count++ % DEVICES_MAX] = device_of(entry);
		known = find(files, file->key);
	}
	known = known ? confirm(known) : NULL;
	if (!known)
		return file;
	object_file_release(file);
	return known;
}

int object_file_get(struct object_files *files, pid_t pid, const struct memory_map_entry *entry,
		    struct object_file **ret_file)
{
	struct object_file *file;
	int r;

	if (agent_has_given_up(pid))
		return -ETIMEDOUT;
	file = files ? find_known(files, pid, entry) : NULL;
	r = file ? 0 : open_file(pid, entry, NULL, &file);
	if (r < 0)
		return r;
	if (files && !file->files)
		file = prefer_known(files, entry, file);
	if (target_file_is_late(file->mapped)) {
		object_file_release(file);
		return -ETIMEDOUT;
	}
	target_file_ask_for(file->mapped, pid);
	if (files && !file->files)
		share(files, file);
	*ret_file = file;
	return 0;
}

int object_file_open_path(pid_t pid, const char *path, struct object_file **ret_file)
{
	return agent_has_given_up(pid) ? -ETIMEDOUT : open_file(pid, NULL, path, ret_file);
}

struct object_file *object_file_hold(struct object_file *file)
{
	file->holders++;
	return file;
}

void object_file_release(struct object_file *file)
{
	if (!file || --file->holders > 0)
		return;
	stop_sharing(file);
	for (size_t i = 0; i < NOTES_MAX; i++)
		free(file->notes[i].bytes);
	elf_image_free(file->image);
	target_file_close(file->mapped);
	free(file);
}

const struct elf_image *object_file_image(const struct object_file *file)
{
	return file->image;
}

int object_file_fd(const struct object_file *file)
{
	return target_file_fd(file->mapped);
}

bool object_file_is_late(const struct object_file *file)
{
	return target_file_is_late(file->mapped);
}

uint64_t object_file_inode(const struct object_file *file)
{
	return file->key.inode;
}

bool object_file_is_mapped(const struct object_file *file, pid_t pid,
			   const struct memory_map_entry *entry)
{
	struct target_file_key key;

	return target_file_find_key(pid, entry, &key) == 0 && key.device == file->key.device &&
	       key.inode == file->key.inode;
}

int object_file_identify(struct object_file *file, bool is_fresh, uint64_t *ret_inode)
{
	return target_file_identify(file->mapped, is_fresh, ret_inode);
}

bool object_file_is_shared(const struct object_file *file)
{
	return file->files != NULL;
}

void *object_file_note(struct object_file *file, const char *name, size_t size_bytes)
{
	for (size_t i = 0; i < NOTES_MAX; i++) {
		struct file_note *note = &file->notes[i];

		if (note->bytes && strcmp(note->name, name) == 0)
			return note->bytes;
		if (note->bytes)
			continue;
		note->bytes = calloc(1, size_bytes);
		note->name = name;
		return note->bytes;
	}
	return NULL;
}
