/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that a recording observes: those that were named, their children, the command that
 * it starts, and those that it finds. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/observe/process/child_command.h"
#include "recorder/observe/process/observed.h"
#include "recorder/probe/session.h"
#include "recorder/target/discovery/discovery.h"

struct targets_options {
	const pid_t *pids;
	size_t pid_count;
	char *const *command; /* NULL-terminated: start this and observe it; NULL = none */
	struct key_options keys;
	bool follow_forks;
	bool searches; /* for every Ruby process that publishes and passes the filters */
	const char *comm; /* patterns; NULL = any */
	const char *cgroup;
};

struct targets {
	const struct targets_options *options;
	struct object_files *files; /* known files that processes map */
	struct observed_table processes;
	struct discovery *discovery; /* NULL = only the processes that were named */
	struct child_command child; /* of `-- COMMAND`; pid 0 = none */
	bool must_publish; /* a process was named: it is an error if none ever publishes */
	bool has_published;
	bool has_found; /* the search has found some process */
	bool has_search_failed; /* the last search failed */
};

/* Initializes zeroed memory; borrows options. Checks that the named processes exist. Exit code. */
int targets_prepare(struct targets *targets, const struct targets_options *options);
void targets_deinit(struct targets *targets);

/*
 * Looks at all targets that exist now; starts the command and holds it back. takes_output: records
 * go to standard output, which the command therefore does not get. Exit code.
 */
int targets_observe(struct targets *targets, struct session *session, bool takes_output);
/* Releases the command. Exit code as child_command_release(). */
enum exit_code targets_release(struct targets *targets);

/*
 * Searches for other processes, if wanted and due. True: found some, with is_found set. A failure
 * is logged once, and retried at the next search.
 */
bool targets_search(struct targets *targets, struct session *session, uint64_t now_ns);
/* When the next search is due; UINT64_MAX = never. */
uint64_t targets_next_search(const struct targets *targets);
/* Something happened to a process that is not observed. */
void targets_expect(struct targets *targets, pid_t pid);

/* True (logged): a search found no process, and could not inspect all for lack of a privilege. */
bool targets_were_hidden(const struct targets *targets);
/*
 * True if nothing is left to observe: the command, if any, has ended, and, unless it was given
 * together with other targets, so have all observed processes.
 */
bool targets_are_over(const struct targets *targets);
/* Marks processes as exited whose exit event was lost; otherwise they are waited for forever. */
void targets_find_lost_exits(struct targets *targets);
