/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel programs make of a table and its values, in both layouts of strings, and what
 * userspace then prints: bpf/context.bpf.h over forged memory.
 */
#include "bpf/native_kernel.h"

#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "bpf/forged_user.h"
#include "recorder/target/ruby/ruby_value.h"

UNIT_TEST_ALONE;

enum {
	KEY = 300 << 4 | 1,
	LIFE = 77,
	IMAGE = 78,
	T_FLOAT = 4,
	T_STRING = 5,
	T_HASH = 8,
	T_BIGNUM = 10,
	T_SYMBOL = 0x14,
	T_MOVED = 0x1e,
	NOEMBED = 1 << 13,
	UTF_8 = 1 << 22,
	UTF_16LE = 4 << 22,
	PAGE_BYTES = 4096,
};

static struct process_books process;
static struct thread_state thread;

void *native_find(const void *map, const void *key)
{
	(void)key;
	return map == &books ? &process : NULL;
}

static int set_up(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memset(&process, 0, sizeof(process));
	/* What an earlier context has left. */
	memset(&thread, 0xa5, sizeof(thread));
	thread.life = LIFE;
	thread.image = IMAGE;
	thread.is_at_switch = 0;
	thread.config = (struct process_config){
		.key_ids = { KEY }, .key_count = 1, .flags = PROCESS_READY, .bignum_embed_mask = 7
	};
	return 0;
}

static uint64_t object(uint64_t flags, uint64_t word_2, uint64_t word_3, uint64_t word_4)
{
	const uint64_t words[] = { flags, FORGED_BASE, word_2, word_3, word_4 };

	return forged_words(&memory, words, 5);
}

/* A String as Ruby makes it in the layout in force: embedded where it fits. */
static uint64_t string(uint64_t flags, const void *text, size_t length)
{
	bool is_long = thread.config.string_layout == STRING_LAYOUT_LONG;
	uint64_t words[5 + 8] = { T_STRING | flags, FORGED_BASE, length };
	uint64_t address;

	if (length > (is_long ? 80 : 23)) {
		address = forged_take(&memory, length);
		forged_write(&memory, address, text, length);
		return object(T_STRING | NOEMBED | flags, length, address, 0);
	}
	if (!is_long)
		words[0] |= length << 14;
	memcpy(is_long ? &words[3] : &words[2], text, length);
	return forged_words(&memory, words, 13);
}

/* The hash of a context that has the value at KEY, and its text. */
static uint64_t resolve(uint64_t value, char ret_text[static VALUE_TEXT_BYTES])
{
	const uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 1, 2, [4] = KEY, [5] = value };
	uint64_t hash;

	thread.state_pointer = forged_words(&memory, table, sizeof(table) / sizeof(*table));
	hash = context_resolve(&thread);
	assert_true(hash >= CONTEXT_HASH_FIRST);
	assert_true(ruby_value_text(&thread.snapshot.values[0], NULL, NULL, ret_text) >= 0);
	return hash;
}

static void assert_text(uint64_t value, const char *expected)
{
	char text[VALUE_TEXT_BYTES];

	(void)resolve(value, text);
	assert_string_equal(text, expected);
	assert_false(thread.is_unread);
}

static void assert_unreadable(uint64_t value)
{
	char text[VALUE_TEXT_BYTES];

	(void)resolve(value, text);
	assert_string_equal(text, "#<unreadable>");
	assert_true(thread.is_unread);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(context_captures_strings_in_both_layouts)
{
	char full[VALUE_BYTES_MAX + 1] = "";

	memset(full, 'f', VALUE_BYTES_MAX);
	for (uint32_t layout = STRING_LAYOUT_FLAGS; layout <= STRING_LAYOUT_LONG; layout++) {
		(void)set_up(state);
		thread.config.string_layout = layout;
		assert_text(string(UTF_8, "", 0), "");
		assert_text(string(UTF_8, "request-1", 9), "request-1");
		assert_text(string(UTF_8, "of-23-bytes-to-the-edge", 23),
			    "of-23-bytes-to-the-edge");
		assert_text(string(UTF_8, "of-24-bytes-over-the-edge", 25),
			    "of-24-bytes-over-the-edge");
		assert_text(string(UTF_8, full, VALUE_BYTES_MAX), full);
		assert_text(string(UTF_8, "\xff\n", 2), "\\xff\\x0a");
		assert_text(string(UTF_16LE, "x\0=\xd8\0\xde", 6), "x\U0001f600");
	}
}

FIXTURE_TEST(context_hash_differs_by_image_and_value)
{
	char text[VALUE_TEXT_BYTES];
	uint64_t hash = resolve(2 * 42 + 1, text);

	assert_int_equal(resolve(2 * 42 + 1, text), hash);
	thread.image = IMAGE + 1;
	assert_int_not_equal(resolve(2 * 42 + 1, text), hash);
	thread.image = IMAGE;
	assert_int_not_equal(resolve(2 * 43 + 1, text), hash);
}

FIXTURE_TEST(context_hash_covers_only_keys_in_use)
{
	char text[VALUE_TEXT_BYTES];
	uint64_t hash = resolve(2 * 42 + 1, text);

	assert_int_equal(thread.snapshot.key_count, 1);
	for (uint32_t i = 1; i < KEYS_MAX; i++)
		thread.config.key_ids[i] = KEY;
	assert_int_equal(resolve(2 * 42 + 1, text), hash);
	thread.config.key_count = KEYS_MAX;
	(void)resolve(2 * 42 + 1, text);
	for (uint32_t i = 0; i < KEYS_MAX; i++)
		assert_int_equal(thread.snapshot.values[i].raw, 2 * 42 + 1);
	hash = resolve(2 * 42 + 1, text);
	thread.config.key_ids[KEYS_MAX - 1] = 0;
	assert_int_not_equal(resolve(2 * 42 + 1, text), hash);
}

/* Where userspace asks for them: whoever wants which. */
FIXTURE_TEST(context_exposes_keys_of_next_table_once)
{
	char text[VALUE_TEXT_BYTES];

	memset(seen_keys_pairs, 0xa5, sizeof(seen_keys_pairs));
	seen_keys_life = 0;
	(void)resolve(2 * 42 + 1, text);
	assert_int_equal(seen_keys_life, LIFE);
	assert_int_equal(seen_keys_capacity, 2);
	assert_int_equal(seen_keys_pairs[0], 0);
	assert_int_equal(seen_keys_pairs[2], KEY);
	seen_keys_pairs[2] = 1;
	(void)resolve(2 * 43 + 1, text);
	assert_int_equal(seen_keys_pairs[2], 1);
	/* A context that is none has none. */
	seen_keys_life = 0;
	thread.state_pointer = 0;
	(void)context_resolve(&thread);
	assert_int_equal(seen_keys_life, 0);
}

/* By the words of its table alone: any of them may be the one that has changed. */
FIXTURE_TEST(table_digest_differs_by_each_key_and_value)
{
	uint64_t first;

	memset(thread.pairs, 0, sizeof(thread.pairs));
	thread.header.capacity = 4;
	first = context_table_digest(&thread);
	for (uint32_t i = 0; i < 4; i++) {
		thread.pairs[i].key = 1;
		assert_int_not_equal(context_table_digest(&thread), first);
		thread.pairs[i].key = 0;
		thread.pairs[i].value = 1;
		assert_int_not_equal(context_table_digest(&thread), first);
		thread.pairs[i].value = 0;
	}
	/* What lies behind is not its own. */
	thread.pairs[4].value = 1;
	assert_int_equal(context_table_digest(&thread), first);
	/* Nor are two values that change places the same. */
	thread.pairs[0].value = 1;
	thread.pairs[1].value = 2;
	first = context_table_digest(&thread);
	thread.pairs[0].value = 2;
	thread.pairs[1].value = 1;
	assert_int_not_equal(context_table_digest(&thread), first);
}

/* What multiplication carries up has to come down again. */
FIXTURE_TEST(table_digest_differs_after_two_highest_bit_changes)
{
	uint64_t first;

	memset(thread.pairs, 0, sizeof(thread.pairs));
	thread.header.capacity = 4;
	first = context_table_digest(&thread);
	thread.pairs[0].value = thread.pairs[1].value = 1ULL << 63;
	assert_int_not_equal(context_table_digest(&thread), first);
}

FIXTURE_TEST(context_captures_symbols_numbers_and_other_objects)
{
	const uint32_t digits[] = { 0, 0, 1 };
	uint64_t heap = forged_take(&memory, sizeof(digits));
	double number = 2.5;
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	forged_write(&memory, heap, digits, sizeof(digits));
	assert_text(object(T_SYMBOL, 1, string(UTF_8, "checkout", 8), KEY), "checkout");
	assert_text(object(T_FLOAT, bits, 0, 0), "2.5");
	assert_text(object(T_BIGNUM | 3 << 13 | 3 << 15, 0, 1, 0), "18446744073709551616");
	assert_text(object(T_BIGNUM | 1 << 13, 3, heap, 0), "18446744073709551616");
	assert_text(object(T_BIGNUM, 3, heap, 0), "-18446744073709551616");
	assert_text(object(T_HASH, 1, 2, 3), "#<T_HASH>");
	assert_text(2 * 42 + 1, "42");
	assert_text(8, "");
}

FIXTURE_TEST(context_marks_invalid_objects_unreadable)
{
	assert_unreadable(object(0, 0, 0, 0));
	assert_unreadable(object(T_MOVED, object(T_MOVED, FORGED_BASE, 0, 0), 0, 0));
	assert_unreadable(object(T_MOVED, 0, 0, 0));
	assert_unreadable(FORGED_BASE + FORGED_BYTES);
	assert_unreadable(object(T_SYMBOL, 0, object(T_HASH, 0, 0, 0), 0));
	assert_unreadable(object(T_STRING | NOEMBED, 10, 16, 0));
	assert_unreadable(object(T_STRING | NOEMBED, 1ULL << 62, FORGED_BASE, 0));
}

FIXTURE_TEST(context_follows_objects_moved_by_compaction)
{
	uint64_t text = string(UTF_8, "request-1", 9);
	uint64_t moved = object(T_MOVED, text, 0, 0);

	assert_text(moved, "request-1");
	assert_text(object(T_SYMBOL, 1, moved, KEY), "request-1");
	assert_text(object(T_MOVED, object(T_SYMBOL, 1, text, KEY), 0, 0), "request-1");
}

FIXTURE_TEST(context_truncates_long_text_and_digests_all_of_it)
{
	char text[2][VALUE_TEXT_BYTES], bytes[VALUE_DIGEST_BYTES_MAX];

	memset(bytes, 'l', sizeof(bytes));
	(void)resolve(string(UTF_8, bytes, sizeof(bytes)), text[0]);
	assert_memory_equal(text[0], bytes, VALUE_BYTES_MAX);
	assert_int_equal(strlen(text[0]), VALUE_BYTES_MAX + strlen("\u2026#0123456789abcdef"));
	(void)resolve(string(UTF_8, bytes, sizeof(bytes)), text[1]);
	assert_string_equal(text[0], text[1]);
	for (size_t at = VALUE_BYTES_MAX; at < sizeof(bytes); at += 511) {
		bytes[at] = 'm';
		(void)resolve(string(UTF_8, bytes, sizeof(bytes)), text[1]);
		assert_string_not_equal(text[0], text[1]);
		bytes[at] = 'l';
	}
}

FIXTURE_TEST(context_flags_partly_unreadable_long_text)
{
	char text[VALUE_TEXT_BYTES], bytes[2 * PAGE_BYTES];
	uint64_t address = forged_take(&memory, sizeof(bytes));

	memset(bytes, 'l', sizeof(bytes));
	forged_write(&memory, address, bytes, sizeof(bytes));
	memory.hole = address + 1000;
	(void)resolve(object(T_STRING | NOEMBED | UTF_8, sizeof(bytes), address, 0), text);
	assert_memory_equal(text, bytes, VALUE_BYTES_MAX);
	assert_true(thread.is_unread);
	memory.hole = address + 100;
	assert_unreadable(object(T_STRING | NOEMBED | UTF_8, sizeof(bytes), address, 0));
}

FIXTURE_TEST(context_reads_table_at_end_of_page)
{
	const uint64_t table[] = { 1, 1, KEY, 85 };
	uint64_t page = (forged_take(&memory, 3 * PAGE_BYTES) + PAGE_BYTES - 1) & -PAGE_BYTES;

	memory.hole = page + PAGE_BYTES;
	thread.state_pointer = memory.hole - sizeof(table);
	forged_write(&memory, thread.state_pointer, table, sizeof(table));
	assert_true(context_resolve(&thread) >= CONTEXT_HASH_FIRST);
	assert_int_equal(thread.snapshot.values[0].raw, 85);
}

/* A second reading could be of another one. */
FIXTURE_TEST(context_reads_small_table_once)
{
	const uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 1, 8, [4] = KEY, [5] = 85 };

	thread.state_pointer = forged_words(&memory, table, sizeof(table) / sizeof(table[0]));
	memory.zero_once = thread.state_pointer + sizeof(struct state_header);
	assert_true(context_resolve(&thread) >= CONTEXT_HASH_FIRST);
	assert_int_equal(thread.snapshot.values[0].raw, 85);
}

FIXTURE_TEST(context_reads_largest_table_to_last_pair)
{
	enum {
		LAST = STATE_CAPACITY_MAX - 1
	};
	uint64_t table[2 + 2 * STATE_CAPACITY_MAX] = { 1, STATE_CAPACITY_MAX };
	uint64_t page = (forged_take(&memory, 3 * PAGE_BYTES) + PAGE_BYTES - 1) & -PAGE_BYTES;

	thread.config.key_ids[0] = LAST;
	table[2 + 2 * LAST] = LAST;
	table[2 + 2 * LAST + 1] = 85;
	thread.state_pointer = page + PAGE_BYTES - sizeof(table);
	forged_write(&memory, thread.state_pointer, table, sizeof(table));
	memory.hole = page + PAGE_BYTES;
	assert_true(context_resolve(&thread) >= CONTEXT_HASH_FIRST);
	assert_int_equal(thread.snapshot.values[0].raw, 85);
	/* Its last pair is not there. */
	thread.state_pointer += 16;
	forged_write(&memory, thread.state_pointer, table, sizeof(table) - 16);
	assert_int_equal(context_resolve(&thread), CONTEXT_HASH_UNKNOWN);
	assert_int_equal(process.losses[COUNTER_STATE_UNREADABLE], 1);
	assert_int_equal(process.losses[COUNTER_STATE_MALFORMED], 0);
}

FIXTURE_TEST(context_counts_malformed_and_unreadable_tables)
{
	const uint64_t headers[][2] = {
		{ 1, 3 }, { 1, 0 }, { 1, 128 }, { 65, 64 }, { 1, UINT64_MAX }
	};
	const uint64_t pointers[] = { 8, FORGED_BASE + 1, 1ULL << 56, UINT64_MAX };

	for (size_t i = 0; i < 5; i++) {
		thread.state_pointer = forged_words(&memory, headers[i], 2);
		assert_int_equal(context_resolve(&thread), CONTEXT_HASH_UNKNOWN);
	}
	for (size_t i = 0; i < 4; i++) {
		thread.state_pointer = pointers[i];
		assert_int_equal(context_resolve(&thread), CONTEXT_HASH_UNKNOWN);
	}
	assert_int_equal(process.losses[COUNTER_STATE_MALFORMED], 9);
	thread.state_pointer = FORGED_BASE + FORGED_BYTES;
	assert_int_equal(context_resolve(&thread), CONTEXT_HASH_UNKNOWN);
	assert_int_equal(process.losses[COUNTER_STATE_UNREADABLE], 1);
}

/* Between exit_mm() and its end a thread has none: what lies at its addresses is another's. */
FIXTURE_TEST(context_reads_no_pointer_without_own_memory)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const uint64_t table[] = { 1, 1, KEY, 85 };
	uint64_t pointer = forged_words(&memory, table, 4);

	_Static_assert(sizeof(*task) <= sizeof(native_task), "room for a task");
	thread.is_exiting = 0;
	thread.tls_resolution = TLS_RESOLVED;
	thread.tls_address = forged_words(&memory, &pointer, 1);
	thread.pointer_read = 1;
	task->mm = NULL;
	assert_false(context_read_pointer(&thread));
	assert_int_equal(thread.pointer_read, 1);
	/* In the middle of an exec. */
	thread.memory = 1;
	task->mm = (void *)native_task;
	assert_false(context_read_pointer(&thread));
	thread.memory = (uint64_t)(uintptr_t)task->mm;
	assert_true(context_read_pointer(&thread));
	assert_int_equal(thread.pointer_read, pointer);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 0);
}

/* Wherever it is within two words, in one read. */
FIXTURE_TEST(context_reads_change_count_with_pointer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const uint64_t words[] = { 10, 20, 30, 40, 50 };
	uint64_t at = forged_words(&memory, words, 5);

	task->mm = (void *)native_task;
	thread.memory = (uint64_t)(uintptr_t)task->mm;
	thread.is_exiting = 0;
	thread.tls_resolution = TLS_RESOLVED;
	thread.tls_address = at + 2 * 8;
	thread.reads_changes = 1;
	for (int32_t distance = -2; distance <= 2; distance++) {
		thread.config.changes_words = distance;
		assert_int_equal(context_read_pointer(&thread), 1);
		assert_int_equal(thread.pointer_read, 30);
		assert_int_equal(thread.changes_read, distance ? 30 + 10 * distance : 0);
	}
	/* Nothing is there, or it lies elsewhere. */
	thread.tls_address = 8;
	assert_int_equal(context_read_pointer(&thread), 0);
	thread.config.changes_words = 3;
	assert_int_equal(context_read_pointer(&thread), 0);
	/* Where probes tell of each it is not looked at. */
	thread.reads_changes = 0;
	thread.tls_address = at;
	assert_int_equal(context_read_pointer(&thread), 1);
	assert_int_equal(thread.pointer_read, 10);
	/* Not allocated yet: nothing was stored. */
	thread.tls_resolution = TLS_UNRESOLVED;
	thread.config.flags = 0;
	assert_int_equal(context_read_pointer(&thread), 1);
	assert_int_equal(thread.pointer_read | thread.changes_read, 0);
}

FIXTURE_TEST(context_reports_each_change_once)
{
	thread.changes = 5;
	thread.changes_read = 5;
	assert_int_equal(context_note_changes(&thread), 0);
	thread.changes_read = 6;
	assert_int_equal(context_note_changes(&thread), 1);
	assert_int_equal(context_note_changes(&thread), 0);
	thread.changes_read = 0;
	assert_int_equal(context_note_changes(&thread), 1);
}

/* After an exec what is known of the thread pointer may be the last program's. */
FIXTURE_TEST(context_is_not_located_by_stale_thread_pointer)
{
	struct task_struct *task = bpf_get_current_task_btf();

	task->thread.fsbase = FORGED_BASE;
	thread.tls_resolution = TLS_UNRESOLVED;
	thread.config.tls = (struct tls_location){ .model = TLS_MODEL_STATIC, .offset = 64 };
	thread.is_pointer_old = 1;
	assert_int_equal(context_locate(&thread), TLS_UNRESOLVED);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 1);
	thread.is_pointer_old = 0;
#ifdef __x86_64__ /* elsewhere the field is not read natively */
	assert_int_equal(context_locate(&thread), TLS_RESOLVED);
	assert_int_equal(thread.tls_address, FORGED_BASE + 64);
#endif
}

/* Whether the variable is looked for is told by what then fails. */
FIXTURE_TEST(context_relocates_unallocated_variable_only_if_needed)
{
	thread.is_pointer_old = 1;
	thread.has_passed_probe = 0;
	thread.tls_resolution = TLS_UNALLOCATED;
	thread.tls_epoch = current_epoch;
	assert_int_equal(context_locate(&thread), TLS_UNALLOCATED);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 0);
	/* Another window. */
	thread.tls_epoch = current_epoch - 1;
	assert_int_equal(context_locate(&thread), TLS_UNRESOLVED);
	assert_int_equal(thread.tls_epoch, current_epoch);
	/* It has been, or may have been, said that it is set. */
	thread.tls_resolution = TLS_UNALLOCATED;
	thread.has_passed_probe = 1;
	assert_int_equal(context_locate(&thread), TLS_UNRESOLVED);
	thread.tls_resolution = TLS_UNALLOCATED;
	thread.has_passed_probe = 0;
	thread.config.flags |= PROCESS_IS_LEAN;
	assert_int_equal(context_locate(&thread), TLS_UNRESOLVED);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 3);
	/* Nothing publishes it. */
	thread.config.flags = 0;
	assert_int_equal(context_locate(&thread), TLS_UNALLOCATED);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 3);
}

enum {
	SERIAL = 9,
	HASH = 1000,
	EPOCH = 3,
};

/* A thread to which a probe has announced a state that it was charged to in this window. */
static void announce(uint64_t pointer)
{
	memset(&thread, 0, sizeof(thread));
	thread.epoch = EPOCH;
	thread.next_pointer = pointer;
	thread.next_serial = SERIAL;
	thread.is_unread = thread.is_put_off = 1;
	known_context_note(thread.known_contexts, SERIAL, HASH, EPOCH, 0);
}

FIXTURE_TEST(context_is_recalled_once_by_announced_serial)
{
	announce(FORGED_BASE);
	assert_int_equal(context_recall(&thread, FORGED_BASE), HASH);
	assert_int_equal(thread.state_serial, SERIAL);
	assert_true(thread.is_recalled && !thread.is_unread && !thread.is_put_off);
	assert_false(context_lacks_snapshot(&thread));
	assert_int_equal(context_recall(&thread, FORGED_BASE), 0);
	/* Userspace knows it for one more window. */
	thread.epoch++;
	assert_false(context_lacks_snapshot(&thread));
	thread.epoch++;
	assert_true(context_lacks_snapshot(&thread));
	thread.epoch -= 2;
	context_want_snapshot(&thread);
	assert_true(context_lacks_snapshot(&thread));
	/* A context that is read has its snapshot. */
	thread.state_pointer = 0;
	(void)context_resolve(&thread);
	assert_false(context_lacks_snapshot(&thread));
}

FIXTURE_TEST(context_is_not_recalled_if_another_state_is_in_force_or_it_is_not_known)
{
	announce(FORGED_BASE);
	thread.state_serial = SERIAL - 1;
	assert_int_equal(context_recall(&thread, FORGED_BASE + 8), 0);
	assert_int_equal(thread.state_serial, 0);
	/* The store is still ahead: the announcement stays. */
	assert_int_equal(context_recall(&thread, FORGED_BASE), HASH);
	announce(0);
	assert_int_equal(context_recall(&thread, 0), 0);
	announce(FORGED_BASE);
	thread.epoch++;
	assert_int_equal(context_recall(&thread, FORGED_BASE), 0);
	assert_int_equal(thread.state_serial, SERIAL);
	assert_false(thread.is_recalled);
	announce(FORGED_BASE);
	thread.reading++;
	assert_int_equal(context_recall(&thread, FORGED_BASE), 0);
	announce(FORGED_BASE);
	thread.next_serial = 0;
	assert_int_equal(context_recall(&thread, FORGED_BASE), 0);
}

FIXTURE_TEST(context_adopts_recalled_state_without_reading_it)
{
	announce(FORGED_BASE + FORGED_BYTES);
	thread.life = LIFE;
	assert_true(context_adopt(&thread, FORGED_BASE + FORGED_BYTES,
				  context_recall(&thread, FORGED_BASE + FORGED_BYTES)));
	assert_int_equal(thread.context_hash, HASH);
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread.state_serial, SERIAL);
	/* Not readable: nothing of it may be recalled. */
	announce(FORGED_BASE + FORGED_BYTES);
	thread.life = LIFE;
	thread.epoch++;
	(void)context_adopt(&thread, FORGED_BASE + FORGED_BYTES,
			    context_recall(&thread, FORGED_BASE + FORGED_BYTES));
	assert_int_equal(thread.context_hash, CONTEXT_HASH_UNKNOWN);
	assert_int_equal(thread.state_serial, 0);
}

/* The pointer may be the old one: what is read then is valid only until the thread runs on. */
FIXTURE_TEST(context_is_not_recalled_while_store_may_be_ahead)
{
	announce(FORGED_BASE);
	thread.is_change_open = 1;
	assert_int_equal(context_recall(&thread, FORGED_BASE), 0);
	thread.is_change_open = 0;
	assert_int_equal(context_recall(&thread, FORGED_BASE), HASH);
}

FIXTURE_TEST(context_forgets_announcement_with_new_configuration_or_mode)
{
	announce(FORGED_BASE);
	(void)context_take_config(&thread);
	assert_int_equal(thread.next_serial, 0);
	assert_int_equal(thread.reading, 0);
	announce(FORGED_BASE);
	thread.config.reading = 5;
	(void)context_take_config(&thread);
	assert_int_equal(thread.next_serial, 0);
	assert_int_equal(thread.reading, 1);
}
