/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel side of one recording: the loaded programs and maps, and their attachments. Owned by
 * the command that records; one thread. Everything is released by the kernel when the process
 * ends, however it ends: nothing is pinned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/books.h>
#include <correlator/config.h>
#include <correlator/snapshot.h>

struct session;

struct session_options {
	bool is_lean; /* no uprobes: contexts are read at scheduler and syscall boundaries */
	bool has_kernel_split; /* attach the two syscall tracepoints */
	bool follow_forks;
	bool watches_otel; /* contexts of OpenTelemetry are to be read in some process */
	bool measures_programs; /* have the kernel time our programs: two clock readings a run */
	uint32_t contexts_max; /* sizes of maps; 0 = the defaults of limits.h */
	uint32_t accounts_max;
	uint32_t ring_bytes; /* rounded up to a power of two of pages */
};

/*
 * Opens and loads the programs. Logs; 0 or:
 *   -EPERM    a capability is missing (named in the message)
 *   -ENOTSUP  the kernel lacks something (named in the message)
 */
int session_open(const struct session_options *options, struct session **ret_session);
void session_free(struct session *session);

/* Attaches the scheduler, lifecycle and syscall hooks. 0, or -errno (logged, with the hook). */
int session_attach(struct session *session);

/*
 * Tells the kernel side about a process, or what is new about it. Threads of it that are alive
 * are observed from the next session_register_threads() on; a process that forks off an observed
 * one is known by itself. 0, -E2BIG (PROCESSES_MAX reached), -errno. Logs.
 */
int session_set_process(struct session *session, pid_t tgid, const struct process_config *config);
/*
 * Tells it where a process has its context of OpenTelemetry, and makes room for it in its threads.
 * The session must watch for such; is in force from the next session_set_process() with
 * PROCESS_HAS_OTEL on. Errors as there.
 */
int session_set_otel(struct session *session, pid_t tgid, const struct otel_config *config);
/* Forgets a process that has ended. */
void session_remove_process(struct session *session, pid_t tgid);

/* Makes every thread of the known processes an observed one. 0 or -errno (logged). */
int session_register_threads(struct session *session);

/*
 * Puts a uprobe on each offset of the object open at fd, once per file (device and inode), for all
 * processes that map it: programs tell observed threads from others. 0 or -errno (logged).
 */
int session_attach_uprobes(struct session *session, int fd, const uint64_t *file_offsets,
			   size_t count);

/*
 * Has the kernel side tell (EVENT_KIND_LOAD) when the dynamic loader of a process loads objects:
 * file_offset is of the function that it then calls, in the file open at fd. Once per process; also
 * after an exec, with the same loader. 0, -ENOSPC (too many), -errno; not logged.
 */
int session_attach_loader(struct session *session, pid_t pid, int fd, uint64_t file_offset);

/*
 * Starts to measure, all the time and by a process of our own, how long each system call is between
 * the ring crossing and our boundaries, which is counted as user time: to be moved to kernel time,
 * call by call. Needs has_kernel_split and attached hooks. Waits for the first figures, some 30 ms.
 * 0 or -errno (logged).
 */
int session_start_calibration(struct session *session);

enum {
	SESSION_WAYS_MAX = 4096 /* of a minute and a half */
};

/*
 * Figures of that way: of cheap calls in a row (means of some), of single ones after a sleep, and
 * of those that slept.
 */
struct session_ways {
	double hot_ns[SESSION_WAYS_MAX];
	double lone_ns[SESSION_WAYS_MAX];
	double slept_ns[SESSION_WAYS_MAX];
	size_t hot_count;
	size_t lone_count;
	size_t slept_count;
};

/*
 * Those of hot calls since then (CLOCK_MONOTONIC), and of the others the last ones; older ones
 * where these are few, but none of another mode, and none that say nothing of today's speed: none
 * at all, if the process has ended (logged, once).
 */
void session_read_ways(struct session *session, uint64_t since_ns, struct session_ways *ret_ways);
/* CPU that the process has used. */
uint64_t session_calibration_cpu_ns(const struct session *session);

/* One drained account; the pointers live for the call. */
typedef int (*session_account_fn)(void *context, const struct account_key *key,
				  const struct account *account);

/* How closely the programs watch; each step costs less and tells less. */
enum session_mode {
	SESSION_MODE_EXACT = 0, /* uprobes: contexts change where they change */
	SESSION_MODE_LEAN = 1, /* no uprobes */
	SESSION_MODE_SWITCH_ONLY = 2, /* no uprobes, no syscall tracepoints: no user/kernel split */
};

enum session_mode session_get_mode(const struct session *session);
bool session_has_kernel_split(const struct session *session);

/*
 * Steps down to a mode while recording; call right after a flush, so that no window mixes two.
 * There is no way back up. 0 or -errno (logged).
 */
int session_step_down(struct session *session, enum session_mode mode);

/* What one program has run since it was loaded; name is static. */
struct session_program {
	const char *name;
	uint64_t run_count;
	uint64_t run_ns;
};

enum {
	SESSION_PROGRAMS_MAX = 16
};

/*
 * Reads what the programs ran: the number of programs, or 0 when the kernel does not measure them
 * (neither measures_programs nor kernel.bpf_stats_enabled; bpf_prog_info, since 5.1).
 */
size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX]);

/*
 * Ends a window: writes up every thread, each of which then charges to the next one, hands each
 * account of the ended one to on_account and clears it. A non-zero return of on_account stops the
 * drain and is returned. With is_last the programs are stopped first, so that nothing is charged
 * after it. 0 or -errno (logged). *ret_end_ktime_ns = CLOCK_MONOTONIC when the window ended,
 * *ret_epoch its number: its parity says which part of process_books is complete. Both are set
 * before the drain.
 */
int session_flush(struct session *session, bool is_last, session_account_fn on_account,
		  void *context, uint64_t *ret_end_ktime_ns, uint64_t *ret_epoch);

/*
 * Takes a snapshot out of the kernel's map, which then has room for another; it is made again when
 * an account is opened for its context. 0, or -ENOENT: there is none (the map was full, or its
 * process had its share of it).
 */
int session_take_context(struct session *session, uint64_t hash,
			 struct context_snapshot *ret_snapshot);

/* The books of a process as they stand; grow only. 0, -ENOENT. */
int session_get_books(struct session *session, pid_t tgid, struct process_books *ret_books);

/* The ring buffer's epoll fd, readable when events wait; and reading them (events.h). */
struct event;
typedef void (*session_event_fn)(void *context, const struct event *event);
int session_events_fd(const struct session *session);
/* Calls on_event for each waiting event, without blocking. Number of events, or -errno. */
int session_read_events(struct session *session, session_event_fn on_event, void *context);
