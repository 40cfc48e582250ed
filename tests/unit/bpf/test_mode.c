/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thread keeps when a process is configured anew, its own or another one, and what a change
 * of its mode makes of the interval in which it comes: bpf/context.bpf.h over forged memory.
 */
#include "bpf/native_kernel.h"

#include <string.h>

#include "unit_test.h"

#include "bpf/forged_user.h"

UNIT_TEST_ALONE;

enum {
	LIFE = 77,
	IMAGE = 78,
	KEY = 300 << 4 | 1,
	T_STRING = 5,
	PENDING_NS = 5,
	NOW_NS = 1000
};

static struct process_books process;
static struct process_config config;
static bool is_known;
static struct thread_state thread;
static struct task_struct task;
static uint64_t variable; /* address of the thread-local */
static uint64_t first, second; /* of two states */

void *native_find(const void *map, const void *key)
{
	(void)key;
	if (map == &processes)
		return is_known ? &config : NULL;
	/* No account is to be had: what is charged goes to overflow. */
	return map == &books ? &process : NULL;
}

/* A state in which KEY is that text. */
static uint64_t state_of(const char *text)
{
	uint64_t string[5] = { T_STRING | (uint64_t)strlen(text) << 14, FORGED_BASE };
	uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 1, 2, [4] = KEY };

	memcpy(&string[2], text, strlen(text));
	table[5] = forged_words(&memory, string, 5);
	return forged_words(&memory, table, sizeof(table) / sizeof(*table));
}

static void publish(uint64_t state)
{
	forged_write(&memory, variable, &state, sizeof(state));
}

/* Userspace: the next number, and what it is of. */
static void configure(uint32_t flags, bool is_reading)
{
	config.flags = flags;
	config.generation = ++generation;
	if (is_reading)
		config.reading = config.generation;
}

static bool confirm(void)
{
	return context_confirm(&thread, &task, NOW_NS, true);
}

/* A thread in the first state, with time pending. */
static int set_up(void **unused)
{
	(void)unused;
	bpf_get_current_task_btf()->mm = (void *)native_task;
	memset(&memory, 0, sizeof(memory));
	memset(&process, 0, sizeof(process));
	memset(&thread, 0, sizeof(thread));
	thread.memory = (uint64_t)(uintptr_t)native_task;
	variable = forged_take(&memory, sizeof(uint64_t));
	first = state_of("first");
	second = state_of("second");
	publish(first);
	is_known = true;
	config = (struct process_config){ .key_ids = { KEY }, .key_count = 1, .image = IMAGE };
	configure(PROCESS_READY, true);
	thread.life = LIFE;
	thread.image = IMAGE;
	thread.config = config;
	thread.generation = generation;
	thread.tls_resolution = TLS_RESOLVED;
	thread.tls_address = variable;
	thread.inherited_pointer = INHERITED_FIRST_READ;
	thread.has_passed_probe = 1;
	assert_false(confirm());
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	assert_true(thread.context_hash >= CONTEXT_HASH_FIRST);
	thread.pending.user_ns = PENDING_NS;
	thread.pending_first_ns = NOW_NS;
	return 0;
}

static void assert_charged(uint64_t expected_ns)
{
	assert_int_equal(process.epochs[0].overflow.user_ns, expected_ns);
	assert_int_equal(thread.pending.user_ns, PENDING_NS - expected_ns);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(config_of_other_process_changes_nothing_for_thread)
{
	uint64_t hash = thread.context_hash;

	generation += 3;
	/* One look-up, and not even the pointer is read. */
	memory.hole = FORGED_BASE;
	assert_false(context_has_new_config(&thread));
	assert_int_equal(thread.generation, generation);
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread.context_hash, hash);
	assert_int_equal(thread.tls_resolution, TLS_RESOLVED);
	assert_charged(0);
	memory.hole = 0;
	assert_false(confirm());
	assert_charged(0);
	assert_int_equal(process.losses[COUNTER_POINTER_UNREADABLE], 0);
}

FIXTURE_TEST(config_of_own_process_makes_thread_reread_context)
{
	/* Its library was unloaded. */
	configure(0, true);
	generation += 2;
	assert_false(confirm());
	assert_int_equal(thread.generation, generation);
	assert_int_equal(thread.config.generation, config.generation);
	assert_int_equal(thread.tls_resolution, TLS_UNALLOCATED);
	assert_int_equal(thread.context_hash, CONTEXT_HASH_NONE);
	assert_charged(PENDING_NS);
}

/* Of the one that it ran before, or of the next: userspace has not met the exec, or we have not. */
FIXTURE_TEST(config_of_another_program_is_not_applied)
{
	config.image = IMAGE + 1;
	configure(PROCESS_READY, true);
	assert_false(confirm());
	assert_int_equal(thread.config.flags, 0);
	assert_int_equal(thread.context_hash, CONTEXT_HASH_NONE);
	assert_charged(PENDING_NS);
	/* Once is enough. */
	assert_false(context_has_new_config(&thread));
	config.image = IMAGE;
	configure(PROCESS_READY, true);
	assert_false(confirm());
	assert_int_equal(thread.config.flags, PROCESS_READY);
}

FIXTURE_TEST(config_of_forgotten_process_stops_reading)
{
	is_known = false;
	generation++;
	assert_false(confirm());
	assert_int_equal(thread.config.flags, 0);
	assert_int_equal(thread.config.generation, 0);
	assert_charged(PENDING_NS);
	assert_int_equal(thread.context_hash, CONTEXT_HASH_NONE);
	/* And finds nothing new in that. */
	generation++;
	assert_false(context_has_new_config(&thread));
}

FIXTURE_TEST(mode_change_to_lean_keeps_known_context)
{
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	assert_false(confirm());
	assert_true(thread_is_lean(&thread));
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	assert_charged(0);
	/* Compared in full when it became lean: cheaply from then on. */
	assert_int_equal(thread.compared_ns, NOW_NS);
	assert_false(confirm());
	publish(second);
	assert_true(confirm());
	assert_charged(PENDING_NS);
	assert_int_equal(process.losses[COUNTER_CHANGE_UNSEEN], 0);
	assert_int_equal(thread.is_inherited, 0);
}

/* Its probes may be gone since a while when it notices. */
FIXTURE_TEST(mode_change_to_lean_makes_concurrent_change_ambiguous)
{
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	publish(second);
	assert_true(confirm());
	assert_charged(PENDING_NS);
	assert_int_equal(process.losses[COUNTER_CHANGE_UNSEEN], 0);
}

/* Between a probe and the store behind it: from here on the store is a change like any other. */
FIXTURE_TEST(mode_change_to_lean_makes_open_change_ambiguous)
{
	charge_pending(&thread, &task, NOW_NS);
	thread.knowledge = CONTEXT_UNKNOWN;
	thread.is_change_open = 1;
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	assert_false(confirm());
	assert_int_equal(thread.is_change_open, 0);
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	publish(second);
	assert_true(confirm());
}

FIXTURE_TEST(mode_change_to_exact_keeps_known_context)
{
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	thread.has_passed_probe = 0;
	thread.inherited_pointer = second;
	(void)confirm();
	configure(PROCESS_READY, false);
	assert_false(confirm());
	assert_false(thread_is_lean(&thread));
	assert_int_equal(thread.knowledge, CONTEXT_KNOWN);
	assert_charged(0);
	/* It has set this one itself, as was seen without a probe. */
	assert_int_equal(thread.has_passed_probe, 1);
	publish(second);
	assert_true(confirm());
	assert_int_equal(process.losses[COUNTER_CHANGE_UNSEEN], 1);
}

/* The interval in which it becomes exact was watched as a lean one. */
FIXTURE_TEST(mode_change_to_exact_makes_concurrent_change_ambiguous)
{
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	(void)confirm();
	configure(PROCESS_READY, false);
	publish(second);
	assert_true(confirm());
	assert_charged(PENDING_NS);
	assert_int_equal(process.losses[COUNTER_CHANGE_UNSEEN], 0);
}

/* A moved object makes another digest of the same values: compared in full once, not each time. */
FIXTURE_TEST(full_comparison_renews_table_digest)
{
	uint64_t digest;

	charge_pending(&thread, &task, NOW_NS);
	configure(PROCESS_READY | PROCESS_IS_LEAN, false);
	(void)confirm();
	digest = thread.table_digest;
	assert_int_not_equal(digest, 0);
	thread.table_digest = 0;
	assert_false(context_confirm(&thread, &task, 2 * NOW_NS, false));
	assert_int_equal(thread.table_digest, digest);
}

/* The registers of this task, as the stub has them, are those of a system call. */
FIXTURE_TEST(flush_detects_kernel_mode_only_while_seeking_mode)
{
	thread.clock.mode = THREAD_MODE_USER;
	charge_end_window(&thread, &task, NOW_NS, 0);
	assert_int_equal(thread.clock.mode, THREAD_MODE_USER);
	seeks_mode = 1;
	charge_end_window(&thread, &task, NOW_NS, 0);
	assert_int_equal(thread.clock.mode, THREAD_MODE_KERNEL);
	seeks_mode = 0;
}
