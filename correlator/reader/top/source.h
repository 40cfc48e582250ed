/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The source of the records: a recorder that is started for top, a replayed recording, or standard
 * input. Reads never block; the caller waits with poll(2). Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/top/history.h"
#include "record/record_reader.h"

enum {
	SOURCE_SAID_BYTES = 4096, /* size of said: the end of the recorder's standard error */
	/* If nothing arrives for this long, all records of a window have arrived: it is written at
	 * once. */
	SOURCE_QUIET_NS = 30000000,
	SOURCE_GAP_SECONDS = 5, /* longer gaps in a replay are shortened to this */
	SOURCE_READ_MAX = 4096, /* records per source_read() */
};

struct source {
	struct record_reader *reader; /* this and view: NULL, and fd: -1, if there is none */
	struct record_view *view; /* the last record read, */
	bool has_view; /* view is not in the history yet */
	int fd;
	int said_fd; /* the recorder's standard error; -1: inherited from us */
	pid_t recorder; /* 0: none, or reaped */
	int exit_status; /* of waitpid(2), once the recorder is reaped */
	double speed; /* of a replay; 0 = as fast as possible */
	bool is_paced; /* a regular file, replayed at speed */
	uint64_t base_ns; /* monotonic clock at which base_wall_ns is shown */
	uint64_t base_wall_ns;
	uint64_t last_wall_ns; /* newest wall_ns so far */
	uint64_t due_ns; /* monotonic clock at which view is to be shown */
	uint64_t quiet_ns; /* monotonic clock when the open window counts as complete; 0 = never */
	bool has_begun; /* a pipe has, or had, a writer */
	bool has_ended;
	bool is_damaged;
	char said[SOURCE_SAID_BYTES];
};

/* Starts this program with arguments that write records to standard output (argv[0] included, NULL
 * at the end); takes_said: keeps its messages in said, not shown. 0, -errno, logged. */
int source_start(struct source *source, char *const *argv, bool takes_said);
/* Replays a file, or standard input ("-"), at the given speed; input other than a file is shown as
 * it arrives. 0, -errno, logged. */
int source_open(struct source *source, const char *path, double speed);
/* Also ends the recorder. */
void source_deinit(struct source *source);

/* Reads the records due at now_ns (monotonic clock), and stops after each complete window, so that
 * it can be shown. 0; -errno, logged. */
int source_read(struct source *source, struct history *history, uint64_t now_ns);

/* Returns the events to wait for: *ret_fd (-1: none), or until *ret_due_ns (monotonic clock;
 * UINT64_MAX: forever). */
void source_awaits(const struct source *source, int *ret_fd, uint64_t *ret_due_ns);

/* Reads the recorder's messages. */
void source_listen(struct source *source);

/* The recorder's exit status; 0 if there is none. */
int source_exit_code(const struct source *source);
