/*
 * The processes of a recording: what is known of each, its books, and what still has to be found
 * out about it. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uthash.h>

#include "base/cleanup.h"
#include "observe/balance.h"
#include "observe/key_options.h"
#include "probe/session.h"
#include "target/target.h"

struct observed {
	pid_t pid;
	uint32_t ns_pid; /* in its own pid namespace; 0 = not known */
	pid_t parent_pid;
	char comm[COMM_BYTES];
	uint64_t start_wall_ns; /* 0 = not known */
	const char *server; /* NULL = not known; static text */
	struct target *target; /* NULL = not looked at yet. Owned. */
	bool is_fork; /* of an observed process, and runs the same program */
	struct balance balance;
	const struct key_options *keys;
	bool is_configured; /* the kernel side was told what is known */
	struct process_config config; /* and what it was told */
	struct otel_config otel_config;
	uint64_t otel_look_ns; /* when it was last looked for */
	bool is_readable; /* as of the last look: contexts are read */
	unsigned int told_copies; /* 1 + preferences when it was last said that several publish */
	unsigned int preferences; /* how often another object's variable was preferred */
	bool is_loading; /* its loader was at work since the last look */
	uint64_t absent_ktime_ns; /* when it was last known to publish nothing; 0 = never */
	uint64_t pickup_ns; /* from then until it was read; 0 = it published when it was found */
	bool is_asked; /* by the kernel side, to look */
	uint64_t asked_look_ns; /* not before */
	uint64_t asked_pause_ns; /* grows while such looks find nothing */
	bool has_exited; /* its last thread is gone: the next flush is its last */
	bool is_announced; /* the process record "found" or "fork" is written */
	uint64_t
		retry_ns; /* CLOCK_MONOTONIC when to look again for what is missing; 0 = complete */
	uint64_t retry_pause_ns;
	uint64_t exit_ktime_ns;
	UT_hash_handle hh;
};

struct observed_table {
	struct observed *processes; /* uthash, by pid */
	const struct key_options *keys;
};

void observed_table_deinit(struct observed_table *table);

struct observed *observed_find(const struct observed_table *table, pid_t pid);

/*
 * Adds a process without looking at it: a child that was forked off an observed one, which the
 * kernel side knows already. NULL: no memory.
 */
struct observed *observed_add(struct observed_table *table, pid_t pid, pid_t parent_pid,
			      const char *comm);

/*
 * Looks at a process (again) and tells the kernel side what was found; attaches uprobes to
 * publishing objects that have none, before the process runs them if it may be. Schedules the next
 * look when something is missing. 0, -ESRCH (gone), -errno.
 */
int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns);

/* The process loads or unloads objects: a look is due. */
void observed_note_loading(struct observed *process, uint64_t ktime_ns, uint64_t now_ns);

/* A probe was hit at address whose context cannot be read (events.h): a look is due, soon. */
void observed_note_question(struct observed *process, uint64_t address, uint64_t now_ns);

/* Makes a look due at each process whose publisher is not where it was. */
void observed_check_publishers(struct observed_table *table, uint64_t now_ns);

/* True if all that was wanted of it has been found. */
bool observed_is_complete(const struct observed *process);
/* True if its contexts of OpenTelemetry are read: they change without a probe. */
bool observed_has_otel(const struct observed *process);
/* The kernel side met an attribute that has no name yet: a look is due, soon. */
void observed_expect_otel(struct observed *process, uint64_t now_ns);
/* Makes a look due at a process whose process context is another one by now. */
void observed_check_otel(struct observed *process, uint64_t now_ns);

/* After an exec nothing that was known is true any more. */
void observed_forget_image(struct observed *process, uint64_t now_ns);

/* The name of a symbol of the process, for decoding values (a ruby_value_symbol_fn). */
int observed_find_symbol(void *process, uint64_t id, struct value_snapshot *ret_name);

/* When the next look at some process is due; UINT64_MAX = none. */
uint64_t observed_next_look(const struct observed_table *table);

void observed_remove(struct observed_table *table, struct observed *process);
