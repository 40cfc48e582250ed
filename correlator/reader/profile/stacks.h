/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which code used the CPU: the exact CPU of a recording, spread over the stacks of its samples.
 *
 * - The exact CPU of a long request is spread over the stacks it was sampled in, in proportion to
 *   the time that each stack's samples stand for.
 * - The CPU of an endpoint's short requests is spread over the stacks of all of them together. If
 *   the filter leaves too few, the samples of the others stand for them (stacks_spread.h).
 * - Time outside requests is grouped by its keys and spread the same way, apart from requests.
 * - The CPU of an endpoint without a sample is "not sampled".
 *
 * Or which code waited (STACKS_OFF_CPU): the time in each stack is exact, and time of a context
 * that its wait records lack is in an unknown stack. Everything adds up to the nanosecond.
 *
 * Records come in through selection.h. They are untrusted: those that do not fit are counted.
 * Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/profile/frames.h"
#include "reader/query/filter.h"
#include "reader/query/selection.h"
#include "requests/attribution.h"

#define STACKS_POOL_KEY "endpoint" /* short requests with the same value are spread together */

enum {
	STACKS_CONTEXTS_MAX = 1000000, /* requests and other contexts: about 200 bytes each */
	STACKS_PLACES_MAX = 4000000, /* some 130 bytes each; half of them of lenders at most */
	STACKS_LABELS_MAX = RECORDING_KEYS_MAX, /* keys per context */
};

enum stacks_measure {
	STACKS_CPU = 0, /* by samples */
	STACKS_OFF_CPU = 1, /* blocked and run queue, from waits, exact */
	_STACKS_MEASURE_MAX,
};

struct stacks_context;

/* Where samples were taken: one thread of a context in one stack. */
struct stacks_where {
	const struct stacks_context *context;
	const struct frame *frame; /* innermost; until stacks_finish NULL = no id, or no room */
	int64_t pid;
	int64_t tid;
};

struct stacks_place {
	UT_hash_handle hh;
	struct stacks_place *next; /* next place of the context */
	struct stacks_where where;
	uint64_t samples; /* or waits, by measure, here and below */
	uint64_t stands_for_ns; /* CPU: samples times period; waits: their duration */
	/* After stacks_finish. spent_ns: its part of the exact time, of its context or of the
	 * pooled ones of the endpoint. own_ns: upper bound of the part of spent_ns that its own
	 * context used. */
	int64_t spent_ns;
	int64_t own_ns;
};

struct stacks_label {
	const struct frames_text *key;
	const struct frames_text *value;
};

/* The samples that split a context's CPU. All but the first: of the same endpoint. */
enum stacks_source {
	STACKS_SOURCE_OWN = 0,
	STACKS_SOURCE_CHOSEN,
	STACKS_SOURCE_WINDOW, /* of the same window, whether they are chosen or not */
	STACKS_SOURCE_RECORDING,
	_STACKS_SOURCE_MAX,
};

/* A request, or one of its parts (same keys); or all time outside requests with the same keys. */
struct stacks_context {
	UT_hash_handle hh;
	enum attribution attribution; /* the first record's */
	bool is_request;
	bool is_wanted; /* passed the filter; else it may lend, and lacks the next three */
	struct stacks_context *request; /* the request's first part; may be this one */
	struct stacks_context *next_part; /* next part of the request, or NULL */
	struct stacks_context
		*last_part; /* in the first part: the part that has the last cpu record, or NULL */
	/* After stacks_finish: */
	bool is_chosen;
	bool is_spread; /* chosen, and its time is spread over places; else it is in no stack */
	bool is_lending; /* its places have time of others */
	enum stacks_source source;
	const struct frames_text *pool_key; /* value of STACKS_POOL_KEY, or NULL */
	int64_t spent_ns; /* exact, by measure */
	uint64_t window_ns; /* wall clock: when its last window ended; 0 = it has no cpu record */
	int64_t first_ns; /* wall clock of its first and last activity; 0 = not known */
	int64_t last_ns;
	bool lacks_spent; /* this and lacks_span: missing in some cpu record */
	bool lacks_span;
	uint64_t samples;
	struct stacks_place *places;
	struct stacks_label *labels; /* its keys with a value */
	size_t label_count;
	char id[]; /* not NUL-terminated */
};

/* Sums over the chosen contexts. */
struct stacks_sums {
	int64_t spent_ns; /* exact: the sum of the two below */
	int64_t sampled_ns; /* contexts that are spread over stacks */
	int64_t unsampled_ns;
	uint64_t sampled_contexts;
	uint64_t unsampled_contexts; /* with spent_ns > 0 */
	/* Parts of sampled_ns and sampled_contexts: contexts that were spread by samples of others.
	 * STACKS_SOURCE_OWN is 0. */
	int64_t pooled_ns[_STACKS_SOURCE_MAX];
	uint64_t pooled_contexts[_STACKS_SOURCE_MAX];
	uint64_t samples; /* of the chosen and the lending contexts */
	int64_t period_ns; /* mean time that a sample stands for; waits: mean length */
	double squares; /* sum over samples of the square of each one's time, ns^2 */
};

struct stacks {
	enum stacks_measure measure;
	struct selection selection;
	bool is_prepared; /* STACKS_POOL_KEY was asked for */
	struct frames frames;
	struct stacks_context *contexts; /* uthash, in order of appearance */
	struct stacks_context *rest; /* contexts that did not fit: only their sum is known */
	struct stacks_context *lenders; /* uthash: CPU that the filter left out; never chosen */
	size_t lender_places; /* places of these, part of all */
	struct stacks_place *places; /* uthash: places of all contexts */
	struct stacks_sums sums; /* after stacks_finish */
	uint64_t samples_left_out; /* samples whose context or place did not fit */
	uint64_t cpu_records_left_out; /* cpu records whose context did not fit; their time is in
					  rest */
	bool has_wanted; /* the filter passed a cpu record */
	uint64_t seed;
};

/* Takes over the filter and empties it. */
void stacks_init(struct stacks *stacks, enum stacks_measure measure, struct filter *filter);
void stacks_deinit(struct stacks *stacks);

/* Adds a record of any kind. 0, -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct record_view *record);

/*
 * The weight of a sample record by measure. CPU: the number of samples and the CPU time that they
 * stand for, at most UINT64_MAX ns. Off CPU: the number of waits that began and the time waited,
 * ns. False: the record has nothing of this measure.
 */
bool stacks_weigh(const struct record_view *record, enum stacks_measure measure,
		  uint64_t *ret_samples, uint64_t *ret_stands_for_ns);

/* After the last record: spreads the time over the stacks. 0, -ENOMEM. */
int stacks_finish(struct stacks *stacks);

/* Whether it is the first part of a request with a cpu record. No view counts requests without
 * one. */
bool stacks_is_counted(const struct stacks_context *context);

struct stacks_slowest {
	size_t count; /* number of requests; 0: by percent */
	double percent; /* keep those above this percentile of their endpoint */
	bool by_cpu; /* else by wall time */
};

/* After stacks_finish: only the slowest requests stay chosen; spreads again. 0, -ENOMEM. */
int stacks_keep_slowest(struct stacks *stacks, const struct stacks_slowest *slowest);

/* The two parts of a place's time: its own context's, and the rest, which stands for other contexts
 * of the endpoint. */
enum stacks_whose {
	STACKS_OWN = 0,
	STACKS_OTHERS = 1,
	_STACKS_WHOSE_MAX,
};

struct stacks_part {
	int64_t spent_ns;
	uint64_t samples; /* a place's samples count as its own, those of a context that is not
			   * chosen as others' */
};

/* After stacks_finish. */
struct stacks_part stacks_part(const struct stacks_place *place, enum stacks_whose whose);

/* Whether a part has this label of its place's context: STACKS_OTHERS has the endpoint only. */
bool stacks_label_is_of(const struct stacks_label *label, enum stacks_whose whose);

/* The frame name for time in no stack. */
const char *stacks_nowhere_name(const struct stacks *stacks);

/* The innermost frame to show of a stack. Off CPU, it skips the kernel's innermost frames, in which
 * all waits end; a stack with no other frames shows its outermost one. */
const struct frame *stacks_shown_frame(enum stacks_measure measure, const struct frame *innermost);

/* The context's value of a key, or NULL. */
const struct frames_text *stacks_value(const struct stacks_context *context, const char *key);

/* Whether its places may have time of a chosen context. */
static inline bool stacks_is_shown(const struct stacks_context *context)
{
	return context->is_chosen || context->is_lending;
}

/* The context's own time that is in no stack; 0 unless it is chosen. */
int64_t stacks_unsampled_ns(const struct stacks_context *context);

/* Iterates the chosen contexts, and those that lend to them: cursor starts at NULL; NULL at the
 * end. */
const struct stacks_context *stacks_next(const struct stacks *stacks,
					 const struct stacks_context *cursor);

/*
 * The standard error of a share (0 to 1) measured by these samples: binomial, with the effective
 * sample size (Kish 1965), after Agresti and Coull (1998), so that 0 or 1 from few samples does not
 * look exact. 1 without samples.
 */
double stacks_error(const struct stacks_sums *sums, double share);
