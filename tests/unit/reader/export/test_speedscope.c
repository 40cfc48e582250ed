/* SPDX-License-Identifier: GPL-2.0-only */
/* What cannot be had from a recording of some records: export_test.py reads the others' files. */
#include "reader/export/speedscope.h"

#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <jansson.h>

#include "reader/export/folded.h"
#include "reader/profile/recorded_stacks.h"

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

static char *print(struct stacks *stacks, int (*format)(const struct stacks *stacks, FILE *out))
{
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_int_equal(format(stacks, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

TEST_WITH(speedscope_reports_cpu_of_excess_requests_as_unsampled, setup, teardown)
{
	struct stacks *stacks = *state;
	const json_t *profile;
	unsigned int count;
	json_t *root;
	char *text;

	recorded_stacks_cpu_of(stacks, "r", "GET /", 5);
	/* As if there were so many. */
	count = stacks->contexts->hh.tbl->num_items;
	stacks->contexts->hh.tbl->num_items = STACKS_CONTEXTS_MAX;
	recorded_stacks_cpu_of(stacks, "q", "GET /", 7);
	stacks->contexts->hh.tbl->num_items = count;
	assert_int_equal(stacks_finish(stacks), 0);
	text = print(stacks, speedscope_print);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	profile = json_array_get(json_object_get(root, "profiles"), 0);
	assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), 12);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(profile, "weights"), 0)),
			 12);
	json_decref(root);
	free(text);
	text = print(stacks, folded_print);
	assert_string_equal(text, "[not sampled] 12\n");
	free(text);
}

TEST_WITH(speedscope_omits_stack_without_cpu, setup, teardown)
{
	struct stacks *stacks = *state;
	const json_t *profile;
	json_t *root;
	char *text;

	recorded_stacks_frame(stacks, "1", NULL, "idle", 1);
	recorded_stacks_frame(stacks, "2", NULL, "busy", 1);
	recorded_stacks_sample(stacks, "q", "1", 1);
	recorded_stacks_cpu(stacks, "r", 100000000);
	recorded_stacks_sample(stacks, "r", "2", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	text = print(stacks, folded_print);
	assert_string_equal(text, "busy 100000000\n");
	free(text);
	text = print(stacks, speedscope_print);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	profile = json_array_get(json_object_get(root, "profiles"), 0);
	assert_int_equal(json_array_size(json_object_get(profile, "samples")), 1);
	assert_int_equal(json_array_size(json_object_get(profile, "weights")), 1);
	json_decref(root);
	free(text);
}
