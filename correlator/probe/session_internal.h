/* What the files of probe/ share of a session; nobody else includes this. */
#pragma once

#include "probe/session.h"

#include <bpf/libbpf.h>

#include <correlator/context_hash.h>
#include <correlator/events.h>

#include "correlator.skel.h"

enum {
	UPROBED_FILES_MAX = 64,
	UPROBE_LINKS_MAX = 256
};

struct uprobed_file {
	uint64_t device;
	uint64_t inode;
};

struct session {
	struct session_options options;
	struct correlator_bpf *skeleton;
	struct bpf_link *iterator;
	struct ring_buffer *ring;
	session_event_fn on_event;
	void *event_context;
	enum session_mode mode;
	int stats_fd; /* keeps the kernel measuring our programs; -1 = it does not */

	bool has_uprobe_multi;
	struct uprobed_file files[UPROBED_FILES_MAX];
	size_t file_count;
	int link_fds[UPROBE_LINKS_MAX]; /* of uprobe_multi links */
	struct bpf_link *links[UPROBE_LINKS_MAX];
	size_t link_fd_count;
	size_t link_count;
	struct account_key *keys; /* room for one batch of the drain */
	struct account *accounts;
};

/* collector.c: run the task iterator; write up whoever runs, by an interrupt on each CPU. Not
 * logged. */
int collector_run_tasks(struct session *session, enum collect_phase phase);
int collector_interrupt_cpus(struct session *session);

/*
 * steal_time.c: distance in bytes of KVM's per-CPU steal_time from the per-CPU run queue. False: no
 * KVM guest, or its host does not tell.
 */
bool steal_time_find(int64_t *ret_offset);

/* uprobe.c: one link for all offsets. Not logged. */
int uprobe_attach_multi(struct session *session, int fd, const uint64_t *offsets, size_t count);
int uprobe_attach_each(struct session *session, int fd, const uint64_t *offsets, size_t count);
bool uprobe_multi_is_supported(void);
void uprobe_detach_all(struct session *session);
