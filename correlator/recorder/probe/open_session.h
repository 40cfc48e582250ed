/* SPDX-License-Identifier: GPL-2.0-only */
/* A session from the inside, for the files of recorder/probe/ that carry out its parts; for nobody
 * else. */
#pragma once

#include "recorder/probe/session.h"

#include <bpf/libbpf.h>

#include <correlator/context_hash.h>
#include <correlator/events.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "recorder/probe/calibration.h"

/* Whether user and kernel time are told apart. */
enum session_split {
	SESSION_SPLIT_OFF = 0,
	SESSION_SPLIT_COMING = 1, /* from the end of this window on */
	SESSION_SPLIT_ON = 2,
};

struct btf;
struct uprobed_files;

struct session {
	struct session_options options;
	struct correlator_bpf *skeleton;
	struct bpf_link *iterator;
	struct bpf_link *sleepers; /* the iterator that reads their memory; NULL = cannot */
	bool has_new_sleepers; /* or something is new about where to read */
	struct ring_buffer *ring;
	session_event_fn on_event; /* of the reading that is going on */
	void *event_context;
	uint32_t strangers_lost; /* by the last session_has_lost_strangers() */
	enum session_split split;
	struct calibration *calibrations[_SESSION_WAY_MAX]; /* NULL = not started */
	uint64_t past_calibration_ns; /* CPU of those before them */
	int stats_fd; /* keeps the kernel measuring our programs; -1 = it does not */

	struct ring_buffer *slices; /* NULL = they are not told */
	session_slice_fn on_slice; /* of the reading that is going on */
	void *slice_context;

	struct bpf_link **clocks; /* of the CPUs that are sampled */
	size_t clock_count;
	session_stack_fn on_stack; /* NULL = nobody */
	session_tip_fn on_tip; /* NULL = nobody */
	void *stack_context; /* of both */

	struct uprobed_files *uprobed_files;
	struct account_key *keys; /* room for one batch of the drain */
	struct account *accounts;
};

/* collector.c: run the task iterator; write up whoever runs, by an interrupt on each CPU. Not
 * logged. */
int collector_run_tasks(struct session *session, enum collect_phase phase);
/* Looks at threads that have not run since they came to be observed, if any may be new. */
int collector_read_sleepers(struct session *session);
int collector_interrupt_cpus(struct session *session);

/* epochs.c: tells the programs of the two maps of windows, by their parity. 0 or -errno (logged).
 */
int epochs_set(const struct bpf_map *both, const struct bpf_map *even, const struct bpf_map *odd);

/*
 * Hands over, and forgets, what one of them has, but for what calibrations have made: samples,
 * waits or system calls. A return value below 0 of on_entry ends it, and is returned. 0 or -errno
 * (logged).
 */
typedef int (*epochs_entry_fn)(void *context, const void *key, const void *value);
int epochs_drain(const struct session *session, const struct bpf_map *map, epochs_entry_fn on_entry,
		 void *context);

/* slices.c: opens the ring, if it is wanted. 0 or -errno (logged). */
int slices_open(struct session *session);

/* samples.c: opens the ring, if samples are wanted; starts the clocks; stops them. 0 or -errno
 * (logged). */
int samples_open(struct session *session);
int samples_attach(struct session *session);
void samples_close(struct session *session);
/* What the ring of stacks has goes to the session (context)'s on_stack, if it is whole. 0. */
int samples_forward_stack(void *context, void *data, size_t size_bytes);
/* The same of the ring of tips and on_tip. */
int samples_forward_tip(void *context, void *data, size_t size_bytes);

/* syscalls.c: makes the maps ready, if they are wanted. 0 or -errno (logged). */
int syscalls_open(struct session *session);

/*
 * percpu.c: distance in bytes of a per-CPU variable from the per-CPU run queue, by the kernel's
 * types. False: there is none of that name.
 */
bool percpu_locate(const struct btf *btf, const char *name, int64_t *ret_offset);
/* The same of x86's count of what keeps a CPU from being preempted. */
bool preempt_count_locate(const struct btf *btf, int64_t *ret_offset);

/* steal_time.c. What the processor says of itself. */
struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};

typedef void (*read_cpuid_fn)(uint32_t leaf, struct cpuid *ret);
/* Of this one. All is 0 where it is none of x86: no hypervisor has that name. */
void steal_time_read_cpuid(uint32_t leaf, struct cpuid *ret);
/* KVM is the hypervisor, and keeps the figure: Documentation/virt/kvm/x86/cpuid.rst. */
bool steal_time_is_told(read_cpuid_fn read);
