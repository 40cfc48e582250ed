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

#include <correlator/config.h>
#include <correlator/kernel_books.h>
#include <correlator/seen_keys.h>
#include <correlator/snapshot.h>
#include <correlator/socket_end.h>

struct session;

struct kernel_offers;

struct session_options {
	const struct kernel_offers *kernel; /* borrowed; NULL: kernel is inspected (features.h) */
	bool is_lean; /* no uprobes: contexts are read at scheduler and syscall boundaries */
	bool has_kernel_split; /* attach the two syscall tracepoints */
	bool follow_forks;
	bool has_children; /* processes that a request starts belong to it (correlator/origin.h) */
	bool watches_otel; /* OpenTelemetry contexts are wanted */
	uint32_t late_keys; /* bit N: key N is a late one (correlator/late_key.h) */
	uint32_t request_key; /* 1 + number of the key that tells requests apart; 0 = none */
	enum strangers strangers; /* which of their events session_read_events() reports */
	uint32_t contexts_max; /* sizes of maps; 0 = the defaults of limits.h */
	uint32_t accounts_max;
	uint32_t ring_bytes; /* rounded up to a power of two of pages */
	bool has_timeline; /* stints are reported */
	uint32_t stint_ring_bytes; /* as ring_bytes */
	uint64_t stall_least_ns; /* waits of at least this are reported as stalls; 0 = none */
	uint32_t stacks_hz; /* samples per second on each CPU; 0 = none */
	bool has_native; /* samples say where in native code they are */
	bool has_callers; /* and have the top of the native stack; needs has_native */
	bool has_wait_stacks; /* also report where threads wait; needs stacks_hz */
	bool counts_syscalls; /* by number; needs has_kernel_split */
	bool counts_io; /* what is read and written, by peer; needs has_kernel_split */
};

static inline bool session_wants_wakers(const struct session_options *options)
{
	return options->has_timeline || options->stall_least_ns;
}

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
 * Numbers a process that was found, and that started at start_ticks (life.h): the number identifies
 * it here until session_remove_process(). 0; 1: an observed process has forked it, so it already
 * has a number, *ret_life (EVENT_KIND_FORK); -errno (logged). start_ticks of a child of ours that
 * is not waited for may be LIFE_OF_OUR_CHILD.
 */
int session_begin_life(struct session *session, pid_t pid, uint64_t start_ticks,
		       uint64_t *ret_life);

/*
 * Adds a process to the kernel side, or updates it. Its live threads are observed from the next
 * session_register_threads() on. A process that forks off an observed one is added automatically,
 * to the same family (correlator/share.h). A process that is not known yet joins the family of
 * parent, if that is known (0 = it has none), and else a new one; config->family is ignored.
 * Threads take the configuration if they run config->image.
 * 0, -EDQUOT (its family has used up its share of PROCESSES_MAX), -errno. Not logged.
 */
int session_set_process(struct session *session, uint64_t life, uint64_t parent,
			const struct process_config *config);
/*
 * Reads the contexts of a known process at every boundary, without relying on probes, or (with
 * is_lean false) by the probes that are already placed. Keeps what is known about its contexts: in
 * the middle of a window no change of them is lost. 0, -ENOENT (not known), -errno. Not logged.
 */
int session_set_lean(struct session *session, uint64_t life, bool is_lean);
/*
 * Sets where a process has its OpenTelemetry context, and allocates space for it in its threads.
 * Needs options.watches_otel. Takes effect with the next session_set_process() that has
 * PROCESS_HAS_OTEL. Errors as there.
 */
int session_set_otel(struct session *session, uint64_t life, const struct otel_config *config);
/* Removes a process that has ended, its probes, and its pid's entry, if that is still its own. */
void session_remove_process(struct session *session, uint64_t life, pid_t pid);

/* Observes every thread of the known processes. 0 or -errno (logged). */
int session_register_threads(struct session *session);

enum session_probe_kind {
	SESSION_PROBE_CONTEXT = 0, /* where the context changes */
	/* A function that the dynamic loader calls when it loads objects: EVENT_KIND_LOAD. */
	SESSION_PROBE_LOADER = 1,
	_SESSION_PROBE_KIND_MAX,
};

enum {
	SESSION_PROBES_MAX = 16, /* of one process */
	SESSION_PROBE_OFFSETS_MAX = 17
};

/* A file that a process maps, and the places of uprobes in it. All borrowed for the call. */
struct session_probe {
	enum session_probe_kind kind;
	int fd; /* O_PATH is enough */
	/*
	 * Gets the inode in which the kernel looks for probes, by session_identify_file() where
	 * waiting is allowed. is_fresh: not from a cache. 0, -EOPNOTSUPP (a process answers for the
	 * file), -errno.
	 */
	int (*identify)(void *file, bool is_fresh, uint64_t *ret_inode);
	void *file;
	const uint64_t *file_offsets;
	size_t count; /* of file_offsets */
	int error; /* set by session_set_probes() and session_watch() */
};

/*
 * Sets which files of a process have probes. A file's probes serve all processes that map it: the
 * programs distinguish observed threads from others. Files that the process had before and that are
 * not in the list lose their probes if no other process has them. With --lean, context probes are
 * left out. Sets each error: 0; -ENOSPC (UPROBED_FILES_MAX); -EMFILE, -ENFILE; -EPERM, -EACCES;
 * -ENOMEM; the error of its identify; the kernel's error for a file that it cannot probe. Not
 * logged.
 *
 * A file that a process of this machine answers for (FUSE) gets no probes: the kernel would read
 * the page while all forks of the machine wait (register_for_each_vma(), kernel/events/uprobes.c,
 * v6.18, holds dup_mmap_sem), and a server that has stopped answering would block them.
 */
void session_set_probes(struct session *session, uint64_t life, struct session_probe *probes,
			size_t count);
/* The descriptor of the program that session_identify_file() runs; lives as long as the session. */
int session_identifier(const struct session *session);
/*
 * Gets the inode in which the kernel looks for probes when a file is mapped; maps the file here.
 * Only makes system calls: for a process that may wait for the file, and has the descriptor of that
 * program. 0; -EOPNOTSUPP: a process answers for the file; -errno.
 */
int session_identify_file(int identifier, int fd, uint64_t *ret_inode);
/* Drops the context probes of a process, until session_set_probes() sets them again. */
void session_drop_context_probes(struct session *session, uint64_t life);
/* Gives a forked child the files of its parent, until session_set_probes() sets its own. */
void session_inherit_probes(struct session *session, uint64_t parent, uint64_t child);

/* The way that the edges of a process's system calls take; in a lean session all take the first. */
enum session_way {
	SESSION_WAY_SHORT = 0, /* of an exact process */
	SESSION_WAY_LONG = 1, /* of a process whose context is read at each edge */
	_SESSION_WAY_MAX,
};

/*
 * Makes the kernel side report (EVENT_KIND_STRANGER) also the forks and the loader of a process
 * that is not observed. loader: a SESSION_PROBE_LOADER, whose error is set as by
 * session_set_probes(). Needs options.strangers. The kernel side forgets this after an exec, and
 * when there are very many such processes; the probe stays until session_unwatch(). 0 or -errno;
 * not logged.
 */
int session_watch(struct session *session, pid_t pid, struct session_probe *loader);
void session_unwatch(struct session *session, pid_t pid);

/* True if, since the last call, there was no room to report some strangers. */
bool session_has_lost_strangers(struct session *session);

/*
 * Starts a process of our own that continuously measures how long each system call takes between
 * the ring crossing and our boundaries. That time is counted as user time, and is to be moved to
 * kernel time, per call. Needs has_kernel_split and attached hooks. Waits for the first figures,
 * some 30 ms. 0, also if this way is already measured; -EINTR (not logged): a signal is pending
 * that is to end us (base/signals.h); or another -errno (logged).
 */
int session_start_calibration(struct session *session, enum session_way way);
bool session_has_calibration(const struct session *session, enum session_way way);
/* Ends the measurement of a way, if there is one; it can be started again. */
void session_end_calibration(struct session *session, enum session_way way);

enum {
	SESSION_WAYS_MAX = 4096 /* of a minute and a half */
};

/*
 * Samples of one way: of cheap calls in a row (means of a few), of single calls after a sleep, and
 * of calls that slept.
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
 * Reads the samples of hot calls since since_ns (CLOCK_MONOTONIC), and the latest ones of the other
 * kinds. If these are few, adds older ones, but none of another mode, and none too old to show
 * today's speed. Reads none if the process has ended (logged, once).
 */
void session_read_ways(struct session *session, enum session_way way, uint64_t since_ns,
		       struct session_ways *ret_ways);
/* CPU time that the measuring processes have used. */
uint64_t session_calibration_cpu_ns(const struct session *session);

/* Receives one drained account; the pointers are valid during the call. */
typedef int (*session_account_fn)(void *context, const struct account_key *key,
				  const struct account *account);

/* True if the session was opened lean: every process is. */
bool session_is_lean(const struct session *session);
/* True if the session was opened with a timeline. */
bool session_has_timeline(const struct session *session);
/* True if the open window has the split. */
bool session_has_kernel_split(const struct session *session);

/*
 * Gives up the user/kernel split, or resumes it, which takes 30 ms and counts from the end of the
 * window on. Call right after a flush, so that no window mixes both. Only for a session that was
 * opened with the split. 0 or -errno (logged): then there is no split.
 */
int session_set_kernel_split(struct session *session, bool is_wanted);

/*
 * Totals of one program since it was loaded; name is static. Runs are counted, and take time, while
 * the kernel times programs, for us or for anybody else. The kernel skips a run on a CPU where the
 * same program was interrupted (prog->active, __bpf_trace_run(), kernel/trace/bpf_trace.c). Where
 * programs at tracepoints can be preempted, since Linux 7, a boundary of another thread may be
 * missed so.
 */
struct session_program {
	const char *name;
	uint64_t run_count;
	uint64_t run_ns;
	uint64_t skipped_runs;
};

enum {
	SESSION_PROGRAMS_MAX = 16
};

/*
 * Makes the kernel time programs, ours and those of others, or stops that: two clock readings per
 * run (BPF_ENABLE_STATS, since 5.8). 0, -EPERM (needs CAP_SYS_ADMIN) or another -errno, not logged.
 */
int session_time_programs(struct session *session, bool is_on);

/* True if the kernel times all programs all the time: sysctl kernel.bpf_stats_enabled. */
bool session_programs_are_timed(void);

/* Reads the totals of our programs; returns their number. */
size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX]);

/*
 * Ends a window: writes up every thread, which then charges to the next window; hands each account
 * of the ended window to on_account, and clears it. A negative return value of on_account stops the
 * drain, and is returned. With is_last the programs are stopped first, so that nothing is charged
 * afterwards. 0 or -errno (logged). *ret_end_ktime_ns is CLOCK_MONOTONIC at the end of the window,
 * *ret_epoch is its number: its parity says which part of process_books is complete. Both are set
 * before the drain.
 */
int session_flush(struct session *session, bool is_last, session_account_fn on_account,
		  void *context, uint64_t *ret_end_ktime_ns, uint64_t *ret_epoch);

/*
 * Takes a snapshot out of the kernel's map, which then has room for another one. It is made again
 * when an account is opened for its context. 0, or -ENOENT: there is none (the map was full, or its
 * process had used up its share of it).
 */
int session_take_context(struct session *session, uint64_t hash,
			 struct context_snapshot *ret_snapshot);

/* Puts back a snapshot that was taken, unless there is another one, or no room. */
void session_return_context(struct session *session, uint64_t hash,
			    const struct context_snapshot *snapshot);

/* Reads a snapshot and leaves it in the map. 0, -ENOENT. */
int session_look_at_context(struct session *session, uint64_t hash,
			    struct context_snapshot *ret_snapshot);

/* The current books of a process; they only grow, except for exec_ns (balance.h). 0, -ENOENT. */
int session_get_books(struct session *session, uint64_t life, struct process_books *ret_books);

/* Takes the keys of a context that was read, and requests those of the next one. False: none. */
bool session_take_seen_keys(struct session *session, struct seen_keys *ret_seen);

/* The ring buffer's epoll fd, readable when events are pending; and reading them (events.h). */
struct event;
typedef void (*session_event_fn)(void *context, const struct event *event);
int session_events_fd(const struct session *session);
/* Calls on_event for each pending event, without blocking. Number of events, or -errno. */
int session_read_events(struct session *session, session_event_fn on_event, void *context);

/*
 * Calls on_stint for each pending stint (correlator/timeline.h), without blocking; those of one
 * thread come in order. Pending stints are not signalled: call this several times per second, and
 * after session_flush(), when all that was charged to the ended window has been reported. Number of
 * stints, or -errno; 0 without options.has_timeline.
 */
struct stint;
typedef void (*session_stint_fn)(void *context, const struct stint *stint);
int session_read_stints(struct session *session, session_stint_fn on_stint, void *context);

/*
 * Likewise for stalls (correlator/stall.h); -errno, or 0 without options.stall_least_ns.
 */
struct stall;
typedef void (*session_stall_fn)(void *context, const struct stall *stall);
int session_read_stalls(struct session *session, session_stall_fn on_stall, void *context);

/*
 * Sets the layout of a known process's frames: its samples have frames from now on. A forked child
 * starts with the layout, an exec drops it. Needs options.stacks_hz. 0 or -errno; not logged.
 */
struct ruby_stack_layout;
int session_set_stack_layout(struct session *session, uint64_t life,
			     const struct ruby_stack_layout *layout);

/*
 * Sets the function that session_read_events() calls for each reported stack (correlator/stacks.h);
 * only the first frames.count frames may be read. A stack may come several times, and comes before
 * its samples.
 */
struct stack_message;
typedef void (*session_stack_fn)(void *context, const struct stack_message *message);
void session_on_stacks(struct session *session, session_stack_fn on_stack, void *context);
/* Likewise for tips; on_tip gets the context of session_on_stacks(). */
struct tip_message;
typedef void (*session_tip_fn)(void *context, const struct tip_message *message);
void session_on_tips(struct session *session, session_tip_fn on_tip);

/*
 * Hands over the samples of a window that session_flush() ended, each key once, and clears them. A
 * negative return value of on_sample stops this, and is returned. 0 or -errno (logged).
 */
struct sample_key;
typedef int (*session_sample_fn)(void *context, const struct sample_key *key, uint64_t count);
int session_drain_samples(struct session *session, uint64_t epoch, session_sample_fn on_sample,
			  void *context);
/* Likewise for waits. */
struct wait_sums;
typedef int (*session_wait_fn)(void *context, const struct sample_key *key,
			       const struct wait_sums *sums);
int session_drain_waits(struct session *session, uint64_t epoch, session_wait_fn on_wait,
			void *context);

/*
 * Hands over the system calls of a window that session_flush() ended, each key once, and clears
 * them. A negative return value of on_syscall stops this, and is returned. 0 or -errno (logged).
 */
struct syscall_key;
struct syscall_sums;
typedef int (*session_syscall_fn)(void *context, const struct syscall_key *key,
				  const struct syscall_sums *sums);
int session_drain_syscalls(struct session *session, uint64_t epoch, session_syscall_fn on_syscall,
			   void *context);

/*
 * Hands over what was read and written in a window that session_flush() ended, each key once, and
 * clears it. A negative return value of on_io stops this, and is returned. 0 or -errno (logged).
 */
struct io_key;
struct io_object;
struct io_sums;
typedef int (*session_io_fn)(void *context, const struct io_key *key, const struct io_sums *sums);
int session_drain_io(struct session *session, uint64_t epoch, session_io_fn on_io, void *context);
/* The path of the Unix socket that an object stands for. False: it has none, or is forgotten. */
bool session_find_socket_path(const struct session *session, const struct io_object *object,
			      char ret_path[static SOCKET_PATH_BYTES + 1]);
