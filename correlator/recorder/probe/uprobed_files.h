/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that have uprobes, and the processes that map them. Each file is probed once for all
 * processes that map it, from the first to the last of them. It is identified by the inode that the
 * kernel itself probes, so containers over one image share a probe. A probe keeps its file from
 * being freed, so it never outlives the processes that need it. Owned by a session; single thread;
 * does not log.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/probe/session.h"

struct correlator_bpf;
struct uprobed_files;

/*
 * For loaded programs, which must outlive *ret_files; a program that is not loaded has no probes.
 * 0, -ENOMEM.
 */
int uprobed_files_new(struct correlator_bpf *skeleton, struct uprobed_files **ret_files);
/* Detaches all. Accepts NULL. */
void uprobed_files_free(struct uprobed_files *files);
DEFINE_CLEANUP(struct uprobed_files *, uprobed_files_free);

/*
 * Sets these probes, and no others, for the process `life`; sets probes[].error, to 0 or as
 * session_set_probes(). Detaches files that no process has any more.
 */
void uprobed_files_set(struct uprobed_files *files, uint64_t life, struct session_probe *probes,
		       size_t count);
/* Gives a forked child the files of its parent. 0 or -ENOMEM. */
int uprobed_files_inherit(struct uprobed_files *files, uint64_t parent, uint64_t child);
/* Removes all files of the process. */
void uprobed_files_release(struct uprobed_files *files, uint64_t life);
/* Removes the process's files of that kind, until uprobed_files_set() sets them again. */
void uprobed_files_drop(struct uprobed_files *files, uint64_t life, enum session_probe_kind kind);

/* As session_identify_file(). */
int uprobed_file_identify(int program_fd, int fd, uint64_t *ret_inode);

size_t uprobed_files_count(const struct uprobed_files *files);
