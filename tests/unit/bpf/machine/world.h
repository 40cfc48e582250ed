/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What truly happens: a few threads on two CPUs, the kernel's figures of them, the tables that
 * their thread-locals point to, and the userspace that observes them. The programs see it through
 * the machine (machine.h), the model as it is (model.h). Time stands still but between events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "story.h"

enum {
	CPUS = 2,
	THREADS = 6,
	PROCESSES = 3,
	STRANGER = 3, /* a thread at the start, */
	STRANGERS_PROCESS = 1, /* of this one */
	TGIDS = 1024, /* more than there will be */
	TABLES = 6, /* numbered from 1 on; 0 = no context */
	VALUES = 5,
	NOBODY = THREADS, /* on a CPU: a task that is not observed */
	NOTED_MAX = 4, /* switches while somebody holds the books */
	IMAGES_MAX = STORY_STEPS_MAX + 8,
};

enum task_state {
	STATE_RUNNING = 0,
	STATE_SLEEPING = 0x1,
	STATE_DISK = 0x2,
	STATE_DEAD = 0x80,
	STATE_IDLE = 0x402, /* uninterruptible, and no load */
};

/* What a thread calls the kernel for. */
enum call {
	CALL_CLONE = 0, /* what a new one comes from */
	CALL_READ_SOCKET,
	CALL_READ_PIPE,
	CALL_READ_FILE,
	CALL_READ_TERMINAL,
	CALL_READ_NOTHING, /* a file descriptor that is not open */
	CALL_CONNECT,
	CALL_POLL,
	CALL_FUTEX,
	CALL_NANOSLEEP,
	CALL_WAIT,
	CALL_FSYNC,
	CALL_MUNMAP,
	CALL_FLOCK,
	CALL_32_BIT, /* as numbered on another machine */
	CALL_UNHEARD_OF, /* of a later kernel */
	CALL_EXEC, /* in which it may get another program */
	_CALL_MAX,
};

struct thread {
	bool is_living;
	bool is_observed; /* else its process is a stranger, or was when the thread left */
	uint32_t process;
	uint32_t started; /* the serial of its process's first thread */
	uint32_t serial; /* of this life */
	uint32_t tid;
	uint32_t cpu; /* CPUS = none */
	uint32_t state; /* enum task_state */
	bool is_queued; /* waits for a CPU, */
	uint64_t queued_ns; /* since then */
	uint64_t exec_ns; /* up to exec_start_ns, if it runs */
	uint64_t exec_start_ns; /* by its CPU's task clock */
	uint32_t arrived_cpu;
	uint64_t arrived_ns; /* there, */
	uint64_t waited_from_ns; /* for which it had waited since then */
	uint64_t stolen_at_arrival_ns; /* from its CPU by then */
	uint64_t run_delay_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	bool is_in_call;
	enum call call;
	bool is_leaving; /* has passed its exit */
	bool has_no_memory; /* any more */
	bool is_in_exec; /* has told that it is about to run another program, */
	bool has_new_memory; /* and has that one's already */
	uint32_t image; /* how often that was */
	uint32_t table; /* that its thread-local points to, */
	uint64_t changes; /* and how often that was stored */
	bool is_storing; /* between a probe and its store, */
	uint32_t next_table; /* of this */
	bool is_hidden; /* its thread-local cannot be read */
	/* What its gem counts, which may say anything. */
	bool has_counters;
	bool counts_gvl, times_gc;
	uint64_t ready_ns; /* it waits since then; 0: it does not */
	uint64_t wait_ns;
	uint64_t waits;
	uint64_t gc_time, gc_runs;
	bool is_held; /* somebody has its books */
	uint32_t noted; /* its switches since then */
	bool is_unseen; /* its last switch was not reported, and no boundary came since */
	bool has_called; /* since it got its CPU */
	/* Its edges of the short way are on this CPU still: somebody held its books when it left.
	 */
	uint32_t edges_cpu; /* CPUS = none */
};

enum process_standing {
	PROCESS_NONE,
	PROCESS_STRANGER, /* lives, and is not observed yet */
	PROCESS_OBSERVED,
};

struct process {
	enum process_standing standing;
	uint32_t tgid; /* one that has gone may have had it */
	uint64_t life; /* the programs' number of it, */
	uint64_t image; /* and of what it runs */
	bool is_half_found; /* its threads are known, but not all of their books have begun */
	bool is_gone; /* since before the last drained window ended */
	bool is_ready; /* where its contexts are is known */
	bool is_lean;
	uint32_t generation;
	uint32_t reading;
};

struct cpu {
	uint32_t thread;
	uint64_t clock_ns; /* of the run queue: when its figures were last brought up to date */
	uint64_t stolen_ns; /* since boot; told at once */
};

struct world {
	uint64_t now_ns;
	struct thread threads[THREADS + 1]; /* and nobody */
	struct process processes[PROCESSES];
	struct cpu cpus[CPUS];
	uint32_t values[TABLES + 1]; /* of each table: the context that it is */
	uint32_t generation;
	uint32_t last_serial;
	uint32_t free_tgid; /* of a process whose threads all leave, or have; 0 = none */
	uint64_t last_life; /* the last number of a life or an image */
	bool has_been_lean; /* one of the processes */
	uint32_t window; /* the one that is open */
	bool is_ending; /* the one before is not drained yet */
	bool is_stopped; /* the programs; only the flush still works */
	bool is_full; /* there is no room for another account */
	struct story_mode mode;
	bool sees_edges; /* of system calls */
	bool seeks_mode; /* the edges came back: with the next flush each thread's is looked for */
	/* The CPU time of each context of each image, and all theft. */
	uint64_t ran_ns[IMAGES_MAX][VALUES + 1];
	bool was_unknown[IMAGES_MAX]; /* an image, at first */
	uint64_t stolen_ns;
};

/* What an event comes to. */
struct happening {
	enum step_kind kind;
	uint32_t cpu;
	uint32_t thread; /* whose it is; of a switch, who leaves */
	uint32_t next; /* of a switch, who arrives; else who was made */
	uint32_t process;
	bool is_preempted;
	bool is_reported; /* the switch */
	bool is_last; /* of the thread */
	bool is_first; /* of the steps of finding a process */
};

void world_begin(struct world *world);
/* Adds a process that is not observed. */
void world_begin_strangers(struct world *world);
/* False: it cannot happen. Else all is as the programs that it starts will see it. */
bool world_meet(struct world *world, const struct step *step, struct happening *ret);
/* What the kernel does once the programs have run. */
void world_go_on(struct world *world, const struct happening *happening);

/* The first living thread of the process, or the next one behind `after`; NULL: there is none. */
const struct thread *world_next_thread(const struct world *world, uint32_t process,
				       const struct thread *after);
/* What it has run up to now. */
uint64_t world_exec_ns(const struct world *world, const struct thread *thread);
