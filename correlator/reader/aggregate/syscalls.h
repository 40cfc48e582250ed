/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls of requests, and the time inside: sums the syscall records of a recording by a
 * key of their requests, as passed on by selection.h. Records are untrusted: those beyond a bound
 * are counted. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/query/filter.h"
#include "reader/query/selection.h"
#include "requests/attribution.h"

enum {
	SYSCALLS_GROUPS_MAX = 1000000, /* values of the key: some 200 bytes each */
	SYSCALLS_SUMS_MAX = 8000000, /* pairs of group and call: 32 bytes each */
	SYSCALLS_KINDS_MAX = 4096,
	SYSCALLS_TEXT_BYTES_MAX = 256, /* of a call's name, or a key's value; longer ones are cut */
};

/* A system call: its name, prefixed by its table's unless that is the machine's own. */
struct syscalls_kind {
	UT_hash_handle hh;
	size_t name_bytes;
	char name[]; /* any bytes, not NUL-terminated */
};

/* The totals of one system call. */
struct syscalls_sum {
	struct syscalls_sum *next;
	const struct syscalls_kind *kind;
	int64_t calls;
	int64_t inside_ns;
};

enum syscalls_group_kind {
	SYSCALLS_GROUP = 0, /* one value of the key */
	SYSCALLS_WITHOUT_KEY = 1, /* in a context without the key */
	SYSCALLS_UNATTRIBUTED = 2, /* in no context, or in one that could not be read */
	SYSCALLS_OVERFLOW = 3,
};

/* The calls of the requests with one value. */
struct syscalls_group {
	UT_hash_handle hh;
	enum syscalls_group_kind kind;
	uint64_t request_count; /* including requests without calls; 0 = no request */
	int64_t calls;
	int64_t inside_ns;
	int64_t account_calls; /* as counted by the cpu records */
	struct syscalls_sum *sums; /* after syscalls_finish: the most calls first */
	struct record_text value; /* any bytes; points into key */
	char key[];
};

struct syscalls {
	const char *by; /* borrowed: the key; NULL: endpoint, or request_id if there is none */
	struct selection selection;
	bool is_asked; /* the key's values were asked for */
	struct syscalls_kind *kinds; /* uthash */
	struct syscalls_group *groups; /* uthash; after syscalls_finish: the most calls first */
	size_t sum_count;
	/* Sums over all groups: */
	int64_t calls;
	int64_t inside_ns;
	int64_t account_calls;
	int64_t lost; /* of all processes: calls in the accounts that no syscall record covers */
	uint64_t left_out; /* records beyond a bound */
	bool has_wanted; /* the filter let a cpu record pass */
	bool has_any; /* there is a syscall record */
	uint64_t seed;
};

/* Takes ownership of the filter. by: a key, or NULL. */
void syscalls_init(struct syscalls *syscalls, struct filter *filter, const char *by);
void syscalls_deinit(struct syscalls *syscalls);

/* Adds a record of any kind. Returns 0, -ENOMEM. */
int syscalls_add(struct syscalls *syscalls, const struct record_view *record);

/* Call after the last record. Returns 0, -ENOMEM. */
int syscalls_finish(struct syscalls *syscalls);

/* "group", "without_key", ... as in rows.h. */
const char *syscalls_group_kind_name(enum syscalls_group_kind kind);
