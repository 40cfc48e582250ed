/* SPDX-License-Identifier: GPL-2.0-only */
/* The inside of a session, only for the files of recorder/probe/ that implement its parts. */
#pragma once

#include "recorder/probe/session.h"

#include <bpf/libbpf.h>

#include <correlator/context_hash.h>
#include <correlator/events.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "recorder/probe/calibration.h"

/* Whether user and kernel time are split. */
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
	const struct bpf_program *iterator_program; /* borrowed */
	struct bpf_link *iterator; /* of all tasks */
	bool walks_all; /* the kernel has no iterator of one process's threads */
	struct bpf_link *sleepers; /* iterator that reads sleeping threads; NULL = impossible */
	bool has_new_sleepers; /* or the places to read have changed */
	struct ring_buffer *ring;
	session_event_fn on_event; /* of the current session_read_events() */
	void *event_context;
	uint32_t strangers_lost; /* as of the last session_has_lost_strangers() */
	enum session_split split;
	struct calibration *calibrations[_SESSION_WAY_MAX]; /* NULL = not started */
	uint64_t past_calibration_ns; /* CPU time of earlier calibrations */
	int stats_fd; /* makes the kernel time our programs; -1 = it does not */

	struct ring_buffer *stints; /* NULL = not reported */
	session_stint_fn on_stint; /* of the current session_read_stints() */
	void *stint_context;

	struct ring_buffer *stalls; /* NULL = not reported */
	session_stall_fn on_stall; /* of the current session_read_stalls() */
	void *stall_context;

	struct bpf_link **clocks; /* of the CPUs that are sampled */
	size_t clock_count;
	session_stack_fn on_stack; /* NULL = none */
	session_tip_fn on_tip; /* NULL = none */
	void *stack_context; /* of both */

	struct uprobed_files *uprobed_files;
	struct account_key *keys; /* room for one batch of the drain */
	struct account *accounts;
};

/*
 * collector.c: runs the task iterator over the threads of the observed processes, or, if that
 * costs more, over all tasks; writes up the running threads, by an interrupt on each CPU, or on
 * those alone of which the programs have noted that they run an observed thread (edge_slot.h). Not
 * logged.
 */
int collector_run_tasks(struct session *session, enum collect_phase phase);
/* Reads threads that have not run since they are observed, if there may be new ones. */
int collector_read_sleepers(struct session *session);
int collector_interrupt_cpus(struct session *session);
int collector_interrupt_observing_cpus(struct session *session);

/* epochs.c: sets the programs' two maps of windows, by parity. 0 or -errno (logged). */
int epochs_set(const struct bpf_map *both, const struct bpf_map *even, const struct bpf_map *odd);

/*
 * Hands over all entries of one of these maps, and clears them: samples, waits or system calls.
 * Leaves out those of calibrations. A negative return value of on_entry stops this, and is
 * returned. 0 or -errno (logged).
 */
typedef int (*epochs_entry_fn)(void *context, const void *key, const void *value);
int epochs_drain(const struct session *session, const struct bpf_map *map, epochs_entry_fn on_entry,
		 void *context);

/* stints.c, stalls.c: open their ring, if it is wanted. 0 or -errno (logged). */
int stints_open(struct session *session);
int stalls_open(struct session *session);

/* samples.c: opens the ring, if samples are wanted; starts the clocks; stops them. 0 or -errno
 * (logged). */
int samples_open(struct session *session);
int samples_attach(struct session *session);
void samples_close(struct session *session);
/* Passes a message of the ring of stacks to on_stack of the session (context), if complete. 0. */
int samples_forward_stack(void *context, void *data, size_t size_bytes);
/* Likewise for the ring of tips and on_tip. */
int samples_forward_tip(void *context, void *data, size_t size_bytes);

/* syscalls.c: makes the maps ready, if they are wanted. 0 or -errno (logged). */
int syscalls_open(struct session *session);
/* io.c: likewise. */
int io_open(struct session *session);

/*
 * percpu.c: distance in bytes of a per-CPU variable from the per-CPU run queue, by the kernel's
 * types. False: no variable has this name.
 */
bool percpu_locate(const struct btf *btf, const char *name, int64_t *ret_offset);
/* Likewise for x86's count that keeps a CPU from being preempted. */
bool preempt_count_locate(const struct btf *btf, int64_t *ret_offset);
/* Returns the bits of that count, on any machine, that are set in a hardware interrupt or an NMI.
 */
uint32_t preempt_count_interrupt_bits(const struct btf *btf);

/* steal_time.c. The result of the CPUID instruction. */
struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};

typedef void (*read_cpuid_fn)(uint32_t leaf, struct cpuid *ret);
/* On this processor. All 0 if it is not x86: no hypervisor has that name. */
void steal_time_read_cpuid(uint32_t leaf, struct cpuid *ret);
/* True if KVM is the hypervisor, and reports the figure: Documentation/virt/kvm/x86/cpuid.rst. */
bool steal_time_is_told(read_cpuid_fn read);
