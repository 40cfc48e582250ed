/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a recording observes: the processes that were named, their children, the command that it
 * starts, and those that it finds. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observe/child_command.h"
#include "observe/observed.h"
#include "observe/recording.h"
#include "probe/session.h"
#include "target/discovery/discovery.h"

struct targets {
	const struct recording_options *options;
	struct observed_table processes;
	struct discovery *discovery; /* NULL = only the processes that were named */
	struct child_command child; /* of `-- COMMAND`; pid 0 = none */
	bool must_publish; /* a process was named: it is an error if none ever publishes */
	bool has_published;
	bool wants_lean; /* the contexts of one cannot be read otherwise */
};

/* Of zeroed memory; options are borrowed. Are the processes there that were named? Exit code. */
int targets_prepare(struct targets *targets, const struct recording_options *options);
void targets_deinit(struct targets *targets);

/* Looks at all that are there now; the command is started, and held back. Exit code. */
int targets_observe(struct targets *targets, struct session *session);
/* Lets the command go. 0 or -errno (logged). */
int targets_release(struct targets *targets);

/* Searches for others, where that is wanted: is_found is set in those. 1: there are some; 0; -errno
 * (logged). */
int targets_search(struct targets *targets, struct session *session);

/* Looks at a process; decisions as observed_look, of which that about the mode is noted here. */
int targets_look(struct targets *targets, struct observed *process, struct session *session,
		 uint64_t now_ns, unsigned int *ret_decisions);

bool targets_have_exited(const struct targets *targets);
/* A process whose exit event was lost would be waited for for ever. */
void targets_find_lost_exits(struct targets *targets);
