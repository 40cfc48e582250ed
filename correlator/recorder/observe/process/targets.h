/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a recording observes: the processes that were named, their children, the command that it
 * starts, and those that it finds. Single thread.
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
	struct object_files *files; /* what is known of those that processes map */
	struct observed_table processes;
	struct discovery *discovery; /* NULL = only the processes that were named */
	struct child_command child; /* of `-- COMMAND`; pid 0 = none */
	bool must_publish; /* a process was named: it is an error if none ever publishes */
	bool has_published;
	bool has_found; /* the search, some process */
	bool has_search_failed; /* the last one */
};

/* Of zeroed memory; options are borrowed. Are the processes there that were named? Exit code. */
int targets_prepare(struct targets *targets, const struct targets_options *options);
void targets_deinit(struct targets *targets);

/* Looks at all that are there now; the command is started, and held back. takes_output: records go
 * to standard output, which is not the command's then. Exit code. */
int targets_observe(struct targets *targets, struct session *session, bool takes_output);
/* Lets the command go. Exit code (child_command_release). */
enum exit_code targets_release(struct targets *targets);

/*
 * Searches for others, where that is wanted and due: true if there are some; is_found is set in
 * those. What fails is said once, and tried again the next time.
 */
bool targets_search(struct targets *targets, struct session *session, uint64_t now_ns);
/* When that is due; UINT64_MAX = never. */
uint64_t targets_next_search(const struct targets *targets);
/* Something happened to a process that is not observed. */
void targets_expect(struct targets *targets, pid_t pid);

/* A search has found none, and could not look at all for want of a privilege. Logged. */
bool targets_were_hidden(const struct targets *targets);
/* Nothing is left to observe: a command that was given has ended, and, unless it was given beside
 * others, all that was observed, too. */
bool targets_are_over(const struct targets *targets);
/* A process whose exit event was lost would be waited for for ever. */
void targets_find_lost_exits(struct targets *targets);
