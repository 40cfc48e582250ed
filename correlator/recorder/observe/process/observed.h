/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of a recording: what is known about each, and its books. Events of a process go
 * through its state (process_state.h); the decisions that a look leads to are carried out here,
 * except those that are the recorder's. Single thread.
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
	LEAN_NO_SITE = 1 << 0, /* the place where it changes them cannot be probed */
	LEAN_NO_PROBE = 1 << 1, /* the kernel refused to place one */
	LEAN_BUDGET = 1 << 2, /* watching it exactly costs too much */
	LEAN_UNSEEN = 1 << 3, /* its contexts change, and the probe is not hit */
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
	uint64_t life; /* its unique number (life.h) */
	uint64_t image; /* number of the program that it runs, as last reported (life.h) */
	uint64_t parent_life; /* 0 = the parent is not observed */
	uint64_t start_ticks; /* /proc/PID/stat, field 22; 0 = not known */
	pid_t pid; /* may be reused once this process has ended */
	pid_t parent_pid;
	char comm[COMM_BYTES];
	uint64_t start_wall_ns; /* 0 = not known */
	const char *server; /* NULL = not known; static text */
	bool is_fork; /* forked by an observed process, and runs the same program */
	bool is_announced; /* the process record "found" or "fork" is written */
	bool is_found; /* by a search, and not announced yet */
	bool has_threads; /* observed threads, when its books were last closed */
	struct process_state state;
	struct family *family;
	struct window_process books;

	const struct key_options *keys;
	struct object_files *files;
	struct target *target; /* NULL = not looked at yet */
	uint64_t target_look_ns; /* when it was last looked at */
	bool is_configured; /* the kernel side has these configs: */
	struct process_config config;
	struct otel_config otel_config;

	struct process_stacks stacks; /* of a recording with --stacks */

	/*
	 * Some changes of its contexts are not counted: while it is not exact, ambiguous time is no
	 * bound of the error.
	 */
	bool lacks_bound;
	enum watch_mode told_mode; /* mode in its last record; WATCH_MODE_NONE = no record */
	bool told_lacks_bound; /* lacks_bound in its last record */
	bool is_unbound_said; /* logged that it is lean and lacks a bound */
	unsigned int lean_causes; /* enum lean_cause; 0 = exact, unless the session is lean */
	uint64_t budget_turn; /* the recorder's budget_turns when it was made lean */
	bool is_mode_new; /* no record has it yet */
	char mode_reason[MODE_REASON_BYTES]; /* of the last change; "" = none */

	UT_hash_handle hh;
};

struct observed_table {
	struct observed *processes; /* uthash, by life */
	const struct key_options *keys;
	struct object_files *files; /* known files that they map; borrowed */
};

void observed_table_deinit(struct observed_table *table);

struct observed *observed_find(const struct observed_table *table, uint64_t life);
/* The process with this pid and start time (0 = any) that is not known to have ended. */
struct observed *observed_find_pid(const struct observed_table *table, pid_t pid,
				   uint64_t start_ticks);

/*
 * Adds a process without looking at it: a forked child of an observed one, which the kernel side
 * already knows, or one that was found. It runs its first image. parent_life: the process whose
 * family it joins; 0 = a family of its own. NULL: no memory.
 */
struct observed *observed_add(struct observed_table *table, uint64_t life, pid_t pid,
			      uint64_t parent_life, const char *comm);
/*
 * Sets the parent of a process that was added before its parent was known: it joins the parent's
 * family.
 */
void observed_set_parent(struct observed_table *table, struct observed *process,
			 uint64_t parent_life);
void observed_remove(struct observed_table *table, struct observed *process);

/*
 * Looks at a process (again) and updates the kernel side; attaches uprobes to publishing objects
 * that have none, if possible before the process runs them. If none can be attached, this process
 * is lean. Always sets *ret_decisions: the enum process_decision that the caller carries out,
 * PROCESS_SAY_READ, _UNREAD and _COMPLETE. 0, -ESRCH (gone), -errno.
 */
int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns, unsigned int *ret_decisions);

/* The identify function of a session_probe whose file is an object_file. */
int observed_identify_file(void *file, bool is_fresh, uint64_t *ret_inode);

/* The earliest time of its next look, given the cost of looks at its family: now_ns, or later. */
uint64_t observed_may_look_ns(const struct observed *process, uint64_t now_ns);

/* A probe was hit at address whose context cannot be read (events.h). */
void observed_ask(struct observed *process, uint64_t address, uint64_t now_ns);
/* After an exec nothing that was known holds any longer. image: the program that it runs now. */
void observed_execute(struct observed *process, uint64_t image, uint64_t now_ns);
/* Schedules a look at each process whose publisher is no longer where it was. Only small reads. */
void observed_check_publishers(struct observed_table *table, uint64_t now_ns);
/* Schedules a look at each process whose OpenTelemetry process context may have changed. */
void observed_check_otel(struct observed_table *table, uint64_t now_ns);

/*
 * Makes a process lean if its contexts change without a hit of the probe (unseen_changes.h), until
 * it runs another program.
 */
void observed_check_probes(struct observed *process, struct session *session);

/*
 * The budget makes a process lean, or no longer requires that. The process may stay lean for
 * another cause; then its mode does not change. reason: for the records.
 */
void observed_step_down(struct observed *process, struct session *session, const char *reason);
void observed_step_up(struct observed *process, struct session *session, const char *reason);
/* A forked child is watched like its parent. */
void observed_inherit_mode(struct observed *child, const struct observed *parent,
			   struct session *session);

/* True if its OpenTelemetry contexts are read, which change without a probe. */
bool observed_has_otel(const struct observed *process);

/* How closely it is watched, in a session that is not lean: exact, partly-lean or lean. */
enum watch_mode observed_mode(const struct observed *process);

/* Fills in a process record, except for end_ns and the mode. The strings belong to the process. */
void observed_describe(const struct observed *process, enum process_event event,
		       struct process_record *ret_record);

/* False: its pid now belongs to another process. Reads /proc. */
bool observed_has_pid(const struct observed *process);

/* The target, opened if the process was never looked at; NULL = it cannot be opened now. */
struct target *observed_target(struct observed *process);

/* The name of a symbol of the process, for decoding values (a ruby_value_symbol_fn). */
int observed_find_symbol(void *process, uint64_t id, struct value_snapshot *ret_name);

/* When the next look at some process is due; UINT64_MAX = none. */
uint64_t observed_next_look(const struct observed_table *table);
