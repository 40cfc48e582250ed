/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which system calls requests made, and the time inside: the syscall records of a recording, by a
 * key of their requests, as selection.h takes them. Records are untrusted: what finds no room is
 * counted. Single thread; nothing here logs.
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
	SYSCALLS_SUMS_MAX = 8000000, /* of a group and a call: 32 bytes each */
	SYSCALLS_KINDS_MAX = 4096,
	SYSCALLS_TEXT_BYTES_MAX = 256, /* of a call's name, or a key's value: cut */
};

/* A system call: its name, with that of its table in front unless it is the machine's own. */
struct syscalls_kind {
	UT_hash_handle hh;
	size_t name_bytes;
	char name[]; /* any bytes, not NUL-terminated */
};

/* How often, in all. */
struct syscalls_sum {
	struct syscalls_sum *next;
	const struct syscalls_kind *kind;
	int64_t calls;
	int64_t inside_ns;
};

enum syscalls_group_kind {
	SYSCALLS_GROUP = 0, /* of one value of the key */
	SYSCALLS_WITHOUT_KEY = 1, /* in a context that has none */
	SYSCALLS_UNATTRIBUTED = 2, /* in no context, or in none that could be read */
	SYSCALLS_OVERFLOW = 3,
};

/* What the requests of one value made. */
struct syscalls_group {
	UT_hash_handle hh;
	enum syscalls_group_kind kind;
	uint64_t request_count; /* also those that made none; 0 = of no request */
	int64_t calls;
	int64_t inside_ns;
	int64_t account_calls; /* as the cpu records have them */
	struct syscalls_sum *sums; /* after syscalls_finish: the most calls first */
	struct record_text value; /* any bytes, in key */
	char key[];
};

struct syscalls {
	const char *by; /* borrowed: the key; NULL: endpoint, or request_id where there is none */
	struct selection selection;
	bool is_asked; /* it knows which keys are to be lent */
	struct syscalls_kind *kinds; /* uthash */
	struct syscalls_group *groups; /* uthash; after syscalls_finish: the most calls first */
	size_t sum_count;
	/* Sums over all groups: */
	int64_t calls;
	int64_t inside_ns;
	int64_t account_calls;
	int64_t lost; /* calls in the accounts that no syscall record tells of: of all processes */
	uint64_t left_out; /* records that found no room */
	bool has_wanted; /* the filter let a cpu record pass */
	bool has_any; /* there is a syscall record */
	uint64_t seed;
};

/* Takes the filter. by: a key, or NULL. */
void syscalls_init(struct syscalls *syscalls, struct filter *filter, const char *by);
void syscalls_deinit(struct syscalls *syscalls);

/* Adds a record of any kind. 0, -ENOMEM. */
int syscalls_add(struct syscalls *syscalls, const struct record_view *record);

/* After the last record. 0, -ENOMEM. */
int syscalls_finish(struct syscalls *syscalls);

/* "group", "without key", ... as rows.h has them. */
const char *syscalls_group_kind_name(enum syscalls_group_kind kind);
