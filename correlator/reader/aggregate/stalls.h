/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The long waits of requests (stall records), as passed on by selection.h: the longest ones, and
 * sums by a key of the request that waited and by what ended the wait. And hogs: fibers that kept
 * their thread, with the requests of other fibers of that thread that were under way meanwhile.
 * Records are untrusted: those beyond a bound are counted. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/query/filter.h"
#include "reader/query/selection.h"

enum {
	STALLS_KEPT_MAX = 100000, /* waits that are listed: some 400 bytes each */
	STALLS_PAIRS_MAX = 1000000,
	STALLS_HOGS_MAX = 100000, /* as STALLS_KEPT_MAX */
	STALLS_LIVES_MAX = 4000000, /* requests: 40 bytes each */
	STALLS_OPEN_MAX = 10000, /* requests under way at a time on one thread */
	STALLS_TEXT_BYTES_MAX = 256, /* of each text; a longer one is cut */
};

/* The cause of the end of a wait. */
enum stalls_ender {
	STALLS_BY_REQUEST = 0, /* a thread in another request */
	STALLS_BY_ITSELF = 1, /* a thread in the same request, such as of a child */
	STALLS_BY_THREAD = 2, /* a thread in no request */
	STALLS_BY_TIMER = 3,
	STALLS_BY_NETWORK = 4,
	STALLS_BY_DISK = 5,
	STALLS_BY_INTERRUPT = 6, /* one of these, or another one */
	STALLS_BY_CPU = 7, /* it waited for a CPU, most of the time */
	STALLS_BY_UNKNOWN = 8,
	_STALLS_ENDER_MAX,
};

/* Texts of a wait: any bytes, not NUL-terminated; empty: not known. */
enum stalls_text {
	STALLS_VALUE, /* of the key, in the request that waited */
	STALLS_ENDER, /* of the key, in the request that ended it; else the thread's name */
	STALLS_REQUEST,
	STALLS_ENDING_REQUEST,
	STALLS_THREAD,
	STALLS_BLOCKED_ON,
	STALLS_SYSCALL,
	STALLS_WAITED_ON,
	STALLS_STACK, /* id of the innermost frame */
	_STALLS_TEXT_MAX,
};

struct stalls_thread {
	unsigned int host; /* hash of its name */
	int64_t pid;
	int64_t tid;
};

struct stalls_wait {
	int64_t start_ns; /* wall clock */
	int64_t end_ns;
	int64_t blocked_ns;
	int64_t run_queue_ns;
	int64_t gvl_ns; /* part of both: it waited for the GVL, as far as that is known */
	int64_t cpu_ns; /* of a hog */
	int64_t held_ns; /* of a hog: of the requests that were under way, in sum */
	uint64_t held_count; /* and their number; the selected ones alone */
	struct stalls_thread thread;
	int64_t ender_pid; /* of the thread that woke it, or had its CPU; 0 = none */
	int64_t ender_tid;
	enum stalls_ender ender;
	bool is_wanted; /* of a hog: it is selected itself */
	struct record_text texts[_STALLS_TEXT_MAX]; /* point into bytes */
	char bytes[];
};

/* When a request was under way, and on which thread. */
struct stalls_life {
	struct stalls_thread thread;
	int64_t start_ns;
	int64_t end_ns;
	unsigned int request; /* hash of its ID */
};

/* The waits with the same value that the same ended. */
struct stalls_pair {
	UT_hash_handle hh;
	enum stalls_ender ender;
	struct record_text value; /* point into key */
	struct record_text ender_text;
	uint64_t count;
	int64_t blocked_ns;
	int64_t run_queue_ns;
	int64_t gvl_ns;
	int64_t longest_ns;
	char key[];
};

/* The hogs with the same value of the key. */
struct stalls_hog_sum {
	UT_hash_handle hh;
	struct record_text value; /* a hog's */
	uint64_t count;
	uint64_t held_count; /* this and held_ns: of all of them, as in struct stalls_wait */
	int64_t held_ns;
	int64_t kept_ns; /* how long they kept their threads */
	int64_t cpu_ns; /* part of kept_ns: on a CPU */
	int64_t longest_ns;
};

struct stalls {
	const char *by; /* borrowed: the key; NULL: endpoint, or request_id if there is none */
	char *ender_field; /* of the key, in the context of the waker */
	struct selection selection;
	bool is_asked; /* the key's values were asked for */
	size_t kept_max; /* how many waits to keep; 0 = STALLS_KEPT_MAX */
	struct stalls_wait **waits; /* after stalls_finish: the longest first */
	size_t wait_count;
	size_t wait_capacity;
	struct stalls_wait **hogs; /* after stalls_finish: those that held most up first */
	size_t hog_count;
	size_t hog_capacity;
	struct stalls_hog_sum *hog_sums; /* uthash; after stalls_finish: that held most up first */
	uint64_t *others; /* numbers of stalls_add_other() records (selection_record) */
	size_t other_count;
	size_t other_capacity;
	struct stalls_life *lives; /* of the selected requests */
	size_t life_count;
	size_t life_capacity;
	struct stalls_pair *pairs; /* uthash; after stalls_finish: most time first */
	/* Sums of all waits: */
	uint64_t count;
	int64_t blocked_ns;
	int64_t run_queue_ns;
	int64_t gvl_ns;
	int64_t lost; /* of all processes: long waits without a record */
	uint64_t left_out; /* records beyond a bound */
	bool has_wanted; /* the filter let a cpu record pass */
	bool has_any; /* there is a stall record */
	uint64_t seed;
};

/* Takes ownership of the filter. by: a key, or NULL. */
void stalls_init(struct stalls *stalls, struct filter *filter, const char *by, size_t kept_max);
void stalls_deinit(struct stalls *stalls);

/* Adds a record of any kind. Returns 0, -ENOMEM. */
int stalls_add(struct stalls *stalls, const struct record_view *record);
/* Adds a hog of a request that the caller did not select: it counts only if it held up a selected
 * one. Returns 0, -ENOMEM. */
int stalls_add_other(struct stalls *stalls, const struct record_view *record);

/* Call after the last record. Returns 0, -ENOMEM. */
int stalls_finish(struct stalls *stalls);

/* "request", "itself", "thread", "timer", "network", "disk", "interrupt", "cpu" or "unknown". */
const char *stalls_ender_name(enum stalls_ender ender);

static inline int64_t stalls_wait_ns(const struct stalls_wait *wait)
{
	return wait->end_ns - wait->start_ns;
}
