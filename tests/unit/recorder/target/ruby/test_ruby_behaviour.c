/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_behaviour.h"

#include <errno.h>

#include "unit_test.h"

#include "recorder/target/seen_behaviour.h"

VM_TEST(behaviour_finds_every_member_by_its_meaning)
{
	struct forged_vm *forged = *state;

	look(forged);
	assert_int_equal(seen.vm_pointer, forged->vm_pointer);
	assert_int_equal(seen.vm, forged->vm);
	assert_int_equal(seen.main_thread, forged->thread);
	assert_int_equal(seen.execution, forged->execution);
	assert_int_equal(seen.thread_pointer, forged->native);
	assert_int_equal(seen.frame_count, STACK_FRAMES);
	assert_int_equal(seen.iseq_count, STACK_ISEQS);
	ONLY(execution_stack, 8 * STACK_EXECUTION_STACK);
	ONLY(execution_stack_words, 8 * STACK_EXECUTION_STACK + 8);
	ONLY(execution_frame, 8 * STACK_EXECUTION_STACK + 16);
	ONLY(execution_thread, 8 * STACK_EXECUTION_THREAD);
	ONLY(thread_self, 8 * STACK_THREAD_SELF);
	ONLY(thread_native_id, 8 * STACK_THREAD_NATIVE);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	ONLY(frame_iseq, 8 * STACK_FRAME_ISEQ);
	ONLY(frame_ep, 8 * STACK_FRAME_EP);
	ONLY(frame_jit_return, 8 * STACK_FRAME_JIT);
	ONLY(iseq_body, 8 * STACK_ISEQ_BODY);
	ONLY(body_type, 4 * STACK_BODY_TYPE);
	ONLY(body_code, 8 * STACK_BODY_CODE);
	ONLY(body_code_words, 4 * STACK_BODY_SIZE);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
	ONLY(body_base_label, 8 * STACK_BODY_LOCATION + 8);
	ONLY(body_label, 8 * STACK_BODY_LOCATION + 16);
	ONLY(body_first_line, 8 * STACK_BODY_LOCATION + 24);
	ONLY(body_first_line_kind, RUBY_FIRST_LINE_INT);
	ONLY(body_local, 8 * STACK_BODY_LOCAL);
	ONLY(body_lines, 8 * STACK_BODY_LINES);
	ONLY(body_line_count, 8 * STACK_BODY_LINES + 16);
	ONLY(body_line_positions, 8 * STACK_BODY_LINES + 24);
	ONLY(line_positions_kind, RUBY_LINE_POSITIONS_SUCCINCT);
	assert_true(HAS(line_entry_bytes, 12));
	assert_true(HAS(method_class, 8 * STACK_METHOD_CLASS));
	ONLY(method_definition, 8 * STACK_METHOD_DEFINITION);
	ONLY(method_called_id, 8 * STACK_METHOD_CALLED);
	ONLY(definition_original_id, 8 * STACK_DEFINITION_ID);
	ONLY(definition_type, 0);
	ONLY(definition_type_mask, 15);
	ONLY(class_path, 8 * STACK_CLASS_PATH);
	ONLY(class_attached, 8 * STACK_CLASS_ATTACHED);
	ONLY(class_singleton_mask, STACK_SINGLETON);
}

VM_TEST(behaviour_finds_vm_at_hint_or_by_search)
{
	struct forged_vm *forged = *state;
	uint64_t other = forged_words(&forged->memory, &forged->vm, 1);

	forged->hints.vm_pointer = other;
	look(forged);
	assert_int_equal(seen.vm_pointer, other);
	/* Somebody's word is not believed. */
	forged->hints.vm_pointer = forged->vm;
	look(forged);
	assert_int_equal(seen.vm_pointer, forged->vm_pointer);
	forged->hints.range_count = 0;
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
}

VM_TEST(behaviour_rejects_inconsistent_thread)
{
	struct forged_vm *forged = *state;
	static const struct {
		size_t word;
		uint64_t value;
	} changes[] = {
		{ STACK_EXECUTION_THREAD, 0 }, /* it is of no thread */
		{ STACK_EXECUTION_STACK, 8 }, /* no address */
		{ STACK_EXECUTION_STACK + 1, 255 }, /* too small a stack */
		{ STACK_EXECUTION_STACK + 1, (1 << 27) + 1 }, /* too large a one */
		{ STACK_EXECUTION_STACK + 2, FORGED_BASE }, /* not in it */
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct forged_vm *other = forge_vm();

		forged_set(other, other->execution, changes[i].word, changes[i].value);
		assert_int_equal(ruby_behaviour_look(&other->reader, &other->hints, &seen),
				 -ENOENT);
		free(other);
	}
	forged_set(forged, forged->thread, STACK_THREAD_VM, 0);
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), -ENOENT);
}

VM_TEST(behaviour_reports_no_contradictory_frames)
{
	struct forged_vm *forged = *state;

	/* A frame without an iseq, and not of a C function. */
	forged_set(forged, forged->stack + 64 + 32 * 3, 0, 0x55550003);
	look(forged);
	NONE(frame_bytes);
	NONE(iseq_body);
	assert_int_equal(seen.frame_count, 0);
	/* What does not need them is. */
	ONLY(class_path, 8 * STACK_CLASS_PATH);
}

VM_TEST(behaviour_rejects_frame_with_wrong_flags)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->stack + 64 + 32 * 1, 0, 0x12340003);
	look(forged);
	NONE(frame_ep);
}

VM_TEST(behaviour_rejects_iseq_with_wrong_type)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->iseqs[1], 0, 6 << 12 | 0x1a);
	look(forged);
	NONE(frame_iseq);
}

VM_TEST(behaviour_distinguishes_passed_block_from_running_iseq)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->frames[0], STACK_FRAME_BLOCK, forged->iseqs[2]);
	forged_set(forged, forged->frames[2], STACK_FRAME_BLOCK, forged->iseqs[2]);
	look(forged);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	ONLY(frame_iseq, 8 * STACK_FRAME_ISEQ);
	ONLY(frame_ep, 8 * STACK_FRAME_EP);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	ONLY(iseq_body, 8 * STACK_ISEQ_BODY);
	ONLY(body_type, 4 * STACK_BODY_TYPE);
	ONLY(body_local, 8 * STACK_BODY_LOCAL);
	assert_int_equal(seen.iseq_count, STACK_ISEQS);
	/* Without counters, neither is left out. */
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->frames[i], STACK_FRAME_PC, 0);
	look(forged);
	assert_int_equal(COUNT(frame_iseq), 2);
	assert_true(HAS(frame_iseq, 8 * STACK_FRAME_ISEQ));
}

VM_TEST(behaviour_does_not_take_base_pointer_for_jit_return)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_FRAMES; i++)
		forged_set(forged, forged->frames[i], STACK_FRAME_JIT, forged->stack + 8 * i);
	look(forged);
	NONE(frame_jit_return);
	ONLY(frame_ep, 8 * STACK_FRAME_EP);
}

VM_TEST(behaviour_tolerates_stale_counters_of_compiled_code)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->frames[1], STACK_FRAME_PC, 0x1234);
	look(forged);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	forged_set(forged, forged->frames[2], STACK_FRAME_PC, 0);
	look(forged);
	NONE(frame_pc);
}

/* Of two of the three that run Ruby's code: the word of it where they are. */
static void set_counters(struct forged_vm *forged, uint64_t word)
{
	uint64_t code;

	for (size_t i = 1; i < STACK_ISEQS; i++) {
		assert_int_equal(memory_read_u64(&forged->reader,
						 forged->bodies[i] + 8 * STACK_BODY_CODE, &code),
				 0);
		forged_set(forged, forged->frames[i], STACK_FRAME_PC, code + 8 * word);
	}
}

VM_TEST(behaviour_accepts_counter_after_last_instruction)
{
	struct forged_vm *forged = *state;

	set_counters(forged, STACK_CODE_WORDS);
	look(forged);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	ONLY(body_code_words, 4 * STACK_BODY_SIZE);
	/* Further on is no code. */
	set_counters(forged, STACK_CODE_WORDS + 1);
	look(forged);
	NONE(frame_pc);
}

VM_TEST(behaviour_leaves_order_of_equal_labels_open)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->bodies[2], STACK_BODY_LOCATION + 2, forged_text(forged, "each"));
	look(forged);
	assert_int_equal(COUNT(body_label), 2);
	assert_true(HAS(body_label, 8 * STACK_BODY_LOCATION + 16));
	assert_true(HAS(body_label, 8 * STACK_BODY_LOCATION + 8));
	assert_true(HAS(body_base_label, 8 * STACK_BODY_LOCATION + 8));
	/* And those that have nothing in common are no labels. */
	forged_set(forged, forged->bodies[2], STACK_BODY_LOCATION + 2, forged_text(forged, "map"));
	look(forged);
	NONE(body_label);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
}

VM_TEST(behaviour_uses_method_entries_without_c_function)
{
	struct forged_vm *forged = *state;

	forged->hints.skipped_quarters = 1;
	look(forged);
	/* What it is defined as is not what its frame says. */
	NONE(method_definition);
	forged_set(forged, forged->definition, 0, 0x4320);
	look(forged);
	ONLY(method_definition, 8 * STACK_METHOD_DEFINITION);
	ONLY(definition_original_id, 8 * STACK_DEFINITION_ID);
	ONLY(method_called_id, 8 * STACK_METHOD_CALLED);
	/* An alias has another ID. */
	forged_set(forged, forged->entry, STACK_METHOD_CALLED, 0xd591);
	look(forged);
	NONE(definition_original_id);
}

VM_TEST(behaviour_accepts_path_as_array_of_two)
{
	struct forged_vm *forged = *state;
	uint64_t array = forged_object(forged, 0x07 | 1 << 13 | 2 << 15, 5);

	forged_set(forged, array, 2, forged_text(forged, "a.rb"));
	forged_set(forged, array, 3, forged_text(forged, "/srv/a.rb"));
	forged_set(forged, forged->bodies[0], STACK_BODY_LOCATION, array);
	look(forged);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
	forged_set(forged, array, 0, 0x07 | 1 << 13 | 1 << 15);
	look(forged);
	NONE(body_path);
}

VM_TEST(behaviour_leaves_kind_of_odd_first_lines_open)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->bodies[i], STACK_BODY_LOCATION + 3, 2 * i + 1);
	look(forged);
	assert_true(HAS(body_first_line_kind, RUBY_FIRST_LINE_VALUE));
	assert_true(HAS(body_first_line_kind, RUBY_FIRST_LINE_INT));
	forged_set(forged, forged->bodies[1], STACK_BODY_LOCATION + 3, UINT64_C(1) << 62 | 1 << 30);
	look(forged);
	NONE(body_first_line);
}

VM_TEST(behaviour_recognises_line_table_by_following_words)
{
	struct forged_vm *forged = *state;
	/* Of a Ruby before 3.1: a line and its events. */
	const uint32_t lines[] = { 70000, 1, 3, 0x10, 300000, 1, 300001, 0 };
	uint64_t table = forged_take(&forged->memory, sizeof(lines));

	forged_write(&forged->memory, table, lines, sizeof(lines));
	for (size_t i = 0; i < STACK_ISEQS; i++) {
		forged_set(forged, forged->bodies[i], STACK_BODY_LINES, table);
		forged_set(forged, forged->bodies[i], STACK_BODY_LINES + 2, 4);
	}
	look(forged);
	assert_true(HAS(line_entry_bytes, 8));
	forged_set(forged, forged->bodies[0], STACK_BODY_LINES + 2, 0);
	look(forged);
	NONE(body_lines);
}

VM_TEST(behaviour_accepts_single_line_without_positions)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->bodies[0], STACK_BODY_LINES + 3, 0);
	look(forged);
	NONE(body_lines);
	forged_set(forged, forged->bodies[0], STACK_BODY_LINES + 2, 1);
	look(forged);
	assert_true(HAS(body_lines, 8 * STACK_BODY_LINES));
}

VM_TEST(behaviour_does_not_take_other_class_name_for_class_path)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->classes[2], STACK_CLASS_PATH, forged_text(forged, "Hashes"));
	look(forged);
	NONE(class_path);
	ONLY(class_attached, 8 * STACK_CLASS_ATTACHED);
	forged->hints.classes[0] = 0;
	look(forged);
	NONE(class_attached);
	NONE(class_singleton_mask);
}

VM_TEST(behaviour_finds_native_thread_behind_another_structure)
{
	struct forged_vm *forged = *state;
	uint64_t native = forged_take(&forged->memory, 24 * 8);

	forged_set(forged, native, 4, forged->native);
	forged_set(forged, forged->thread, STACK_THREAD_NATIVE, native);
	look(forged);
	assert_int_equal(seen.thread_pointer, forged->native);
	NONE(thread_native_id);
	forged_set(forged, forged->native, 2, 0);
	look(forged);
	assert_int_equal(seen.thread_pointer, 0);
}

VM_TEST(behaviour_skips_innermost_frames_on_request)
{
	struct forged_vm *forged = *state;

	/* It is being made. */
	forged_set(forged, forged->frames[3], STACK_FRAME_EP, 0);
	look(forged);
	NONE(frame_bytes);
	forged->hints.skipped_quarters = 1;
	look(forged);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	assert_int_equal(seen.frame_count, 3);
	forged->hints.skipped_quarters = 3;
	look(forged);
	assert_int_equal(seen.frame_count, 1);
	forged->hints.skipped_quarters = 100;
	look(forged);
	assert_int_equal(seen.frame_count, 1);
}

static int reads_left;

static int failing_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	if (reads_left-- <= 0)
		return -ESRCH;
	return forged_read(reader, address, buffer, size_bytes);
}

VM_TEST(behaviour_returns_esrch_if_process_exits)
{
	struct forged_vm *forged = *state;
	int reads = 0, r = -ESRCH;

	forged->reader.read = failing_read;
	for (; r == -ESRCH && reads < 10000; reads += 7) {
		reads_left = reads;
		r = ruby_behaviour_look(&forged->reader, &forged->hints, &seen);
		/* Who is gone is not asked again. */
		assert_true(reads_left >= -1);
	}
	assert_int_equal(r, 0);
	assert_true(reads > 50);
}

VM_TEST(candidates_beyond_limit_count_as_none)
{
	struct ruby_candidates candidates = { .count = RUBY_CANDIDATES_MAX,
					      .values = { 8, 16, 24, 32 } };

	assert_true(ruby_candidates_have(&candidates, 8));
	assert_true(ruby_candidates_have(&candidates, 32));
	assert_false(ruby_candidates_have(&candidates, 40));
	assert_true(ruby_candidates_tell(&candidates));
	candidates.count++;
	assert_false(ruby_candidates_have(&candidates, 8));
	assert_false(ruby_candidates_tell(&candidates));
	candidates.count = 1;
	assert_false(ruby_candidates_have(&candidates, 16));
	assert_true(ruby_candidates_tell(&candidates));
	candidates.count = 0;
	assert_false(ruby_candidates_tell(&candidates));
}
