/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include "export/exported.h"
#include "export/selection.h"
#include "failing_memory.h"

enum {
	TAKEN_MAX = SELECTION_HELD_MAX + 16
};

static struct {
	int64_t cpu_ns[TAKEN_MAX];
	size_t count;
	int r;
} taken;

static int take(void *context, const struct record_view *record)
{
	assert_ptr_equal(context, &taken);
	assert_true(taken.count < TAKEN_MAX);
	taken.cpu_ns[taken.count] = -1;
	(void)record_view_count(record, "cpu_ns", &taken.cpu_ns[taken.count]);
	taken.count++;
	return taken.r;
}

static int setup(void **state)
{
	static struct selection selection;
	struct filter filter = { 0 };

	*state = &selection;
	memset(&taken, 0, sizeof(taken));
	assert_int_equal(filter_add(&filter, "endpoint=GET /a"), 0);
	return selection_init(&selection, &filter, take, &taken);
}

static int teardown(void **state)
{
	selection_deinit(*state);
	return 0;
}

static void begin(struct sample *sample, const char *kind, const char *request_id,
		  const char *endpoint, int64_t cpu_ns)
{
	sample_begin(sample, kind, 7);
	sample_number(sample, "tid", 1);
	if (request_id)
		sample_text(sample, "request_id", request_id);
	if (endpoint)
		sample_text(sample, "endpoint", endpoint);
	sample_number(sample, "cpu_ns", cpu_ns);
}

static int try_add(struct selection *selection, const char *kind, const char *request_id,
		   const char *endpoint, int64_t cpu_ns)
{
	struct sample sample;

	begin(&sample, kind, request_id, endpoint, cpu_ns);
	return selection_add(selection, exported_view(&sample));
}

static void add(struct selection *selection, const char *request_id, const char *endpoint,
		int64_t cpu_ns)
{
	assert_int_equal(try_add(selection, "cpu", request_id, endpoint, cpu_ns), 0);
}

static void expect(size_t count, const int64_t *cpu_ns)
{
	assert_int_equal(taken.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(taken.cpu_ns[i], cpu_ns[i]);
}

static void what_does_not_say_waits_for_its_request(void **state)
{
	struct selection *selection = *state;

	add(selection, "r", NULL, 1);
	add(selection, "r", "", 2);
	add(selection, "other", NULL, 3);
	expect(0, NULL);
	assert_int_equal(selection->held_count, 3);
	add(selection, "r", "GET /a", 4);
	expect(3, (int64_t[]){ 1, 2, 4 });
	assert_int_equal(selection->held_count, 1);
	add(selection, "r", NULL, 5);
	expect(4, (int64_t[]){ 1, 2, 4, 5 });
	/* Another value: this one is left out, the request is not. */
	add(selection, "r", "GET /b", 6);
	add(selection, "r", NULL, 7);
	expect(5, (int64_t[]){ 1, 2, 4, 5, 7 });
	assert_int_equal(selection->left_out, 0);
}

static void what_does_not_say_is_left_out_once_another_said_no(void **state)
{
	struct selection *selection = *state;

	add(selection, "r", "GET /b", 1);
	add(selection, "r", NULL, 2);
	assert_int_equal(selection->held_count, 0);
	add(selection, "r", "GET /a", 3);
	add(selection, "r", NULL, 4);
	expect(2, (int64_t[]){ 3, 4 });
}

static void of_no_request_only_what_says_so_is_taken(void **state)
{
	struct selection *selection = *state;
	struct sample sample;

	add(selection, NULL, NULL, 1);
	add(selection, "", NULL, 2);
	add(selection, NULL, "GET /a", 3);
	begin(&sample, "cpu", "r", "GET /a", 4);
	sample_flag(&sample, "overflow");
	assert_int_equal(selection_add(selection, exported_view(&sample)), 0);
	add(selection, "r", NULL, 5);
	expect(2, (int64_t[]){ 3, 4 });
	assert_int_equal(selection->held_count, 1);
}

static void slices_are_chosen_as_cpu_records_and_books_are_left_out(void **state)
{
	struct selection *selection = *state;

	assert_int_equal(try_add(selection, "slice", "r", NULL, 1), 0);
	assert_int_equal(try_add(selection, "slice", "r", "GET /a", 2), 0);
	assert_int_equal(try_add(selection, "balance", "r", "GET /a", 3), 0);
	assert_int_equal(try_add(selection, "self", "r", "GET /a", 4), 0);
	assert_int_equal(try_add(selection, "gap", "r", "GET /a", 5), 0);
	assert_int_equal(try_add(selection, "meta", NULL, NULL, 6), 0);
	assert_int_equal(try_add(selection, "process", NULL, NULL, 7), 0);
	expect(4, (int64_t[]){ 1, 2, 6, 7 });
}

static void without_a_filter_all_are_taken(void **state)
{
	struct selection *selection = *state;

	filter_deinit(&selection->filter);
	assert_int_equal(try_add(selection, "balance", NULL, NULL, 1), 0);
	assert_int_equal(try_add(selection, "later_kind", NULL, NULL, 2), 0);
	add(selection, "r", NULL, 3);
	expect(3, (int64_t[]){ 1, 2, 3 });
	assert_null(selection->requests.table);
}

static void only_windows_are_chosen_by_time(void **state)
{
	struct selection *selection = *state;

	selection->filter.until = (struct filter_time){ .ns = 5 };
	add(selection, "r", "GET /a", 1);
	assert_int_equal(try_add(selection, "meta", NULL, NULL, 2), 0);
	assert_int_equal(try_add(selection, "process", NULL, NULL, 3), 0);
	expect(2, (int64_t[]){ 2, 3 });
}

static void a_record_that_is_known_is_not_taken_again(void **state)
{
	struct selection *selection = *state;
	struct record_view copy;
	struct sample sample;

	begin(&sample, "cpu", "r", "GET /a", 1);
	copy = *exported_view(&sample);
	for (size_t i = 0; i < copy.field_count; i++)
		if (record_text_is(copy.fields[i].name, "record_id"))
			copy.fields[i].text = (struct record_text){ "b:1:7", 5 };
	assert_int_equal(selection_add(selection, &copy), 0);
	assert_int_equal(selection_add(selection, &copy), 0);
	expect(1, (int64_t[]){ 1 });
}

static void what_cannot_be_known_for_want_of_memory_is_not_taken(void **state)
{
	struct selection *selection = *state;
	struct record_view copy;
	struct sample sample;
	size_t failures = 0;
	int r = -ENOMEM;

	filter_deinit(&selection->filter);
	begin(&sample, "cpu", "r", "GET /a", 1);
	copy = *exported_view(&sample);
	for (size_t i = 0; i < copy.field_count; i++)
		if (record_text_is(copy.fields[i].name, "record_id"))
			copy.fields[i].text = (struct record_text){ "b:1:7", 5 };
	for (size_t i = 0; r < 0; i++) {
		assert_int_equal(taken.count, 0);
		memory_fails_after(i);
		r = selection_add(selection, &copy);
		memory_never_fails();
		assert_int_equal(r, memory_failures() ? -ENOMEM : 0);
		failures += r < 0;
	}
	assert_true(failures > 0);
	expect(1, (int64_t[]){ 1 });
}

static int expect_lists(void *context, const struct record_view *record)
{
	size_t *count = context;
	const struct record_field *flags = record_view_find(record, "flags");
	const struct record_field *more = record_view_find(record, "more");
	struct record_text id;

	(*count)++;
	assert_int_equal(record->kind, RECORD_KIND_CPU);
	assert_int_equal(record->wall_ns, 1700000001000000000);
	assert_true(record_view_text(record, "request_id", &id));
	assert_true(record_text_is(id, "r"));
	if (!more)
		return 0;
	assert_int_equal(flags->item_count, 1);
	assert_true(record_text_is(flags->items[0], "inherited"));
	assert_int_equal(more->item_count, 2);
	assert_true(record_text_is(more->items[0], "one"));
	assert_true(record_text_is(more->items[1], "two"));
	return 0;
}

static void a_record_that_waited_is_as_it_was(void **state)
{
	struct selection *selection = *state;
	struct sample sample;
	size_t count = 0;

	selection->take = expect_lists;
	selection->context = &count;
	begin(&sample, "cpu", "r", NULL, 1);
	sample_flag(&sample, "inherited");
	msgpack_pack_str_with_body(&sample.packer, "more", 4);
	msgpack_pack_array(&sample.packer, 2);
	msgpack_pack_str_with_body(&sample.packer, "one", 3);
	msgpack_pack_str_with_body(&sample.packer, "two", 3);
	sample.field_count++;
	assert_int_equal(selection_add(selection, exported_view(&sample)), 0);
	add(selection, "r", "GET /a", 2);
	assert_int_equal(count, 2);
}

static void there_is_room_for_so_many_that_wait(void **state)
{
	struct selection *selection = *state;

	add(selection, "first", NULL, 1);
	add(selection, "first", NULL, 2);
	for (int i = 0; i < SELECTION_HELD_MAX - 2; i++)
		add(selection, "r", NULL, 3);
	assert_int_equal(selection->held_count, SELECTION_HELD_MAX);
	assert_int_equal(selection->left_out, 0);
	add(selection, "r", NULL, 4);
	/* Of the request that nothing came of for longest. */
	assert_int_equal(selection->left_out, 2);
	assert_int_equal(selection->held_count, SELECTION_HELD_MAX - 1);
	add(selection, "first", "GET /a", 5);
	expect(1, (int64_t[]){ 5 });
	add(selection, "r", "GET /a", 6);
	assert_int_equal(taken.count, 1 + SELECTION_HELD_MAX);
	assert_int_equal(selection->held_count, 0);
}

static void a_request_that_waits_for_nothing_gives_nothing_up(void **state)
{
	struct selection *selection = *state;

	add(selection, "none", "GET /b", 1);
	add(selection, "first", NULL, 2);
	for (int i = 0; i < SELECTION_HELD_MAX; i++)
		add(selection, "r", NULL, 3);
	assert_int_equal(selection->left_out, 1);
	assert_int_equal(selection->held_count, SELECTION_HELD_MAX);
}

static void there_is_room_for_so_many_requests(void **state)
{
	struct selection *selection = *state;
	char id[16];

	add(selection, "first", NULL, 1);
	add(selection, "yes", "GET /a", 2);
	for (int i = 0; i < REQUESTS_OPEN_MAX - 2; i++) {
		(void)snprintf(id, sizeof(id), "r%d", i);
		add(selection, id, "GET /b", 3);
	}
	assert_int_equal(selection->held_count, 1);
	add(selection, "one more", "GET /b", 4);
	assert_int_equal(selection->held_count, 0);
	assert_int_equal(selection->left_out, 1);
	add(selection, "yes", NULL, 5);
	add(selection, "and one", "GET /b", 6);
	add(selection, "yes", NULL, 7);
	expect(3, (int64_t[]){ 2, 5, 7 });
}

static void what_cannot_be_taken_is_an_error(void **state)
{
	struct selection *selection = *state;

	add(selection, "r", NULL, 1);
	add(selection, "r", NULL, 2);
	taken.r = -EIO;
	assert_int_equal(try_add(selection, "cpu", "r", "GET /a", 3), -EIO);
	assert_int_equal(taken.count, 1);
	assert_int_equal(try_add(selection, "meta", NULL, NULL, 4), -EIO);
}

static void without_memory_it_says_so(void **state)
{
	struct selection *selection = *state;
	struct filter filter = { 0 };
	int r = -ENOMEM;
	size_t i;

	for (i = 0; r == -ENOMEM && i < 40; i++) {
		const struct record_view *view;
		struct sample sample;

		begin(&sample, "cpu", "r", NULL, 1);
		view = exported_view(&sample);
		memory_fails_after(i);
		r = selection_add(selection, view);
		memory_fails_after(SIZE_MAX);
	}
	assert_int_equal(r, 0);
	assert_true(i > 2);
	assert_int_equal(selection->held_count, 1);
	selection_deinit(selection);
	memory_fails_after(0);
	r = selection_init(selection, &filter, take, NULL);
	memory_fails_after(SIZE_MAX);
	assert_int_equal(r, -ENOMEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(what_does_not_say_waits_for_its_request),
		TEST(what_does_not_say_is_left_out_once_another_said_no),
		TEST(of_no_request_only_what_says_so_is_taken),
		TEST(slices_are_chosen_as_cpu_records_and_books_are_left_out),
		TEST(without_a_filter_all_are_taken),
		TEST(only_windows_are_chosen_by_time),
		TEST(a_record_that_is_known_is_not_taken_again),
		TEST(what_cannot_be_known_for_want_of_memory_is_not_taken),
		TEST(a_record_that_waited_is_as_it_was),
		TEST(there_is_room_for_so_many_that_wait),
		TEST(a_request_that_waits_for_nothing_gives_nothing_up),
		TEST(there_is_room_for_so_many_requests),
		TEST(what_cannot_be_taken_is_an_error),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
