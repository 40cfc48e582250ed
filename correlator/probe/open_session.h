/* SPDX-License-Identifier: GPL-2.0-only */
/* A session from the inside, for the files of probe/ that carry out its parts; for nobody else. */
#pragma once

#include "probe/session.h"

#include <bpf/libbpf.h>

#include <correlator/context_hash.h>
#include <correlator/events.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "probe/calibration.h"

enum {
	UPROBED_FILES_MAX = 64,
	UPROBE_LINKS_MAX = 768 /* each a file descriptor */
};

struct uprobed_file {
	uint64_t device;
	uint64_t inode;
};

struct uprobe_link {
	pid_t pid; /* 0 = every process */
	uint64_t inode; /* with a pid: of its loader */
	int fd; /* of a uprobe_multi link; -1 = none */
	struct bpf_link *link; /* else; NULL = none */
};

struct session {
	struct session_options options;
	struct correlator_bpf *skeleton;
	struct bpf_link *iterator;
	struct bpf_link *sleepers; /* the iterator that reads their memory; NULL = cannot */
	bool has_new_sleepers; /* or something is new about where to read */
	struct ring_buffer *ring;
	session_event_fn on_event;
	void *event_context;
	enum session_mode mode;
	struct calibration *calibration; /* NULL = not started */
	int stats_fd; /* keeps the kernel measuring our programs; -1 = it does not */

	bool has_uprobe_multi;
	struct uprobed_file files[UPROBED_FILES_MAX];
	size_t file_count;
	struct uprobe_link links[UPROBE_LINKS_MAX];
	size_t link_count;
	struct account_key *keys; /* room for one batch of the drain */
	struct account *accounts;
};

/* collector.c: run the task iterator; write up whoever runs, by an interrupt on each CPU. Not
 * logged. */
int collector_run_tasks(struct session *session, enum collect_phase phase);
/* Looks at threads that have not run since they came to be observed, if any may be new. */
int collector_read_sleepers(struct session *session);
int collector_interrupt_cpus(struct session *session);

/*
 * steal_time.c: distance in bytes of KVM's per-CPU steal_time from the per-CPU run queue. False: no
 * KVM guest, or its host does not tell.
 */
bool steal_time_find(int64_t *ret_offset);

/*
 * uprobe.c: attach a program at each offset of the file open at fd, in one process or (pid 0) in
 * all. 0, -ENOSPC or -errno; not logged.
 */
int uprobe_attach(struct session *session, struct bpf_program *program, pid_t pid, int fd,
		  const uint64_t *offsets, size_t count);
bool uprobe_multi_is_supported(void);
/* Those of one process, or (pid 0) those that are for all. */
void uprobe_detach(struct session *session, pid_t pid);
void uprobe_detach_all(struct session *session);
