/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "reader/export/numbering.h"
#include "reader/profile/stack_sums.h"
#include "reader/report/json_part.h"

enum {
	NOT_SAMPLED = 0, /* the first frame stands for what was not sampled */
};

/* Contexts of one endpoint. */
struct stack_group {
	const struct frames_text *endpoint; /* NULL: all contexts */
	size_t begin; /* index in the list of contexts */
	size_t count;
	int64_t spent_ns;
};

struct writer {
	const struct stacks *stacks;
	FILE *out;
	struct numbering frames; /* numbered after NOT_SAMPLED */
	const struct stacks_context **contexts; /* sorted by endpoint */
	size_t context_count;
	struct stack_group *groups;
	size_t group_count;
	struct stack_sums sums; /* this and the next two: of one profile */
	int64_t not_sampled_ns;
	int64_t spent_ns; /* total */
	uint64_t path[FRAMES_DEPTH_MAX]; /* frame numbers of one stack */
};

static void sum_up(struct writer *writer, const struct stack_group *group)
{
	stack_sums_clear(&writer->sums);
	writer->not_sampled_ns = writer->spent_ns = 0;
	for (size_t i = group->begin; i < group->begin + group->count; i++) {
		const struct stacks_context *context = writer->contexts[i];

		if (context->is_chosen)
			saturated_add_to(&writer->spent_ns, context->spent_ns);
		saturated_add_to(&writer->not_sampled_ns, stacks_unsampled_ns(context));
		stack_sums_add(&writer->sums, context);
	}
}

/* A frame stands for a method, not for a line: otherwise a method would be shown once for each of
 * its lines. */
static int find_frame(struct writer *writer, const struct frame *frame, uint64_t *ret_number)
{
	struct numbering_key key = { frame->name, frame->file,
				     frame->first_line != 0 ? frame->first_line : frame->line };
	int r = numbering_find(&writer->frames, &key, ret_number);

	*ret_number += NOT_SAMPLED + 1;
	return r < 0 ? r : 0;
}

static int put_stack(struct writer *writer, const char *before, const struct frame *innermost)
{
	json_t *numbers = json_array();
	size_t count = 0;
	int r = 0;

	for (const struct frame *frame = innermost; frame && r == 0; frame = frame->parent)
		r = find_frame(writer, frame, &writer->path[count++]);
	/* Outermost frame first. */
	while (count-- > 0)
		json_part_append(numbers, json_integer((json_int_t)writer->path[count]), &r);
	return json_part_print(before, numbers, r, writer->out);
}

static const struct stack_sum *next_used(const struct writer *writer, const struct stack_sum *sum)
{
	do
		sum = stack_sums_next(&writer->sums, sum);
	while (sum && sum->spent_ns <= 0);
	return sum;
}

static int put_stacks(struct writer *writer)
{
	const struct stack_sum *sum = NULL;
	const char *before = "";
	int r = 0;

	(void)fputs(",\"samples\":[", writer->out);
	while (r == 0 && (sum = next_used(writer, sum))) {
		r = put_stack(writer, before, sum->frame);
		before = ",\n";
	}
	if (writer->not_sampled_ns > 0)
		(void)fprintf(writer->out, "%s[%d]", before, NOT_SAMPLED);
	(void)fputs("],\n\"weights\":[", writer->out);
	before = "";
	for (sum = NULL; r == 0 && (sum = next_used(writer, sum)); before = ",")
		(void)fprintf(writer->out, "%s%" PRId64, before, sum->spent_ns);
	if (writer->not_sampled_ns > 0)
		(void)fprintf(writer->out, "%s%" PRId64, before, writer->not_sampled_ns);
	(void)fputs("]}", writer->out);
	return r;
}

static int put_profile(struct writer *writer, const char *before, const struct stack_group *group)
{
	int r;

	sum_up(writer, group);
	(void)fprintf(writer->out,
		      "%s{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"startValue\":0,"
		      "\"endValue\":%" PRId64,
		      before, writer->spent_ns);
	r = json_part_print(",\"name\":",
			    group->endpoint ? json_part_bytes(group->endpoint->bytes,
							      group->endpoint->size_bytes)
					    : json_part_text("all"),
			    0, writer->out);
	return r == 0 ? put_stacks(writer) : r;
}

static int put_frame(const struct numbering_key *key, FILE *out)
{
	json_t *frame = json_object();
	int r = 0;

	json_part_set(frame, "name", json_part_bytes(key->name->bytes, key->name->size_bytes), &r);
	if (key->file)
		json_part_set(frame, "file",
			      json_part_bytes(key->file->bytes, key->file->size_bytes), &r);
	if (key->number != 0)
		json_part_set(frame, "line", json_integer((json_int_t)key->number), &r);
	return json_part_print(",\n", frame, r, out);
}

static int put_all(struct writer *writer)
{
	const struct stack_group all = { .count = writer->context_count };
	const struct numbering_key *key = NULL;
	int r;

	(void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		    "\"exporter\":\"correlator\",\"activeProfileIndex\":0,\"profiles\":[\n",
		    writer->out);
	r = put_profile(writer, "", &all);
	for (size_t i = 0; i < writer->group_count && i < SPEEDSCOPE_ENDPOINTS_MAX && r == 0; i++)
		r = put_profile(writer, ",\n", &writer->groups[i]);
	(void)fprintf(writer->out, "],\n\"shared\":{\"frames\":[{\"name\":\"%s\"}",
		      stacks_nowhere_name(writer->stacks));
	while (r == 0 && (key = numbering_next(&writer->frames, key)))
		r = put_frame(key, writer->out);
	(void)fputs("]}}\n", writer->out);
	return r;
}

static int compare_endpoints(const void *a, const void *b)
{
	const struct frames_text *first =
		stacks_value(*(const struct stacks_context *const *)a, "endpoint");
	const struct frames_text *second =
		stacks_value(*(const struct stacks_context *const *)b, "endpoint");

	/* Equal texts have equal addresses. */
	return (first > second) - (first < second);
}

static int compare_groups(const void *a, const void *b)
{
	const struct stack_group *first = a, *second = b;

	int order = compare_i64(second->spent_ns, first->spent_ns);

	return order ? order : strcmp(first->endpoint->bytes, second->endpoint->bytes);
}

/* Groups the sorted contexts by endpoint; leaves out endpoints without CPU, and contexts without an
 * endpoint. */
static void group_contexts(struct writer *writer)
{
	struct stack_group group;
	size_t end;

	for (size_t begin = 0; begin < writer->context_count; begin = end) {
		group = (struct stack_group){ stacks_value(writer->contexts[begin], "endpoint"),
					      begin, 0, 0 };
		for (end = begin; end < writer->context_count &&
				  stacks_value(writer->contexts[end], "endpoint") == group.endpoint;
		     end++)
			if (writer->contexts[end]->is_chosen)
				saturated_add_to(&group.spent_ns, writer->contexts[end]->spent_ns);
		group.count = end - begin;
		if (group.endpoint && group.spent_ns > 0)
			writer->groups[writer->group_count++] = group;
	}
	qsort(writer->groups, writer->group_count, sizeof(group), compare_groups);
}

int speedscope_print(const struct stacks *stacks, FILE *out)
{
	/* Plus the rest. */
	size_t context_count = HASH_COUNT(stacks->contexts) + HASH_COUNT(stacks->lenders) + 1;
	_cleanup_free_ const struct stacks_context **contexts =
		calloc(context_count, sizeof(struct stacks_context *));
	_cleanup_free_ struct stack_group *groups = calloc(context_count, sizeof(*groups));
	struct writer writer = {
		.stacks = stacks, .out = out, .contexts = contexts, .groups = groups
	};
	const struct stacks_context *context = NULL;
	int r = stack_sums_init(&writer.sums, stacks);

	if (r < 0 || !contexts || !groups) {
		stack_sums_deinit(&writer.sums);
		return -ENOMEM;
	}
	while ((context = stacks_next(stacks, context)))
		contexts[writer.context_count++] = context;
	qsort(contexts, writer.context_count, sizeof(struct stacks_context *), compare_endpoints);
	group_contexts(&writer);
	numbering_init(&writer.frames);
	r = put_all(&writer);
	numbering_deinit(&writer.frames);
	stack_sums_deinit(&writer.sums);
	return r;
}
