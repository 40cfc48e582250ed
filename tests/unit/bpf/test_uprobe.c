/* SPDX-License-Identifier: GPL-2.0-only */
/* What a probe does, and when userspace is asked to look at a process: bpf/uprobe.bpf.h. */
#include "bpf/two_tasks.h"

#include "bpf/probe_arguments.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

#define PUBLISHER UINT64_C(0x7f7700000000)

enum {
	PUBLISHER_BYTES = 0x1000,
	PAUSE_NS = 1000000,
	SYMBOLS = 40,
};

static struct thread_state *const thread = &kernel.states[0];

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	thread->config.publisher_start = PUBLISHER;
	thread->config.publisher_end = PUBLISHER + PUBLISHER_BYTES;
	return 0;
}

static void pass_probe(uint64_t address)
{
	struct uprobe_registers registers = { .instruction_pointer = address };

	kernel.now_ns += 2 * (uint64_t)PAUSE_NS;
	assert_int_equal(on_context_change(&registers), 0);
}

/* How often userspace is asked when that probe is passed. */
static size_t asked_at(uint64_t address)
{
	size_t before = kernel.told_count;

	pass_probe(address);
	return kernel.told_count - before;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(probe_asks_userspace_only_outside_known_publisher)
{
	assert_int_equal(asked_at(PUBLISHER), 0);
	assert_int_equal(asked_at(PUBLISHER + PUBLISHER_BYTES - 1), 0);
	assert_int_equal(asked_at(PUBLISHER + PUBLISHER_BYTES), 1);
	assert_int_equal(asked_at(PUBLISHER - 1), 1);
	/* Nothing is known to publish yet. */
	thread->config.publisher_start = thread->config.publisher_end = 0;
	assert_int_equal(asked_at(PUBLISHER), 1);
}

FIXTURE_TEST(probe_ask_event_has_process_address_and_time)
{
	const struct event *event = &kernel.told[0].event;

	pass_probe(PUBLISHER - 1);
	assert_int_equal(kernel.told_count, 1);
	assert_ptr_equal(kernel.told[0].ring, &events);
	assert_int_equal(kernel.told[0].flags, 0);
	assert_int_equal(event->kind, EVENT_KIND_ASK);
	assert_int_equal(event->life, LIFE);
	assert_int_equal(event->tgid, TGID);
	assert_int_equal(event->start_ticks, START_TICKS);
	assert_int_equal(event->parent_tgid, 0);
	assert_int_equal(event->ns_tgid, OWN_TGID);
	assert_int_equal(event->ktime_ns, kernel.now_ns);
	assert_int_equal(event->address, PUBLISHER - 1);
	assert_string_equal(event->comm, "puma worker");
}

FIXTURE_TEST(probe_event_has_empty_name_if_unreadable)
{
	kernel.unreadable = kernel.current.comm;
	pass_probe(PUBLISHER - 1);
	assert_string_equal(kernel.told[0].event.comm, "");
}

FIXTURE_TEST(probe_event_without_ring_space_is_counted_lost)
{
	kernel.has_no_ring = true;
	pass_probe(PUBLISHER - 1);
	assert_int_equal(process_of(LIFE)->books.losses[COUNTER_EVENTS_LOST], 1);
	assert_int_equal(kernel.told_count, 0);
}

FIXTURE_TEST(probe_asks_about_new_symbols_while_key_has_no_id)
{
	const uint32_t count = SYMBOLS, more = SYMBOLS + 1;
	uint64_t address = forged_take(&memory, sizeof(count));

	forged_write(&memory, address, &count, sizeof(count));
	thread->config.symbol_count = SYMBOLS;
	thread->config.symbol_count_address = address;
	assert_int_equal(asked_at(PUBLISHER), 0);
	forged_write(&memory, address, &more, sizeof(more));
	assert_int_equal(asked_at(PUBLISHER), 1);
	/* All keys have one. */
	thread->config.symbol_count_address = 0;
	assert_int_equal(asked_at(PUBLISHER), 0);
	/* How many there are is not to be had. */
	thread->config.symbol_count_address = FORGED_BASE + FORGED_BYTES;
	assert_int_equal(asked_at(PUBLISHER), 0);
}

/* No probe tells that it begins: the next boundary asks that reads another pointer. */
FIXTURE_TEST(lean_thread_asks_once_after_pointer_change)
{
	const uint32_t more = SYMBOLS + 1;
	uint64_t count_address = forged_take(&memory, sizeof(more));
	uint64_t table = forged_take(&memory, 16);

	forged_write(&memory, count_address, &more, sizeof(more));
	thread->config.symbol_count = SYMBOLS;
	thread->config.symbol_count_address = count_address;
	for (uint32_t is_lean = 0; is_lean <= 1; is_lean++) {
		thread->config.flags |= is_lean ? PROCESS_IS_LEAN : 0;
		thread->knowledge = CONTEXT_UNKNOWN;
		thread->state_pointer = 0;
		for (int time = 0; time < 2; time++) {
			forged_write(&memory, thread->tls_address, &table, sizeof(table));
			kernel.now_ns += PAUSE_NS;
			boundary_close(thread, &kernel.current, kernel.now_ns, BOUNDARY_CALL_READ,
				       THREAD_MODE_KERNEL);
			assert_int_equal(thread->state_pointer, table);
			assert_int_equal(kernel.told_count, is_lean);
		}
	}
	assert_int_equal(kernel.told[0].event.kind, EVENT_KIND_ASK);
	assert_int_equal(kernel.told[0].event.address, 0);
}

FIXTURE_TEST(probe_asks_again_only_after_interval)
{
	struct uprobe_registers registers = { .instruction_pointer = PUBLISHER - 1 };

	pass_probe(PUBLISHER - 1);
	kernel.now_ns += PAUSE_NS / 2;
	(void)on_context_change(&registers);
	kernel.now_ns += PAUSE_NS / 2 - 1;
	(void)on_context_change(&registers);
	assert_int_equal(kernel.told_count, 1);
	/* Since it asked, not since it would have. */
	kernel.now_ns++;
	(void)on_context_change(&registers);
	assert_int_equal(kernel.told_count, 2);
	(void)on_context_change(&registers);
	assert_int_equal(kernel.told_count, 2);
}

FIXTURE_TEST(probe_charges_time_before_it_and_resets_context)
{
	const struct account_totals *charged = &process_of(LIFE)->books.epochs[0].overflow;

	thread->knowledge = CONTEXT_KNOWN;
	thread->pending.user_ns = 5;
	thread->pending_first_ns = NOW_NS;
	pass_probe(PUBLISHER);
	assert_int_equal(charged->user_ns, 5 + 2 * PAUSE_NS + 100);
	assert_int_equal(charged->slices, 1);
	assert_int_equal(thread->pending.user_ns, 0);
	assert_int_equal(thread->clock.mark_ns, kernel.now_ns);
	assert_int_equal(thread->clock.mode, THREAD_MODE_USER);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->is_change_open, 1);
	assert_int_equal(thread->has_passed_probe, 1);
	assert_int_equal(thread->is_busy, 0);
	assert_int_equal(thread->has_missed_probe, 0);
}

FIXTURE_TEST(probe_charges_no_stolen_time)
{
	thread->knowledge = CONTEXT_KNOWN;
	kernel.run_queue = (struct rq){ .clock = 1000, .clock_task = 970 };
	pass_probe(PUBLISHER);
	assert_int_equal(process_of(LIFE)->books.epochs[0].overflow.user_ns,
			 2 * PAUSE_NS + 100 - 30);
}

FIXTURE_TEST(probe_on_busy_thread_is_deferred)
{
	thread->is_busy = 1;
	thread->knowledge = CONTEXT_KNOWN;
	assert_int_equal(asked_at(PUBLISHER - 1), 0);
	assert_int_equal(thread->has_missed_probe, 1);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
	assert_int_equal(thread->is_busy, 1);
	assert_int_equal(process_of(LIFE)->books.losses[COUNTER_BOUNDARY_BUSY], 1);
}

FIXTURE_TEST(probe_of_unobserved_thread_is_ignored)
{
	kernel.has_state[0] = false;
	assert_int_equal(asked_at(PUBLISHER - 1), 0);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
}

/* Its file is probed for another process. */
FIXTURE_TEST(probe_of_publisher_is_ignored_in_lean_process)
{
	thread->config.flags |= PROCESS_IS_LEAN;
	thread->knowledge = CONTEXT_KNOWN;
	assert_int_equal(asked_at(PUBLISHER), 0);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
	/* Elsewhere something may publish that is not known. */
	assert_int_equal(asked_at(PUBLISHER - 1), 1);
	assert_int_equal(thread->clock.mark_ns, kernel.now_ns);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread->is_change_open, 0);
	assert_int_equal(thread->has_passed_probe, 0);
	assert_int_equal(thread->pending.slices, 0);
	/* It may have become another since. */
	generation++;
	assert_int_equal(asked_at(PUBLISHER), 0);
	assert_int_equal(thread->clock.mark_ns, kernel.now_ns);
}

/* As the gem's functions are called. */
static void pass_to_fiber(uint64_t address, uint64_t number)
{
	struct uprobe_registers registers = { .instruction_pointer = address };

	set_argument(&registers, 2, number);
	kernel.now_ns += 2 * (uint64_t)PAUSE_NS;
	assert_int_equal(on_context_change(&registers), 0);
}

FIXTURE_TEST(probe_sets_fiber_of_slices)
{
	const uint32_t *fiber = &thread->timeline.stint.fiber;

	native_session.has_timeline = 1;
	thread->config.flags |= PROCESS_TELLS_FIBERS;
	pass_to_fiber(PUBLISHER, 7);
	assert_int_equal(*fiber, 7);
	pass_to_fiber(PUBLISHER + 1, 8);
	assert_int_equal(*fiber, 8);
	/* Another object's argument is anything. */
	pass_to_fiber(PUBLISHER - 1, 9);
	assert_int_equal(*fiber, 0);
	pass_to_fiber(PUBLISHER, 7);
	thread->config.flags &= ~(uint32_t)PROCESS_TELLS_FIBERS;
	pass_to_fiber(PUBLISHER, 8);
	assert_int_equal(*fiber, 0);
}

FIXTURE_TEST(probe_missed_while_busy_sets_fiber_later)
{
	const uint32_t *fiber = &thread->timeline.stint.fiber;

	native_session.has_timeline = 1;
	thread->config.flags |= PROCESS_TELLS_FIBERS;
	pass_to_fiber(PUBLISHER, 7);
	thread->is_busy = 1;
	pass_to_fiber(PUBLISHER, 8);
	assert_int_equal(*fiber, 7);
	(void)boundary_do_missed(thread, &kernel.current, kernel.now_ns);
	assert_int_equal(*fiber, 8);
	/* It got another image: whatever runs there is none that is known. */
	thread->has_missed_exec = 1;
	(void)boundary_do_missed(thread, &kernel.current, kernel.now_ns);
	assert_int_equal(*fiber, 0);
}

static void pass_with_state(uint64_t address, uint64_t state, uint64_t serial)
{
	struct uprobe_registers registers = { .instruction_pointer = address };

	set_argument(&registers, 1, state);
	set_argument(&registers, 3, serial);
	kernel.now_ns += 2 * (uint64_t)PAUSE_NS;
	assert_int_equal(on_context_change(&registers), 0);
}

FIXTURE_TEST(probe_notes_state_and_serial_that_our_gem_passes)
{
	const uint64_t state_address = 4096;

	pass_with_state(PUBLISHER, state_address, 7);
	assert_int_equal(thread->next_serial, 0);
	thread->config.flags |= PROCESS_TELLS_SERIALS;
	pass_with_state(PUBLISHER, state_address, 7);
	assert_int_equal(thread->next_pointer, state_address);
	assert_int_equal(thread->next_serial, 7);
	/* Another object's arguments are anything. */
	pass_with_state(PUBLISHER - 1, state_address, 8);
	assert_int_equal(thread->next_serial, 0);
	/* With OpenTelemetry the context is not the state's alone. */
	pass_with_state(PUBLISHER, state_address, 8);
	native_session.watches_otel = 1;
	thread->config.flags |= PROCESS_HAS_OTEL;
	pass_with_state(PUBLISHER, state_address, 9);
	assert_int_equal(thread->next_serial, 0);
}

FIXTURE_TEST(probe_missed_while_busy_forgets_serials)
{
	thread->config.flags |= PROCESS_TELLS_SERIALS;
	pass_with_state(PUBLISHER, 4096, 7);
	thread->state_serial = 6;
	thread->is_busy = 1;
	pass_with_state(PUBLISHER, 4096, 8);
	assert_int_equal(thread->next_serial, 0);
	(void)boundary_do_missed(thread, &kernel.current, kernel.now_ns);
	assert_int_equal(thread->state_serial, 0);
}

/* The store of the last probe has happened: what it announced is in force, if that was not long
 * ago. */
FIXTURE_TEST(probe_reads_pointer_only_if_state_was_not_announced_lately)
{
	const uint64_t state_address = 4096, hash = 1000;

	thread->config.flags |= PROCESS_TELLS_SERIALS;
	for (uint32_t is_late = 0; is_late <= 1; is_late++) {
		thread->knowledge = CONTEXT_UNKNOWN;
		thread->next_pointer = state_address;
		thread->next_serial = 7;
		thread->state_pointer = 0;
		known_context_note(thread->known_contexts, 7, hash, thread->epoch, thread->reading);
		thread->confirmed_ns = kernel.now_ns + 2 * (uint64_t)PAUSE_NS;
		if (is_late)
			thread->confirmed_ns -= CONFIRM_PERIOD_NS + 1;
		pass_with_state(PUBLISHER, 0, 0);
		/* There the variable is NULL. */
		assert_int_equal(thread->state_pointer, is_late ? 0 : state_address);
		assert_int_equal(thread->context_hash, is_late ? CONTEXT_HASH_NONE : hash);
	}
}

/* The thread is in a state that was recalled, and had its last account in that window. */
static void recall_in(uint32_t epoch)
{
	const uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 0, 2 };
	uint64_t address = forged_words(&memory, table, sizeof(table) / sizeof(table[0]));

	forged_write(&memory, thread->tls_address, &address, sizeof(address));
	thread->state_pointer = address;
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = 1000;
	thread->is_recalled = 1;
	thread->wants_snapshot = 0;
	thread->secured_epoch = epoch;
}

FIXTURE_TEST(recalled_context_is_read_before_userspace_may_forget_it)
{
	thread->epoch = current_epoch = open_epoch = 7;
	recall_in(6);
	(void)context_confirm(thread, &kernel.current, kernel.now_ns, false);
	assert_int_equal(thread->is_recalled, 1);
	recall_in(5);
	(void)context_confirm(thread, &kernel.current, kernel.now_ns, false);
	assert_int_equal(thread->is_recalled, 0);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
}

/* Its snapshot may become an origin, or cannot be read later. */
FIXTURE_TEST(recalled_context_is_read_before_exec_and_exit)
{
	unsigned long long arguments[] = { (uintptr_t)&kernel.current, 0 };

	recall_in(0);
	assert_int_equal(on_prepare_exec(arguments), 0);
	assert_int_equal(thread->is_recalled, 0);
	recall_in(0);
	boundary_close(thread, &kernel.current, kernel.now_ns, BOUNDARY_EXIT, THREAD_MODE_KERNEL);
	assert_int_equal(thread->is_recalled, 0);
}
