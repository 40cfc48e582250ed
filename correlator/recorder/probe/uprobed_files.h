/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that have uprobes, and who maps them: each file once, for all processes that map it,
 * from the first that is said to on and until none is said to any more. A file is known by the
 * inode that the kernel itself probes, so containers over one image have one probe; and a probe
 * keeps its file from being freed, so none outlives who needs it. Owned by a session; single
 * thread; does not log.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/probe/session.h"

struct correlator_bpf;
struct uprobed_files;

/* Of loaded programs, which must outlive it; one that is not loaded has no probes. 0, -ENOMEM. */
int uprobed_files_new(struct correlator_bpf *skeleton, struct uprobed_files **ret_files);
/* Detaches all. Accepts NULL. */
void uprobed_files_free(struct uprobed_files *files);
DEFINE_CLEANUP(struct uprobed_files *, uprobed_files_free);

/*
 * These, and no others, are what the process of that life has from now on; probes[].error is set, 0
 * or as session_set_probes() has it. What nobody has any more is detached.
 */
void uprobed_files_set(struct uprobed_files *files, uint64_t life, struct session_probe *probes,
		       size_t count);
/* A forked child maps what its parent does. 0 or -ENOMEM. */
int uprobed_files_inherit(struct uprobed_files *files, uint64_t parent, uint64_t child);
/* The process has none any more. */
void uprobed_files_release(struct uprobed_files *files, uint64_t life);
/* The process has none of that kind any more, until it is said to. */
void uprobed_files_drop(struct uprobed_files *files, uint64_t life, enum session_probe_kind kind);

/* As session_identify_file(). */
int uprobed_file_identify(int program_fd, int fd, uint64_t *ret_inode);

size_t uprobed_files_count(const struct uprobed_files *files);
