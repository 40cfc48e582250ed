/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "record/record_view.h"

#include <errno.h>
#include <stdlib.h>

#include "record/record_fields.h"
#include "record/record_shape.h"
#include "record/sample.h"

static struct record_view view;

static int decode(struct sample *sample)
{
	int r;

	sample_end(sample);
	r = record_view_decode((const uint8_t *)sample->buffer.data, sample->buffer.size, &view);
	return r;
}

/* Its texts are those of the entry. */
static void forget(struct sample *sample)
{
	msgpack_sbuffer_destroy(&sample->buffer);
}

static int decode_and_forget(struct sample *sample)
{
	int r = decode(sample);

	forget(sample);
	return r;
}

TEST(view_maps_kind_by_name_and_unknown_to_other)
{
	struct sample sample;

	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		sample_record(&sample, "%s pid=7", record_kinds[kind].name);
		assert_int_equal(decode_and_forget(&sample), 0);
		assert_int_equal(view.kind, kind);
		assert_int_equal(view.wall_ns, 1700000001 * UINT64_C(1000000000));
	}
	sample_record(&sample, "of_tomorrow pid=7");
	assert_int_equal(decode_and_forget(&sample), 0);
	assert_int_equal(view.kind, RECORD_KIND_OTHER);
}

TEST(view_getters_check_value_types)
{
	struct record_text text = { "before", 6 };
	struct sample sample;
	int64_t count = 99;

	sample_record(&sample, "gap pid=7 zero=0 debt=-5 lowest=-9223372036854775808 text=T "
			       "text=again huge=18446744073709551615 most=9223372036854775807 "
			       "yes=true nil=nil flags=[one]");
	assert_int_equal(decode(&sample), 0);
	assert_int_equal(view.field_count, 15);

	assert_false(record_view_count(&view, "missing", &count));
	assert_false(record_view_count(&view, "zer", &count));
	assert_false(record_view_count(&view, "debt", &count));
	assert_false(record_view_count(&view, "yes", &count));
	assert_false(record_view_count(&view, "text", &count));
	assert_false(record_view_add(&view, "debt", &count));
	assert_int_equal(count, 99);
	assert_true(record_view_count(&view, "zero", &count));
	assert_int_equal(count, 0);
	assert_true(record_view_count(&view, "huge", &count));
	assert_true(count == INT64_MAX);
	count = 5;
	assert_true(record_view_add(&view, "pid", &count));
	assert_int_equal(count, 12);
	assert_true(record_view_add(&view, "most", &count));
	assert_true(count == INT64_MAX);
	assert_true(record_view_find(&view, "lowest")->integer == INT64_MIN);
	assert_int_equal(record_view_find(&view, "yes")->value, RECORD_VALUE_BOOL);
	assert_int_equal(record_view_find(&view, "yes")->integer, 1);
	assert_int_equal(record_view_find(&view, "nil")->value, RECORD_VALUE_OTHER);

	assert_false(record_view_text(&view, "missing", &text));
	assert_false(record_view_text(&view, "zero", &text));
	assert_true(record_text_is(text, "before"));
	assert_true(record_view_text(&view, "text", &text));
	assert_true(record_text_is(text, "T"));
	assert_false(record_text_is(text, "t") || record_text_is(text, "") ||
		     record_text_is(text, "Tt"));
	assert_int_equal(record_view_find(&view, "flags")->value, RECORD_VALUE_LIST);
	assert_int_equal(record_view_find(&view, "flags")->item_count, 1);
	assert_true(record_text_is(record_view_find(&view, "flags")->items[0], "one"));
	forget(&sample);
}

TEST(view_list_lookup_matches_whole_items)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=7 thread_name=one flags=[one]");
	assert_int_equal(decode(&sample), 0);
	assert_true(record_view_lists_at(&view, RECORD_PLACE(cpu, flags), "one"));
	assert_false(record_view_lists_at(&view, RECORD_PLACE(cpu, flags), "on"));
	assert_false(record_view_lists_at(&view, RECORD_PLACE(cpu, thread_name), "one"));
	assert_false(record_view_lists_at(&view, RECORD_PLACE(cpu, tid), "one"));
	forget(&sample);
}

/* Of each kind the fields of the schema, in an order of the test's own. */
static void add_field(struct sample *sample, const struct record_field_info *info)
{
	if (info->type == RECORD_TYPE_TEXT)
		sample_fields(sample, "%s=%s", info->name, info->name);
	else if (info->name_bytes > 0)
		sample_fields(sample, "%s=%zu", info->name, info->name_bytes);
}

enum order {
	ORDER_SCHEMA,
	ORDER_BACKWARD,
	ORDER_HALVES, /* the second half first */
	_ORDER_MAX,
};

static size_t in_order(enum order order, size_t i, size_t count)
{
	if (order == ORDER_BACKWARD)
		return count - 1 - i;
	return order == ORDER_HALVES ? (i + count / 2) % count : i;
}

static void expect_place(const struct record_field_info *info, size_t place)
{
	const struct record_field *field = record_view_at(&view, place);

	if (info->name_bytes == 0) {
		assert_null(field);
		return;
	}
	assert_non_null(field);
	assert_ptr_equal(field, record_view_find(&view, info->name));
	assert_int_equal(field->is_key, false);
}

static void expect_places(enum record_kind kind, enum order order)
{
	const struct record_kind_info *info = &record_kinds[kind];
	struct sample sample;

	sample_record(&sample, "%s pid=7 ns_pid=8 clock_set_ns=9 a-key=\"its value\"", info->name);
	for (size_t i = 0; i < info->field_count; i++)
		add_field(&sample, &info->fields[in_order(order, i, info->field_count)]);
	assert_int_equal(decode(&sample), 0);
	assert_int_equal(view.kind, kind);
	for (size_t i = 0; i < record_common_info.field_count; i++)
		expect_place(&record_common_info.fields[i], record_common_info.first_place + i);
	for (size_t i = 0; i < info->field_count; i++)
		expect_place(&info->fields[i], info->first_place + i);
	assert_true(record_view_find(&view, "a-key")->is_key);
	assert_false(record_view_find(&view, "kind")->is_key);
	forget(&sample);
}

TEST(view_finds_schema_fields_in_any_order)
{
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++)
		for (int order = 0; order < _ORDER_MAX; order++)
			expect_places((enum record_kind)kind, (enum order)order);
}

TEST(schema_fields_have_contiguous_distinct_places)
{
	assert_int_equal(record_kinds[RECORD_KIND_CPU].first_place, RECORD_PLACE(cpu, tid));
	assert_int_equal(record_common_info.first_place, RECORD_PLACE(common, record_id));
	assert_int_equal(RECORD_PLACE(cpu, ns_tid), RECORD_PLACE(cpu, tid) + 1);
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		const struct record_kind_info *info = &record_kinds[kind];
		size_t end = kind + 1 < _RECORD_KIND_MAX ? record_kinds[kind + 1].first_place
							 : sizeof(struct record_places);

		assert_int_equal(info->first_place + info->field_count, end);
		for (size_t i = 0; i < info->field_count; i++)
			assert_int_equal(info->fields[i].name_bytes, strlen(info->fields[i].name));
	}
}

TEST(view_place_lookup_fails_for_missing_or_mistyped_field)
{
	struct record_text text = { "before", 6 };
	struct sample sample;
	int64_t count = 99;

	/* exec_ns is of another kind. */
	sample_record(&sample, "cpu pid=7 cpu_ns=\"a text\" thread_name=5 blocked_ns=-1 "
			       "exec_ns=6 user_ns=7");
	assert_int_equal(decode(&sample), 0);
	assert_false(record_view_count_at(&view, RECORD_PLACE(cpu, kernel_ns), &count));
	assert_false(record_view_count_at(&view, RECORD_PLACE(cpu, cpu_ns), &count));
	assert_false(record_view_count_at(&view, RECORD_PLACE(cpu, blocked_ns), &count));
	assert_false(record_view_count_at(&view, RECORD_PLACE(balance, exec_ns), &count));
	assert_int_equal(count, 99);
	assert_true(record_view_count_at(&view, RECORD_PLACE(cpu, user_ns), &count));
	assert_int_equal(count, 7);
	assert_false(record_view_text_at(&view, RECORD_PLACE(cpu, thread_name), &text));
	assert_false(record_view_text_at(&view, RECORD_PLACE(balance, exec_ns), &text));
	assert_true(record_text_is(text, "before"));
	assert_true(record_view_text_at(&view, RECORD_PLACE(common, host_name), &text));
	assert_true(record_text_is(text, "web-1"));
	/* A text of that name is no figure, so it is a key; a number is none, whatever its name. */
	assert_true(record_view_find(&view, "cpu_ns")->is_key);
	assert_false(record_view_find(&view, "thread_name")->is_key);
	assert_false(record_view_find(&view, "host_name")->is_key);
	assert_false(record_view_find(&view, "exec_ns")->is_key);
	/* Nothing of it is left in the next one. */
	forget(&sample);
	sample_record(&sample, "cpu pid=7 kind=gap schema=gap =");
	assert_int_equal(decode(&sample), 0);
	assert_null(record_view_at(&view, RECORD_PLACE(cpu, user_ns)));
	assert_false(view.fields[5].is_key);
	assert_true(view.fields[6].is_key);
	assert_true(view.fields[7].is_key);
	forget(&sample);
}

TEST(view_place_lookup_returns_first_duplicate)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=7 cpu_ns=1 cpu_ns=2 cpu_ns=3 user_ns=4 cpu_ns=5");
	assert_int_equal(decode(&sample), 0);
	assert_int_equal(record_view_at(&view, RECORD_PLACE(cpu, cpu_ns))->integer, 1);
	assert_int_equal(record_view_at(&view, RECORD_PLACE(cpu, user_ns))->integer, 4);
	forget(&sample);
}

/* Names that are nearly those of the schema, in each byte of each. */
TEST(view_compares_field_names_to_last_byte)
{
	const struct record_kind_info *info = &record_kinds[RECORD_KIND_CPU];
	struct sample sample;
	char name[64];

	for (size_t i = 0; i < info->field_count; i++) {
		for (size_t at = 0; at < info->fields[i].name_bytes; at++) {
			(void)strcpy(name, info->fields[i].name);
			name[at] = '~';
			sample_record(&sample, "cpu pid=7 %s=", name);
			assert_int_equal(decode(&sample), 0);
			assert_true(view.fields[5].is_key);
			assert_null(record_view_at(&view, info->first_place + i));
			forget(&sample);
		}
	}
}

TEST(saturated_add_stops_at_int64_max)
{
	int64_t sum = INT64_MAX - 5;

	assert_true(saturated_add(INT64_MAX - 5, 5) == INT64_MAX);
	assert_true(saturated_add(INT64_MAX - 5, 6) == INT64_MAX);
	assert_int_equal(saturated_add(2, 3), 5);
	saturated_add_to(&sum, 6);
	assert_true(sum == INT64_MAX);
}

/* Beside the five of each record. */
static int with_fields(size_t count)
{
	struct sample sample;

	sample_record(&sample, "gap pid=7");
	for (size_t i = 5; i < count; i++)
		sample_fields(&sample, "n=1");
	return decode_and_forget(&sample);
}

static int with_items(size_t first, size_t second)
{
	const size_t counts[] = { first, second };
	struct sample sample;

	sample_record(&sample, "gap pid=7");
	for (int list = 0; list < 2; list++) {
		msgpack_pack_str_with_body(&sample.packer, "list", 4);
		msgpack_pack_array(&sample.packer, counts[list]);
		for (size_t i = 0; i < counts[list]; i++)
			msgpack_pack_str_with_body(&sample.packer, list ? "b" : "a", 1);
		sample.field_count++;
	}
	return decode_and_forget(&sample);
}

static int with_text(size_t size_bytes, bool is_name)
{
	char *text = malloc(size_bytes + 1);
	struct sample sample;

	assert_non_null(text);
	memset(text, 'x', size_bytes);
	text[size_bytes] = '\0';
	sample_record(&sample, "gap pid=7 %s=%s", is_name ? text : "text", is_name ? "name" : text);
	free(text);
	return decode_and_forget(&sample);
}

TEST(view_rejects_record_over_field_item_and_text_limits)
{
	assert_int_equal(with_fields(RECORD_VIEW_FIELDS_MAX), 0);
	assert_int_equal(view.field_count, RECORD_VIEW_FIELDS_MAX);
	assert_int_equal(with_fields(RECORD_VIEW_FIELDS_MAX + 1), -E2BIG);
	assert_int_equal(with_items(RECORD_VIEW_ITEMS_MAX - 1, 1), 0);
	assert_int_equal(view.item_count, RECORD_VIEW_ITEMS_MAX);
	assert_int_equal(view.fields[6].item_count, 1);
	assert_ptr_equal(view.fields[6].items, view.fields[5].items + RECORD_VIEW_ITEMS_MAX - 1);
	assert_int_equal(with_items(RECORD_VIEW_ITEMS_MAX - 1, 2), -E2BIG);
	assert_int_equal(with_text(RECORD_VIEW_TEXT_BYTES_MAX, false), 0);
	assert_int_equal(with_text(RECORD_VIEW_TEXT_BYTES_MAX + 1, false), -E2BIG);
	assert_int_equal(with_text(RECORD_VIEW_TEXT_BYTES_MAX + 1, true), -E2BIG);
	/* The next one has all the room. */
	assert_int_equal(with_items(RECORD_VIEW_ITEMS_MAX, 0), 0);
}

TEST(view_rejects_non_text_list_items_and_names)
{
	struct sample sample;

	sample_record(&sample, "gap pid=7 list=[1]");
	assert_int_equal(decode_and_forget(&sample), -EBADMSG);
	sample_record(&sample, "gap pid=7");
	msgpack_pack_int(&sample.packer, 1);
	msgpack_pack_int(&sample.packer, 1);
	sample.field_count++;
	assert_int_equal(decode_and_forget(&sample), -EBADMSG);
}

/* An entry with what a record must have, but for one of these. */
static int without(const char *missing, int64_t schema)
{
	struct sample sample;

	sample_begin_empty(&sample);
	if (strcmp(missing, "schema") != 0)
		sample_fields(&sample, "schema=%ld", schema);
	if (strcmp(missing, "kind") != 0)
		sample_fields(&sample, "kind=gap");
	if (strcmp(missing, "pid") != 0)
		sample_fields(&sample, "pid=7");
	return decode_and_forget(&sample);
}

TEST(view_rejects_missing_mandatory_fields_and_other_schema)
{
	assert_int_equal(without("", RECORD_SCHEMA), 0);
	assert_int_equal(without("schema", 0), -EBADMSG);
	assert_int_equal(without("kind", RECORD_SCHEMA), -EBADMSG);
	assert_int_equal(without("pid", RECORD_SCHEMA), -EBADMSG);
	assert_int_equal(without("", RECORD_SCHEMA + 1), -EPROTONOSUPPORT);
	assert_int_equal(without("", 0), -EPROTONOSUPPORT);
}

TEST(view_rejects_entry_without_time_and_map)
{
	static const struct {
		const char *bytes;
		size_t size_bytes;
	} cases[] = {
		{ "", 0 },
		{ "\x92", 1 }, /* cut off */
		{ "\xc1", 1 }, /* never used */
		{ "\x80", 1 }, /* a map alone */
		{ "\x82\xd7\0tttttttt\x80\x01\x01", 14 }, /* of as many */
		{ "\x91\xd7\0tttttttt", 11 },
		{ "\x93\xd7\0tttttttt\x80\x80", 13 },
		{ "\x92\x01\x80", 3 },
		{ "\x92\xd6\0tttt\x80", 8 }, /* of four bytes */
		{ "\x92\xd7\0tttttttt\x90", 12 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(record_view_decode((const uint8_t *)cases[i].bytes,
						    cases[i].size_bytes, &view),
				 -EBADMSG);
}

/* Another record than the one before in one respect, and what all have. */
struct step {
	const char *kind;
	int64_t schema;
	const char *name; /* NULL: there is none */
	const char *text; /* NULL: a number */
	int extra_fields;
	bool has_flag;
	bool lacks_pid;
};

static void make_step(struct sample *sample, const struct step *step)
{
	sample_begin_empty(sample);
	sample_fields(sample, "schema=%ld kind=%s host_name=web-1 %s=7", step->schema, step->kind,
		      step->lacks_pid ? "did" : "pid");
	if (step->name && step->text)
		sample_fields(sample, "%s=\"%s\"", step->name, step->text);
	else if (step->name)
		sample_fields(sample, "%s=5", step->name);
	if (step->has_flag)
		sample_fields(sample, "flags=[inherited]");
	for (int i = 0; i < step->extra_fields; i++)
		sample_fields(sample, "extra_%d=%d", i, i);
	sample_fields(sample, "user_ns=9");
	sample_end(sample);
}

static void expect_same_view(const struct record_view *a, const struct record_view *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->wall_ns, b->wall_ns);
	assert_int_equal(a->entry_bytes, b->entry_bytes);
	assert_int_equal(a->field_count, b->field_count);
	assert_memory_equal(&a->places, &b->places, sizeof(a->places));
	assert_int_equal(a->item_count, b->item_count);
	for (size_t i = 0; i < a->field_count; i++) {
		const struct record_field *first = &a->fields[i], *second = &b->fields[i];

		assert_ptr_equal(first->name.bytes, second->name.bytes);
		assert_int_equal(first->name.size_bytes, second->name.size_bytes);
		assert_int_equal(first->value, second->value);
		assert_int_equal(first->is_key, second->is_key);
		assert_int_equal(first->integer, second->integer);
		assert_ptr_equal(first->text.bytes, second->text.bytes);
		assert_int_equal(first->text.size_bytes, second->text.size_bytes);
		assert_int_equal(first->item_count, second->item_count);
	}
}

TEST(view_decode_is_independent_of_learned_shapes)
{
	static const struct step steps[] = {
		{ "cpu", 1, "endpoint", "x", 0, false, false },
		{ "cpu", 1, "endpoint", "GET /orders", 0, false, false },
		{ "cpu", 1, "endpoint", NULL, 0, false, false }, /* of another type */
		{ "slice", 1, "endpoint", "x", 0, false, false }, /* of another kind */
		{ "tomorrow", 1, "endpoint", "x", 0, false, false },
		{ "cpu", 2, "endpoint", "x", 0, false, false },
		{ "cpu", -1, "endpoint", "x", 0, false, false },
		{ "cpu", 1, "endpoinT", "x", 0, false, false },
		{ "cpu", 1, "Endpoint", "x", 0, false, false },
		{ "cpu", 1, "endPoint", "x", 0, false, false },
		{ "cpu", 1, "endpoint_", "x", 0, false, false },
		{ "cpu", 1, "a_key_of_some_thirty_bytes_or_so", "x", 0, false, false },
		{ "cpu", 1, "a_key_of_some_thirty_bytes_or_s", "x", 0, false, false },
		{ "cpu", 1, "a_key_of_some_Thirty_bytes_or_s", "x", 0, false, false },
		{ "cpu", 1, "", "x", 0, false, false },
		{ "cpu", 1, "k", "x", 0, false, false },
		{ "cpu", 1, "tid", "x", 0, false, false }, /* a number by the schema */
		{ "cpu", 1, "tid", NULL, 0, false, false },
		{ "cpu", 1, "pid", NULL, 0, false, false }, /* twice */
		{ "cpu", 1, "user_ns", NULL, 0, false, false },
		{ "cpu", 1, "kind", "gap", 0, false, false },
		{ "cpu", 1, "schema", NULL, 0, false, false },
		{ "cpu", 1, "thread_name", "x", 0, false, false },
		{ "cpu", 1, "endpoint", "x", 0, false, true },
		{ "cpu", 1, "endpoint", "x", 0, true, false },
		{ "cpu", 1, NULL, NULL, 0, false, false },
		{ "cpu", 1, NULL, NULL, RECORD_SHAPES, false, false }, /* in the same place */
		{ "cpu", 1, NULL, NULL, RECORD_SHAPE_FIELDS_MAX - 5, false, false },
		{ "cpu", 1, NULL, NULL, RECORD_SHAPE_FIELDS_MAX - 4, false, false },
	};
	enum {
		STEPS = sizeof(steps) / sizeof(steps[0])
	};
	static struct record_view alone, next;

	for (size_t i = 0; i < STEPS * STEPS; i++) {
		/* Each behind each, twice; what is learned is of the first. */
		static struct record_shapes shapes;
		const struct step *order[] = { &steps[i / STEPS], &steps[i % STEPS],
					       &steps[i % STEPS], &steps[i / STEPS] };

		shapes = (struct record_shapes){ 0 };
		for (size_t j = 0; j < sizeof(order) / sizeof(order[0]); j++) {
			struct sample sample;
			const uint8_t *bytes;
			int r;

			make_step(&sample, order[j]);
			bytes = (const uint8_t *)sample.buffer.data;
			r = record_view_decode(bytes, sample.buffer.size, &alone);
			assert_int_equal(
				record_view_decode_next(bytes, sample.buffer.size, &shapes, &next),
				r);
			if (r == 0)
				expect_same_view(&alone, &next);
			assert_int_equal(record_view_decode_next(bytes, sample.buffer.size - 1,
								 &shapes, &next),
					 -EBADMSG);
			forget(&sample);
		}
	}
}

/* Of the reserved ones, those that are no texts: a key is one. */
/* Whether a text of that name is a key's in such a record. */
static bool is_key_in(const char *kind, const char *name)
{
	struct sample sample;

	sample_record(&sample, "%s pid=7", kind);
	/* Though the record has one of that name before. */
	sample_fields(&sample, "%s=x", name);
	assert_int_equal(decode_and_forget(&sample), 0);
	return view.fields[view.field_count - 1].is_key;
}

TEST(view_treats_unreserved_cpu_text_as_key)
{
	static const struct record_text names[] = {
		{ "kind", 4 },
		{ "host_name", 9 },
		{ "thread_name", 11 },
		{ "flags", 5 },
	};

	assert_true(is_key_in("cpu", "request_id"));
	for (size_t i = 0; i < 3; i++)
		assert_false(is_key_in("cpu", names[i].bytes));
	for (size_t i = 0; i < 4; i++)
		assert_true(record_fields_are_taken(names[i].bytes));
	assert_true(record_fields_are_taken("schema"));
	assert_true(record_fields_are_taken("pid"));
	assert_true(record_fields_are_taken("woken_by_any_key"));
	assert_false(record_fields_are_taken("woken"));
	assert_true(record_fields_are_taken("cpu_ns"));
	assert_false(record_fields_are_taken("request_id"));
	assert_false(record_fields_are_taken("exec_ns"));
	/* A text of that name is no figure. */
	assert_true(is_key_in("cpu", "cpu_ns"));
	assert_true(is_key_in("cpu", "schema"));
}

/* Recordings of before slices may have a key of that name in their cpu records. */
TEST(view_slice_field_name_is_reserved_but_key_in_other_records)
{
	assert_true(record_fields_are_taken("state"));
	assert_true(record_fields_are_taken("cpu_number"));
	assert_true(is_key_in("cpu", "state"));
	assert_false(is_key_in("slice", "state"));
	assert_false(is_key_in("slice", "host_name"));
	assert_true(is_key_in("slice", "request_id"));
	assert_true(is_key_in("slice", "cpu_number"));
}

/* A stall has two contexts, and only one of them is its own. */
TEST(view_key_of_the_waker_is_no_key_of_the_stall)
{
	assert_true(is_key_in("stall", "request_id"));
	assert_true(is_key_in("stall", "woken"));
	assert_false(is_key_in("stall", "woken_by_request_id"));
	assert_true(is_key_in("cpu", "woken_by_request_id"));
}

/* What first_ns becomes, at its place among the fields. */
static int64_t steady(const char *kind, int64_t set_ns, int64_t first_ns)
{
	struct sample sample;
	size_t at;

	sample_record(&sample, "%s pid=7", kind);
	at = sample.field_count;
	sample_fields(&sample, "first_ns=%ld last_ns=\"no number\" cpu_ns=900 clock_set_ns=%ld",
		      first_ns, set_ns);
	assert_int_equal(decode(&sample), 0);
	record_view_steady(&view);
	assert_int_equal(view.fields[at + 2].integer, 900);
	/* Once. */
	record_view_steady(&view);
	forget(&sample);
	return view.fields[at].integer;
}

TEST(view_steady_undoes_clock_step_in_times)
{
	const uint64_t wall_ns = 1700000001 * UINT64_C(1000000000);

	assert_int_equal(steady("cpu", 100, 5000), 4900);
	assert_int_equal(view.wall_ns, wall_ns - 100);
	assert_int_equal(view.clock_set_ns, 100);
	assert_int_equal(steady("cpu", -100, 5000), 5100);
	assert_int_equal(view.wall_ns, wall_ns + 100);
	assert_int_equal(steady("cpu", 0, 5000), 5000);
	assert_int_equal(view.wall_ns, wall_ns);
	assert_int_equal(view.clock_set_ns, 0);
	/* In another kind it is no time of the window. */
	assert_int_equal(steady("gap", 100, 5000), 5000);
}

TEST(view_steady_clamps_forged_clock_steps)
{
	assert_int_equal(steady("cpu", INT64_MAX, 5000), 0);
	assert_int_equal(view.wall_ns, 0);
	assert_int_equal(steady("cpu", INT64_MIN, 5000), INT64_MAX);
	assert_true(view.wall_ns == INT64_MAX);
	assert_int_equal(steady("cpu", 100, -5), -5);
}
