/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which code CPU was used: the samples of a recording, laid over its exact CPU. The exact CPU of
 * a long request is spread over the stacks that samples met it in, in proportion to the time that
 * the samples of each stack stand for; that of the short requests of an endpoint over the stacks
 * of all of them together (stacks_spread.h). What ran in no request is told apart by its keys and
 * treated alike, apart from requests. The CPU of an endpoint without a sample is "not sampled". All
 * adds up to the nanosecond. Or in which code was waited: then the time off the CPU is that of the
 * stacks themselves, and what was told of none is in one that is not known. Records come in as
 * selection.h has it. Records are untrusted: what finds no room is counted. Single thread;
 * nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/profile/frames.h"
#include "reader/query/filter.h"
#include "reader/query/selection.h"
#include "requests/attribution.h"

#define STACKS_POOL_KEY "endpoint" /* short requests with one value of it are spread together */

enum {
	STACKS_CONTEXTS_MAX = 1000000, /* requests, and others: some 200 bytes each */
	STACKS_PLACES_MAX = 4000000, /* some 130 bytes each */
	STACKS_LABELS_MAX = RECORDING_KEYS_MAX, /* keys, of a context */
};

enum stacks_measure {
	STACKS_CPU = 0, /* by samples */
	STACKS_OFF_CPU = 1, /* blocked and run queue, by waits, which are exact */
	_STACKS_MEASURE_MAX,
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
	uint64_t samples; /* or waits, by the measure: so everywhere */
	uint64_t stands_for_ns; /* samples times period, of CPU time; of waits their own */
	/* After stacks_finish: its part of the exact time, of its context or of several of the
	 * endpoint; and as much of that as its context used there at most. */
	int64_t spent_ns;
	int64_t own_ns;
};

struct stacks_label {
	const struct frames_text *key;
	const struct frames_text *value;
};

/* A request, or its part with the same keys; or what ran in no request with the same keys. */
struct stacks_context {
	UT_hash_handle hh;
	enum attribution attribution; /* the first record's */
	bool is_request;
	struct stacks_context *request; /* the request's first part, which may be this */
	struct stacks_context *next_part; /* of the same request; NULL: none */
	struct stacks_context
		*last_part; /* of the first: of which its last cpu record is; or NULL */
	/* After stacks_finish: */
	bool is_chosen;
	bool is_spread; /* over places: else its time is in no stack */
	bool is_pooled; /* with others of its endpoint */
	const struct frames_text *pool_key; /* its value of STACKS_POOL_KEY, or NULL */
	int64_t spent_ns; /* exact, by the measure */
	int64_t first_ns; /* wall clock of its first and last activity; 0 = not known */
	int64_t last_ns;
	bool lacks_spent; /* these two: some cpu record does not tell it */
	bool lacks_span;
	uint64_t samples;
	struct stacks_place *places;
	struct stacks_label *labels; /* the value of each key that is not "" */
	size_t label_count;
	char id[]; /* not NUL-terminated */
};

/* What was chosen, in all. */
struct stacks_sums {
	int64_t spent_ns; /* exact: the sum of the two below */
	int64_t sampled_ns; /* of contexts that are spread over stacks */
	int64_t unsampled_ns;
	int64_t pooled_ns; /* in sampled_ns: of those that are with others of their endpoint */
	uint64_t sampled_contexts;
	uint64_t unsampled_contexts; /* that spent some */
	uint64_t pooled_contexts; /* in sampled_contexts */
	uint64_t samples;
	int64_t period_ns; /* what one stands for, on average; of waits how long one is */
	double squares; /* of what each sample weighs, ns */
};

struct stacks {
	enum stacks_measure measure;
	struct selection selection;
	bool is_prepared; /* it lends what the pools need */
	struct frames frames;
	struct stacks_context *contexts; /* uthash, in order of appearance */
	struct stacks_context *rest; /* of those that found no room: only its sum is known */
	struct stacks_place *places; /* uthash: all of them */
	struct stacks_sums sums; /* after stacks_finish */
	uint64_t samples_left_out; /* of a context or a stack that found no room */
	uint64_t cpu_records_left_out; /* the same; their time is in rest */
	bool has_wanted; /* the filter let a cpu record pass */
	uint64_t seed;
};

/* Takes the filter. */
void stacks_init(struct stacks *stacks, enum stacks_measure measure, struct filter *filter);
void stacks_deinit(struct stacks *stacks);

/* Adds a record of any kind. 0, -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct record_view *record);

/*
 * What a sample record stands for, by the measure: how many samples, and their CPU time, at most
 * UINT64_MAX ns; or how many waits began, and how long was waited. False: it is of the other one,
 * or of nothing.
 */
bool stacks_weigh(const struct record_view *record, enum stacks_measure measure,
		  uint64_t *ret_samples, uint64_t *ret_stands_for_ns);

/* After the last record: spreads the CPU. 0, -ENOMEM. */
int stacks_finish(struct stacks *stacks);

/* Whether it is the first part of a request that has a cpu record: one without is none in any view.
 */
bool stacks_is_counted(const struct stacks_context *context);

struct stacks_slowest {
	size_t count; /* requests; 0: by percent */
	double percent; /* those above this percentile of their endpoint's requests */
	bool by_cpu; /* else by wall time */
};

/* After stacks_finish: leaves only those of the chosen requests. 0, -ENOMEM. */
int stacks_keep_slowest(struct stacks *stacks, const struct stacks_slowest *slowest);

/* The two parts of a place's time: its context's own, and the part that stands for others of the
 * endpoint. */
enum stacks_whose {
	STACKS_OWN = 0,
	STACKS_OTHERS = 1,
	_STACKS_WHOSE_MAX,
};

struct stacks_part {
	int64_t spent_ns;
	uint64_t samples; /* those of the place are its own */
};

/* After stacks_finish. */
struct stacks_part stacks_part(const struct stacks_place *place, enum stacks_whose whose);

/* Whether a part has this label of its place's context: others have the endpoint alone. */
bool stacks_label_is_of(const struct stacks_label *label, enum stacks_whose whose);

/* The name of a frame for what is in no stack. */
const char *stacks_nowhere_name(const struct stacks *stacks);

/* The innermost frame that is shown of a stack: of a wait none of the kernel's, in which all end,
 * unless it has no others: then the outermost. */
const struct frame *stacks_shown_frame(enum stacks_measure measure, const struct frame *innermost);

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
