/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of the kernel programs: every map, the state of a thread, what userspace sets and reads,
 * and the counters of what is missed. README.md lists who writes what, and explains the numbers
 * that mark something as stale (generation, epoch, registrations, serial, life) and the transitions
 * of `knowledge`.
 */
#pragma once

#include "kernel_compat.bpf.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <correlator/account.h>
#include <correlator/clock_offset.h>
#include <correlator/config.h>
#include <correlator/context_hash.h>
#include <correlator/counters.h>
#include <correlator/digest_budget.h>
#include <correlator/edge_slot.h>
#include <correlator/events.h>
#include <correlator/gc_time.h>
#include <correlator/gem_abi.h>
#include <correlator/gvl_wait.h>
#include <correlator/io_counts.h>
#include <correlator/kernel_books.h>
#include <correlator/known_context.h>
#include <correlator/life.h>
#include <correlator/limits.h>
#include <correlator/missed_calls.h>
#include <correlator/missed_switches.h>
#include <correlator/origin.h>
#include <correlator/otel_record.h>
#include <correlator/ruby_stack_layout.h>
#include <correlator/seen_keys.h>
#include <correlator/share.h>
#include <correlator/snapshot.h>
#include <correlator/stacks.h>
#include <correlator/stall.h>
#include <correlator/state_abi.h>
#include <correlator/syscall_counts.h>
#include <correlator/timeline.h>

/* Not an address: the first pointer that is read was there before the thread was seen. */
#define INHERITED_FIRST_READ (~0ULL)

enum context_knowledge {
	CONTEXT_UNKNOWN = 0, /* nothing was read since the last change of context */
	CONTEXT_KNOWN = 1, /* in force until a probe or a reading says otherwise */
	/* Read, but a store may have followed: valid for the time off the CPU only. */
	CONTEXT_KNOWN_TILL_IT_RUNS = 2,
};

/* An account that the thread was charged to. */
struct charged_account {
	__u64 context_hash;
	__u32 epoch;
};

enum {
	CHARGED_KEPT = 4 /* a power of two */
};

struct thread_state {
	struct thread_clock clock;
	struct account_totals pending; /* of context_hash, since it was last charged */
	__u64 sure_ns; /* part of its CPU time known to be of context_hash */
	__u64 pending_first_ns; /* 0 = nothing is pending */
	__u64 tls_address;
	/* The state that the last probe announced, and its serial (gem_abi.h); 0 = not known. */
	__u64 next_pointer;
	__u64 next_serial;
	__u64 state_serial; /* of state_pointer's state; 0 = not known, or not all of it was read */
	__u64 pointer_read; /* set by context_read_pointer() */
	__u64 changes_read; /* our gem's count of changes, read with it; 0 = not counted */
	__u64 changes; /* the count at the reading before */
	__u64 state_pointer; /* pointer_read when context_hash was found */
	/* A pointer not set by this thread under its name; INHERITED_FIRST_READ: the next one
	 * read. */
	__u64 inherited_pointer;
	__u64 context_hash;
	__u64 table_digest; /* lean: digest of the table that context_hash was found in */
	__u64 confirmed_ns; /* when the pointer was last read */
	__u64 compared_ns; /* lean: when its table was last compared in full */
	__u64 exec_published_ns;
	__u64 asked_ns; /* when it last asked userspace to look at the process */
	__u64 serial;
	__u64 life; /* of its process */
	__u64 image; /* of the program that it runs */
	__u32 tls_resolution;
	__u32 tls_epoch; /* window of the last attempt to resolve it */
	__u32 knowledge; /* enum context_knowledge, of context_hash */
	__u32 is_change_open; /* a probe was passed, its store may still be ahead */
	__u32 generation; /* up to this one its configuration is known to be in force */
	__u32 epoch; /* the window that it charges to */
	__u32 tid;
	__u32 tgid;
	__u32 ns_tid; /* in its own pid namespace */
	__u32 is_busy; /* held by a program that is writing up the books */
	__u32 is_ready; /* observed: programs write up its boundaries */
	__u32 is_begun; /* its books have begun */
	__u32 found_in_pass; /* registration pass that found it; 0 = new thread */
	__u32 has_missed_probe; /* passed while the books were held; applied at the next boundary */
	__u32 has_missed_rename;
	__u32 has_missed_exec;
	__u32 is_exiting;
	__u32 has_passed_probe; /* the thread itself has set its context since it was first seen */
	__u32 is_inherited; /* context_hash was found before it had set one itself */
	__u32 is_otel_inherited; /* as is_inherited, for OpenTelemetry's part */
	__u32 reads_changes; /* read the count of changes, too: no probe reports them */
	__u32 is_unread; /* a value of the context faulted; read it again */
	__u32 is_recalled; /* context_hash is from known_contexts: snapshot is another context's */
	__u32 wants_snapshot; /* is_recalled: the next boundary that can must read it */
	__u32 secured_epoch; /* is_recalled: the last window in which it had an account */
	__u32 reading; /* number of the configuration and program; known_contexts are of one */
	__u32 is_at_switch; /* at a switch: reads are under the run queue's lock */
	__u32 is_put_off; /* a long value was left to a later boundary: context unknown */
	__u32 leaving_for; /* scratch space: off_reason of a switch-out */
	__u32 armed_cpu; /* 1 + CPU whose edge_slot has time of this thread; 0 = none */
	struct missed_switches missed; /* while the books were held */
	struct missed_calls missed_calls; /* noted while the books were held */
	/* Scratch space to read a table and to build a snapshot: too large for the stack, and
	 * not per CPU because these programs can be preempted. */
	struct state_header header; /* read together with the pairs behind it */
	struct state_pair pairs[STATE_CAPACITY_MAX];
	struct value_chunk chunk; /* of a long text */
	struct account fresh; /* template of a new one; its sums are always 0 */
	struct context_snapshot snapshot;
	__u64 snapshot_hash; /* of snapshot; together they form an origin (origin.h) */
	struct process_config config; /* as the thread last took it */
	struct charged_account charged[CHARGED_KEPT]; /* the last ones, a ring */
	struct known_context known_contexts[KNOWN_CONTEXTS];
	__u32 charged_last;
	__u64 opened_hash; /* context of the last account that was opened */
	__u32 opened_epoch; /* window of that account */
	__u32 noted_epoch; /* window in which late values were last seen in `contexts` */
	__u64 noted_hash; /* context of those late values */
	__u64 noted_late_hash; /* late_hash of those late values */
	__u32 is_worker; /* a kernel worker in the process: never in a context */
	__u32 is_pointer_old; /* the saved thread pointer is the previous program's */
	__u32 is_leaving; /* counted in leaving_threads */
	__u64 origin_hash; /* of its process's origin; 0 = none */
	__u32 is_of_origin; /* context_hash is origin_hash */
	__u64 memory; /* mm of its program; the task's differs during an exec */
	__u64 next_memory; /* mm of the program that its last exec began */
	struct thread_timeline timeline; /* with session.has_timeline */
	struct gvl_wait gvl;
	struct gc_time gc;
	__u64 counters_address; /* of the gem's counters of the thread */
	struct gem_thread counters; /* as last read */
	__u32 counters_asked; /* 1 + window in which they were last found not to be kept */
	struct syscall_counts syscalls; /* of what is pending; with session.has_syscalls */
	struct wait_places waited; /* of what is pending; with session.has_wait_stacks */
	struct stall_watch stall; /* this and the next with session.stall_least_ns */
	struct hog_watch hog;
	struct io_counts io; /* of what is pending; with session.has_io */
};

_Static_assert(__builtin_offsetof(struct thread_state, pairs) ==
		       __builtin_offsetof(struct thread_state, header) +
			       sizeof(struct state_header),
	       "read in one piece");

_Static_assert(__builtin_offsetof(struct thread_state, snapshot_hash) ==
		       __builtin_offsetof(struct thread_state, snapshot) +
			       __builtin_offsetof(struct origin, hash),
	       "put into `origins` in one piece");

_Static_assert(__builtin_offsetof(struct thread_state, clock) ==
			       __builtin_offsetof(struct thread_front, clock) &&
		       __builtin_offsetof(struct thread_state, pending) ==
			       __builtin_offsetof(struct thread_front, pending),
	       "userspace knows the front");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* Maps a pid to its process, for tasks that have no thread_state yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct process_life);
} lives SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u64);
	__type(value, struct process_config);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u64);
	__type(value, struct process_books);
} books SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXTS_MAX);
	__type(key, __u64);
	__type(value, struct context_snapshot);
} contexts SEC(".maps");

/*
 * Defines the maps NAME_a and NAME_b, one for each parity of the window, and NAME, the array in
 * which the programs find them. The template for the array's maps is created for the verifier and
 * removed: it has one entry, since the kernel preallocates maps and compares everything but
 * max_entries (bpf_map_meta_equal(), kernel/bpf/map_in_map.c, v5.15).
 */
#define EPOCHS(NAME, KEY, VALUE, ENTRIES)                        \
	struct NAME##_epoch {                                    \
		__uint(type, BPF_MAP_TYPE_HASH);                 \
		__uint(max_entries, ENTRIES);                    \
		__type(key, KEY);                                \
		__type(value, VALUE);                            \
	};                                                       \
	struct NAME##_epoch NAME##_a SEC(".maps");               \
	struct NAME##_epoch NAME##_b SEC(".maps");               \
	struct {                                                 \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);        \
		__uint(max_entries, 2);                          \
		__type(key, __u32);                              \
		__array(                                         \
			values, struct {                         \
				__uint(type, BPF_MAP_TYPE_HASH); \
				__uint(max_entries, 1);          \
				__type(key, KEY);                \
				__type(value, VALUE);            \
			});                                      \
	} NAME SEC(".maps")

/*
 * Each thread moves to the next map when it is written up, so its charges and its exec runtime are
 * cut at the same instant.
 */
EPOCHS(accounts, struct account_key, struct account, ACCOUNTS_MAX);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_RING_BYTES);
} events SEC(".maps");

/* Created only with session.has_timeline. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SLICE_RING_BYTES);
} stints SEC(".maps");

/* The offset of our clock from this CPU's run queue clock. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock_offset);
} clock_offsets SEC(".maps");

/* The fast path of system call edges (edges.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct edge_slot);
} edge_slots SEC(".maps");

/* OpenTelemetry's part of a process's configuration; that of a thread's state follows below. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u64);
	__type(value, struct otel_config);
} otel_processes SEC(".maps");

/* Where each process keeps its Ruby frames; created only with session.has_stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u64);
	__type(value, struct ruby_stack_layout);
} stack_layouts SEC(".maps");

/* The context that each process was started in; created only with session.has_children. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u64);
	__type(value, struct origin);
} origins SEC(".maps");

struct otel_thread {
	struct otel_config config; /* as of reading */
	__u64 tls_address;
	__u64 digest; /* of the record behind hash; 0 = none */
	__u64 inherited_digest; /* of a record not set by this thread under its name; 0 = none */
	__u64 hash; /* of the wanted values in force, or a reserved one (snapshot.h) */
	__u32 tls_resolution;
	__u32 reading; /* process_config.reading that config came with */
	__u32 is_registered;
	__u32 is_known; /* hash was read, or is implied because the thread is new */
	__u32 is_first_inherited; /* the first record that is read counts as inherited */
	__u32 has_asked; /* userspace was told of an unknown index since the last configuration */
	__u32 record_bytes;
	__u16 offsets[OTEL_OFFSET_SLOTS]; /* otel_record_walk() */
	union {
		struct {
			struct otel_record_header header;
			__u8 attributes[OTEL_ATTRIBUTES_ROOM];
		};
		__u64 words[(sizeof(struct otel_record_header) + OTEL_ATTRIBUTES_ROOM + 4) / 8];
	};
	struct value_chunk chunk; /* of a long text */
	struct value_snapshot values[KEYS_MAX]; /* those of other keys are absent */
};

/* Created by otel_register() only, freed with the task. Threads of other processes have none. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct otel_thread);
} otel_threads SEC(".maps");

/* Each family's share of `processes` and `books`, of `contexts`, and of each epoch of accounts. */
struct share_table processes_share;
struct share_table contexts_share;
struct share_table accounts_share[2];

/* By family: when all long values that were read at switches are paid for (digest_budget.h). */
__u64 digests_paid_ns[SHARE_SLOTS];

const volatile struct session_config session;
const volatile struct context_hash_key hash_key;

/*
 * Userspace raises it after it has changed a process_config, to that one's generation: a thread
 * that sees it raised compares the generation of its own process before it drops anything.
 */
volatile __u32 generation;
/* Set by userspace at the end, which then raises `registrations`: from then on only the collector
 * and on_exit() do any work. */
volatile __u32 is_stopped;
volatile __u32 collect_phase;
volatile __u64 collect_life; /* life that the interrupts are for; 0 = all */
/*
 * Whether a walk of one process's threads was whole: the last one that it visited was the last one
 * of all. If a thread exits while it is visited, the kernel does not find the next one
 * (task_group_seq_get_next(), kernel/bpf/task_iter.c, v6.1 to v6.18). Set by userspace before.
 */
volatile __u32 walk_is_whole;
/* 1 in the flush after which the user/kernel split restarts: it determines the mode of each
 * thread. */
volatile __u32 seeks_mode;
/* Raised by userspace before each walk of the tasks that registers threads. */
volatile __u32 registration_pass;
/* The window that threads charge to; raised by userspace to end one. */
volatile __u32 current_epoch;
/* The first window that is not drained yet; set by userspace. Late threads charge to it. */
volatile __u32 open_epoch;
/* Threads that the collector met but could not write up yet, or whose books have not begun yet. */
__u32 stragglers;
/*
 * Threads between their exit and their last switch. They may already have been reaped, so that the
 * collector does not visit them: while there are any, it waits for running programs before it
 * drains what one of them may be charging to.
 */
__u32 leaving_threads;
__u64 last_serial;
__u64 last_life; /* also of images (life.h); userspace draws from it, too */
/* The first pairs of the next table that is read while seen_keys_life is 0 (seen_keys.h). */
__u64 seen_keys_life;
__u64 seen_keys_capacity;
__u64 seen_keys_pairs[2 * SEEN_KEYS_MAX];
/*
 * Raised after each registration of a thread, and when everything stops. Each system call and
 * switch of the machine reads it: in a section of its own, and so in a page of its own, which
 * nothing else is written to.
 */
volatile __u32 registrations SEC(".data.registrations") = 0;
/* The last clock_offset of any CPU, for CPUs that have none. Each CPU with observed threads writes
 * it every millisecond: not beside what all of them read. */
__u64 any_clock_offset_ns SEC(".data.clock_offset") = 0;
__u32 is_any_clock_offset_seen SEC(".data.clock_offset") = 0;

/*
 * No probe reports this thread's changes of context. So each boundary reads its context, and an
 * interval in which it changed, or may have changed, is ambiguous.
 */
static __always_inline bool thread_is_lean(const struct thread_state *thread)
{
	return session.is_lean || (thread->config.flags & PROCESS_IS_LEAN);
}

static __always_inline void count_losses(__u64 life, enum counter counter, __u64 count)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &life);

	if (process && counter < _COUNTER_MAX)
		__sync_fetch_and_add(&process->losses[counter], count);
}

static __always_inline void count_loss(__u64 life, enum counter counter)
{
	count_losses(life, counter, 1);
}

static __always_inline __u64 serial_number(void)
{
	return __sync_fetch_and_add(&last_serial, 1) + 1;
}

/* A new number for a life or an image. */
static __always_inline __u64 life_number(void)
{
	return __sync_fetch_and_add(&last_life, 1) + 1;
}
