/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stacks_diff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"

/* Caps a request's time, so that neither the sum nor the sum of squares overflows:
 * STACKS_CONTEXTS_MAX is less than 2^20. The cap is over two hours; only forged requests exceed
 * it. */
static const int64_t request_ns_max = INT64_C(1) << 43;

/* The recording being added. */
struct side {
	struct stacks_diff *diff;
	struct stacks_diff_row **rows; /* by frame number; NULL: not seen yet */
	size_t index;
	struct stacks_diff_values spent;
	uint64_t request; /* this and place: serial numbers from 1, across both recordings */
	uint64_t place;
	struct stacks_diff_row *seen; /* rows seen in this request */
};

static void add_value(struct stacks_diff_values *values, int64_t value_ns)
{
	uint64_t value = (uint64_t)(value_ns < request_ns_max ? value_ns : request_ns_max);

	values->count++;
	values->sum += (int64_t)value;
	values->squares += (unsigned __int128)value * value;
	values->cubes += (long double)value * value * value;
}

static int copy_text(struct stacks_diff *diff, const struct frames_text *text,
		     const struct frames_text **ret_text)
{
	*ret_text = NULL;
	if (!text)
		return 0;
	return frames_text(&diff->texts, (struct record_text){ text->bytes, text->size_bytes },
			   ret_text);
}

static int find_row(struct stacks_diff *diff, const struct frame *frame,
		    struct stacks_diff_row **ret_row)
{
	struct stack_method_key key = { .kind = (uint32_t)frame->kind,
					.first_line = frame->first_line };
	struct stacks_diff_row *row;
	unsigned int hash;
	int r = copy_text(diff, frame->name, &key.name);

	if (r == 0)
		r = copy_text(diff, frame->file, &key.file);
	if (r < 0)
		return r;
	hash = hash_table_key(diff->seed, &key, sizeof(key));
	HASH_FIND_BYHASHVALUE(hh, diff->rows, &key, sizeof(key), hash, row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->key = key;
		HASH_ADD_BYHASHVALUE(hh, diff->rows, key, sizeof(key), hash, row);
		if (!row->hh.tbl) {
			free(row);
			return -ENOMEM;
		}
	}
	*ret_row = row;
	return 0;
}

static void add_to_row(struct side *side, struct stacks_diff_row *row, int64_t ns, bool is_self)
{
	if (row->last_request != side->request) {
		row->last_request = side->request;
		row->of_request_ns[STACKS_DIFF_SELF] = 0;
		row->of_request_ns[STACKS_DIFF_TOTAL] = 0;
		row->next_seen = side->seen;
		side->seen = row;
	}
	if (is_self)
		saturated_add_to(&row->of_request_ns[STACKS_DIFF_SELF], ns);
	if (row->last_place == side->place)
		return;
	row->last_place = side->place;
	saturated_add_to(&row->of_request_ns[STACKS_DIFF_TOTAL], ns);
}

static int add_place(struct side *side, const struct stacks_place *place)
{
	const struct frame *innermost = stacks_shown_frame(side->diff->measure, place->where.frame);
	int64_t ns = place->stands_for_ns < INT64_MAX ? (int64_t)place->stands_for_ns : INT64_MAX;

	side->place++;
	for (const struct frame *frame = innermost; frame; frame = frame->parent) {
		struct stacks_diff_row **row = &side->rows[frame->number];
		int r = *row ? 0 : find_row(side->diff, frame, row);

		if (r < 0)
			return r;
		add_to_row(side, *row, ns, frame == innermost);
	}
	return 0;
}

/* request: its first part. */
static int add_request(struct side *side, const struct stacks_context *request)
{
	int64_t spent_ns = 0;
	int r = 0;

	side->request++;
	side->seen = NULL;
	side->diff->requests[side->index]++;
	for (const struct stacks_context *part = request; part; part = part->next_part) {
		side->diff->samples[side->index] += part->samples;
		saturated_add_to(&spent_ns, part->spent_ns);
		for (const struct stacks_place *place = part->places; place && r == 0;
		     place = place->next)
			r = add_place(side, place);
	}
	add_value(&side->spent, spent_ns);
	for (struct stacks_diff_row *row = side->seen; row; row = row->next_seen)
		for (int what = 0; what < _STACKS_DIFF_MAX; what++)
			if (row->of_request_ns[what] > 0)
				add_value(&row->values[side->index][what],
					  row->of_request_ns[what]);
	return r;
}

static int add_side(struct side *side, const struct stacks *stacks)
{
	_cleanup_free_ struct stacks_diff_row **rows =
		calloc(stacks->frames.number_count, sizeof(struct stacks_diff_row *));
	const struct stacks_context *context = NULL;
	int r = 0;

	if (!rows)
		return -ENOMEM;
	side->rows = rows;
	while (r == 0 && (context = stacks_next(stacks, context)))
		if (context->is_chosen && stacks_is_counted(context))
			r = add_request(side, context);
	side->rows = NULL;
	return r;
}

static struct statistics_sample sample_of(const struct stacks_diff_values *values)
{
	const long double narrow = 1e-4L; /* of the mean: below this deviation the third moment is
					     all rounding error */
	struct statistics_sample sample = { .count = values->count };
	struct histogram moments = { .count = values->count,
				     .sum = values->sum,
				     .squares = values->squares };
	long double count = values->count, mean;

	if (values->count == 0)
		return sample;
	mean = values->sum / count;
	sample.mean = (double)mean;
	(void)histogram_variance(&moments, &sample.variance);
	if (sample.variance > (double)(narrow * mean * narrow * mean))
		sample.third = (double)(values->cubes / count -
					3 * mean * ((long double)values->squares / count) +
					2 * mean * mean * mean);
	return sample;
}

static bool mean_of(const struct stacks_diff_values *values, int64_t *ret_mean_ns)
{
	if (values->count == 0)
		return false;
	*ret_mean_ns = values->sum / (int64_t)values->count;
	return true;
}

static void compare(struct diff_figure *figure, const struct stacks_diff_values *values_before,
		    const struct stacks_diff_values *values_after, bool is_enough)
{
	struct statistics_sample before = sample_of(values_before), after = sample_of(values_after);

	figure->is_known = mean_of(values_before, &figure->before_ns) &&
			   mean_of(values_after, &figure->after_ns);
	figure->is_tested = figure->is_known && is_enough &&
			    statistics_compare_samples(&before, &after, &figure->difference);
}

static void compare_row(const struct stacks_diff *diff, struct stacks_diff_row *row)
{
	for (int what = 0; what < _STACKS_DIFF_MAX; what++) {
		uint64_t seen = row->values[0][what].count + row->values[1][what].count;

		/* Including the requests in which it was not seen. */
		row->values[0][what].count = diff->requests[0];
		row->values[1][what].count = diff->requests[1];
		compare(&row->figures[what], &row->values[0][what], &row->values[1][what],
			seen >= STACKS_DIFF_SEEN_MIN);
	}
}

static void put_probability(struct stacks_diff *diff, const struct diff_figure *figure,
			    double *probabilities)
{
	if (figure->is_tested)
		probabilities[diff->tested_count++] = figure->difference.probability;
}

static void take_corrected(struct stacks_diff *diff, struct diff_figure *figure,
			   const double *probabilities, size_t *used)
{
	if (!figure->is_tested)
		return;
	figure->corrected = probabilities[(*used)++];
	diff->changed_count += diff_has_changed(figure);
}

static int correct(struct stacks_diff *diff)
{
	_cleanup_free_ double *probabilities =
		calloc(_STACKS_DIFF_MAX * (size_t)HASH_COUNT(diff->rows) + 1, sizeof(double));
	struct stacks_diff_row *row;
	size_t used = 0;
	int r;

	if (!probabilities)
		return -ENOMEM;
	put_probability(diff, &diff->spent, probabilities);
	for (row = diff->rows; row; row = row->hh.next)
		for (int what = 0; what < _STACKS_DIFF_MAX; what++)
			put_probability(diff, &row->figures[what], probabilities);
	r = statistics_correct(probabilities, diff->tested_count);
	if (r < 0)
		return r;
	take_corrected(diff, &diff->spent, probabilities, &used);
	for (row = diff->rows; row; row = row->hh.next)
		for (int what = 0; what < _STACKS_DIFF_MAX; what++)
			take_corrected(diff, &row->figures[what], probabilities, &used);
	return 0;
}

static int64_t change_of(const struct diff_figure *figure)
{
	return llabs(figure->after_ns - figure->before_ns);
}

static int compare_rows(const struct stacks_diff_row *a, const struct stacks_diff_row *b)
{
	for (int what = 0; what < _STACKS_DIFF_MAX; what++) {
		bool has_a = diff_has_changed(&a->figures[what]);
		bool has_b = diff_has_changed(&b->figures[what]);

		if (has_a != has_b)
			return has_a ? -1 : 1;
	}
	for (int what = 0; what < _STACKS_DIFF_MAX; what++) {
		int order = compare_i64(change_of(&b->figures[what]), change_of(&a->figures[what]));

		if (order != 0)
			return order;
	}
	return 0;
}

int stacks_diff_init(struct stacks_diff *diff, const struct stacks *before,
		     const struct stacks *after)
{
	struct side side = { .diff = diff };
	struct stacks_diff_values spent_before;
	int r;

	*diff = (struct stacks_diff){ .seed = random_seed(), .measure = before->measure };
	frames_init(&diff->texts);
	r = add_side(&side, before);
	spent_before = side.spent;
	side.spent = (struct stacks_diff_values){ 0 };
	side.index = 1;
	if (r == 0)
		r = add_side(&side, after);
	compare(&diff->spent, &spent_before, &side.spent, true);
	for (struct stacks_diff_row *row = diff->rows; row; row = row->hh.next)
		compare_row(diff, row);
	if (r == 0)
		r = correct(diff);
	if (r == 0)
		HASH_SORT(diff->rows, compare_rows);
	return r;
}

void stacks_diff_deinit(struct stacks_diff *diff)
{
	struct stacks_diff_row *row, *next;

	HASH_ITER(hh, diff->rows, row, next) {
		HASH_DELETE(hh, diff->rows, row);
		free(row);
	}
	frames_deinit(&diff->texts);
}
