/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of a recording: what is known of each, and its books. What happens to one goes
 * through its state (process_state.h); the decisions that a look leads to are carried out here, but
 * for those that are the recorder's. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash_table.h"
#include "record/record.h"
#include "recorder/observe/process/key_options.h"
#include "recorder/observe/process/look_budget.h"
#include "recorder/observe/process/process_stacks.h"
#include "recorder/observe/process/process_state.h"
#include "recorder/observe/process/window_process.h"
#include "recorder/probe/session.h"
#include "recorder/target/target.h"

/* Why a process is lean: its contexts are read at every boundary. Several at a time. */
enum lean_cause {
	LEAN_NO_SITE = 1 << 0, /* no probe can sit where it changes them */
	LEAN_NO_PROBE = 1 << 1, /* the kernel refused to place one */
	LEAN_BUDGET = 1 << 2, /* watching it exactly costs too much */
	LEAN_UNSEEN = 1 << 3, /* its contexts change, and the probe is not passed */
};

enum {
	MODE_REASON_BYTES = 160
};

/* A process and all that it forks. */
struct family {
	struct look_budget looks;
	unsigned int members; /* observed now */
};

struct observed {
	uint64_t life; /* the number that it is known by */
	uint64_t image; /* of the program that it runs, as far as that is told (life.h) */
	uint64_t parent_life; /* 0 = none that is observed */
	uint64_t start_ticks; /* /proc/PID/stat, field 22; 0 = not known */
	pid_t pid; /* another one may have it, once this one has ended */
	pid_t parent_pid;
	char comm[COMM_BYTES];
	uint64_t start_wall_ns; /* 0 = not known */
	const char *server; /* NULL = not known; static text */
	bool is_fork; /* of an observed process, and runs the same program */
	bool is_announced; /* the process record "found" or "fork" is written */
	bool is_found; /* by a search, and to be announced */
	bool has_threads; /* that are observed, when its books were last closed */
	struct process_state state;
	struct family *family;
	struct window_process books;

	const struct key_options *keys;
	struct object_files *files;
	struct target *target; /* NULL = not looked at yet */
	uint64_t target_look_ns; /* when it was last looked at */
	bool is_configured; /* the kernel side was told what is known: */
	struct process_config config;
	struct otel_config otel_config;

	struct process_stacks stacks; /* of a recording with --stacks */

	/* Not each change of its contexts is counted: while it is not exact, ambiguous time is no
	 * bound of the error. */
	bool lacks_bound;
	enum watch_mode told_mode; /* by its last record; WATCH_MODE_NONE = there was none */
	bool told_lacks_bound; /* the same */
	bool is_unbound_said; /* that it is lean, and lacks one */
	unsigned int lean_causes; /* enum lean_cause; 0 = exact, where the session is */
	uint64_t budget_turn; /* of those that the budget made lean, the last one has the highest */
	bool is_mode_new; /* no record says it yet */
	char mode_reason[MODE_REASON_BYTES]; /* of the last change; "" = there was none */

	UT_hash_handle hh;
};

struct observed_table {
	struct observed *processes; /* uthash, by life */
	const struct key_options *keys;
	struct object_files *files; /* what is known of those that they map; borrowed */
};

void observed_table_deinit(struct observed_table *table);

struct observed *observed_find(const struct observed_table *table, uint64_t life);
/* The process that has this pid and started then (0 = whenever), and has not ended as far as is
 * known. */
struct observed *observed_find_pid(const struct observed_table *table, pid_t pid,
				   uint64_t start_ticks);

/*
 * Adds a process without looking at it: a child that was forked off an observed one, which the
 * kernel side knows already, or one that was found. It runs its first image. parent_life: whose
 * family it is of; 0 = its own. NULL: no memory.
 */
struct observed *observed_add(struct observed_table *table, uint64_t life, pid_t pid,
			      uint64_t parent_life, const char *comm);
/* Of one that was met before it was heard whose child it is: it belongs to that one's family. */
void observed_set_parent(struct observed_table *table, struct observed *process,
			 uint64_t parent_life);
void observed_remove(struct observed_table *table, struct observed *process);

/*
 * Looks at a process (again) and tells the kernel side what was found; attaches uprobes to
 * publishing objects that have none, before the process runs them if it may be. Where none can be,
 * this process is lean. *ret_decisions, set in any case: enum process_decision that are the
 * caller's to carry out, PROCESS_SAY_READ, _UNREAD and _COMPLETE. 0, -ESRCH (gone), -errno.
 */
int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns, unsigned int *ret_decisions);

/* Of a session_probe whose file is an object_file. */
int observed_identify_file(void *file, bool is_fresh, uint64_t *ret_inode);

/* When its next look may be, by what those at its family have cost: now_ns, or later. */
uint64_t observed_may_look_ns(const struct observed *process, uint64_t now_ns);

/* A probe was hit at address whose context cannot be read (events.h). */
void observed_ask(struct observed *process, uint64_t address, uint64_t now_ns);
/* After an exec nothing that was known is true any more. image: that it runs now. */
void observed_execute(struct observed *process, uint64_t image, uint64_t now_ns);
/* By small reads: makes a look due at each process whose publisher is not where it was. */
void observed_check_publishers(struct observed_table *table, uint64_t now_ns);
/* And at each whose process context is another one by now. */
void observed_check_otel(struct observed_table *table, uint64_t now_ns);

/* Makes a process lean whose contexts change without a probe (unseen_changes.h), until it runs
 * another program. */
void observed_check_probes(struct observed *process, struct session *session);

/*
 * The budget makes a process lean, or no more, which it then is unless it is for another cause; the
 * mode stays as it is if nothing changes. reason: for the records.
 */
void observed_step_down(struct observed *process, struct session *session, const char *reason);
void observed_step_up(struct observed *process, struct session *session, const char *reason);
/* A forked child is watched as its parent is. */
void observed_inherit_mode(struct observed *child, const struct observed *parent,
			   struct session *session);

/* True if its contexts of OpenTelemetry are read: they change without a probe. */
bool observed_has_otel(const struct observed *process);

/* How closely it is watched, in a session that is not lean: exact, partly-lean or lean. */
enum watch_mode observed_mode(const struct observed *process);

/* What is known of it, for a record; end_ns and the mode are left to the caller. The texts are the
 * process's. */
void observed_describe(const struct observed *process, enum process_event event,
		       struct process_record *ret_record);

/* False: its pid is another process's by now. Reads /proc. */
bool observed_has_pid(const struct observed *process);

/* The target, opened if nobody had to look at the process yet; NULL = it cannot be now. */
struct target *observed_target(struct observed *process);

/* The name of a symbol of the process, for decoding values (a ruby_value_symbol_fn). */
int observed_find_symbol(void *process, uint64_t id, struct value_snapshot *ret_name);

/* When the next look at some process is due; UINT64_MAX = none. */
uint64_t observed_next_look(const struct observed_table *table);
