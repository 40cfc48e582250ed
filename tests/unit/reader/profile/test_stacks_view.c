/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/profile/recorded_stacks.h"
#include "reader/profile/stacks.h"
#include "record/sample.h"

static int setup(void **state)
{
	static struct stacks stacks;
	struct filter filter = { 0 };

	stacks_init(&stacks, STACKS_CPU, &filter);
	*state = &stacks;
	return 0;
}

static int teardown(void **state)
{
	stacks_deinit(*state);
	return 0;
}

static void add_frame(struct stacks *stacks, const char *id, const char *parent, const char *name)
{
	recorded_stacks_frame_of(stacks, id, parent, name, "ruby");
}

static void add_cpu(struct stacks *stacks, const char *request_id, const char *endpoint,
		    int64_t cpu_ns)
{
	recorded_stacks_record(stacks,
			       "cpu pid=7 tid=8 request_id=\"%s\" endpoint=\"%s\" cpu_ns=%ld "
			       "user_ns=%ld kernel_ns=0",
			       request_id, endpoint, cpu_ns, cpu_ns);
}

static void add_sample(struct stacks *stacks, const char *request_id, const char *stack_id,
		       int64_t samples)
{
	recorded_stacks_record(stacks,
			       "sample pid=7 tid=8 request_id=\"%s\" endpoint= stack_id=\"%s\" "
			       "samples=%ld period_ns=10101010",
			       request_id, stack_id, samples);
}

static const struct stacks_place *place_of(const struct stacks *stacks, const char *name)
{
	for (const struct stacks_place *place = stacks->places; place; place = place->hh.next)
		if (strcmp(place->where.frame->name->bytes, name) == 0)
			return place;
	return NULL;
}

static int setup_waits(void **state);

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(stacks_spread_exact_cpu_without_losing_nanoseconds)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "main");
	add_frame(stacks, "2", "1", "a");
	add_frame(stacks, "3", "1", "b");
	add_cpu(stacks, "r", "GET /", 60);
	add_cpu(stacks, "r", "GET /", 40);
	add_sample(stacks, "r", "1", 1);
	add_sample(stacks, "r", "2", 1);
	add_sample(stacks, "r", "3", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "main")->spent_ns + place_of(stacks, "a")->spent_ns +
				 place_of(stacks, "b")->spent_ns,
			 100);
	assert_in_range(place_of(stacks, "a")->spent_ns, 33, 34);
	assert_int_equal(stacks->sums.sampled_ns, 100);
	assert_int_equal(stacks->sums.samples, 3);
}

FIXTURE_TEST(stacks_report_request_without_samples_as_unsampled)
{
	struct stacks *stacks = *state;

	add_cpu(stacks, "r", "GET /", 70);
	add_cpu(stacks, "q", "GET /q", 30);
	add_sample(stacks, "r", "1", 5);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.sampled_ns, 70);
	assert_int_equal(stacks->sums.unsampled_ns, 30);
	assert_int_equal(stacks->sums.unsampled_contexts, 1);
}

FIXTURE_TEST(frames_keep_first_definition_even_if_it_is_late)
{
	struct stacks *stacks = *state;

	add_cpu(stacks, "r", "GET /", 10);
	add_sample(stacks, "r", "2", 1);
	add_frame(stacks, "2", "1", "a");
	add_frame(stacks, "2", NULL, "forged");
	add_frame(stacks, "1", NULL, "main");
	assert_int_equal(stacks_finish(stacks), 0);
	assert_non_null(place_of(stacks, "a"));
	assert_string_equal(place_of(stacks, "a")->where.frame->parent->name->bytes, "main");
	assert_int_equal(place_of(stacks, "a")->where.frame->depth, 2);
}

FIXTURE_TEST(frames_replace_undefined_parent_by_unknown)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "2", "1", "a");
	add_sample(stacks, "r", "2", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_string_equal(place_of(stacks, "a")->where.frame->parent->name->bytes, "[unknown]");
	assert_int_equal(stacks->frames.untold_count, 1);
}

FIXTURE_TEST(frames_break_parent_cycles_with_unknown)
{
	struct stacks *stacks = *state;
	const struct frame *frame;

	add_frame(stacks, "1", "3", "a");
	add_frame(stacks, "2", "1", "b");
	add_frame(stacks, "3", "2", "c");
	add_frame(stacks, "4", "4", "self");
	add_sample(stacks, "r", "3", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->frames.cycle_count, 2);
	for (frame = place_of(stacks, "c")->where.frame; frame->parent; frame = frame->parent)
		assert_true(frame->parent->depth < frame->depth);
	assert_ptr_equal(frame, stacks->frames.unknown);
}

FIXTURE_TEST(frames_truncate_chain_beyond_maximum_depth)
{
	struct stacks *stacks = *state;
	const struct frame *frame;
	char id[16], parent[16];

	for (int i = FRAMES_DEPTH_MAX + 10; i > 0; i--) {
		(void)snprintf(id, sizeof(id), "%d", i);
		(void)snprintf(parent, sizeof(parent), "%d", i - 1);
		add_frame(stacks, id, i > 1 ? parent : NULL,
			  i == FRAMES_DEPTH_MAX + 10 ? "leaf" : "f");
	}
	add_sample(stacks, "r", id, 1);
	(void)snprintf(id, sizeof(id), "%d", FRAMES_DEPTH_MAX + 10);
	add_sample(stacks, "r", id, 1);
	assert_int_equal(stacks_finish(stacks), 0);
	for (frame = place_of(stacks, "leaf")->where.frame; frame->parent; frame = frame->parent)
		assert_true(frame->depth <= FRAMES_DEPTH_MAX);
	assert_ptr_equal(frame, stacks->frames.cut);
}

FIXTURE_TEST(stacks_filter_selects_whole_request)
{
	struct stacks *stacks = *state;

	assert_int_equal(filter_add(&stacks->selection.filter, "endpoint=GET /a"), 0);
	add_sample(stacks, "r", "1", 4);
	add_cpu(stacks, "r", "", 1);
	add_cpu(stacks, "r", "GET /a", 2);
	add_cpu(stacks, "q", "", 4);
	add_cpu(stacks, "q", "GET /b", 8);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.spent_ns, 3);
	assert_int_equal(stacks->sums.samples, 4);
}

FIXTURE_TEST(stacks_keep_slowest_percent_of_each_endpoint)
{
	const struct stacks_slowest slowest = { .percent = 90, .by_cpu = true };
	struct stacks *stacks = *state;
	char id[16];

	for (int i = 1; i <= 20; i++) {
		(void)snprintf(id, sizeof(id), "a%d", i);
		add_cpu(stacks, id, "GET /a", i);
		(void)snprintf(id, sizeof(id), "b%d", i);
		add_cpu(stacks, id, "GET /b", 100 * i);
	}
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(stacks->sums.spent_ns, 19 + 20 + 1900 + 2000);
}

FIXTURE_TEST(stacks_error_is_never_zero_for_few_samples)
{
	struct stacks *stacks = *state;

	assert_true(stacks_error(&stacks->sums, 1) == 1);
	add_cpu(stacks, "r", "GET /", 100);
	add_sample(stacks, "r", "1", 4);
	assert_int_equal(stacks_finish(stacks), 0);
	/* Agresti and Coull: 6 of 8, so sqrt(0.75 * 0.25 / 8). */
	assert_in_range((int)(1e4 * stacks_error(&stacks->sums, 1)), 1530, 1531);
}

static void add_place(struct stacks *stacks, int64_t pid, int64_t tid, const char *stack_id,
		      int64_t samples)
{
	recorded_stacks_record(stacks,
			       "sample pid=%ld tid=%ld request_id=r stack_id=\"%s\" samples=%ld",
			       pid, tid, stack_id, samples);
}

FIXTURE_TEST(stacks_saturate_forged_weights_and_preserve_total)
{
	struct stacks *stacks = *state;
	int64_t sum = 0;

	add_cpu(stacks, "r", "GET /", INT64_MAX);
	add_sample(stacks, "r", "1", INT64_MAX);
	add_sample(stacks, "r", "2", INT64_MAX);
	add_sample(stacks, "r", "3", INT64_MAX);
	/* Each of these is no more than fits, but not their sum. */
	add_place(stacks, 9, 1, "4", INT64_MAX);
	add_place(stacks, 9, 1, "4", INT64_MAX);
	add_place(stacks, 9, 1, "4", INT64_MAX);
	assert_int_equal(stacks_finish(stacks), 0);
	for (const struct stacks_place *place = stacks->places; place; place = place->hh.next) {
		assert_true(place->stands_for_ns == UINT64_MAX);
		assert_true(place->spent_ns >= 0);
		sum += place->spent_ns;
	}
	assert_true(sum == INT64_MAX);
}

/* CPU of this thread in no request. */
static void add_cpu_of(struct stacks *stacks, const char *key, const char *value, int64_t cpu_ns)
{
	recorded_stacks_record(stacks, "cpu pid=7 tid=8 request_id= %s=\"%s\" z=z cpu_ns=%ld", key,
			       value, cpu_ns);
}

FIXTURE_TEST(stacks_group_time_outside_requests_by_keys)
{
	static char longer[RECORD_VIEW_TEXT_BYTES_MAX], longest[RECORD_VIEW_TEXT_BYTES_MAX + 1];
	struct stacks *stacks = *state;
	size_t count;

	add_cpu_of(stacks, "a", "bc", 1);
	add_cpu_of(stacks, "a", "bc", 2);
	add_cpu_of(stacks, "ab", "c", 4);
	add_cpu_of(stacks, "a", "bd", 8);
	add_cpu_of(stacks, "a", "", 16);
	add_cpu_of(stacks, "b", "", 32);
	/* Beyond what is compared, they are the same. */
	memset(longer, 'x', sizeof(longer) - 1);
	memset(longest, 'x', sizeof(longest) - 1);
	add_cpu_of(stacks, "a", longer, 64);
	add_cpu_of(stacks, "a", longest, 128);
	add_cpu(stacks, "a", "", 256);
	assert_int_equal(stacks_finish(stacks), 0);
	{
		static const int64_t cpu_ns[] = { 3, 4, 8, 48, 192, 256 };
		const struct stacks_context *context = NULL;

		for (count = 0; (context = stacks_next(stacks, context)); count++) {
			assert_in_range(count, 0, 5);
			assert_int_equal(context->spent_ns, cpu_ns[count]);
			assert_int_equal(context->is_request, count == 5);
		}
	}
	assert_int_equal(count, 6);
	assert_int_equal(stacks->sums.unsampled_ns, 511);
	assert_int_equal(stacks->sums.unsampled_contexts, 6);
}

FIXTURE_TEST(stacks_exclude_overflow_and_unknown_from_requests)
{
	static const char *const flags[] = { "overflow", "unknown", "inherited" };
	struct stacks *stacks = *state;
	const struct stacks_context *context = NULL;

	for (int64_t i = 0; i < 3; i++)
		recorded_stacks_record(stacks, "cpu pid=7 request_id=r cpu_ns=%ld flags=[%s]",
				       i + 1, flags[i]);
	assert_int_equal(stacks_finish(stacks), 0);
	for (int64_t i = 0; i < 3; i++) {
		context = stacks_next(stacks, context);
		assert_int_equal(context->spent_ns, i + 1);
		assert_int_equal(context->is_request, i == 2);
	}
}

FIXTURE_TEST(stacks_split_request_by_key_values)
{
	const struct stacks_slowest slowest = { .count = 1, .by_cpu = true };
	struct stacks *stacks = *state;
	const struct stacks_context *first, *last;

	add_cpu(stacks, "r", "", 1);
	add_cpu(stacks, "r", "GET /first", 2);
	add_cpu(stacks, "r", "GET /last", 4);
	add_cpu(stacks, "r", "", 8);
	add_cpu(stacks, "q", "GET /last", 13);
	assert_int_equal(stacks_finish(stacks), 0);
	first = stacks_next(stacks, NULL);
	assert_string_equal(stacks_value(first, "endpoint")->bytes, "GET /first");
	assert_int_equal(first->spent_ns, 3);
	assert_ptr_equal(first->request, first);
	last = stacks_next(stacks, first);
	assert_string_equal(stacks_value(last, "endpoint")->bytes, "GET /last");
	assert_int_equal(last->spent_ns, 12);
	assert_ptr_equal(last->request, first);
	assert_ptr_equal(first->next_part, last);
	assert_ptr_equal(first->last_part, last);
	assert_null(last->next_part);
	/* It is the slowest as a whole. */
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(stacks->sums.spent_ns, 15);
}

FIXTURE_TEST(stacks_label_context_with_keys_up_to_maximum)
{
	struct stacks *stacks = *state;
	const struct stacks_context *context;
	struct sample sample;
	char keys[STACKS_LABELS_MAX][8];

	sample_record(&sample, "cpu pid=7 request_id=r endpoint=\"GET /last\"");
	for (int i = 0; i < STACKS_LABELS_MAX; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		sample_fields(&sample, "%s=%s", keys[i], keys[i]);
	}
	recorded_stacks_add(stacks, &sample);
	assert_int_equal(stacks_finish(stacks), 0);
	context = stacks_next(stacks, NULL);
	assert_string_equal(stacks_value(context, "request_id")->bytes, "r");
	assert_string_equal(stacks_value(context, "endpoint")->bytes, "GET /last");
	assert_non_null(stacks_value(context, keys[STACKS_LABELS_MAX - 3]));
	assert_null(stacks_value(context, keys[STACKS_LABELS_MAX - 2]));
	assert_null(stacks_value(context, "tid"));
	assert_int_equal(context->label_count, STACKS_LABELS_MAX);
}

FIXTURE_TEST(stacks_sort_places_by_process_thread_and_frame)
{
	static const int64_t samples[] = { 10, 11, 4, 1, 6 };
	struct stacks *stacks = *state;
	size_t count = 0;

	add_frame(stacks, "1", NULL, "main");
	add_frame(stacks, "2", NULL, "other");
	add_cpu(stacks, "r", "GET /", 32);
	add_place(stacks, 8, 1, "2", 6);
	add_place(stacks, 8, 1, "1", 1);
	add_place(stacks, 7, 3, "1", 4);
	add_place(stacks, 7, 2, "1", 11);
	add_place(stacks, 7, 1, "1", 4);
	add_place(stacks, 7, 1, "1", 6);
	/* Of nothing. */
	add_place(stacks, 7, 9, "1", 0);
	recorded_stacks_record(stacks, "sample pid=7 tid=9 request_id=r stack_id=\"1\"");
	assert_int_equal(stacks_finish(stacks), 0);
	for (const struct stacks_place *place = stacks_next(stacks, NULL)->places; place;
	     place = place->next, count++) {
		assert_in_range(count, 0, 4);
		assert_int_equal(place->samples, samples[count]);
		/* Without a period, each weighs the same. */
		assert_int_equal(place->spent_ns, samples[count]);
	}
	assert_int_equal(count, 5);
	assert_int_equal(stacks->sums.samples, 32);
	assert_int_equal(stacks->sums.sampled_contexts, 1);
	assert_int_equal(stacks->sums.unsampled_contexts, 0);
}

FIXTURE_TEST(stacks_weigh_sample_by_its_period)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "slow");
	add_frame(stacks, "2", NULL, "often");
	add_cpu(stacks, "r", "GET /", 1000);
	recorded_stacks_record(stacks,
			       "sample pid=7 request_id=r stack_id=\"1\" samples=1 period_ns=300");
	recorded_stacks_record(stacks,
			       "sample pid=7 request_id=r stack_id=\"2\" samples=1 period_ns=100");
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "slow")->spent_ns, 750);
	assert_int_equal(place_of(stacks, "often")->spent_ns, 250);
}

FIXTURE_TEST(stacks_charge_sample_without_valid_stack_to_unknown)
{
	static char id[FRAMES_TEXT_BYTES_MAX + 2];
	struct stacks *stacks = *state;
	const struct stacks_place *place;

	memset(id, 'x', sizeof(id) - 1);
	add_frame(stacks, "", NULL, "nobody");
	add_cpu(stacks, "r", "GET /", 10);
	add_sample(stacks, "r", "", 1);
	add_sample(stacks, "r", id, 1);
	assert_int_equal(stacks->frames.count, 0);
	/* As long as one may be. */
	id[FRAMES_TEXT_BYTES_MAX] = '\0';
	add_frame(stacks, id, NULL, "long");
	add_sample(stacks, "r", id, 3);
	assert_int_equal(stacks_finish(stacks), 0);
	place = place_of(stacks, "[unknown]");
	assert_ptr_equal(place->where.frame, stacks->frames.unknown);
	assert_int_equal(place->samples, 2);
	assert_int_equal(place->spent_ns, 4);
	assert_int_equal(place_of(stacks, "long")->spent_ns, 6);
	assert_int_equal(stacks->frames.untold_count, 0);
}

FIXTURE_TEST(frames_decode_kind_name_file_and_lines)
{
	static const char *const kinds[] = { "unknown", "ruby",	  "c",	 "gc",
					     "native",	"kernel", "cut", "of tomorrow" };
	struct stacks *stacks = *state;

	for (int i = 0; i < 8; i++)
		recorded_stacks_record(stacks,
				       "stack pid=7 stack_id=\"%d\" name=\"%s\" file=%s "
				       "frame_kind=\"%s\" line=%ld first_line=%d",
				       i, i == 0 ? "" : kinds[i], i == 0 ? "" : "/app/a.rb",
				       kinds[i], UINT32_MAX + INT64_C(2) - i, 5 - i);
	assert_int_equal(stacks_finish(stacks), 0);
	for (const struct frame *frame = stacks->frames.table; frame; frame = frame->hh.next) {
		uint32_t i = frame->number;

		assert_int_equal(frame->kind, i < 7 ? i : FRAME_KIND_UNKNOWN);
		assert_string_equal(frame_kind_name(frame->kind), kinds[i < 7 ? i : 0]);
		assert_string_equal(frame->name->bytes, i == 0 ? "[unknown]" : kinds[i]);
		if (i == 0)
			assert_null(frame->file);
		else
			assert_string_equal(frame->file->bytes, "/app/a.rb");
		assert_true(frame->line == (i < 2 ? 0 : UINT32_MAX - (i - 2)));
		assert_int_equal(frame->first_line, i < 5 ? 5 - i : 0);
		assert_int_equal(frame->depth, 1);
	}
	assert_int_equal(stacks->frames.cut->kind, FRAME_KIND_CUT);
	/* One that does not say which is none. */
	recorded_stacks_record(stacks, "stack pid=7 name=nameless");
	assert_int_equal(stacks->frames.count, 8);
}

FIXTURE_TEST(frames_truncate_long_name)
{
	static char name[FRAMES_TEXT_BYTES_MAX + 100];
	struct stacks *stacks = *state;

	memset(name, 'x', sizeof(name) - 1);
	add_frame(stacks, "1", NULL, name);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(strlen(stacks->frames.table->name->bytes), FRAMES_TEXT_BYTES_MAX);
	assert_int_equal(stacks->frames.table->name->size_bytes, FRAMES_TEXT_BYTES_MAX);
}

/* As if there were so many. Ends with what there was before. */
static unsigned int pretend(UT_hash_table *table, unsigned int count)
{
	unsigned int before = table->num_items;

	table->num_items = count;
	return before;
}

FIXTURE_TEST(stacks_fold_cpu_of_excess_requests_into_rest)
{
	const struct stacks_slowest slowest = { .count = 9, .by_cpu = true };
	struct stacks *stacks = *state;
	unsigned int before;

	add_cpu(stacks, "r", "GET /", 1);
	before = pretend(stacks->contexts->hh.tbl, STACKS_CONTEXTS_MAX - 1);
	add_cpu(stacks, "q", "GET /", 2);
	add_cpu(stacks, "s", "GET /", 4);
	add_cpu(stacks, "t", "GET /", 8);
	add_cpu(stacks, "r", "GET /", 16);
	add_sample(stacks, "s", "1", 3);
	(void)pretend(stacks->contexts->hh.tbl, before + 1);
	assert_int_equal(stacks->cpu_records_left_out, 2);
	assert_int_equal(stacks->samples_left_out, 3);
	assert_int_equal(stacks->rest->spent_ns, 12);
	assert_int_equal(stacks->rest->label_count, 0);
	assert_false(stacks->rest->is_request);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.spent_ns, 31);
	assert_int_equal(stacks->sums.unsampled_contexts, 3);
	assert_ptr_equal(stacks_next(stacks, stacks->contexts->hh.next), stacks->rest);
	assert_null(stacks_next(stacks, stacks->rest));
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(stacks->sums.spent_ns, 19);
	assert_null(stacks_next(stacks, stacks->contexts->hh.next));
}

FIXTURE_TEST(stacks_count_samples_and_frames_beyond_limits)
{
	struct stacks *stacks = *state;
	unsigned int before;

	add_cpu(stacks, "r", "GET /", 1);
	add_sample(stacks, "r", "1", 1);
	before = pretend(stacks->places->hh.tbl, STACKS_PLACES_MAX - 1);
	add_sample(stacks, "r", "2", 2);
	add_sample(stacks, "r", "3", 4);
	add_sample(stacks, "r", "1", 8);
	(void)pretend(stacks->places->hh.tbl, before + 1);
	assert_int_equal(stacks->samples_left_out, 4);
	assert_int_equal(stacks->contexts->samples, 11);
	stacks->frames.count += FRAMES_MAX - 4;
	add_sample(stacks, "r", "4", 16);
	add_sample(stacks, "r", "5", 32);
	add_sample(stacks, "r", "1", 64);
	stacks->frames.count -= FRAMES_MAX - 4;
	assert_int_equal(stacks->frames.left_out, 1);
	assert_int_equal(stacks->frames.count, 4);
	stacks->frames.text_count += FRAMES_TEXTS_MAX;
	add_frame(stacks, "1", NULL, "no room");
	stacks->frames.text_count -= FRAMES_TEXTS_MAX;
	assert_int_equal(stacks_finish(stacks), 0);
	assert_string_equal(stacks->frames.table->name->bytes, "[unknown]");
	assert_int_equal(place_of(stacks, "[unknown]")->samples, 73);
}

static void add_span(struct stacks *stacks, const char *request_id, int64_t first_ns,
		     int64_t last_ns)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=7 request_id=%s endpoint=\"GET /\" cpu_ns=1", request_id);
	if (first_ns > 0)
		sample_fields(&sample, "first_ns=%ld last_ns=%ld", first_ns, last_ns);
	recorded_stacks_add(stacks, &sample);
}

FIXTURE_TEST(stacks_slowest_ranks_by_wall_time_from_first_to_last)
{
	const struct stacks_slowest slowest = { .count = 2 };
	struct stacks *stacks = *state;
	const struct stacks_context *context = NULL;

	add_span(stacks, "a", 100, 150);
	add_span(stacks, "b", 300, 310);
	add_span(stacks, "b", 290, 300);
	add_span(stacks, "b", 350, 351);
	add_span(stacks, "c", 500, 552);
	/* A request has no duration where one of its records has no times. */
	add_span(stacks, "long", 1, 1000);
	add_span(stacks, "long", 0, 0);
	add_span(stacks, "d", 0, 0);
	add_cpu_of(stacks, "endpoint", "GET /", 1000);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->contexts->first_ns, 100);
	assert_int_equal(stacks->contexts->last_ns, 150);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	context = stacks_next(stacks, NULL);
	assert_int_equal(context->first_ns, 290);
	assert_int_equal(context->last_ns, 351);
	context = stacks_next(stacks, context);
	assert_int_equal(context->first_ns, 500);
	assert_null(stacks_next(stacks, context));
	assert_int_equal(stacks->sums.spent_ns, 4);
}

FIXTURE_TEST(stacks_slowest_ranks_only_filtered_requests)
{
	const struct stacks_slowest slowest = { .percent = 0, .by_cpu = true };
	struct stacks *stacks = *state;

	assert_int_equal(filter_add(&stacks->selection.filter, "endpoint=GET /a"), 0);
	add_cpu(stacks, "q", "GET /b", 100);
	add_cpu(stacks, "r", "GET /a", 2);
	add_cpu(stacks, "s", "GET /a", 1);
	add_cpu(stacks, "t", "GET /a", 4);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	/* Those above the least. */
	assert_int_equal(stacks->sums.spent_ns, 6);
}

FIXTURE_TEST(stacks_filter_excludes_parts_with_other_endpoint)
{
	struct stacks *stacks = *state;

	assert_int_equal(filter_add(&stacks->selection.filter, "endpoint=GET /a"), 0);
	add_cpu_of(stacks, "endpoint", "GET /b", 1);
	assert_false(stacks->has_wanted);
	add_cpu_of(stacks, "endpoint", "GET /a", 2);
	assert_true(stacks->has_wanted);
	add_cpu_of(stacks, "other", "", 4);
	/* A request that went on as another's is so no more. */
	add_cpu(stacks, "r", "GET /b", 8);
	add_cpu(stacks, "r", "", 16);
	add_cpu(stacks, "r", "GET /a", 32);
	add_cpu(stacks, "r", "", 64);
	add_cpu(stacks, "r", "GET /b", 128);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.spent_ns, 2 + 32 + 64);
}

/* Of no request, each record is chosen by itself. */
FIXTURE_TEST(stacks_filter_by_thread_name_skips_unnamed_thread)
{
	static const char *const names[] = { "worker 1", "", "worker 2", "worker 1" };
	struct stacks *stacks = *state;

	assert_int_equal(filter_add(&stacks->selection.filter, "thread_name=worker 1"), 0);
	for (int i = 0; i < 4; i++)
		recorded_stacks_record(stacks, "cpu pid=7 tid=8 thread_name=\"%s\" cpu_ns=%d",
				       names[i], 1 << i);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.spent_ns, 1 + 8);
}

FIXTURE_TEST(stacks_skip_cpu_and_samples_before_since)
{
	struct stacks *stacks = *state;

	stacks->selection.filter.since =
		(struct filter_time){ .is_set = true, .ns = UINT64_C(1700000001) * 1000000000 };
	add_frame(stacks, "1", NULL, "early");
	recorded_stacks_record(stacks, "meta pid=7 interval_ns=5");
	recorded_stacks_record(stacks, "process pid=7 comm=puma");
	add_cpu(stacks, "r", "GET /", 1);
	add_sample(stacks, "r", "1", 1);
	assert_null(stacks->contexts);
	assert_int_equal(stacks->selection.recording.key_count, 0);
	/* What is said of the machine and its processes holds all the same. */
	assert_int_equal(stacks->selection.recording.interval_ns, 5);
	assert_int_equal(stacks->selection.recording.process_count, 1);
	stacks->selection.filter.since.ns--;
	add_cpu(stacks, "r", "GET /", 2);
	add_sample(stacks, "r", "1", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.spent_ns, 2);
	assert_int_equal(place_of(stacks, "early")->spent_ns, 2);
	assert_int_equal(stacks->selection.recording.key_count, 2);
}

static void encode(const char *kind, struct sample *ret_sample)
{
	sample_record(ret_sample,
		      "%s pid=7 stack_id=\"1\" parent_id=\"2\" name=main file=main.rb "
		      "request_id=r cpu_ns=1 samples=1",
		      kind);
	sample_end(ret_sample);
}

static int add_and_finish(struct stacks *stacks, struct sample samples[static 3])
{
	const struct stacks_slowest slowest = { .count = 1 };
	static struct record_view view;
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++) {
		assert_int_equal(record_view_decode((const uint8_t *)samples[i].buffer.data,
						    samples[i].buffer.size, &view),
				 0);
		r = stacks_add(stacks, &view);
	}
	if (r == 0)
		r = stacks_finish(stacks);
	return r == 0 ? stacks_keep_slowest(stacks, &slowest) : r;
}

static void begin_again(struct stacks *stacks)
{
	struct filter filter = { 0 };

	stacks_deinit(stacks);
	stacks_init(stacks, STACKS_CPU, &filter);
}

FIXTURE_TEST(stacks_fail_with_enomem_when_allocation_fails)
{
	struct stacks *stacks = *state;
	struct sample samples[3];
	size_t failures = 0;

	encode("stack", &samples[0]);
	encode("cpu", &samples[1]);
	encode("sample", &samples[2]);
	begin_again(stacks);
	assert_each_allocation_can_fail(add_and_finish(stacks, samples),
					(failures++, begin_again(stacks)));
	assert_true(failures > 10);
	for (int i = 0; i < 3; i++)
		msgpack_sbuffer_destroy(&samples[i].buffer);
}

/* ---- where was waited ---- */

static int setup_waits(void **state)
{
	static struct stacks stacks;
	struct filter filter = { 0 };

	stacks_init(&stacks, STACKS_OFF_CPU, &filter);
	*state = &stacks;
	return 0;
}

TEST_WITH(off_cpu_stacks_use_wait_times_and_ignore_samples, setup_waits, teardown)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "nap");
	add_frame(stacks, "2", NULL, "lock");
	recorded_stacks_off_cpu(stacks, "r", 900, 100);
	recorded_stacks_wait(stacks, "r", "1", 2, 600, 70);
	recorded_stacks_wait(stacks, "r", "2", 1, 250, 30);
	recorded_stacks_wait(stacks, "r", "2", 0, 50, 0); /* it goes on */
	add_sample(stacks, "r", "1", 500);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "nap")->spent_ns, 670);
	assert_int_equal(place_of(stacks, "nap")->samples, 2);
	assert_int_equal(place_of(stacks, "lock")->spent_ns, 330);
	assert_int_equal(place_of(stacks, "lock")->samples, 1);
	assert_int_equal(stacks->sums.spent_ns, 1000);
	assert_int_equal(stacks->sums.sampled_ns, 1000);
	assert_int_equal(stacks->sums.samples, 3);
}

TEST_WITH(off_cpu_stacks_charge_remaining_time_to_unknown, setup_waits, teardown)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "nap");
	recorded_stacks_off_cpu(stacks, "r", 900, 100);
	recorded_stacks_wait(stacks, "r", "1", 2, 600, 70);
	recorded_stacks_off_cpu(stacks, "q", 40, 0);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "nap")->spent_ns, 670);
	assert_int_equal(place_of(stacks, "[unknown]")->spent_ns, 330);
	assert_int_equal(place_of(stacks, "[unknown]")->samples, 0);
	assert_int_equal(stacks->sums.sampled_ns, 1000);
	assert_int_equal(stacks->sums.unsampled_ns, 40);
	assert_int_equal(stacks->sums.unsampled_contexts, 1);
}

/* Forged: no more is given than there is. */
TEST_WITH(off_cpu_stacks_scale_excess_wait_times_to_total, setup_waits, teardown)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "nap");
	add_frame(stacks, "2", NULL, "lock");
	recorded_stacks_off_cpu(stacks, "r", 100, 0);
	recorded_stacks_wait(stacks, "r", "1", 1, INT64_MAX, INT64_MAX);
	recorded_stacks_wait(stacks, "r", "1", 1, INT64_MAX, INT64_MAX);
	recorded_stacks_wait(stacks, "r", "2", 1, INT64_MAX, INT64_MAX);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "nap")->spent_ns + place_of(stacks, "lock")->spent_ns,
			 100);
	assert_null(place_of(stacks, "[unknown]"));
}

FIXTURE_TEST(cpu_stacks_ignore_wait_records)
{
	struct stacks *stacks = *state;

	add_frame(stacks, "1", NULL, "nap");
	add_cpu(stacks, "r", "", 70);
	recorded_stacks_wait(stacks, "r", "1", 2, 600, 70);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_null(stacks->places);
	assert_int_equal(stacks->sums.unsampled_ns, 70);
}
