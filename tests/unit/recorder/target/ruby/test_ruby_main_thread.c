/* SPDX-License-Identifier: GPL-2.0-only */
/* The way from libruby's data to the main thread's stack, as ruby_behaviour_look() goes it. */
#include "recorder/target/ruby/ruby_main_thread.h"

#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/target/seen_behaviour.h"

VM_TEST(main_thread_finds_vm_at_start_of_second_range)
{
	struct forged_vm *forged = *state;
	uint64_t decoy = forged_take(&forged->memory, 64);
	struct ruby_data_range ranges[2];

	/* What has an object that is another's is no VM. */
	forged_set(forged, decoy, 0, forged_data(forged, forged->vm));
	forged_set(forged, forged->range.address + 8 * 5, 0, decoy);
	look(forged);
	assert_int_equal(seen.vm_pointer, forged->vm_pointer);
	forged_set(forged, forged->vm_pointer, 0, decoy);
	ranges[0] = (struct ruby_data_range){ FORGED_BASE - 4096, 4096 };
	ranges[1] = (struct ruby_data_range){ forged->range.address, forged->range.size_bytes };
	forged->hints.ranges = ranges;
	forged->hints.range_count = 2;
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
	forged_set(forged, ranges[1].address, 0, forged->vm);
	look(forged);
	assert_int_equal(seen.vm_pointer, ranges[1].address);
}

VM_TEST(main_thread_rejects_vm_whose_object_wraps_nothing)
{
	struct forged_vm *forged = *state;
	uint64_t self;

	assert_int_equal(memory_read_u64(&forged->reader, forged->vm, &self), 0);
	/* A String. */
	forged_set(forged, self, 0, 5);
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
	forged_set(forged, forged->vm, 0, 0);
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
}

VM_TEST(main_thread_failed_look_keeps_last_result)
{
	struct forged_vm *forged = *state;

	seen.vm = 4711;
	memory_fails_after(0);
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOMEM);
	memory_never_fails();
	forged->hints.range_count = 0;
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
	assert_int_equal(seen.vm, 4711);
}

/* The three words of its stack, from one place of the execution context to another. */
static void move_stack(struct forged_vm *forged, size_t from, size_t to)
{
	const uint64_t words[] = { forged->stack, STACK_WORDS, forged->frames[3] };

	for (size_t i = 0; i < 3; i++)
		forged_set(forged, forged->execution, from + i, 0);
	for (size_t i = 0; i < 3; i++)
		forged_set(forged, forged->execution, to + i, words[i]);
}

VM_TEST(main_thread_members_are_first_to_last_word_of_structure)
{
	struct forged_vm *forged = *state;

	/* Of 24 words of the context, of 96 of the thread, of 512 of the VM. */
	forged_set(forged, forged->execution, STACK_EXECUTION_THREAD, 0);
	forged_set(forged, forged->execution, 0, forged->thread);
	move_stack(forged, STACK_EXECUTION_STACK, 21);
	forged_set(forged, forged->thread, STACK_THREAD_VM, 0);
	forged_set(forged, forged->thread, STACK_THREAD_EXECUTION, 0);
	forged_set(forged, forged->thread, 0, forged->vm);
	forged_set(forged, forged->thread, 95, forged->execution);
	forged_set(forged, forged->vm, STACK_VM_THREAD, 0);
	forged_set(forged, forged->vm, 511, forged->thread);
	look(forged);
	ONLY(execution_thread, 0);
	ONLY(execution_stack, 8 * 21);
	assert_int_equal(seen.frame_count, STACK_FRAMES);
	forged_set(forged, forged->execution, 0, 0);
	move_stack(forged, 21, 0);
	forged_set(forged, forged->execution, 23, forged->thread);
	forged_set(forged, forged->thread, 0, forged->execution);
	forged_set(forged, forged->thread, 95, forged->vm);
	look(forged);
	ONLY(execution_thread, 8 * 23);
	ONLY(execution_stack, 0);
}

VM_TEST(main_thread_stack_has_bounds_and_contains_its_frame)
{
	const uint64_t stack = ((struct forged_vm *)*state)->stack;
	const struct {
		uint64_t stack, words, frame;
		int result;
	} cases[] = {
		{ stack, 256, stack + 8, 0 },
		{ stack, 256, stack + 8 * 255, 0 },
		{ stack, 256, stack + 8 * 256, -ENOENT },
		{ stack, 256, stack, -ENOENT },
		{ stack, 256, stack + 12, -ENOENT },
		{ stack, 255, stack + 8, -ENOENT },
		{ stack, 1 << 27, stack + 8, 0 },
		{ stack, (1 << 27) + 1, stack + 8, -ENOENT },
		{ stack + 4, 256, stack + 8, -ENOENT },
	};
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uint64_t words[] = { cases[i].stack, cases[i].words, cases[i].frame };

		for (size_t j = 0; j < 3; j++)
			forged_set(forged, forged->execution, STACK_EXECUTION_STACK + j, words[j]);
		assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen),
				 cases[i].result);
	}
}

VM_TEST(main_thread_may_occur_several_times_in_its_context)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->execution, STACK_EXECUTION_THREAD + 1, forged->thread);
	look(forged);
	assert_int_equal(COUNT(execution_thread), 2);
	assert_true(HAS(execution_thread, 8 * STACK_EXECUTION_THREAD + 8));
	/* Five are as good as none. */
	for (size_t i = 0; i < 3; i++)
		forged_set(forged, forged->execution, 20 + i, forged->thread);
	look(forged);
	assert_true(COUNT(execution_thread) > RUBY_CANDIDATES_MAX);
	assert_false(HAS(execution_thread, 8 * STACK_EXECUTION_THREAD));
}

VM_TEST(main_thread_is_not_the_vm_itself)
{
	struct forged_vm *forged = *state;
	uint64_t decoy = forged_take(&forged->memory, 24 * 8);

	/* Something of the VM that has a stack, too. */
	forged_set(forged, decoy, 0, forged->vm);
	forged_set(forged, decoy, 1, forged->stack);
	forged_set(forged, decoy, 2, STACK_WORDS);
	forged_set(forged, decoy, 3, forged->frames[3]);
	forged_set(forged, forged->vm, 8, forged->vm);
	forged_set(forged, forged->vm, 9, decoy);
	look(forged);
	assert_int_equal(seen.main_thread, forged->thread);
	assert_int_equal(seen.execution, forged->execution);
}

/* 16 words at the end of a page, behind which there is none. */
static uint64_t take_before_hole(struct forged_vm *forged)
{
	uint64_t pages = forged_take(&forged->memory, 3 * 4096);

	forged->memory.hole = (pages + 8191) & ~4095ULL;
	return forged->memory.hole - 16 * 8;
}

VM_TEST(main_thread_is_read_up_to_unmapped_memory)
{
	struct forged_vm *forged = *state;
	uint64_t thread = take_before_hole(forged);

	memcpy(forged->memory.bytes + (thread - FORGED_BASE),
	       forged->memory.bytes + (forged->thread - FORGED_BASE), 16 * 8);
	forged_set(forged, thread, STACK_THREAD_SELF, forged_data(forged, thread));
	forged_set(forged, forged->vm, STACK_VM_THREAD, thread);
	forged_set(forged, forged->execution, STACK_EXECUTION_THREAD, thread);
	look(forged);
	assert_int_equal(seen.main_thread, thread);
	ONLY(thread_self, 8 * STACK_THREAD_SELF);
	ONLY(thread_native_id, 8 * STACK_THREAD_NATIVE);
}

VM_TEST(main_thread_does_not_reuse_words_of_failed_read)
{
	struct forged_vm *forged = *state;
	uint64_t before = forged_take(&forged->memory, 96 * 8), thread = take_before_hole(forged);

	/* One that knows the VM by its last words, and has no context; one that has no last words.
	 */
	forged_set(forged, before, 90, forged->vm);
	forged_set(forged, before, 91, forged->execution);
	forged_set(forged, forged->execution, STACK_EXECUTION_THREAD, thread);
	forged_set(forged, forged->vm, STACK_VM_THREAD, before);
	forged_set(forged, forged->vm, STACK_VM_THREAD + 1, thread);
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
}

VM_TEST(main_thread_object_is_among_its_first_words)
{
	struct forged_vm *forged = *state;
	uint64_t self;

	assert_int_equal(
		memory_read_u64(&forged->reader, forged->thread + 8 * STACK_THREAD_SELF, &self), 0);
	forged_set(forged, forged->thread, STACK_THREAD_SELF,
		   forged_data(forged, forged->execution));
	look(forged);
	NONE(thread_self);
	forged_set(forged, forged->thread, 16, self);
	look(forged);
	NONE(thread_self);
	forged_set(forged, forged->thread, 15, self);
	forged_set(forged, forged->thread, 0, self);
	look(forged);
	assert_int_equal(COUNT(thread_self), 2);
	assert_true(HAS(thread_self, 0));
	assert_true(HAS(thread_self, 8 * 15));
	/* Of an object of another class what is there is no structure. */
	forged_set(forged, self, 0, 5);
	look(forged);
	NONE(thread_self);
}

/* As pthread_self() has it. */
static uint64_t forge_native(struct forged_vm *forged)
{
	uint64_t native = forged_take(&forged->memory, 64);

	forged_set(forged, native, 0, native);
	forged_set(forged, native, 2, native);
	return native;
}

VM_TEST(main_thread_takes_first_native_thread)
{
	struct forged_vm *forged = *state;
	uint64_t other = forge_native(forged), behind = forged_take(&forged->memory, 24 * 8);

	forged_set(forged, forged->thread, 95, other);
	forged_set(forged, behind, 4, other);
	forged_set(forged, forged->thread, 1, behind);
	look(forged);
	assert_int_equal(seen.thread_pointer, forged->native);
	ONLY(thread_native_id, 8 * STACK_THREAD_NATIVE);
	forged_set(forged, forged->thread, STACK_THREAD_NATIVE, 0);
	look(forged);
	assert_int_equal(seen.thread_pointer, other);
	ONLY(thread_native_id, 8 * 95);
	forged_set(forged, forged->thread, 0, forged->native);
	look(forged);
	assert_int_equal(seen.thread_pointer, forged->native);
	ONLY(thread_native_id, 0);
}

VM_TEST(main_thread_native_thread_is_recognised_by_two_words)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->native, 0, 0);
	look(forged);
	assert_int_equal(seen.thread_pointer, 0);
	NONE(thread_native_id);
}

VM_TEST(main_thread_native_thread_is_any_word_of_structure)
{
	struct forged_vm *forged = *state;
	uint64_t first = forged_take(&forged->memory, 24 * 8);
	uint64_t last = forged_take(&forged->memory, 24 * 8), other = forge_native(forged);

	forged_set(forged, forged->thread, STACK_THREAD_NATIVE, 0);
	forged_set(forged, first, 0, forged->native);
	forged_set(forged, last, 23, other);
	forged_set(forged, forged->thread, 0, first);
	forged_set(forged, forged->thread, 95, last);
	look(forged);
	assert_int_equal(seen.thread_pointer, forged->native);
	forged_set(forged, forged->thread, 0, 0);
	look(forged);
	assert_int_equal(seen.thread_pointer, other);
	NONE(thread_native_id);
}

static size_t reads_done;

static int refusing_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			 size_t size_bytes)
{
	(void)reader;
	(void)address;
	(void)buffer;
	(void)size_bytes;
	reads_done++;
	return -EFAULT;
}

VM_TEST(main_thread_search_limits_number_of_reads)
{
	struct forged_vm *forged = *state;

	forged->reader.read = refusing_read;
	forged->range.size_bytes = (RUBY_BEHAVIOUR_READS_MAX + 9) * UINT64_C(512);
	reads_done = 0;
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
	assert_int_equal(reads_done, RUBY_BEHAVIOUR_READS_MAX);
}
