/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's context of a thread, from the record in user memory to the values in a snapshot:
 * bpf/otel.bpf.h and bpf/otel_capture.bpf.h.
 */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

enum {
	TRACE = 0, /* numbers of keys */
	SPAN = 1,
	ROUTE = 2,
	USER = 3,
	ROUTE_INDEX = 0, /* in the key map */
	UNWANTED_INDEX = 1,
	USER_INDEX = 2,
	NEW_INDEX = 3,
};

static const char trace_text[] = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
static const char span_text[] = "f0e1d2c3b4a59687";
const volatile struct context_hash_key hash_key = { .words = { 11, 12 } };

static struct thread_state *const thread = &kernel.states[0];
static struct otel_thread *const otel = &kernel.otel_states[0];
static struct {
	struct otel_record_header header;
	uint8_t attributes[OTEL_ATTRIBUTES_ROOM];
} record;
static uint64_t place; /* of the record */

static uint8_t digit(char hex)
{
	return (uint8_t)(hex <= '9' ? hex - '0' : hex - 'a' + 10);
}

static void set_id(uint8_t *id, const char *text)
{
	for (size_t i = 0; text[2 * i]; i++)
		id[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
}

static void add_attribute(uint8_t index, const char *text, size_t length)
{
	uint8_t *attribute = record.attributes + record.header.attributes_bytes;

	attribute[0] = index;
	attribute[1] = (uint8_t)length;
	memcpy(attribute + 2, text, length);
	record.header.attributes_bytes += (uint16_t)(2 + length);
}

static void point_to(uint64_t address)
{
	forged_write_u64(&memory, thread->tls_address, address);
}

static void write_record(void)
{
	forged_write(&memory, place, &record, sizeof(record));
}

static uint64_t losses(enum counter counter)
{
	return process_of(LIFE)->books.losses[counter];
}

static struct otel_config *config(void)
{
	return &process_of(LIFE)->otel;
}

/* A thread that runs in a trace, and is known to have run in none before. */
static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	memset(&record, 0, sizeof(record));
	place = forged_take(&memory, sizeof(record));
	native_session.watches_otel = 1;
	process_of(LIFE)->has_otel = true;
	kernel.current.thread.fsbase = thread->tls_address - 16;
	*config() = (struct otel_config){ .tls = { .model = TLS_MODEL_STATIC, .offset = 16 },
					  .known_indexes = NEW_INDEX,
					  .trace_key = TRACE + 1,
					  .span_key = SPAN + 1,
					  .reads_attributes = 1 };
	config()->key_of_index[ROUTE_INDEX] = ROUTE + 1;
	config()->key_of_index[USER_INDEX] = USER + 1;
	thread->config.key_count = 4;
	record.header.valid = OTEL_VALID;
	set_id(record.header.trace_id, trace_text);
	set_id(record.header.span_id, span_text);
	add_attribute(ROUTE_INDEX, "/cart", 5);
	write_record();
	point_to(place);
	otel_register(&kernel.current, LIFE, true);
	return 0;
}

static void assert_value(uint32_t key, const char *text)
{
	const struct value_snapshot *value = &otel->values[key];

	assert_int_equal(value->kind, VALUE_KIND_STRING);
	assert_int_equal(value->flags, 0);
	assert_int_equal(value->encoding, VALUE_ENCODING_UTF_8);
	assert_int_equal(value->length_bytes, strlen(text));
	assert_int_equal(value->raw, strlen(text));
	assert_memory_equal(value->bytes, text, strlen(text));
}

static void look(enum otel_look_result expected)
{
	assert_int_equal(otel_look(thread), expected);
}

static uint64_t hash_of_values(void)
{
	const struct context_hash_key key = { .words = { 11, 12 } };
	struct context_hash_state hash;

	context_hash_init(&hash, &key);
	for (uint32_t i = 0; i < KEYS_MAX; i++) {
		if (otel->values[i].kind == VALUE_KIND_ABSENT)
			continue;
		context_hash_add(&hash, i);
		context_hash_add_value(&hash, &otel->values[i]);
	}
	return context_hash_final(&hash);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(otel_captures_ids_and_wanted_attributes)
{
	add_attribute(UNWANTED_INDEX, "x", 1);
	add_attribute(USER_INDEX, "alice", 5);
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_value(TRACE, trace_text);
	assert_value(SPAN, span_text);
	assert_value(ROUTE, "/cart");
	assert_value(USER, "alice");
	for (uint32_t i = USER + 1; i < KEYS_MAX; i++)
		assert_int_equal(otel->values[i].kind, VALUE_KIND_ABSENT);
	assert_int_equal(otel->hash, hash_of_values());
	assert_int_equal(losses(COUNTER_OTEL_MALFORMED), 0);
	assert_int_equal(losses(COUNTER_OTEL_KEY_UNKNOWN), 0);
	assert_int_equal(kernel.told_count, 0);
}

FIXTURE_TEST(otel_clears_values_missing_from_record)
{
	look(OTEL_LOOK_CHANGED);
	memset(&record.header, 0, sizeof(record.header));
	record.header.valid = OTEL_VALID;
	set_id(record.header.span_id, "0000000000000001");
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_value(SPAN, "0000000000000001");
	assert_int_equal(otel->values[TRACE].kind, VALUE_KIND_ABSENT);
	assert_int_equal(otel->values[TRACE].length_bytes, 0);
	assert_int_equal(otel->values[TRACE].raw, 0);
	assert_int_equal(otel->values[ROUTE].kind, VALUE_KIND_ABSENT);
	assert_int_equal(otel->hash, hash_of_values());
	/* Nor is one that has nothing that is wanted a context. */
	memset(record.header.span_id, 0, sizeof(record.header.span_id));
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->hash, CONTEXT_HASH_NONE);
}

FIXTURE_TEST(otel_captures_no_unwanted_values)
{
	otel->config.trace_key = otel->config.span_key = otel->config.reads_attributes = 0;
	look(OTEL_LOOK_SAME);
	assert_int_equal(otel->hash, CONTEXT_HASH_NONE);
	for (uint32_t i = 0; i < KEYS_MAX; i++)
		assert_int_equal(otel->values[i].kind, VALUE_KIND_ABSENT);
	assert_int_equal(losses(COUNTER_OTEL_MALFORMED), 0);
}

FIXTURE_TEST(otel_strips_tags_from_record_address)
{
	point_to(place | UINT64_C(0x5a) << 56);
	look(OTEL_LOOK_CHANGED);
	assert_value(TRACE, trace_text);
}

FIXTURE_TEST(otel_reports_change_only_of_wanted_values)
{
	uint64_t digest;

	look(OTEL_LOOK_CHANGED);
	look(OTEL_LOOK_SAME);
	digest = otel->digest;
	add_attribute(UNWANTED_INDEX, "x", 1);
	write_record();
	look(OTEL_LOOK_SAME);
	assert_int_not_equal(otel->digest, digest);
	record.header.trace_id[15]++;
	write_record();
	look(OTEL_LOOK_CHANGED);
	record.header.span_id[0]++;
	write_record();
	look(OTEL_LOOK_CHANGED);
	record.attributes[6]++;
	write_record();
	look(OTEL_LOOK_CHANGED);
}

/* However it was noticed: not a byte of it may be left out. */
FIXTURE_TEST(otel_digest_covers_each_byte_of_record_only)
{
	uint8_t *bytes = (uint8_t *)otel->words;
	uint64_t digest, count = sizeof(otel->header) + 7;

	look(OTEL_LOOK_CHANGED);
	digest = otel->digest;
	assert_int_equal(otel->record_bytes, count);
	for (size_t i = 0; i < count; i++) {
		bytes[i] ^= 0x10;
		assert_int_not_equal(otel_digest(otel), digest);
		/* 0 is of no record. */
		assert_int_equal(otel_digest(otel) & 1, 1);
		bytes[i] ^= 0x10;
	}
	assert_int_equal(otel_digest(otel), digest);
	bytes[40] ^= 0x10;
	assert_int_equal(otel_digest(otel), digest);
	bytes[40] ^= 0x10;
	/* Nor do two changes make up for each other. */
	bytes[7] ^= 0x80;
	bytes[15] ^= 0x80;
	assert_int_not_equal(otel_digest(otel), digest);
}

FIXTURE_TEST(otel_keeps_nothing_of_longer_record)
{
	uint64_t digest, hash;

	look(OTEL_LOOK_CHANGED);
	digest = otel->digest;
	hash = otel->hash;
	record.header.attributes_bytes = 0;
	add_attribute(ROUTE_INDEX, "/checkout/of/another", 20);
	write_record();
	look(OTEL_LOOK_CHANGED);
	record.header.attributes_bytes = 0;
	add_attribute(ROUTE_INDEX, "/cart", 5);
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->digest, digest);
	assert_int_equal(otel->hash, hash);
	/* Of one without attributes the header's last word is half a one. */
	record.header.attributes_bytes = 0;
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->record_bytes, sizeof(otel->header));
	digest = otel->digest;
	memset(otel->attributes, 0x5a, 8);
	otel->is_known = 0;
	look(OTEL_LOOK_FIRST);
	assert_int_equal(otel->digest, digest);
}

static uint64_t digest_of(const char *text, size_t length)
{
	struct value_chunk chunks[2] = { 0 };
	struct context_hash_state state;

	memcpy(chunks, text, length);
	value_digest_init(&state, length);
	value_digest_add(&state, &chunks[0]);
	value_digest_add(&state, &chunks[1]);
	return context_hash_final(&state);
}

static void look_at_text(const char *text, size_t length)
{
	record.header.attributes_bytes = 0;
	add_attribute(ROUTE_INDEX, text, length);
	write_record();
	look(OTEL_LOOK_CHANGED);
}

FIXTURE_TEST(otel_truncates_long_text_and_digests_all_of_it)
{
	const struct value_snapshot *value = &otel->values[ROUTE];
	char text[OTEL_TEXT_BYTES_MAX];

	memset(text, 'l', sizeof(text));
	look_at_text(text, VALUE_BYTES_MAX);
	assert_int_equal(value->flags, 0);
	assert_int_equal(value->raw, VALUE_BYTES_MAX);
	for (size_t length = sizeof(text); length > VALUE_BYTES_MAX; length -= 63) {
		look_at_text(text, length);
		assert_int_equal(value->kind, VALUE_KIND_STRING);
		assert_int_equal(value->flags, VALUE_TRUNCATED);
		assert_int_equal(value->length_bytes, VALUE_BYTES_MAX);
		assert_memory_equal(value->bytes, text, VALUE_BYTES_MAX);
		assert_int_equal(value->raw, digest_of(text, length));
	}
	look_at_text("short", 5);
	assert_value(ROUTE, "short");
}

/* They are hashed by words. */
FIXTURE_TEST(otel_zero_pads_last_word_of_text)
{
	const struct value_snapshot *value = &otel->values[ROUTE];
	char full[VALUE_BYTES_MAX], text[VALUE_BYTES_MAX];

	memset(full, 'f', sizeof(full));
	memset(text, 't', sizeof(text));
	for (size_t length = 0; length < VALUE_BYTES_MAX; length++) {
		look_at_text(full, sizeof(full));
		look_at_text(text, length);
		assert_memory_equal(value->bytes, text, length);
		for (size_t i = length; i & 7; i++)
			assert_int_equal(value->bytes[i], 0);
	}
}

FIXTURE_TEST(otel_context_is_none_without_valid_record)
{
	look(OTEL_LOOK_CHANGED);
	point_to(0);
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->hash, CONTEXT_HASH_NONE);
	assert_int_equal(otel->digest, 0);
	point_to(place);
	look(OTEL_LOOK_CHANGED);
	/* It is being changed. */
	record.header.valid = 2;
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->hash, CONTEXT_HASH_NONE);
	/* The thread never touched the variable. */
	otel->is_known = 0;
	otel->config.tls = (struct tls_location){ .model = TLS_MODEL_DYNAMIC,
						  .module = 1,
						  .dtv_entry_bytes = 8 };
	point_to(forged_take(&memory, 64));
	kernel.current.thread.fsbase = thread->tls_address;
	otel->tls_resolution = TLS_UNRESOLVED;
	look(OTEL_LOOK_FIRST);
	assert_int_equal(otel->tls_resolution, TLS_UNALLOCATED);
	assert_int_equal(otel->hash, CONTEXT_HASH_NONE);
	assert_int_equal(losses(COUNTER_OTEL_MALFORMED) + losses(COUNTER_OTEL_UNREADABLE), 0);
}

FIXTURE_TEST(otel_context_is_unknown_for_unreadable_record)
{
	const uint64_t pointers[] = { 8, place + 1, FORGED_BASE + FORGED_BYTES,
				      FORGED_BASE + FORGED_BYTES - sizeof(record.header) };

	forged_write(&memory, pointers[3], &record.header, sizeof(record.header));
	for (size_t i = 0; i < 4; i++) {
		point_to(place);
		look(OTEL_LOOK_CHANGED);
		point_to(pointers[i]);
		look(OTEL_LOOK_CHANGED);
		assert_int_equal(otel->hash, CONTEXT_HASH_UNKNOWN);
		assert_int_equal(otel->digest, 0);
		assert_int_equal(losses(COUNTER_OTEL_MALFORMED), i ? 2 : 1);
		assert_int_equal(losses(COUNTER_OTEL_UNREADABLE), i > 1 ? i - 1 : 0);
	}
	/* Without attributes there is nothing behind the header to be read. */
	otel->config.reads_attributes = 0;
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(losses(COUNTER_OTEL_UNREADABLE), 2);
}

FIXTURE_TEST(otel_keeps_context_while_nothing_can_be_read)
{
	uint64_t hash;

	look(OTEL_LOOK_CHANGED);
	hash = otel->hash;
	point_to(0);
	thread->is_exiting = 1;
	look(OTEL_LOOK_SAME);
	thread->is_exiting = 0;
	otel->tls_address = FORGED_BASE + FORGED_BYTES;
	look(OTEL_LOOK_SAME);
	assert_int_equal(losses(COUNTER_POINTER_UNREADABLE), 1);
	/* By the last program's thread pointer it is not looked for. */
	otel->tls_resolution = TLS_UNRESOLVED;
	thread->is_pointer_old = 1;
	look(OTEL_LOOK_SAME);
	assert_int_equal(otel->tls_resolution, TLS_UNRESOLVED);
	assert_int_equal(otel->hash, hash);
	thread->is_pointer_old = 0;
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel->tls_address, thread->tls_address);
	/* Who has none has nothing to be looked at. */
	kernel.has_otel_state[0] = false;
	look(OTEL_LOOK_SAME);
}

FIXTURE_TEST(otel_counts_attributes_beyond_capacity)
{
	char text[OTEL_TEXT_BYTES_MAX];

	memset(text, 't', sizeof(text));
	for (size_t i = 0; i < 2; i++)
		add_attribute(UNWANTED_INDEX, text, sizeof(text));
	add_attribute(USER_INDEX, text, OTEL_ATTRIBUTES_BYTES_MAX - 523);
	assert_int_equal(record.header.attributes_bytes, OTEL_ATTRIBUTES_BYTES_MAX);
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(losses(COUNTER_OTEL_MALFORMED), 0);
	assert_int_equal(otel->values[USER].length_bytes, OTEL_ATTRIBUTES_BYTES_MAX - 523);
	assert_int_equal(otel->record_bytes, OTEL_RECORD_BYTES_MAX);
	/* It is read to its end. */
	record.attributes[OTEL_ATTRIBUTES_BYTES_MAX - 1]++;
	write_record();
	look(OTEL_LOOK_CHANGED);
	add_attribute(UNWANTED_INDEX, "x", 1);
	write_record();
	look(OTEL_LOOK_SAME);
	assert_int_equal(losses(COUNTER_OTEL_MALFORMED), 1);
	assert_int_equal(otel->record_bytes, OTEL_RECORD_BYTES_MAX);
}

FIXTURE_TEST(otel_reports_new_attributes_once_per_reading)
{
	add_attribute(NEW_INDEX, "x", 1);
	write_record();
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(kernel.told_count, 1);
	assert_int_equal(kernel.told[0].event.kind, EVENT_KIND_OTEL_KEYS);
	assert_int_equal(kernel.told[0].event.life, LIFE);
	assert_int_equal(kernel.told[0].event.ns_tgid, OWN_TGID);
	assert_int_equal(kernel.told[0].event.parent_tgid, 0);
	assert_int_equal(kernel.told[0].event.address, 0);
	look(OTEL_LOOK_SAME);
	assert_int_equal(losses(COUNTER_OTEL_KEY_UNKNOWN), 1);
	add_attribute(NEW_INDEX + 1, "y", 1);
	write_record();
	look(OTEL_LOOK_SAME);
	assert_int_equal(kernel.told_count, 1);
	assert_int_equal(losses(COUNTER_OTEL_KEY_UNKNOWN), 2);
	/* It has read the key map anew. */
	config()->known_indexes++;
	thread->config.reading++;
	look(OTEL_LOOK_FIRST);
	assert_int_equal(kernel.told_count, 2);
	assert_int_equal(otel->reading, thread->config.reading);
	assert_int_equal(otel->config.known_indexes, NEW_INDEX + 1);
}

FIXTURE_TEST(otel_has_no_variable_for_forgotten_process)
{
	look(OTEL_LOOK_CHANGED);
	process_of(LIFE)->has_otel = false;
	thread->config.reading++;
	look(OTEL_LOOK_SAME);
	assert_int_equal(otel->config.tls.model, TLS_MODEL_NONE);
	assert_int_equal(otel->is_known, 0);
}

FIXTURE_TEST(otel_registers_thread_once_if_process_has_variable)
{
	struct otel_thread *other = &kernel.otel_states[1];

	otel_register(&kernel.other, OTHER_LIFE, false);
	assert_false(kernel.has_otel_state[1]);
	kernel.has_no_storage = true;
	otel_register(&kernel.other, LIFE, false);
	assert_int_equal(losses(COUNTER_STORAGE_FAILED), 1);
	kernel.has_no_storage = false;
	otel_register(&kernel.other, LIFE, false);
	assert_int_equal(other->is_registered, 1);
	assert_int_equal(other->is_known, 0);
	assert_int_equal(other->is_first_inherited, 1);
	assert_int_equal(other->reading, 1);
	assert_memory_equal(&other->config, config(), sizeof(other->config));
	otel_register(&kernel.other, LIFE, true);
	assert_int_equal(other->is_known, 0);
	/* Of a new one nothing is inherited. */
	assert_int_equal(otel->is_known, 1);
	assert_int_equal(otel->is_first_inherited, 0);
	/* Its process has no other configuration. */
	memset(other, 0, sizeof(*other));
	process_of(LIFE)->has_config = false;
	otel_register(&kernel.other, LIFE, false);
	assert_int_equal(other->reading, 0);
}

FIXTURE_TEST(otel_first_record_of_existing_thread_is_inherited)
{
	memset(otel, 0, sizeof(*otel));
	otel_register(&kernel.current, LIFE, false);
	look(OTEL_LOOK_FIRST);
	(void)otel_add_context(thread, CONTEXT_HASH_NONE);
	assert_int_equal(thread->is_otel_inherited, 1);
	record.header.span_id[0]++;
	write_record();
	look(OTEL_LOOK_CHANGED);
	(void)otel_add_context(thread, CONTEXT_HASH_NONE);
	assert_int_equal(thread->is_otel_inherited, 0);
	/* Until it begins another life. */
	otel_begin_name();
	(void)otel_add_context(thread, CONTEXT_HASH_NONE);
	assert_int_equal(thread->is_otel_inherited, 1);
	/* Whichever it is. */
	otel->hash = CONTEXT_HASH_FIRST;
	(void)otel_add_context(thread, CONTEXT_HASH_NONE);
	assert_int_equal(thread->is_otel_inherited, 1);
	/* No context is nobody's. */
	point_to(0);
	look(OTEL_LOOK_CHANGED);
	otel_begin_name();
	(void)otel_add_context(thread, CONTEXT_HASH_NONE);
	assert_int_equal(thread->is_otel_inherited, 0);
}

static uint64_t hash_of_both(uint64_t state_hash)
{
	const struct context_hash_key key = { .words = { 11, 12 } };
	struct context_hash_state hash;

	context_hash_init(&hash, &key);
	context_hash_add(&hash, IMAGE);
	context_hash_add(&hash, state_hash);
	context_hash_add(&hash, otel->hash);
	return context_hash_final(&hash);
}

FIXTURE_TEST(otel_merges_with_ruby_context_and_its_values)
{
	struct value_snapshot *values = thread->snapshot.values;
	const struct process_config before = thread->config;

	look(OTEL_LOOK_CHANGED);
	for (uint32_t i = 0; i < KEYS_MAX; i++)
		values[i] = (struct value_snapshot){ .kind = VALUE_KIND_IMMEDIATE, .raw = 21 };
	assert_int_equal(otel_add_context(thread, 100), hash_of_both(100));
	assert_int_equal(thread->snapshot_hash, hash_of_both(100));
	assert_int_equal(thread->snapshot.key_count, 4);
	assert_memory_equal(&values[ROUTE], &otel->values[ROUTE], sizeof(*values));
	assert_int_equal(values[USER].kind, VALUE_KIND_IMMEDIATE);
	assert_int_equal(values[KEYS_MAX - 1].raw, 21);
	assert_memory_equal(&thread->config, &before, sizeof(before));
	/* Without Ruby's there are no values of it. */
	assert_int_equal(otel_add_context(thread, CONTEXT_HASH_NONE),
			 hash_of_both(CONTEXT_HASH_NONE));
	assert_memory_equal(values, otel->values, KEYS_MAX * sizeof(*values));
}

FIXTURE_TEST(otel_change_is_a_context_change)
{
	/* Ruby's is none. */
	thread->config.flags = PROCESS_HAS_OTEL;
	thread->tls_resolution = TLS_UNRESOLVED;
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_NONE;
	assert_true(context_confirm(thread, &kernel.current, NOW_NS, true));
	assert_int_equal(thread->context_hash, hash_of_both(CONTEXT_HASH_NONE));
	assert_false(context_confirm(thread, &kernel.current, NOW_NS, true));
	point_to(0);
	assert_true(context_confirm(thread, &kernel.current, NOW_NS, true));
	assert_int_equal(thread->context_hash, CONTEXT_HASH_NONE);
	/* It is watched at each boundary: no probe has missed it. */
	assert_int_equal(losses(COUNTER_CHANGE_UNSEEN), 0);
	/* Nobody looks there where it is not watched, or a process has none. */
	point_to(place);
	thread->config.flags = 0;
	assert_false(context_confirm(thread, &kernel.current, NOW_NS, true));
	thread->config.flags = PROCESS_HAS_OTEL;
	native_session.watches_otel = 0;
	assert_false(context_confirm(thread, &kernel.current, NOW_NS, true));
	assert_int_equal(thread->context_hash, CONTEXT_HASH_NONE);
}

FIXTURE_TEST(otel_unknown_part_makes_merged_context_unknown)
{
	/* It has run in none yet. */
	assert_int_equal(otel_add_context(thread, 100), 100);
	look(OTEL_LOOK_CHANGED);
	assert_int_equal(otel_add_context(thread, CONTEXT_HASH_UNKNOWN), CONTEXT_HASH_UNKNOWN);
	otel->is_known = 0;
	assert_int_equal(otel_add_context(thread, 100), CONTEXT_HASH_UNKNOWN);
	otel->is_known = 1;
	otel->hash = CONTEXT_HASH_UNKNOWN;
	assert_int_equal(otel_add_context(thread, 100), CONTEXT_HASH_UNKNOWN);
	/* Who has none is in Ruby's alone. */
	kernel.has_otel_state[0] = false;
	assert_int_equal(otel_add_context(thread, 100), 100);
}

/* The verifier looks at them by themselves, and so at arguments that no caller gives. */
FIXTURE_TEST(otel_functions_ignore_invalid_arguments)
{
	struct context_hash_state hash;

	assert_int_equal(otel_digest(NULL), 0);
	assert_int_equal(otel_hash(NULL), CONTEXT_HASH_NONE);
	assert_int_equal(otel_walk(NULL, otel), 0);
	assert_int_equal(otel_walk(thread, NULL), 0);
	assert_int_equal(otel_look(NULL), OTEL_LOOK_SAME);
	assert_int_equal(otel_add_context(NULL, 100), 100);
	context_hash_init(&hash, &(struct context_hash_key){ .words = { 11, 12 } });
	assert_int_equal(otel_capture_key(NULL, TRACE, &hash), 0);
	assert_int_equal(otel_capture_key(otel, TRACE, NULL), 0);
	set_id(otel->header.trace_id, trace_text);
	otel->config.trace_key = KEYS_MAX + 1;
	assert_int_equal(otel_capture_key(otel, KEYS_MAX, &hash), 0);
}
