/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mapped file, kept once for all processes that map it: its ELF image, and the notes of those
 * that searched it. Where the file is mapped in a process, and what the process's memory holds
 * there, belongs to that process and is not kept here. Single thread; does not log.
 *
 * A file is identified by device and inode, which remain its own as long as it is held, and by
 * size, mtime and ctime, so a file that was overwritten counts as another one. If the device in
 * /proc/PID/maps differs from that of stat(2) (btrfs, overlayfs), the mapping itself is queried. A
 * file that no target maps any longer is closed at once, so it does not keep a file system from
 * being unmounted. Opening and reading may block and are done by the agent
 * (recorder/target/proc/agent.h); whether a file is already known is decided here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/target/elf/elf_image.h"
#include "recorder/target/proc/memory_map.h"

enum {
	/*
	 * Shared files, one descriptor each: a set is full at this number, or at half of
	 * RLIMIT_NOFILE.
	 */
	OBJECT_FILES_MAX = 4096
};

struct object_files;
struct object_file;

/* Returns an empty set, to be freed after all its files are released. NULL: no memory. */
struct object_files *object_files_new(void);
void object_files_free(struct object_files *files);
DEFINE_CLEANUP(struct object_files *, object_files_free);
/* Number of shared files, and of files opened since the set was created. */
size_t object_files_count(const struct object_files *files);
uint64_t object_files_opened(const struct object_files *files);

/*
 * Returns the file behind a mapping of process pid: the known one, or else opens it. It is not
 * shared if files is NULL or full. 0; -ENOMEM; -ETIMEDOUT (the file does not answer, or something
 * of the process did not before); or the error of opening it (target_file.h). Release with
 * object_file_release().
 */
int object_file_get(struct object_files *files, pid_t pid, const struct memory_map_entry *entry,
		    struct object_file **ret_file);
/* Opens a file of process pid that is not mapped, by its path there; not shared. As above. */
int object_file_open_path(pid_t pid, const char *path, struct object_file **ret_file);
/* Takes a reference, to be released as well. Returns file. */
struct object_file *object_file_hold(struct object_file *file);
void object_file_release(struct object_file *file);
DEFINE_CLEANUP(struct object_file *, object_file_release);

/*
 * Both live as long as the file. The image is NULL if the file is not an ELF file that we support;
 * the descriptor is O_PATH.
 */
const struct elf_image *object_file_image(const struct object_file *file);
int object_file_fd(const struct object_file *file);
/* True if the file has stopped answering: what was not found in it may exist all the same. */
bool object_file_is_late(const struct object_file *file);
/* As stat(2) reports it. */
uint64_t object_file_inode(const struct object_file *file);
/* True if a mapping of process pid currently maps this file, by device and inode. */
bool object_file_is_mapped(const struct object_file *file, pid_t pid,
			   const struct memory_map_entry *entry);
/* As target_file_identify. */
int object_file_identify(struct object_file *file, bool is_fresh, uint64_t *ret_inode);
/* False: the next process that maps it gets another object_file. */
bool object_file_is_shared(const struct object_file *file);

/*
 * Returns the note called name (static text), kept for one user that searched the file: size_bytes,
 * zeroed at first, owned by the file. NULL: no memory, or too many notes.
 */
void *object_file_note(struct object_file *file, const char *name, size_t size_bytes);
