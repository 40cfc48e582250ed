/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the records come from: a recorder that is started for it, a recording that is replayed, or
 * standard input. Reads without ever waiting: whoever waits does that with poll(2). Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/top/history.h"
#include "record/record_reader.h"

enum {
	SOURCE_SAID_BYTES = 4096, /* of what the recorder said, the end */
	/* After so long a quiet the records of a window are all there: it is written at once. */
	SOURCE_QUIET_NS = 30000000,
	SOURCE_GAP_SECONDS = 5, /* in a replay, a longer one is cut to it */
	SOURCE_READ_MAX = 4096, /* records at once */
};

struct source {
	struct record_reader *reader; /* these three NULL or -1: none */
	struct record_view *view; /* what was read last, */
	bool has_view; /* and is not in the history yet */
	int fd;
	int said_fd; /* the recorder's standard error; -1: it has ours */
	pid_t recorder; /* 0: none, or gone */
	int exit_status; /* of waitpid(2), when it is gone */
	double speed; /* of a replay; 0 = as fast as it goes */
	bool is_paced; /* it is one */
	uint64_t base_ns; /* monotonic clock at which wall_ns is shown */
	uint64_t base_wall_ns;
	uint64_t last_wall_ns; /* of the latest window so far */
	uint64_t due_ns; /* monotonic clock at which the view is to be shown */
	uint64_t
		quiet_ns; /* monotonic clock when the window can be taken for complete; 0 = never */
	bool has_begun; /* a pipe has, or had, one who writes to it */
	bool has_ended;
	bool is_damaged;
	char said[SOURCE_SAID_BYTES];
};

/* Starts this program with these arguments (argv[0] included, NULL at the end), which write records
 * to standard output; takes_said: what it says is kept, not shown. 0, -errno, logged. */
int source_start(struct source *source, char *const *argv, bool takes_said);
/* Replays a file, or standard input ("-"), at a speed; what is no file comes as it comes. 0,
 * -errno, logged. */
int source_open(struct source *source, const char *path, double speed);
/* Ends the recorder, too. */
void source_deinit(struct source *source);

/* Takes what is there by now (monotonic clock), but no more once a window is complete, so that each
 * can be shown. 0; -errno, logged. */
int source_read(struct source *source, struct history *history, uint64_t now_ns);

/* To be waited for: *ret_fd (-1: none), or until *ret_due_ns (monotonic clock; UINT64_MAX:
 * forever). */
void source_awaits(const struct source *source, int *ret_fd, uint64_t *ret_due_ns);

/* Reads what the recorder says. */
void source_listen(struct source *source);

/* The exit status that the recorder ended with: 0 where there is none. */
int source_exit_code(const struct source *source);
