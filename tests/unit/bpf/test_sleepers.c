/* SPDX-License-Identifier: GPL-2.0-only */
/* Which threads sleep in no context since before they were observed: bpf/sleepers.bpf.h. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

static struct vm_area_struct *native_area(uint64_t address);
static long native_read_task(void *buffer, uint32_t size_bytes, const void *address,
			     const struct task_struct *task, uint64_t flags);

#define bpf_find_vma(task, address, note, ret, flags)                                      \
	({                                                                                 \
		struct vm_area_struct *area_found = (flags) ? NULL : native_area(address); \
                                                                                           \
		area_found ? note((task), area_found, (ret)) : (long)-ENOENT;              \
	})
#define bpf_copy_from_user_task native_read_task

#include "sleepers.bpf.h"

/* Of the other task: two variables and the pages that they are in. */
static struct thread_state *const sleeper = &kernel.states[1];
static uint64_t variable, otel_variable;
static struct vm_area_struct area;
static uint64_t of_a_file; /* that address */
static bool wakes_up; /* while it is looked at */

static struct vm_area_struct *native_area(uint64_t address)
{
	static struct file file;

	if (wakes_up)
		sleeper->clock.last_cpu = 1;
	area.vm_file = address == of_a_file ? &file : NULL;
	return address < FORGED_BASE ? NULL : &area;
}

/* As the kernel's, which knows no flags here. */
static long native_read_task(void *buffer, uint32_t size_bytes, const void *address,
			     const struct task_struct *task, uint64_t flags)
{
	if (task != &kernel.other || flags)
		return -EINVAL;
	return native_read_user(buffer, size_bytes, address);
}

static int set_up(void **state)
{
	struct native_process *process = &kernel.processes[0];

	(void)begin_two_tasks(state);
	variable = forged_take(&memory, 8);
	otel_variable = forged_take(&memory, 8);
	of_a_file = 0;
	wakes_up = false;
	kernel.other.thread.fsbase = variable;
	process->config.tls = (struct tls_location){ .model = TLS_MODEL_STATIC };
	process->config.flags = PROCESS_READY;
	process->otel.tls = (struct tls_location){ .model = TLS_MODEL_STATIC,
						   .offset = (int64_t)(otel_variable - variable) };
	kernel.has_state[1] = true;
	sleeper->is_ready = sleeper->is_begun = 1;
	sleeper->life = LIFE;
	sleeper->clock.is_off_cpu = 1;
	sleeper->state_pointer = 4096;
	sleeper->context_hash = CONTEXT_HASH_FIRST;
	return 0;
}

static void look_at(struct task_struct *task)
{
	struct bpf_iter__task context = { .task = task };

	assert_int_equal(read_sleepers(&context), 0);
	assert_int_equal(sleeper->is_busy, 0);
}

static void assert_known(enum context_knowledge expected)
{
	look_at(&kernel.other);
	assert_int_equal(sleeper->knowledge, expected);
	assert_int_equal(sleeper->context_hash, CONTEXT_HASH_NONE);
	assert_int_equal(sleeper->state_pointer, 0);
	/* For the next one. */
	sleeper->knowledge = CONTEXT_UNKNOWN;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(sleeper_with_null_pointer_is_in_no_context)
{
	assert_known(CONTEXT_KNOWN);
	forged_write_u64(&memory, variable, FORGED_BASE);
	assert_known(CONTEXT_UNKNOWN);
}

FIXTURE_TEST(sleeper_without_variable_is_in_no_context)
{
	struct process_config *config = &process_of(LIFE)->config;

	/* Nothing publishes it (yet). */
	forged_write_u64(&memory, variable, FORGED_BASE);
	config->flags = 0;
	assert_known(CONTEXT_KNOWN);
	/* This thread's was never made. */
	config->flags = PROCESS_READY;
	config->tls = (struct tls_location){ .model = TLS_MODEL_DYNAMIC,
					     .dtv_entry_bytes = 8,
					     .module = 1 };
	forged_write_u64(&memory, variable, forged_take(&memory, 64));
	assert_known(CONTEXT_KNOWN);
}

FIXTURE_TEST(sleeper_with_unreadable_memory_stays_unknown)
{
	kernel.other.thread.fsbase = FORGED_BASE + FORGED_BYTES;
	assert_known(CONTEXT_UNKNOWN);
	kernel.other.thread.fsbase = 4096;
	assert_known(CONTEXT_UNKNOWN);
	kernel.other.thread.fsbase = 0;
	assert_known(CONTEXT_UNKNOWN);
	kernel.other.thread.fsbase = variable;
	process_of(LIFE)->has_config = false;
	assert_known(CONTEXT_UNKNOWN);
}

/* Its file system may never answer. */
FIXTURE_TEST(sleeper_with_file_backed_variable_is_not_read)
{
	of_a_file = variable;
	assert_known(CONTEXT_UNKNOWN);
}

FIXTURE_TEST(sleeper_is_known_only_without_ruby_and_otel_context)
{
	struct native_process *process = process_of(LIFE);

	forged_write_u64(&memory, otel_variable, FORGED_BASE);
	process->config.flags |= PROCESS_HAS_OTEL;
	process->has_otel = true;
	assert_known(CONTEXT_KNOWN);
	native_session.watches_otel = 1;
	assert_known(CONTEXT_UNKNOWN);
	process->config.flags = PROCESS_READY;
	assert_known(CONTEXT_KNOWN);
	process->config.flags |= PROCESS_HAS_OTEL;
	forged_write_u64(&memory, otel_variable, 0);
	assert_known(CONTEXT_KNOWN);
	forged_write_u64(&memory, variable, FORGED_BASE);
	assert_known(CONTEXT_UNKNOWN);
	forged_write_u64(&memory, variable, 0);
	process->has_otel = false;
	assert_known(CONTEXT_UNKNOWN);
}

/* What it says by then is its own affair. */
static void assert_left(void)
{
	look_at(&kernel.other);
	assert_int_equal(sleeper->state_pointer, 4096);
	(void)set_up(NULL);
}

FIXTURE_TEST(sleepers_skip_threads_that_are_not_asleep)
{
	sleeper->is_ready = 0;
	assert_left();
	sleeper->is_begun = 0;
	assert_left();
	sleeper->is_worker = 1;
	assert_left();
	sleeper->clock.is_off_cpu = 0;
	assert_left();
	/* It has run since. */
	sleeper->clock.last_cpu = 1;
	assert_left();
	sleeper->knowledge = CONTEXT_KNOWN;
	assert_left();
	wakes_up = true;
	assert_left();
	kernel.has_state[1] = false;
	assert_left();
	/* The end of the walk. */
	look_at(NULL);
	/* Known to be in none, it may be asked again. */
	sleeper->knowledge = CONTEXT_KNOWN;
	sleeper->context_hash = CONTEXT_HASH_NONE;
	assert_known(CONTEXT_KNOWN);
}

FIXTURE_TEST(sleepers_leave_busy_thread_alone)
{
	struct bpf_iter__task context = { .task = &kernel.other };

	sleeper->is_busy = 1;
	assert_int_equal(read_sleepers(&context), 0);
	assert_int_equal(sleeper->is_busy, 1);
	assert_int_equal(sleeper->state_pointer, 4096);
}
