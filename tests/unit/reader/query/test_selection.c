/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/query/selection.h"
#include "record/sample.h"

enum {
	SAID_BYTES = 4096
};

struct request {
	struct selection_request selection;
	int64_t cpu_ns;
};

static struct selection selection;
static struct {
	char text[SAID_BYTES]; /* "CPU=ENDPOINT/TENANT[!] " of each; of an end "ID:CPU. " */
	size_t used;
	int64_t raw_endpoints; /* records that had one of their own */
	int r;
} said;

static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	said.used += (size_t)vsnprintf(said.text + said.used, sizeof(said.text) - said.used, format,
				       arguments);
	va_end(arguments);
	assert_true(said.used < sizeof(said.text));
}

static void say_value(const struct record_view *view, const char *key, const char *before)
{
	struct record_text value = { "", 0 };

	(void)record_view_text(view, key, &value);
	say("%s%.*s", before, (int)value.size_bytes, value.bytes);
}

static int take(void *context, const struct selection_record *taken)
{
	struct request *request = (struct request *)taken->request;
	int64_t cpu_ns = 0;

	assert_ptr_equal(context, &said);
	(void)record_view_count(taken->view, "cpu_ns", &cpu_ns);
	say("%d", (int)cpu_ns);
	say_value(taken->view, "endpoint", "=");
	say_value(taken->view, "tenant", "/");
	say("%s ", taken->is_wanted ? "" : "!");
	said.raw_endpoints += record_view_find(taken->raw, "endpoint") != NULL;
	if (request)
		request->cpu_ns += cpu_ns;
	return said.r;
}

static int end(void *context, struct selection_request *ended)
{
	struct record_text id = open_request_id(&ended->open);

	assert_ptr_equal(context, &said);
	say("%.*s:%d. ", (int)id.size_bytes, id.bytes, (int)((struct request *)ended)->cpu_ns);
	return said.r;
}

static int other(void *context, const struct record_view *record)
{
	assert_ptr_equal(context, &said);
	say("kind %d ", (int)record->kind);
	return said.r;
}

static const struct selection_consumer consumer = {
	.other = other, .take = take, .end = end, .context = &said
};

static int setup(void **state)
{
	(void)state;
	memset(&said, 0, sizeof(said));
	selection_init(&selection, sizeof(struct request));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	selection_deinit(&selection);
	return 0;
}

static void ask(const char *key)
{
	assert_int_equal(selection_ask(&selection, key), 0);
}

static void expect(const char *expected)
{
	assert_string_equal(said.text, expected);
	said.text[0] = '\0';
	said.used = 0;
}

static void begin(struct sample *sample, const char *kind, const char *request_id,
		  const char *endpoint, const char *tenant, int64_t cpu_ns)
{
	sample_record(sample, "%s pid=7 tid=1", kind);
	if (request_id)
		sample_fields(sample, "request_id=\"%s\"", request_id);
	if (endpoint)
		sample_fields(sample, "endpoint=%s", endpoint);
	if (tenant)
		sample_fields(sample, "tenant=%s", tenant);
	sample_fields(sample, "cpu_ns=%ld", cpu_ns);
}

static size_t memory = SIZE_MAX; /* what there is of it, but for once, to add a record */

static int add_sample(struct sample *sample)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	if (memory != SIZE_MAX)
		memory_fails_once_after(memory);
	r = selection_add(&selection, &consumer, &view);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* Adds a record of a line (sample_record). */
__attribute__((format(printf, 1, 2))) static void add_record(const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(add_sample(&sample), 0);
}

static int try_add(const char *kind, const char *request_id, const char *endpoint,
		   const char *tenant, int64_t cpu_ns)
{
	struct sample sample;

	begin(&sample, kind, request_id, endpoint, tenant, cpu_ns);
	return add_sample(&sample);
}

static void add(const char *request_id, const char *endpoint, const char *tenant, int64_t cpu_ns)
{
	assert_int_equal(try_add("cpu", request_id, endpoint, tenant, cpu_ns), 0);
}

static void settle(void)
{
	assert_int_equal(selection_settle(&selection, &consumer, 0), 0);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(selection_fills_last_or_else_first_value_of_request)
{
	ask("endpoint");
	add("r", NULL, NULL, 1);
	add("r", "", NULL, 2);
	add("other", NULL, NULL, 3);
	expect("");
	add("r", "a", NULL, 4);
	expect("1=a/ 2=a/ 4=a/ ");
	add("r", NULL, NULL, 5);
	add("r", "b", NULL, 6);
	add("r", NULL, NULL, 7);
	expect("5=a/ 6=b/ 7=b/ ");
	settle();
	expect("3=/ other:3. r:25. ");
	/* As they were recorded. */
	assert_int_equal(said.raw_endpoints, 3);
	assert_int_equal(selection.given_up, 0);
	assert_int_equal(selection.held_bytes, 0);
}

FIXTURE_TEST(selection_fills_each_key_independently)
{
	ask("endpoint");
	ask("tenant");
	ask("tenant");
	add("r", "a", NULL, 1);
	add("r", NULL, NULL, 2);
	add("r", "b", NULL, 4);
	add("r", NULL, NULL, 8);
	expect("");
	add("r", "c", "t", 16);
	expect("1=a/t 2=a/t 4=b/t 8=b/t 16=c/t ");
	add("r", NULL, "u", 32);
	expect("32=c/u ");
}

/* Its first tenant comes while an older record still waits for the endpoint. */
FIXTURE_TEST(selection_fills_held_records_with_first_values)
{
	ask("endpoint");
	ask("tenant");
	add("r", NULL, NULL, 1);
	add("r", NULL, "t", 2);
	add("r", NULL, "u", 4);
	add("r", "a", NULL, 8);
	expect("1=a/t 2=a/t 4=a/u 8=a/u ");
}

FIXTURE_TEST(selection_fills_only_requested_keys)
{
	ask("request_id");
	ask("tid");
	ask("thread_name");
	ask("comm");
	ask("attribution");
	assert_int_equal(selection.key_count, 0);
	ask("endpoint");
	add("r", "a", "t", 1);
	add("r", NULL, NULL, 2);
	expect("1=a/t 2=a/ ");
}

FIXTURE_TEST(selection_fills_all_keys_named_by_recording)
{
	selection.lends_all = true;
	add_record("meta pid=7 keys=[request_id tenant]");
	said.text[said.used = 0] = '\0';
	add("r", NULL, NULL, 1);
	expect("");
	add("r", "a", "t", 2);
	expect("1=/t 2=a/t ");
	add("r", NULL, NULL, 4);
	expect("4=a/t ");
}

FIXTURE_TEST(selection_fills_nothing_without_request)
{
	ask("endpoint");
	add(NULL, "a", NULL, 1);
	add(NULL, NULL, "t", 2);
	add("", NULL, NULL, 3);
	add("r", "a", NULL, 4);
	add_record("cpu pid=7 tid=1 request_id=r cpu_ns=5 flags=[overflow]");
	add_record("cpu pid=7 tid=1 request_id=r cpu_ns=6 flags=[unknown]");
	add_record("cpu pid=7 tid=1 request_id=r cpu_ns=7 flags=[inherited]");
	expect("1=a/ 2=/t 3=/ 4=a/ 5=/ 6=/ 7=a/ ");
}

FIXTURE_TEST(selection_filters_by_filled_values)
{
	assert_int_equal(filter_add(&selection.filter, "endpoint=a"), 0);
	add("r", NULL, NULL, 1);
	add("r", "b", NULL, 2);
	add("r", "a", NULL, 4);
	add("r", NULL, NULL, 8);
	add(NULL, "a", NULL, 16);
	add("never", NULL, NULL, 32);
	settle();
	expect("1=b/! 2=b/! 4=a/ 8=a/ 16=a/ r:15. 32=/! never:32. ");
}

FIXTURE_TEST(selection_shares_values_across_record_kinds)
{
	ask("endpoint");
	assert_int_equal(try_add("slice", "r", NULL, NULL, 1), 0);
	assert_int_equal(try_add("sample", "r", "a", NULL, 2), 0);
	assert_int_equal(try_add("syscall", "r", NULL, NULL, 4), 0);
	expect("1=a/ 2=a/ 4=a/ ");
}

FIXTURE_TEST(selection_limits_only_window_records_to_time_span)
{
	selection.filter.until = (struct filter_time){ .is_set = true, .ns = 5 };
	add("r", "a", NULL, 1);
	assert_int_equal(try_add("balance", NULL, NULL, NULL, 2), 0);
	expect("");
	assert_int_equal(try_add("meta", NULL, NULL, NULL, 3), 0);
	assert_int_equal(try_add("process", NULL, NULL, NULL, 4), 0);
	assert_int_equal(try_add("stack", NULL, NULL, NULL, 5), 0);
	assert_int_equal(selection.recording.record_count, 3);
}

static int give_with_id(const char *kind, const char *id, bool is_admitted)
{
	static struct record_view view;
	struct sample sample;
	int r;

	sample_record(&sample, "%s record_id=%s pid=7 tid=1 request_id=r endpoint=a cpu_ns=1", kind,
		      id);
	sample_decode(&sample, &view);
	if (memory != SIZE_MAX)
		memory_fails_once_after(memory);
	r = is_admitted ? selection_admit(&selection, &view)
			: selection_add(&selection, &consumer, &view);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample.buffer);
	return r;
}

static int add_with_id(const char *id)
{
	return give_with_id("cpu", id, false);
}

static int admit(const char *kind, const char *id)
{
	return give_with_id(kind, id, true);
}

FIXTURE_TEST(selection_admits_each_record_in_time_span_once)
{
	assert_int_equal(admit("cpu", "b:1:7"), 1);
	assert_int_equal(admit("cpu", "b:1:7"), 0);
	assert_int_equal(selection.double_records, 1);
	selection.filter.until = (struct filter_time){ .is_set = true, .ns = 5 };
	assert_int_equal(admit("cpu", "b:1:8"), 0);
	assert_int_equal(admit("meta", "b:1:9"), 1);
	assert_int_equal(selection.recording.record_count, 2);
	/* It was not taken: so it is not known. */
	selection.filter.until = (struct filter_time){ 0 };
	assert_int_equal(admit("cpu", "b:1:8"), 1);
	assert_int_equal(selection.double_records, 1);
	expect("");
	memory = 0;
	assert_int_equal(admit("cpu", "c:1:1"), -ENOMEM);
	memory = SIZE_MAX;
}

FIXTURE_TEST(selection_skips_duplicate_record)
{
	assert_int_equal(add_with_id("b:1:7"), 0);
	assert_int_equal(selection.double_records, 0);
	assert_int_equal(add_with_id("b:1:7"), 0);
	assert_int_equal(selection.double_records, 1);
	assert_int_equal(add_with_id("b:1:8"), 0);
	expect("1=a/ 1=a/ ");
}

static int take_lists(void *context, const struct selection_record *taken)
{
	const struct record_field *flags = record_view_find(taken->view, "flags");
	const struct record_field *more = record_view_find(taken->view, "more");
	size_t *count = context;

	assert_int_equal(taken->view->wall_ns, 1700000001000000000);
	assert_int_equal(taken->raw->field_count + !*count, taken->view->field_count);
	assert_non_null(record_view_find(taken->view, "record_id"));
	assert_non_null(record_view_find(taken->view, "schema"));
	if (++*count > 1)
		return 0;
	assert_int_equal(taken->attribution, ATTRIBUTION_INHERITED);
	assert_true(record_view_lists_at(taken->view, RECORD_PLACE(cpu, flags), "inherited"));
	assert_int_equal(flags->item_count, 1);
	assert_int_equal(more->item_count, 2);
	assert_true(record_text_is(more->items[1], "two"));
	assert_true(record_text_is(taken->comm, "puma"));
	return 0;
}

static void add_comm(const char *comm)
{
	add_record("process pid=7 comm=%s", comm);
}

FIXTURE_TEST(selection_delivers_held_record_unchanged)
{
	struct selection_consumer listing = consumer;
	struct record_view view;
	struct sample sample;
	size_t count = 0;

	listing.take = take_lists;
	listing.context = &count;
	ask("endpoint");
	add_comm("puma");
	add_record("cpu pid=7 tid=1 request_id=r cpu_ns=1 flags=[inherited] more=[one two]");
	add_comm("another");
	begin(&sample, "cpu", "r", "a", NULL, 2);
	sample_decode(&sample, &view);
	assert_int_equal(selection_add(&selection, &listing, &view), 0);
	assert_int_equal(count, 2);
	msgpack_sbuffer_destroy(&sample.buffer);
}

FIXTURE_TEST(selection_releases_longest_held_records_over_limit)
{
	size_t one_bytes;

	ask("endpoint");
	add("first", NULL, NULL, 1);
	one_bytes = selection.held_bytes;
	selection.held_bytes_max = 3 * one_bytes;
	add("first", "", NULL, 2);
	add("r", NULL, NULL, 4);
	expect("");
	add("r", NULL, NULL, 8);
	expect("1=/ 2=/ ");
	assert_int_equal(selection.given_up, 2);
	add("first", "a", NULL, 16);
	add("first", NULL, NULL, 32);
	add("r", "b", NULL, 64);
	expect("16=a/ 32=a/ 4=b/ 8=b/ 64=b/ ");
	assert_int_equal(selection.held_bytes, 0);
}

FIXTURE_TEST(selection_ends_least_recent_request_over_value_limit)
{
	ask("endpoint");
	add("first", "a", NULL, 1);
	selection.value_bytes_max = 2 * selection.value_bytes;
	add("second", "b", NULL, 2);
	add("second", "b", NULL, 4);
	expect("1=a/ 2=b/ 4=b/ ");
	add("third", "c", NULL, 8);
	expect("8=c/ first:1. ");
	assert_int_equal(selection.value_bytes, selection.value_bytes_max);
	/* The last one may have more than there is room for. */
	selection.value_bytes_max = 1;
	add("third", NULL, NULL, 16);
	expect("16=c/ second:6. ");
	settle();
	expect("third:24. ");
	assert_int_equal(selection.value_bytes, 0);
}

FIXTURE_TEST(selection_ignores_keys_beyond_limit)
{
	char key[8];

	for (int i = 0; i <= SELECTION_KEYS_MAX; i++) {
		(void)snprintf(key, sizeof(key), "key_%d", i);
		ask(key);
		assert_int_equal(selection.key_count, i < SELECTION_KEYS_MAX ? i + 1 : i);
	}
	ask("key_63");
	assert_int_equal(selection.key_count, SELECTION_KEYS_MAX);
	assert_string_equal(selection.keys[SELECTION_KEYS_MAX - 1], "key_63");
}

FIXTURE_TEST(selection_ends_least_recent_request_over_open_limit)
{
	char id[16];

	ask("endpoint");
	add("first", NULL, NULL, 1);
	for (int i = 1; i < REQUESTS_OPEN_MAX; i++) {
		(void)snprintf(id, sizeof(id), "r%d", i);
		add(id, "b", NULL, 2);
		said.text[said.used = 0] = '\0';
	}
	add("one more", "b", NULL, 4);
	expect("4=b/ 1=/ first:1. ");
	add("first", "a", NULL, 8);
	expect("8=a/ r1:2. ");
}

/* A shape for each: a hostile recording may have any number. */
FIXTURE_TEST(selection_holds_no_record_beyond_shape_limit)
{
	ask("endpoint");
	for (int i = 0; i <= PACKING_SHAPES_MAX; i++) {
		add_record("cpu pid=7 tid=1 request_id=r cpu_ns=0 field%d=1", i);
		assert_int_equal(said.used > 0, i == PACKING_SHAPES_MAX);
	}
	assert_int_equal(selection.given_up, PACKING_SHAPES_MAX + 1);
	assert_int_equal(selection.held_bytes, 0);
}

FIXTURE_TEST(selection_returns_consumer_error_without_counting)
{
	ask("endpoint");
	add("r", NULL, NULL, 1);
	add("r", NULL, NULL, 2);
	said.r = -EIO;
	assert_int_equal(try_add("balance", NULL, NULL, NULL, 0), -EIO);
	assert_int_equal(selection.recording.record_count, 2);
	assert_int_equal(try_add("cpu", "r", "a", NULL, 3), -EIO);
	said.r = 0;
	said.text[said.used = 0] = '\0';
	add("r", NULL, NULL, 4);
	expect("2=a/ 4=a/ ");
	said.r = -EIO;
	assert_int_equal(selection_settle(&selection, &consumer, 0), -EIO);
}

/* The second time on it goes on where it was. */
FIXTURE_TEST(selection_returns_enomem_and_can_retry)
{
	size_t failures = 0;

	for (int has_waited = 0; has_waited <= 1; has_waited++) {
		int r = -ENOMEM;

		for (size_t i = 0; r < 0; i++) {
			(void)teardown(state);
			(void)setup(state);
			ask("endpoint");
			if (has_waited)
				add("r", NULL, NULL, 1);
			memory = i;
			r = try_add("cpu", "r", has_waited ? "a" : NULL, NULL, 2);
			memory = SIZE_MAX;
			assert_int_equal(r, memory_failures() ? -ENOMEM : 0);
			failures += r < 0;
		}
	}
	assert_true(failures > 8);
	expect("1=a/ 2=a/ ");
	memory_fails_after(0);
	assert_int_equal(selection_ask(&selection, "tenant"), -ENOMEM);
	memory_never_fails();
}
