/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which code CPU was used: the samples of a recording, laid over its exact CPU. A request's
 * exact CPU is spread over the stacks in which it was seen, in proportion to the time that each
 * one's samples stand for; so is that of what ran in no request, by its keys. What was never seen
 * in a sample keeps its exact CPU as "not sampled". All adds up to the nanosecond. Records are
 * chosen as totals.h chooses them. Records are untrusted: what finds no room is counted. Single
 * thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/filter.h"
#include "report/frames.h"
#include "report/known_records.h"
#include "report/recording.h"
#include "requests/attribution.h"

enum {
	STACKS_CONTEXTS_MAX = 1000000, /* requests, and others: some 200 bytes each */
	STACKS_PLACES_MAX = 4000000, /* some 130 bytes each */
	STACKS_LABELS_MAX = 16, /* keys, of a context */
};

struct stacks_context;

/* Where samples were taken: one thread of a context in one stack. */
struct stacks_where {
	const struct stacks_context *context;
	const struct frame *frame; /* the innermost one; NULL until stacks_finish: no room */
	int64_t pid;
	int64_t tid;
};

struct stacks_place {
	UT_hash_handle hh;
	struct stacks_place *next; /* of the same context */
	struct stacks_where where;
	uint64_t samples;
	uint64_t stands_for_ns; /* samples times period, of CPU time */
	int64_t cpu_ns; /* after stacks_finish: its part of the context's exact CPU */
};

struct stacks_label {
	const struct frames_text *key;
	const struct frames_text *value;
};

/* A request, or what ran in no request with the same keys. */
struct stacks_context {
	UT_hash_handle hh;
	enum attribution attribution; /* the first record's */
	enum filter_verdict verdict; /* as far as its records have told */
	bool is_request;
	bool is_chosen; /* after stacks_finish */
	int64_t cpu_ns; /* exact */
	int64_t first_ns; /* wall clock of its first and last activity; 0 = not known */
	int64_t last_ns;
	uint64_t samples;
	struct stacks_place *places;
	struct stacks_label *labels; /* the last value of each key that is not "" */
	size_t label_count;
	char id[]; /* not NUL-terminated */
};

/* What was chosen, in all. */
struct stacks_sums {
	int64_t cpu_ns; /* exact: the sum of the two below */
	int64_t sampled_cpu_ns; /* of contexts that were seen in a sample */
	int64_t unsampled_cpu_ns;
	uint64_t sampled_contexts;
	uint64_t unsampled_contexts; /* that used CPU */
	uint64_t samples;
	double squares; /* of what each sample weighs, ns */
};

struct stacks {
	struct filter filter; /* owned */
	struct recording recording;
	struct known_records known;
	struct frames frames;
	struct stacks_context *contexts; /* uthash, in order of appearance */
	struct stacks_context *rest; /* of those that found no room: only its CPU is known */
	struct stacks_place *places; /* uthash: all of them */
	struct stacks_sums sums; /* after stacks_finish */
	uint64_t samples_left_out; /* of a context or a stack that found no room */
	uint64_t cpu_records_left_out; /* the same; their CPU is in rest */
	bool has_wanted; /* the filter let a cpu record pass */
	uint64_t seed;
};

/* Takes the filter. */
void stacks_init(struct stacks *stacks, struct filter *filter);
void stacks_deinit(struct stacks *stacks);

/* Adds a record of any kind. 0, -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct record_view *record);

/* After the last record: chooses, and spreads the CPU. 0, -ENOMEM. */
int stacks_finish(struct stacks *stacks);

struct stacks_slowest {
	size_t count; /* requests; 0: by percent */
	double percent; /* those above this percentile of their endpoint's requests */
	bool by_cpu; /* else by wall time */
};

/* After stacks_finish: leaves only those of the chosen requests. 0, -ENOMEM. */
int stacks_keep_slowest(struct stacks *stacks, const struct stacks_slowest *slowest);

/* What the context has of a key, or NULL. */
const struct frames_text *stacks_value(const struct stacks_context *context, const char *key);

/* Iterates those that are chosen: *cursor starts at NULL; NULL at the end. */
const struct stacks_context *stacks_next(const struct stacks *stacks,
					 const struct stacks_context *cursor);

/*
 * The standard error of a share (0 to 1) that was found in these samples: binomial, of as many as
 * would be as good if each weighed the same (Kish 1965), after Agresti and Coull (1998), so that of
 * few samples neither 0 nor 1 looks exact. 1 without a sample.
 */
double stacks_error(const struct stacks_sums *sums, double share);
