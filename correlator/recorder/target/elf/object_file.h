/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a mapped file, once for all processes that map it: its ELF image, and notes of
 * those that looked for something in it. Where it lies in a process, and what its memory holds
 * there, is that process's and not kept here. Single thread; does not log.
 *
 * A file is known by device and inode, which are its own as long as it is held, and by size, mtime
 * and ctime, so one that was written over is another one. Where /proc/PID/maps gives another
 * device than stat(2) does (btrfs, overlayfs), the mapping is asked. A file that no target maps any
 * more is closed at once: it does not keep a file system from being unmounted. Opening and reading
 * may wait, and are the agent's (recorder/target/proc/agent.h); that a file is a known one is found
 * here.
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
	/* Files that are shared, each a descriptor, and half of what we may have at most. */
	OBJECT_FILES_MAX = 4096
};

struct object_files;
struct object_file;

/* An empty set, to be freed after all files of it were released. NULL: no memory. */
struct object_files *object_files_new(void);
void object_files_free(struct object_files *files);
DEFINE_CLEANUP(struct object_files *, object_files_free);
/* How many there are, and how many were opened since the start. */
size_t object_files_count(const struct object_files *files);
uint64_t object_files_opened(const struct object_files *files);

/*
 * The file that a mapping of process pid is of: the one that is known, else opened. files: NULL =
 * not shared, and when there are OBJECT_FILES_MAX it is not, either. 0; -ENOMEM; -ETIMEDOUT (it
 * does not answer, or something of the process did not before); or what opening it said
 * (target_file.h). To be released.
 */
int object_file_get(struct object_files *files, pid_t pid, const struct memory_map_entry *entry,
		    struct object_file **ret_file);
/* One that the process has, by its path there, and that is not mapped: not shared. As above. */
int object_file_open_path(pid_t pid, const char *path, struct object_file **ret_file);
/* Returns file, to be released once more. */
struct object_file *object_file_hold(struct object_file *file);
void object_file_release(struct object_file *file);
DEFINE_CLEANUP(struct object_file *, object_file_release);

/* Both live as long as the file. NULL: it is not an ELF file that we know. O_PATH. */
const struct elf_image *object_file_image(const struct object_file *file);
int object_file_fd(const struct object_file *file);
/* It has stopped answering: what was not found in it may be there all the same. */
bool object_file_is_late(const struct object_file *file);
/* As stat(2) has it. */
uint64_t object_file_inode(const struct object_file *file);
/* Whether a mapping of process pid is of it as of now, by what it is known by. */
bool object_file_is_mapped(const struct object_file *file, pid_t pid,
			   const struct memory_map_entry *entry);
/* As target_file_identify. */
int object_file_identify(struct object_file *file, bool is_fresh, uint64_t *ret_inode);
/* False: the next one who maps it gets another. */
bool object_file_is_shared(const struct object_file *file);

/*
 * A note of somebody who looked into the file: size_bytes, zeroed at first, the file's. name:
 * static text, of one note. NULL: no memory.
 */
void *object_file_note(struct object_file *file, const char *name, size_t size_bytes);
