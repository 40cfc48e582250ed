/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is in the maps when an account is opened: bpf/charge.bpf.h over maps of a few elements.
 * recorder/observe/window/contexts.h relies on it: whoever has an account has published its context
 * in the same window, and nobody has published one without it.
 */
#include "bpf/native_kernel.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include <correlator/share.h>

UNIT_TEST_ALONE;

enum {
	LIFE = 1077,
	IMAGE = 1078,
	TGID = 77,
	ELEMENTS = 4,
	START_NS = 1000,
	EXEC_NS = 5000
};

/* The sizes of the maps are constants of a loaded program. */
static struct {
	bool has_accounts;
	bool has_contexts;
	bool is_raced; /* another thread publishes the same context first */
} room;
static bool has_room(const struct share_table *table);
static long native_update(void *map, const void *key, const void *value);
static long native_delete(void *map, const void *key);

#define share_has_room(table, ...)		  has_room(table)
#define bpf_map_update_elem(map, key, value, ...) native_update(map, key, value)
#define bpf_map_delete_elem			  native_delete

#include "context.bpf.h"

/* What is a constant of loaded programs. */
const volatile struct session_config session = { .has_children = 1 };

static struct {
	struct account_key keys[ELEMENTS];
	struct account accounts[ELEMENTS];
	size_t count;
} opened[2];
static struct {
	uint64_t hashes[ELEMENTS];
	size_t count;
} published;
static struct process_books process;
static struct origin origin; /* of the process; hash 0 = it has none */
static struct thread_state thread;
static struct task_struct task;

static bool has_room(const struct share_table *table)
{
	return table == &contexts_share ? room.has_contexts : room.has_accounts;
}

static size_t find_account(void *map, const struct account_key *key)
{
	size_t epoch = map == &opened[1], i = 0;

	while (i < opened[epoch].count && memcmp(&opened[epoch].keys[i], key, sizeof(*key)) != 0)
		i++;
	return i;
}

static bool is_published(uint64_t hash)
{
	for (size_t i = 0; i < published.count; i++)
		if (published.hashes[i] == hash)
			return true;
	return false;
}

/* Not inlined: the size of a key is that of its map's. */
__attribute__((noipa)) void *native_find(const void *map, const void *key)
{
	static struct context_snapshot snapshot;
	size_t i;

	if (map == &books)
		return *(const uint64_t *)key == LIFE ? &process : NULL;
	if (map == &origins)
		return *(const uint64_t *)key == LIFE && origin.hash ? &origin : NULL;
	if (map == &accounts)
		return &opened[*(const uint32_t *)key];
	if (map == &contexts)
		return is_published(*(const uint64_t *)key) ? &snapshot : NULL;
	for (size_t epoch = 0; epoch < 2; epoch++) {
		if (map != &opened[epoch])
			continue;
		i = find_account(&opened[epoch], key);
		return i < opened[epoch].count ? &opened[epoch].accounts[i] : NULL;
	}
	return NULL;
}

/* The same. */
__attribute__((noipa)) static long native_update(void *map, const void *key, const void *value)
{
	size_t epoch = map == &opened[1];

	if (map == &contexts) {
		assert_in_range(published.count, 0, ELEMENTS - 1);
		published.hashes[published.count++] = *(const uint64_t *)key;
		return room.is_raced ? -1 : 0;
	}
	assert_in_range(opened[epoch].count, 0, ELEMENTS - 1);
	opened[epoch].keys[opened[epoch].count] = *(const struct account_key *)key;
	opened[epoch].accounts[opened[epoch].count++] = *(const struct account *)value;
	return 0;
}

__attribute__((noipa)) static long native_delete(void *map, const void *key)
{
	size_t epoch = map == &opened[1], i = find_account(map, key);

	assert_int_not_equal(i, opened[epoch].count);
	opened[epoch].count--;
	opened[epoch].keys[i] = opened[epoch].keys[opened[epoch].count];
	opened[epoch].accounts[i] = opened[epoch].accounts[opened[epoch].count];
	return 0;
}

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	(void)address;
	memset(buffer, 0, size_bytes);
	return -1;
}

/* A thread with time pending in a context that it has read. */
static void hold(uint64_t hash)
{
	thread.knowledge = CONTEXT_KNOWN;
	thread.context_hash = hash;
	thread.snapshot_hash = hash;
	thread.state_pointer = 4096;
	thread.pending.user_ns = 5;
	thread.pending_first_ns = 1000;
}

static int set_up(void **state)
{
	(void)state;
	memset(opened, 0, sizeof(opened));
	memset(&published, 0, sizeof(published));
	memset(accounts_share, 0, sizeof(accounts_share));
	memset(&contexts_share, 0, sizeof(contexts_share));
	memset(&process, 0, sizeof(process));
	memset(&origin, 0, sizeof(origin));
	memset(&thread, 0, sizeof(thread));
	thread.tgid = TGID;
	thread.life = LIFE;
	thread.image = IMAGE;
	thread.serial = 1;
	room.has_accounts = room.has_contexts = true;
	room.is_raced = false;
	open_epoch = 0;
	thread.config.flags = 0;
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(charge_publishes_context_with_new_account)
{
	for (thread.epoch = 0; thread.epoch < 2; thread.epoch++) {
		hold(100);
		charge_pending(&thread, &task, 2000);
		assert_int_equal(opened[thread.epoch].count, 1);
		assert_int_equal(opened[thread.epoch].accounts[0].totals.user_ns, 5);
		assert_true(is_published(100));
		/* Forgotten after a window in which nobody was in it. */
		published.count = 0;
	}
}

FIXTURE_TEST(charge_records_thread_and_times_in_new_account)
{
	const struct account *account = &opened[0].accounts[0];
	struct task_struct named = { .comm = "puma worker" };

	thread.tid = 78;
	thread.ns_tid = 8;
	hold(100);
	charge_pending(&thread, &named, 2000);
	assert_int_equal(opened[0].keys[0].life, LIFE);
	assert_int_equal(opened[0].keys[0].thread_serial, 1);
	assert_int_equal(account->tid, 78);
	assert_int_equal(account->ns_tid, 8);
	assert_int_equal(account->first_ns, 1000);
	assert_int_equal(account->last_ns, 2000);
	assert_string_equal(account->comm, "puma worker");
}

/* In the context that its process was started in. */
static void hold_origin(uint64_t hash)
{
	hold(hash);
	thread.origin_hash = origin.hash = hash;
	thread.is_of_origin = 1;
	/* Which it has not read itself, or another one since. */
	thread.snapshot_hash = hash + 1;
}

FIXTURE_TEST(charge_publishes_origin_once_with_new_account)
{
	hold_origin(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].accounts[0].flags, ACCOUNT_OF_ORIGIN);
	assert_int_equal(published.count, 1);
	assert_int_equal(published.hashes[0], 100);
	assert_int_equal(contexts_share.used, 1);
	/* In the next window it is there already. */
	thread.epoch = 1;
	hold_origin(100);
	charge_pending(&thread, &task, 3000);
	assert_int_equal(opened[1].count, 1);
	assert_int_equal(published.count, 1);
	assert_int_equal(contexts_share.used, 1);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 0);
}

FIXTURE_TEST(charge_to_unpublishable_origin_goes_to_overflow)
{
	room.has_contexts = false;
	hold_origin(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 0);
	assert_int_equal(process.epochs[0].overflow.user_ns, 5);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 1);
	/* Userspace has forgotten the process, or it is another one's. */
	room.has_contexts = true;
	hold_origin(100);
	origin.hash = 0;
	charge_pending(&thread, &task, 2000);
	hold_origin(100);
	origin.hash = 101;
	charge_pending(&thread, &task, 2000);
	assert_int_equal(published.count, 0);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 3);
	/* Another thread was first. */
	room.is_raced = true;
	hold_origin(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(contexts_share.used, 0);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 3);
}

FIXTURE_TEST(charge_counts_unreadable_value_once_per_account)
{
	const __u64 *count = &process.losses[COUNTER_VALUE_UNREADABLE];

	thread.is_unread = 1;
	hold(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(*count, 1);
	hold(100);
	charge_pending(&thread, &task, 3000);
	assert_int_equal(*count, 1);
	/* The snapshot is another context's. */
	hold(200);
	thread.snapshot_hash = 300;
	charge_pending(&thread, &task, 4000);
	assert_int_equal(*count, 1);
	thread.is_unread = 0;
	hold(300);
	charge_pending(&thread, &task, 5000);
	assert_int_equal(*count, 1);
}

FIXTURE_TEST(charge_publishes_nothing_when_accounts_are_full)
{
	room.has_accounts = false;
	hold(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 0);
	assert_int_equal(published.count, 0);
	assert_int_equal(process.epochs[0].overflow.user_ns, 5);
	assert_int_equal(process.losses[COUNTER_ACCOUNTS_FULL], 1);
}

FIXTURE_TEST(charge_opens_no_account_when_contexts_are_full)
{
	room.has_contexts = false;
	hold(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 0);
	assert_int_equal(accounts_share[0].used, 0);
	assert_int_equal(process.epochs[0].overflow.user_ns, 5);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 1);
}

FIXTURE_TEST(charge_accepts_context_published_by_racing_thread)
{
	room.is_raced = true;
	hold(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(process.losses[COUNTER_CONTEXTS_FULL], 0);
	/* It is in that one's share. */
	assert_int_equal(contexts_share.used, 0);
}

FIXTURE_TEST(charge_publishes_context_before_snapshot_is_overwritten)
{
	thread.config.flags = PROCESS_IS_LEAN;
	hold(100);
	/* The table cannot be read any more: another context, or none. */
	assert_false(context_is_same(&thread, &task, 2000, false, false));
	thread.snapshot_hash = 200;
	assert_true(is_published(100));
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(opened[0].keys[0].context_hash, 100);
	assert_int_equal(opened[0].accounts[0].totals.user_ns, 5);
	/* Once a window: nothing is looked for while the account is open. */
	published.count = 0;
	hold(100);
	assert_false(context_is_same(&thread, &task, 2000, false, false));
	assert_int_equal(published.count, 0);
	thread.epoch++;
	assert_false(context_is_same(&thread, &task, 2000, false, false));
	assert_true(is_published(100));
}

/* Not in that of the window that has ended without it, where the one after the next is to be. */
FIXTURE_TEST(charge_of_late_thread_opens_account_in_charged_window)
{
	thread.config.flags = PROCESS_IS_LEAN;
	thread.epoch = 1;
	open_epoch = 2;
	hold(100);
	assert_false(context_is_same(&thread, &task, 2000, false, false));
	assert_int_equal(opened[1].count, 0);
	assert_int_equal(opened[0].count, 1);
	/* It is still to be written up. */
	assert_int_equal(thread.epoch, 1);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(thread.epoch, 2);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(opened[0].accounts[0].totals.user_ns, 5);
}

FIXTURE_TEST(charge_of_unpublished_context_goes_to_overflow)
{
	thread.config.flags = PROCESS_IS_LEAN;
	room.has_contexts = false;
	hold(100);
	assert_false(context_is_same(&thread, &task, 2000, false, false));
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 0);
	assert_int_equal(process.epochs[0].overflow.user_ns, 5);
}

/* What runs was written up by the clock, which had counted what was stolen meanwhile. */
static void write_up_running(uint64_t now_ns)
{
	hold(100);
	thread.pending.user_ns = 0;
	(void)account_edge(&thread.clock, &thread.pending, now_ns, THREAD_MODE_USER);
	charge_end_window(&thread, &task, now_ns, EXEC_NS + now_ns - START_NS);
}

static void leave_cpu(uint64_t now_ns, uint64_t exec_ns)
{
	const struct kernel_figures figures = { .exec_ns = exec_ns };

	(void)account_switch_out(&thread.clock, &thread.pending, now_ns, &figures,
				 OFF_CPU_RUNNABLE);
	charge_note_pending(&thread, now_ns);
	assert_int_equal(charge_take_back(&thread), 0);
	charge_end_window(&thread, &task, now_ns, exec_ns);
}

static void begin_running(void)
{
	const struct kernel_figures figures = { .exec_ns = EXEC_NS };

	account_begin(&thread.clock, &figures, START_NS, 0, OFF_CPU_RUNNABLE, THREAD_MODE_USER);
	thread.exec_published_ns = EXEC_NS;
	current_epoch = 0;
}

FIXTURE_TEST(charge_takes_late_theft_off_account_and_exec_time)
{
	begin_running();
	write_up_running(START_NS + 100);
	assert_int_equal(process.epochs[0].exec_ns, 100);
	leave_cpu(START_NS + 101, EXEC_NS + 80);
	assert_int_equal(opened[0].accounts[0].totals.user_ns, 80);
	assert_int_equal(process.epochs[0].exec_ns, 80);
}

FIXTURE_TEST(charge_defers_late_theft_when_its_window_has_ended)
{
	begin_running();
	current_epoch = 1;
	write_up_running(START_NS + 100);
	assert_int_equal(process.epochs[0].exec_ns, 100);
	leave_cpu(START_NS + 101, EXEC_NS + 80);
	assert_int_equal(process.epochs[0].exec_ns, 100);
	assert_int_equal(process.epochs[1].exec_ns, 0);
	account_switch_in(&thread.clock, &thread.pending, START_NS + 200, 0, 0);
	leave_cpu(START_NS + 250, EXEC_NS + 130);
	assert_int_equal(opened[1].accounts[0].totals.user_ns, 30);
	assert_int_equal(process.epochs[1].exec_ns, 30);
}

/* A context that was recalled by the serial of its state: the snapshot is another one's. */
static void hold_recalled(uint64_t hash)
{
	hold(hash);
	thread.is_recalled = 1;
	thread.state_serial = 9;
	thread.snapshot_hash = hash + 1;
}

FIXTURE_TEST(charge_to_recalled_context_relies_on_published_snapshot)
{
	published.hashes[published.count++] = 100;
	hold_recalled(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(published.count, 1);
	/* Userspace knows it for three windows more. */
	published.count = 0;
	thread.secured_epoch = (uint32_t)-2;
	thread.epoch = 1;
	hold_recalled(100);
	charge_pending(&thread, &task, 3000);
	assert_int_equal(opened[1].count, 1);
	/* Later its time is in no account that nobody could name. */
	memset(&opened[1], 0, sizeof(opened[1]));
	thread.epoch = 5;
	thread.secured_epoch = 1;
	hold_recalled(100);
	charge_pending(&thread, &task, 4000);
	assert_int_equal(opened[1].count, 0);
	assert_int_equal(published.count, 0);
	assert_int_equal(process.epochs[1].overflow.user_ns, 5);
}

static void keep_if_due(void)
{
	memset(opened, 0, sizeof(opened));
	if (charge_must_keep(&thread))
		(void)charge_keep_context(&thread, &task);
}

/* A thread that waits for a CPU over many windows has its time charged once it runs. */
FIXTURE_TEST(charge_keeps_recalled_context_by_empty_account_in_each_third_window)
{
	published.hashes[published.count++] = 100;
	hold_recalled(100);
	charge_pending(&thread, &task, 2000);
	published.count = 0;
	thread.clock.mark_ns = 1500;
	thread.clock.gap_ns = 300;
	for (thread.epoch = 1; thread.epoch < 20; thread.epoch++) {
		keep_if_due();
		assert_int_equal(opened[thread.epoch & 1].count, thread.epoch % 3 == 0);
		if (thread.epoch % 3 == 0)
			assert_int_equal(opened[thread.epoch & 1].accounts[0].first_ns, 1200);
		assert_int_equal(thread.secured_epoch, thread.epoch / 3 * 3);
	}
	assert_int_equal(thread.pending_first_ns, 0);
	hold_recalled(100);
	charge_pending(&thread, &task, 3000);
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(process.epochs[0].overflow.user_ns, 0);
}

FIXTURE_TEST(charge_keeps_recalled_context_of_late_thread_in_open_window)
{
	hold_recalled(100);
	thread.epoch = 21;
	thread.secured_epoch = 21;
	open_epoch = 24;
	keep_if_due();
	assert_int_equal(opened[0].count, 1);
	assert_int_equal(opened[0].accounts[0].first_ns, 1000);
	assert_int_equal(thread.secured_epoch, 24);
	assert_int_equal(thread.epoch, 21);
	assert_int_equal(thread.pending_first_ns, 1000);
	/* Without room for it nothing is lost yet. */
	open_epoch = 27;
	room.has_accounts = false;
	keep_if_due();
	assert_int_equal(thread.secured_epoch, 24);
	assert_int_equal(process.losses[COUNTER_ACCOUNTS_FULL], 0);
	open_epoch = 0;
}

FIXTURE_TEST(charge_keeps_no_context_that_is_unknown_or_has_its_snapshot_in_thread)
{
	hold_recalled(100);
	thread.epoch = 3;
	thread.knowledge = CONTEXT_UNKNOWN;
	assert_false(charge_must_keep(&thread));
	thread.knowledge = CONTEXT_KNOWN_TILL_IT_RUNS;
	assert_true(charge_must_keep(&thread));
	thread.is_recalled = 0;
	assert_false(charge_must_keep(&thread));
}

FIXTURE_TEST(charge_notes_context_as_known_in_its_window)
{
	const struct known_context *known = thread.known_contexts;

	thread.epoch = 1;
	thread.reading = 4;
	hold(100);
	charge_pending(&thread, &task, 2000);
	assert_int_equal(known_context_find(known, 9, 1, 4), 0);
	hold(100);
	thread.state_serial = 9;
	charge_pending(&thread, &task, 3000);
	assert_int_equal(known_context_find(known, 9, 1, 4), 100);
	assert_int_equal(thread.secured_epoch, 1);
	/* A charge to an unknown context does not note the last known one. */
	hold(200);
	thread.state_serial = 10;
	thread.knowledge = CONTEXT_UNKNOWN;
	charge_pending(&thread, &task, 4000);
	assert_int_equal(known_context_find(known, 10, 1, 4), 0);
	/* Nor does overflow. */
	room.has_accounts = false;
	hold(300);
	thread.state_serial = 11;
	charge_pending(&thread, &task, 5000);
	assert_int_equal(known_context_find(known, 11, 1, 4), 0);
}
