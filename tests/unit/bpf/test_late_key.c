/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A value that comes when a request has run for a while: it makes no other context of it, and takes
 * the place of none in what userspace reads; bpf/context.bpf.h and bpf/charge.bpf.h over forged
 * memory and a map of one context.
 */
#include "bpf/native_kernel.h"

#include <stdbool.h>
#include <string.h>

#include "unit_test.h"

UNIT_TEST_ALONE;

static long native_update(void *map, const void *key, const void *value, uint64_t flags);

/* None is ever deleted. */
static inline long native_delete(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return 0;
}

#define bpf_map_update_elem native_update
#define bpf_map_delete_elem native_delete

#include "bpf/forged_user.h"

enum {
	LIFE = 77,
	IMAGE = 78,
	REQUEST = 300 << 4 | 1,
	ENDPOINT = 301 << 4 | 1,
	T_STRING = 5,
	NIL = 4,
	NOW_NS = 1000,
	FAMILY = 3
};

/* The options of the recording, which are constants of loaded programs. */
const volatile struct session_config session = {
	.late_keys = 1 << 1, .request_key = 1, .contexts_max = 64, .accounts_max = 64
};

static struct {
	struct context_snapshot snapshot;
	uint64_t hash;
	bool is_there;
	unsigned int updates;
} published;
static struct {
	struct account_key key;
	struct account account;
	bool is_open;
} opened;
static struct process_books process;
static struct thread_state thread;
static struct task_struct task;
static uint64_t variable; /* address of the thread-local */

/* Not inlined: the size of a value is that of its map's. */
__attribute__((noipa)) void *native_find(const void *map, const void *key)
{
	if (map == &books)
		return &process;
	if (map == &accounts)
		return &opened;
	if (map == &opened)
		return opened.is_open && !memcmp(key, &opened.key, sizeof(opened.key))
			       ? &opened.account
			       : NULL;
	if (map == &contexts && published.is_there && *(const uint64_t *)key == published.hash)
		return &published.snapshot;
	return NULL;
}

__attribute__((noipa)) static long native_update(void *map, const void *key, const void *value,
						 uint64_t flags)
{
	if (map == &opened) {
		memcpy(&opened.key, key, sizeof(opened.key));
		memcpy(&opened.account, value, sizeof(opened.account));
		opened.is_open = true;
		return 0;
	}
	if (published.is_there != (flags == BPF_EXIST))
		return -1;
	published.hash = *(const uint64_t *)key;
	memcpy(&published.snapshot, value, sizeof(published.snapshot));
	published.is_there = true;
	published.updates++;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	bpf_get_current_task_btf()->mm = (void *)native_task;
	memset(&memory, 0, sizeof(memory));
	memset(&published, 0, sizeof(published));
	memset(&opened, 0, sizeof(opened));
	memset(&process, 0, sizeof(process));
	memset(&thread, 0, sizeof(thread));
	thread.memory = (uint64_t)(uintptr_t)native_task;
	memset(&contexts_share, 0, sizeof(contexts_share));
	variable = forged_take(&memory, sizeof(uint64_t));
	thread.life = LIFE;
	thread.image = IMAGE;
	thread.config = (struct process_config){ .key_ids = { REQUEST, ENDPOINT },
						 .key_count = 2,
						 .flags = PROCESS_READY | PROCESS_IS_LEAN,
						 .family = FAMILY };
	thread.generation = generation;
	thread.tls_resolution = TLS_RESOLVED;
	thread.tls_address = variable;
	return 0;
}

/* 0: the table has no such key. */
static uint64_t text(const char *text)
{
	uint64_t words[5 + 8] = { T_STRING | (uint64_t)strlen(text) << 14, FORGED_BASE };

	memcpy(&words[2], text, strlen(text));
	return forged_words(&memory, words, 13);
}

static uint64_t table(uint64_t request, uint64_t endpoint)
{
	uint64_t words[2 + 2 * STATE_PAIRS_READ_FIRST] = { 2, 4 };

	for (size_t i = 0; i < 2; i++) {
		uint64_t key = i ? ENDPOINT : REQUEST, value = i ? endpoint : request;
		size_t slot = 2 * (key & 3);

		if (!value)
			continue;
		while (words[2 + slot])
			slot = (slot + 2) & 7;
		words[2 + slot] = key;
		words[2 + slot + 1] = value;
	}
	return forged_words(&memory, words, sizeof(words) / sizeof(*words));
}

static uint64_t resolve(uint64_t state)
{
	thread.state_pointer = state;
	return context_resolve(&thread);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(late_key_is_not_part_of_context_hash)
{
	uint64_t id = text("r1"), hash = resolve(table(id, 0));

	assert_true(hash >= CONTEXT_HASH_FIRST);
	assert_int_equal(thread.snapshot.late_hash, 0);
	assert_false(charge_has_late_news(&thread));
	assert_int_equal(resolve(table(id, text("GET /a"))), hash);
	assert_int_not_equal(thread.snapshot.late_hash, 0);
	assert_true(charge_has_late_news(&thread));
	assert_int_equal(thread.snapshot.values[1].length_bytes, 6);
	assert_int_not_equal(resolve(table(text("r2"), text("GET /a"))), hash);
	/* No context has none. */
	assert_int_equal(resolve(0), CONTEXT_HASH_NONE);
	assert_int_equal(thread.snapshot.late_hash, 0);
	assert_false(charge_has_late_news(&thread));
}

FIXTURE_TEST(late_hash_is_equal_only_for_equal_values)
{
	uint64_t id = text("r1"), hash;

	(void)resolve(table(id, text("GET /a")));
	hash = thread.snapshot.late_hash;
	(void)resolve(table(id, text("GET /a")));
	assert_int_equal(thread.snapshot.late_hash, hash);
	(void)resolve(table(id, text("GET /b")));
	assert_int_not_equal(thread.snapshot.late_hash, hash);
}

FIXTURE_TEST(late_key_with_blank_value_adds_no_late_hash)
{
	const uint64_t values[] = { NIL, 8, text(""), FORGED_BASE + FORGED_BYTES };
	uint64_t id = text("r1"), hash = resolve(table(id, 0));

	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(resolve(table(id, values[i])), hash);
		assert_int_equal(thread.snapshot.late_hash, 0);
		assert_false(charge_has_late_news(&thread));
	}
	/* The last one could not be read. */
	assert_true(thread.is_unread);
}

FIXTURE_TEST(value_is_blank_only_if_nil_false_or_empty)
{
	const struct {
		uint64_t raw;
		uint8_t kind, length_bytes;
		bool is_blank;
	} cases[] = {
		{ 0, VALUE_KIND_ABSENT, 0, true },	{ 0, VALUE_KIND_IMMEDIATE, 0, true },
		{ 4, VALUE_KIND_IMMEDIATE, 0, true },	{ 8, VALUE_KIND_IMMEDIATE, 0, true },
		{ 1, VALUE_KIND_IMMEDIATE, 0, false },	{ 20, VALUE_KIND_IMMEDIATE, 0, false },
		{ 0, VALUE_KIND_STRING, 0, true },	{ 0, VALUE_KIND_STRING, 1, false },
		{ 0, VALUE_KIND_SYMBOL, 0, true },	{ 0, VALUE_KIND_SYMBOL, 1, false },
		{ 0, VALUE_KIND_UNREADABLE, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct value_snapshot value = { .raw = cases[i].raw,
						      .kind = cases[i].kind,
						      .length_bytes = cases[i].length_bytes };

		assert_int_equal(value_is_blank(&value), cases[i].is_blank);
	}
}

/* An Integer is as good a name as a text. */
FIXTURE_TEST(late_key_accepts_numbers_as_request_and_value)
{
	const uint64_t zero = 0 << 1 | 1, eight = 8 << 1 | 1;
	uint64_t hash = resolve(table(zero, eight));

	assert_int_not_equal(thread.snapshot.late_hash, 0);
	assert_int_equal(resolve(table(zero, 0)), hash);
	assert_int_not_equal(resolve(table(eight, 0)), hash);
}

FIXTURE_TEST(late_key_is_part_of_context_hash_without_request)
{
	const uint64_t ids[] = { 0, NIL, text("") };

	for (size_t i = 0; i < 3; i++) {
		uint64_t hash = resolve(table(ids[i], text("GET /a")));

		assert_int_equal(thread.snapshot.late_hash, 0);
		assert_int_equal(resolve(table(ids[i], text("GET /a"))), hash);
		assert_int_not_equal(resolve(table(ids[i], text("GET /b"))), hash);
		assert_int_not_equal(resolve(table(ids[i], 0)), hash);
	}
}

static void publish(uint64_t state)
{
	forged_write(&memory, variable, &state, sizeof(state));
}

static bool confirm(void)
{
	bool is_change = context_confirm(&thread, &task, NOW_NS, false);

	thread.pending.user_ns += 5;
	charge_note_pending(&thread, NOW_NS);
	return is_change;
}

static void charge(void)
{
	(void)charge_pending(&thread, &task, NOW_NS);
}

static void assert_endpoint(const char *expected)
{
	const struct value_snapshot *value = &published.snapshot.values[1];

	assert_int_equal(value->length_bytes, strlen(expected));
	assert_memory_equal(value->bytes, expected, strlen(expected));
}

FIXTURE_TEST(late_key_completes_published_snapshot)
{
	uint64_t id = text("r1"), hash;

	publish(table(id, 0));
	(void)confirm();
	charge();
	hash = thread.context_hash;
	assert_int_equal(published.hash, hash);
	assert_endpoint("");
	publish(table(id, text("GET /a")));
	/* Another table of the same context: nothing is ambiguous. */
	assert_false(confirm());
	assert_int_equal(thread.context_hash, hash);
	charge();
	assert_endpoint("GET /a");
	assert_int_equal(published.snapshot.family, FAMILY);
	assert_int_equal(contexts_share.used, 1);
	assert_int_equal(opened.account.totals.user_ns, 10);
	/* And once: nobody looks for it again. */
	published.updates = 0;
	(void)confirm();
	charge();
	assert_int_equal(published.updates, 0);
}

/* Of two families in one context: the room stays that of who took it. */
FIXTURE_TEST(late_key_completion_keeps_family_of_snapshot)
{
	uint64_t id = text("r1");

	publish(table(id, 0));
	(void)confirm();
	charge();
	thread.config.family = thread.snapshot.family = FAMILY + 1;
	publish(table(id, text("GET /a")));
	(void)confirm();
	charge();
	assert_endpoint("GET /a");
	assert_int_equal(published.snapshot.family, FAMILY);
	assert_int_equal(contexts_share.used, 1);
}

/* Without probes it is read at each boundary. */
FIXTURE_TEST(late_key_read_again_is_not_published_twice)
{
	uint64_t id = text("r1"), place;

	place = table(id, text("GET /a"));
	publish(place);
	(void)confirm();
	assert_true(charge_has_late_news(&thread));
	(void)confirm();
	charge();
	(void)confirm();
	assert_false(charge_has_late_news(&thread));
	assert_int_equal(published.updates, 1);
	/* In another window the snapshot may be another one, too. */
	thread.epoch++;
	assert_true(charge_has_late_news(&thread));
	charge();
	assert_int_equal(published.updates, 1);
	publish(table(id, text("GET /b")));
	(void)confirm();
	assert_true(charge_has_late_news(&thread));
}

FIXTURE_TEST(late_key_missing_from_table_keeps_published_value)
{
	uint64_t id = text("r1");

	publish(table(id, text("GET /a")));
	(void)confirm();
	charge();
	publish(table(id, 0));
	assert_false(confirm());
	charge();
	assert_endpoint("GET /a");
	/* Nor where its account is opened anew. */
	opened.is_open = false;
	thread.epoch++;
	assert_false(confirm());
	charge();
	assert_true(opened.is_open);
	assert_endpoint("GET /a");
	publish(table(id, text("GET /b")));
	assert_false(confirm());
	charge();
	assert_endpoint("GET /b");
}

/* Userspace took it while the account was open. */
FIXTURE_TEST(late_key_republishes_removed_snapshot)
{
	uint64_t id = text("r1");

	publish(table(id, 0));
	(void)confirm();
	charge();
	published.is_there = false;
	share_remove(&contexts_share, FAMILY);
	publish(table(id, 0));
	(void)confirm();
	charge();
	assert_false(published.is_there);
	publish(table(id, text("GET /a")));
	(void)confirm();
	charge();
	assert_true(published.is_there);
	assert_endpoint("GET /a");
	assert_int_equal(contexts_share.used, 1);
}

/* Without probes the next context may be found where this one was. */
FIXTURE_TEST(late_key_is_published_before_snapshot_is_overwritten)
{
	uint64_t id = text("r1"), place, other;
	uint64_t words[2 + 2 * STATE_PAIRS_READ_FIRST];

	publish(table(id, 0));
	(void)confirm();
	charge();
	place = table(id, text("GET /a"));
	publish(place);
	(void)confirm();
	other = table(text("r2"), 0);
	assert_int_equal(native_read_user(words, sizeof(words), (void *)other), 0);
	forged_write(&memory, place, words, sizeof(words));
	assert_true(confirm());
	assert_endpoint("GET /a");
}
