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

struct session;

struct kernel_offers;

struct session_options {
	const struct kernel_offers *kernel; /* borrowed; NULL: it is asked (features.h) */
	bool is_lean; /* no uprobes: contexts are read at scheduler and syscall boundaries */
	bool has_kernel_split; /* attach the two syscall tracepoints */
	bool follow_forks;
	bool has_children; /* what a request starts belongs to it (correlator/origin.h) */
	bool watches_otel; /* contexts of OpenTelemetry are to be read in some process */
	uint32_t late_keys; /* bit N: key N is a late one (correlator/late_key.h) */
	uint32_t request_key; /* if there is one: 1 + number of the key that it depends on */
	enum strangers strangers; /* which news of them session_read_events() gives */
	uint32_t contexts_max; /* sizes of maps; 0 = the defaults of limits.h */
	uint32_t accounts_max;
	uint32_t ring_bytes; /* rounded up to a power of two of pages */
	bool has_timeline; /* slices are told */
	uint32_t slice_ring_bytes; /* as ring_bytes */
	uint32_t stacks_hz; /* so often each CPU is sampled; 0 = never */
	bool has_native; /* samples say where in native code they are */
	bool has_wait_stacks; /* where threads wait is told, too; needs stacks_hz */
	bool counts_syscalls; /* by number; needs has_kernel_split */
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
 * Numbers a process that was found, which started then (life.h): by that it is known here from then
 * on, until session_remove_process(). 0; 1: an observed process has forked it, and so it has a
 * number, *ret_life (EVENT_KIND_FORK); -errno (logged). start_ticks of a child of ours that is not
 * waited for may be LIFE_OF_OUR_CHILD.
 */
int session_begin_life(struct session *session, pid_t pid, uint64_t start_ticks,
		       uint64_t *ret_life);

/*
 * Tells the kernel side about a process, or what is new about it. Threads of it that are alive
 * are observed from the next session_register_threads() on; a process that forks off an observed
 * one is known by itself, and of its family (correlator/share.h). One that is not known yet is of
 * its parent's, if that is known (0 = it has none), and else of a new one; config->family is not
 * looked at. Threads take it if they run config->image.
 * 0, -EDQUOT (its family has its share of PROCESSES_MAX), -errno. Not logged.
 */
int session_set_process(struct session *session, uint64_t life, uint64_t parent,
			const struct process_config *config);
/*
 * Has the contexts of a known process read at every boundary, without relying on probes, or (with
 * is_lean false) by those that are placed already. It keeps what is known of its contexts: in the
 * middle of a window no change of them is lost. 0, -ENOENT (not known), -errno. Not logged.
 */
int session_set_lean(struct session *session, uint64_t life, bool is_lean);
/*
 * Tells it where a process has its context of OpenTelemetry, and makes room for it in its threads.
 * The session must watch for such; is in force from the next session_set_process() with
 * PROCESS_HAS_OTEL on. Errors as there.
 */
int session_set_otel(struct session *session, uint64_t life, const struct otel_config *config);
/* Forgets a process that has ended, and its probes; and that its pid was its own, if it still was.
 */
void session_remove_process(struct session *session, uint64_t life, pid_t pid);

/* Makes every thread of the known processes an observed one. 0 or -errno (logged). */
int session_register_threads(struct session *session);

enum session_probe_kind {
	SESSION_PROBE_CONTEXT = 0, /* where the context changes */
	/* What the dynamic loader calls when it loads objects: EVENT_KIND_LOAD. */
	SESSION_PROBE_LOADER = 1,
	_SESSION_PROBE_KIND_MAX,
};

enum {
	SESSION_PROBES_MAX = 16, /* of one process */
	SESSION_PROBE_OFFSETS_MAX = 17
};

/* A file that a process maps, and where uprobes are to be in it. All borrowed for the call. */
struct session_probe {
	enum session_probe_kind kind;
	int fd; /* an O_PATH one will do */
	/*
	 * Which inode the kernel looks for them in, as session_identify_file() says where asking
	 * may take its time; is_fresh: as of now. 0, -EOPNOTSUPP (a process answers for the file),
	 * -errno.
	 */
	int (*identify)(void *file, bool is_fresh, uint64_t *ret_inode);
	void *file;
	const uint64_t *file_offsets;
	size_t count; /* of them */
	int error; /* set by session_set_probes() and session_watch() */
};

/*
 * Says which files of a process are to have probes, each of its own for all processes that map it:
 * programs tell observed threads from others. Those that it was said to have before and that are
 * not among these are taken out if no other process has them. With --lean those of contexts are
 * left out. Sets each error: 0; -ENOSPC (UPROBED_FILES_MAX); -EMFILE, -ENFILE; -EPERM, -EACCES;
 * -ENOMEM; what its identify said; what the kernel says of a file that it cannot probe. Not logged.
 *
 * None is placed in a file that a process of this machine answers for (FUSE): the kernel reads the
 * page while all forks of the machine wait for it (register_for_each_vma(),
 * kernel/events/uprobes.c, v6.18, holds dup_mmap_sem), and a server that has stopped answering
 * would end them.
 */
void session_set_probes(struct session *session, uint64_t life, struct session_probe *probes,
			size_t count);
/* The descriptor of the program that session_identify_file() runs; lives as long as the session. */
int session_identifier(const struct session *session);
/*
 * Which inode the kernel looks for probes in when a file is mapped; maps it here. System calls
 * alone: for a process that may wait for the file, and has that program's descriptor. 0;
 * -EOPNOTSUPP: a process answers for it; -errno.
 */
int session_identify_file(int identifier, int fd, uint64_t *ret_inode);
/* A process needs those of contexts no more, until it is said to. */
void session_drop_context_probes(struct session *session, uint64_t life);
/* A forked child maps what its parent does, until it is said what it maps. */
void session_inherit_probes(struct session *session, uint64_t parent, uint64_t child);

/* Which way the edges of a process's system calls go; of a lean session's, all the first. */
enum session_way {
	SESSION_WAY_SHORT = 0, /* of an exact process */
	SESSION_WAY_LONG = 1, /* of one whose context is read at each */
	_SESSION_WAY_MAX,
};

/*
 * Has the kernel side tell (EVENT_KIND_STRANGER) also of the forks of a process that is not
 * observed, and of its loader, a SESSION_PROBE_LOADER, whose error is set as by
 * session_set_probes(). With options.strangers. After an exec, and when there are very many, that
 * is forgotten by itself; the probe stays until session_unwatch(). 0 or -errno; not logged.
 */
int session_watch(struct session *session, pid_t pid, struct session_probe *loader);
void session_unwatch(struct session *session, pid_t pid);

/* True if there was no room to tell of some strangers since the last call. */
bool session_has_lost_strangers(struct session *session);

/*
 * Starts to measure, all the time and by a process of our own, how long each system call is between
 * the ring crossing and our boundaries, which is counted as user time: to be moved to kernel time,
 * call by call. Needs has_kernel_split and attached hooks. Waits for the first figures, some 30 ms.
 * 0, also if that way is measured already; -EINTR (not logged): a signal waits that is to end us
 * (base/signals.h); or another -errno (logged).
 */
int session_start_calibration(struct session *session, enum session_way way);
bool session_has_calibration(const struct session *session, enum session_way way);
/* Ends that, if it is measured; it can be started again. */
void session_end_calibration(struct session *session, enum session_way way);

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
void session_read_ways(struct session *session, enum session_way way, uint64_t since_ns,
		       struct session_ways *ret_ways);
/* CPU that these processes have used. */
uint64_t session_calibration_cpu_ns(const struct session *session);

/* One drained account; the pointers live for the call. */
typedef int (*session_account_fn)(void *context, const struct account_key *key,
				  const struct account *account);

/* Every process is lean: as it was opened. */
bool session_is_lean(const struct session *session);
/* Slices are told: as it was opened. */
bool session_has_timeline(const struct session *session);
/* Of the window that is open. */
bool session_has_kernel_split(const struct session *session);

/*
 * Gives up the user/kernel split, or takes it up again, which needs 30 ms and counts from the end
 * of the window on; call right after a flush, so that no window mixes two. Of a session that was
 * opened with it. 0 or -errno (logged), and then there is none.
 */
int session_set_kernel_split(struct session *session, bool is_wanted);

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
 * Has the kernel time programs, ours and those of others, or no longer: two clock readings a run
 * (BPF_ENABLE_STATS, since 5.8). 0, -EPERM (needs CAP_SYS_ADMIN) or another -errno, not logged.
 */
int session_time_programs(struct session *session, bool is_on);

/* Whether it does so all the time, for everybody: sysctl kernel.bpf_stats_enabled. */
bool session_programs_are_timed(void);

/* Reads what the programs ran while the kernel timed them, for us or anybody else: the number of
 * programs. */
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

/* Puts one back that was taken, if there is no other by now, nor too many. */
void session_return_context(struct session *session, uint64_t hash,
			    const struct context_snapshot *snapshot);

/* Reads one, which stays there. 0, -ENOENT. */
int session_look_at_context(struct session *session, uint64_t hash,
			    struct context_snapshot *ret_snapshot);

/* The books of a process as they stand; grow only. 0, -ENOENT. */
int session_get_books(struct session *session, uint64_t life, struct process_books *ret_books);

/* The keys of a context that was read; the next that is read will be seen, too. False: none was. */
bool session_take_seen_keys(struct session *session, struct seen_keys *ret_seen);

/* The ring buffer's epoll fd, readable when events wait; and reading them (events.h). */
struct event;
typedef void (*session_event_fn)(void *context, const struct event *event);
int session_events_fd(const struct session *session);
/* Calls on_event for each waiting event, without blocking. Number of events, or -errno. */
int session_read_events(struct session *session, session_event_fn on_event, void *context);

/*
 * Calls on_slice for each slice that waits (correlator/timeline.h), those of a thread in their
 * order, without blocking. Nothing tells that some wait: to be called several times a second, and
 * after session_flush(), by when all that was charged to the ended window has been told. Number of
 * slices, or -errno; 0 without options.has_timeline.
 */
struct slice;
typedef void (*session_slice_fn)(void *context, const struct slice *slice);
int session_read_slices(struct session *session, session_slice_fn on_slice, void *context);

/*
 * Where the frames of a process are that is known: its samples have them from here on. A child that
 * it forks starts with them, an exec forgets them. Needs options.stacks_hz. 0 or -errno; not
 * logged.
 */
struct ruby_stack_layout;
int session_set_stack_layout(struct session *session, uint64_t life,
			     const struct ruby_stack_layout *layout);

/*
 * Who is called for each stack that is told (correlator/stacks.h), by session_read_events(); its
 * frames[count] may be read, and nothing behind. Several times for one, and before its samples.
 */
struct stack_message;
typedef void (*session_stack_fn)(void *context, const struct stack_message *message);
void session_on_stacks(struct session *session, session_stack_fn on_stack, void *context);
/* The same of tips; on_tip is given the context of session_on_stacks(). */
struct tip_message;
typedef void (*session_tip_fn)(void *context, const struct tip_message *message);
void session_on_tips(struct session *session, session_tip_fn on_tip);

/*
 * Hands over, and forgets, the samples of a window that session_flush() ended: each key once. A
 * return value below 0 of on_sample ends it, and is returned. 0 or -errno (logged).
 */
struct sample_key;
typedef int (*session_sample_fn)(void *context, const struct sample_key *key, uint64_t count);
int session_drain_samples(struct session *session, uint64_t epoch, session_sample_fn on_sample,
			  void *context);
/* The same of waits. */
struct wait_sums;
typedef int (*session_wait_fn)(void *context, const struct sample_key *key,
			       const struct wait_sums *sums);
int session_drain_waits(struct session *session, uint64_t epoch, session_wait_fn on_wait,
			void *context);

/*
 * Hands over, and forgets, the system calls of a window that session_flush() ended: each key once.
 * A return value below 0 of on_syscall ends it, and is returned. 0 or -errno (logged).
 */
struct syscall_key;
struct syscall_sums;
typedef int (*session_syscall_fn)(void *context, const struct syscall_key *key,
				  const struct syscall_sums *sums);
int session_drain_syscalls(struct session *session, uint64_t epoch, session_syscall_fn on_syscall,
			   void *context);
