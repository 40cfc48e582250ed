/*
 * The records that leave Correlator, as plain data: attribution/ fills them, output/ encodes
 * them (schema 1, README "Records"). Strings are borrowed for the time of the call they are
 * passed to. Times are nanoseconds; wall_ns is CLOCK_REALTIME, ktime_ns CLOCK_MONOTONIC.
 *
 * "Not measured" is never 0: a field under a `has_` flag is left out when the flag is false.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/counters.h>
#include <correlator/limits.h>

/* In every record. */
struct record_common {
	uint64_t wall_ns; /* the entry's EventTime: end of the window, or when it happened */
	const char *record_id; /* unique, the same when sent again */
	const char *host_name;
	uint32_t pid; /* the kernel's tgid, in the observer's pid namespace */
	uint32_t ns_pid; /* the same in the process's own; 0 = not known, or our own record */
};

/* One configured key: value NULL = the context has no such key (left out of the record). */
struct record_key {
	const char *name;
	const char *value; /* valid UTF-8, NUL-terminated */
};

/* What holds from here on: the first record, and again whenever the mode changes. */
struct meta_record {
	struct record_common common;
	const char *tool_version;
	const char *kernel_release;
	const char *machine; /* uname -m */
	const char *boot_id;
	uint32_t cpu_count; /* online CPUs; 0 = not known */
	const char *mode; /* "exact", "partly-lean", "lean" or "switch-only" */
	const char *reason; /* why the mode changed; NULL = it did not */
	bool kernel_split; /* false: no user/kernel split was asked for */
	uint64_t interval_ns;
	uint64_t transition_ns; /* moved from user to kernel time for each system call */
	int64_t clock_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC; encoded only when >= 0 */
	const char *const *key_names;
	size_t key_count;
};

struct process_record {
	struct record_common common;
	const char *event; /* "found", "fork", "exec", "load", "unload", "exit" */
	uint32_t parent_pid;
	const char *comm;
	const char *ruby_version; /* NULL = not known */
	const char *server; /* "puma", "sidekiq", ... NULL = not known */
	/* Of its OpenTelemetry process context; NULL or "" = not there. */
	const char *otel_schema; /* of the thread context */
	const char *service_name;
	const char *service_instance_id;
	const char *environment_name;
	uint64_t start_ns; /* wall clock when the process started; 0 = not known */
	bool has_pickup; /* false: it published when it was found */
	uint64_t pickup_ns; /* "load": since the publishing library was mapped, at most */
	/* end_ns: wall_ns of the event "exit" */
};

enum cpu_record_flags {
	CPU_RECORD_TRUNCATED = 1 << 0, /* a key's value was longer than VALUE_BYTES_MAX */
	CPU_RECORD_INHERITED = 1 << 1, /* the context may be a leftover of an earlier thread */
	CPU_RECORD_OVERFLOW = 1 << 2, /* contexts that could not be told apart: a map was full */
	CPU_RECORD_UNKNOWN = 1 << 3, /* a context was in force but could not be read */
};

/* One account (thread, context) in one window. */
struct cpu_record {
	struct record_common common;
	uint32_t tid; /* in the observer's pid namespace; 0 = of no one thread */
	uint32_t ns_tid; /* in the thread's own; 0 = not known */
	const char *thread_name;
	const struct record_key *keys;
	size_t key_count;
	uint64_t window_ns;
	bool has_kernel_split; /* false: user_ns and kernel_ns left out, cpu_ns alone is given */
	uint64_t cpu_ns; /* user_ns + kernel_ns */
	uint64_t user_ns;
	uint64_t kernel_ns;
	uint64_t run_queue_ns;
	uint64_t blocked_ns;
	uint64_t uninterruptible_ns; /* the part of blocked_ns in uninterruptible sleep */
	uint64_t stolen_ns; /* on the CPU by the clock, but taken by the hypervisor or interrupts */
	uint64_t ambiguous_ns;
	uint64_t slices;
	uint64_t switches_voluntary;
	uint64_t switches_involuntary;
	uint64_t migrations;
	bool has_syscalls; /* false: syscall tracepoints are off */
	uint64_t syscalls;
	uint64_t first_ns; /* wall clock of the account's first and last charge in the window */
	uint64_t last_ns;
	uint32_t flags; /* enum cpu_record_flags, encoded as an array of names */
};

/* How sending goes; counts since the start. */
struct delivery_figures {
	bool is_there; /* false: nothing is sent, and nothing encoded */
	uint64_t sent_chunks;
	uint64_t resent_chunks; /* of them, not for the first time */
	uint64_t acked_records;
	uint64_t rejected_records;
	uint64_t dropped_records;
	uint64_t queued_records; /* now */
	uint64_t queued_bytes;
	uint64_t spool_bytes; /* of them, on disk */
	const char *last_error; /* NULL = none so far */
};

/* The books of one process in one window. residual = exec - attributed - unattributed - overflow.
 */
struct balance_record {
	struct record_common common;
	uint64_t window_ns;
	uint64_t exec_ns; /* growth of the kernel's se.sum_exec_runtime over all threads */
	uint64_t attributed_ns;
	uint64_t unattributed_ns;
	uint64_t overflow_ns;
	int64_t residual_ns; /* signed: the one field that may be negative */
	uint64_t losses[_COUNTER_MAX]; /* growth in the window, by enum counter */
	uint64_t own_cpu_ns; /* CPU of Correlator's own process in the window */
	struct delivery_figures delivery;
};

/* Records that had to be dropped on the way out, so that a reader knows its totals are too low. */
struct gap_record {
	struct record_common common;
	uint64_t dropped_records; /* since the last gap record */
	/* Since the start of the recording, gap records included: a gap record may be dropped, too.
	 */
	uint64_t total_dropped_records;
	uint64_t dropped_segments;
	uint64_t first_ns; /* wall clock of the oldest and newest record dropped */
	uint64_t last_ns;
	const char *reason; /* "spool full", ... */
};

enum {
	SELF_PROGRAMS_MAX = 32,
	SELF_PROGRAM_NAME_BYTES = 64, /* longest name, without its NUL */
};

/* Entries of a map that are in use at the end of the window; limit 0 = not known. */
struct self_fill {
	uint64_t used;
	uint64_t limit;
};

/* Growth in the window of bpf_prog_info.run_cnt and run_time_ns (linux/bpf.h, since v5.1). */
struct self_program {
	const char *name; /* unique; encoded as the fields bpf_NAME_runs and bpf_NAME_ns */
	uint64_t run_count;
	uint64_t run_ns;
};

/* What watching cost in one window. common.pid is Correlator's own. */
struct self_record {
	struct record_common common;
	uint64_t window_ns;
	uint64_t own_cpu_ns; /* CPU of Correlator's own process, all threads */
	uint64_t own_rss_bytes; /* resident memory at the end of the window; 0 = not known */
	struct self_fill contexts;
	struct self_fill accounts;
	struct self_fill processes;
	bool has_programs; /* false: the kernel does not measure them (kernel.bpf_stats_enabled) */
	const struct self_program *programs;
	size_t program_count; /* at most SELF_PROGRAMS_MAX */
	struct delivery_figures delivery;
};
