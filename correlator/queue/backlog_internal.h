/* What backlog*.c share; nobody else includes this. */
#pragma once

#include <pthread.h>

#include "queue/backlog.h"
#include "queue/segment.h"
#include "queue/store.h"

struct backlog {
	struct backlog_options options; /* the defaults filled in */
	pthread_mutex_t lock; /* guards all below; nothing slow is done under it */
	int timer_fd; /* due at once when a chunk is ready, later while one is open */
	struct segment *segments; /* oldest first; only the newest may be open */
	size_t memory_bytes; /* capacity of all that is in memory */
	uint64_t store_bytes; /* written of all that is in the store */
	struct backlog_status totals; /* only what has happened; the rest is counted when asked */
	struct backlog_gap gap;
	struct chunk chunk; /* of the segment that is taken */
	/* The keeper's: */
	struct store *store; /* NULL = none yet, or none to be had */
	pthread_t keeper;
	pthread_cond_t work; /* for the keeper */
	pthread_cond_t settled; /* for who waits for the keeper */
	bool has_keeper;
	bool is_ending;
	struct segment *trash; /* off the queue; with a file, or still in the keeper's hands */
	bool is_failing; /* the store takes nothing more: memory alone, for now */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: when it is worth another try */
};

/* backlog.c; all with the lock held. */
struct segment *backlog_find_open(const struct backlog *backlog);
void backlog_seal_segment(struct backlog *backlog, struct segment *segment);
void backlog_wake_reader(struct backlog *backlog);
void backlog_wake_reader_at(struct backlog *backlog, uint64_t due_ns); /* CLOCK_MONOTONIC */
bool backlog_is_durable(const struct backlog *backlog);
/* When an open segment is to be sealed. */
uint64_t backlog_due_ns(const struct backlog *backlog, const struct segment *open);
/* Takes it off the queue, counted as lost: the caller throws it away. */
void backlog_drop(struct backlog *backlog, struct segment *segment, const char *reason);
void backlog_count_gap(struct backlog *backlog, uint64_t records, uint64_t segments,
		       uint64_t first_ns, uint64_t last_ns, const char *reason);
/* Takes it off the queue and throws it away, now or by the keeper. */
void backlog_release(struct backlog *backlog, struct segment *segment);

/* backlog_keeper.c: starts the thread; 0 or -errno. */
int backlog_keeper_start(struct backlog *backlog);
/* Lets it keep what it can, and ends it. */
void backlog_keeper_stop(struct backlog *backlog);
