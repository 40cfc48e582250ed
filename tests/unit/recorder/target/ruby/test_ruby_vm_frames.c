/* SPDX-License-Identifier: GPL-2.0-only */
/* What ruby_behaviour_look() takes for frames, and which of them it looks at. */
#include "recorder/target/ruby/ruby_vm_frames.h"

#include "unit_test.h"

#include "recorder/target/seen_behaviour.h"

enum {
	FLAGS_C = 0x55550083,
	FLAGS_METHOD = 0x11110003,
};

/* The same frames, of another size: of 8 words the first are kept, or more follow. */
static void lay_frames(struct forged_vm *forged, size_t words)
{
	uint64_t frames[STACK_FRAMES][STACK_FRAME_WORDS], frame = 0;
	uint64_t end = forged->stack + 8 * STACK_WORDS;

	for (size_t i = 0; i < STACK_FRAMES; i++) {
		assert_int_equal(forged_read(&forged->reader, forged->frames[i], frames[i],
					     sizeof(frames[i])),
				 0);
		for (size_t j = 0; j < STACK_FRAME_WORDS; j++)
			forged_set(forged, forged->frames[i], j, 0);
	}
	for (size_t i = 0; i < STACK_FRAMES; i++) {
		frame = end - (i + 2) * 8 * words;
		for (size_t j = 0; j < STACK_FRAME_WORDS && j < words; j++)
			forged_set(forged, frame, j, frames[i][j]);
	}
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2, frame);
}

VM_TEST(vm_frames_have_six_to_nine_words)
{
	for (size_t words = 6; words <= 9; words++) {
		struct forged_vm *forged = forge_vm();

		lay_frames(forged, words);
		look(forged);
		ONLY(frame_bytes, 8 * words);
		ONLY(frame_iseq, 8 * STACK_FRAME_ISEQ);
		ONLY(frame_pc, 8 * STACK_FRAME_PC);
		assert_int_equal(seen.frame_count, STACK_FRAMES);
		free(forged);
	}
	lay_frames(*state, 10);
	look(*state);
	NONE(frame_bytes);
}

VM_TEST(vm_frames_fill_stack_by_whole_number)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2, forged->frames[3] - 8);
	look(forged);
	NONE(frame_bytes);
}

VM_TEST(vm_frames_need_one_frame_before_the_last)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2, forged->frames[0]);
	look(forged);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	assert_int_equal(seen.frame_count, 1);
	assert_int_equal(seen.iseq_count, 1);
	/* The last one alone is none that runs anything. */
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2, forged->frames[0] + 64);
	look(forged);
	NONE(frame_bytes);
}

VM_TEST(vm_frames_inspect_only_outermost_64)
{
	struct forged_vm *forged = *state;

	for (size_t i = STACK_FRAMES; i < 64; i++)
		(void)forge_plain_frame(forged, i, FLAGS_C, forged->entry);
	for (size_t i = 64; i < 70; i++)
		forged_set(forged, forge_plain_frame(forged, i, FLAGS_C, 0), STACK_FRAME_EP, 0);
	look(forged);
	assert_int_equal(seen.frame_count, 64);
	ONLY(frame_ep, 8 * STACK_FRAME_EP);
	ONLY(method_definition, 8 * STACK_METHOD_DEFINITION);
}

VM_TEST(vm_frames_do_not_reuse_words_of_failed_read)
{
	struct forged_vm *forged = *state;
	const uint64_t words = STACK_WORDS + FORGED_BYTES / 8;

	look(forged);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	/* As many of them, at the end of a stack that ends behind what is mapped. */
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 1, words);
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2,
		   forged->stack + 8 * words - 8 * STACK_FRAME_WORDS * (STACK_FRAMES + 1));
	look(forged);
	NONE(frame_bytes);
}

VM_TEST(vm_frames_members_are_checked_in_each_frame)
{
	for (size_t i = 0; i < STACK_FRAMES; i++) {
		struct forged_vm *forged = forge_vm();

		/* A text for an iseq. */
		forged_set(forged, forged->frames[i], STACK_FRAME_ISEQ, forged_text(forged, "x"));
		look(forged);
		NONE(frame_iseq);
		free(forged);
		forged = forge_vm();
		forged_set(forged, forged->frames[i], STACK_FRAME_EP, 0);
		look(forged);
		NONE(frame_ep);
		free(forged);
		forged = forge_vm();
		forged_set(forged, forged_ep(forged, i), 0, 0x12340003);
		look(forged);
		NONE(frame_ep);
		free(forged);
	}
}

VM_TEST(vm_frames_accept_c_block_unless_all_iseqs_are)
{
	struct forged_vm *forged = *state;
	uint64_t block = forged_object(forged, 4 << 12 | 0x1a, 5);

	forged_set(forged, forged->frames[3], STACK_FRAME_ISEQ, block);
	forged_set(forged, forged_ep(forged, 3), 0, 0x66660003);
	look(forged);
	ONLY(frame_iseq, 8 * STACK_FRAME_ISEQ);
	assert_int_equal(seen.iseq_count, STACK_ISEQS);
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->frames[i], STACK_FRAME_ISEQ, block);
	look(forged);
	NONE(frame_iseq);
}

VM_TEST(vm_frames_c_frame_needs_its_flag)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged_ep(forged, 2), 0, FLAGS_C & ~RUBY_FRAME_IS_C);
	look(forged);
	NONE(frame_ep);
	forged_set(forged, forged_ep(forged, 2), 0, FLAGS_C);
	look(forged);
	ONLY(frame_ep, 8 * STACK_FRAME_EP);
}

VM_TEST(vm_frames_reject_unreadable_environment)
{
	struct forged_vm *forged = *state;

	/* It would begin before the memory that is there. */
	forged_set(forged, forged->frames[3], STACK_FRAME_EP, FORGED_BASE + 8);
	look(forged);
	NONE(frame_ep);
}

VM_TEST(vm_frames_recursion_counts_one_iseq)
{
	struct forged_vm *forged = *state;

	for (size_t i = STACK_FRAMES; i < 12; i++)
		forged_run(forged, forge_plain_frame(forged, i, FLAGS_METHOD, forged->entry),
			   forged->iseqs[i % 2], forged->bodies[i % 2], i);
	look(forged);
	assert_int_equal(seen.frame_count, 12);
	assert_int_equal(seen.iseq_count, STACK_ISEQS);
}

/* Another one like it, at another place. */
static uint64_t copy_iseq(struct forged_vm *forged, uint64_t from)
{
	uint64_t iseq = forged_take(&forged->memory, 40);

	memcpy(forged->memory.bytes + (iseq - FORGED_BASE),
	       forged->memory.bytes + (from - FORGED_BASE), 40);
	return iseq;
}

VM_TEST(vm_frames_inspect_at_most_32_iseqs)
{
	struct forged_vm *forged = *state;

	/* Blocks: of a method its own would be the one around it. */
	for (size_t i = STACK_FRAMES; i < 40; i++)
		forged_run(forged, forge_plain_frame(forged, i, 0x22220021, 0),
			   copy_iseq(forged, forged->iseqs[2]), forged->bodies[2], 3);
	look(forged);
	assert_int_equal(seen.frame_count, 40);
	assert_int_equal(seen.iseq_count, 32);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
}

/* Of the word behind what a frame returns to: where it may not lie. */
VM_TEST(vm_frames_jit_return_is_outside_of_every_stack)
{
	struct forged_vm *forged = *state;
	uint64_t end = forged->stack + 8 * STACK_WORDS;
	uint64_t lowest = forged->frames[3] - (UINT64_C(1) << 30);
	const struct {
		uint64_t word;
		uint32_t count;
	} cases[] = { { lowest - 8, 1 }, { lowest, 0 }, { end - 8, 0 }, { end, 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t frame = 0; frame < STACK_FRAMES; frame++) {
			forged_set(forged, forged->frames[frame], STACK_FRAME_JIT, cases[i].word);
			look(forged);
			assert_int_equal(COUNT(frame_jit_return), cases[i].count);
			forged_set(forged, forged->frames[frame], STACK_FRAME_JIT, 0);
		}
}

/* As frames have it that have no other use for the word: what is there is an environment, too. */
static void forge_other_environments(struct forged_vm *forged, size_t word, uint64_t entry)
{
	for (size_t i = 0; i < STACK_FRAMES; i++) {
		uint64_t other = forged_take(&forged->memory, 32), flags;

		assert_int_equal(memory_read_u64(&forged->reader, forged_ep(forged, i), &flags), 0);
		forged_set(forged, other, 0, i == 1 || i == 3 ? entry : 0);
		forged_set(forged, other, 2, flags);
		forged_set(forged, forged->frames[i], word, other + 16);
	}
}

VM_TEST(vm_frames_keep_several_candidate_shapes)
{
	struct forged_vm *forged = *state;
	uint64_t entry = forged_object(forged, 6 << 12 | 0x1a, 5);

	forge_other_environments(forged, 2, entry);
	look(forged);
	assert_int_equal(COUNT(frame_ep), 2);
	assert_true(HAS(frame_ep, 8 * STACK_FRAME_EP));
	ONLY(frame_iseq, 8 * STACK_FRAME_ISEQ);
	/* What one of them leads to is not mixed with what the other does. */
	ONLY(method_definition, 8 * STACK_METHOD_DEFINITION);
	assert_int_equal(seen.iseq_count, STACK_ISEQS);
}

VM_TEST(vm_frames_drop_shapes_beyond_eight)
{
	static const size_t words[] = { 0, 2, 4, 6, 7 };
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < 5; i++)
		forge_other_environments(forged, words[i], 0);
	look(forged);
	assert_int_equal(COUNT(frame_iseq), 1);
	assert_int_equal(COUNT(frame_ep), 6);
}

VM_TEST(vm_frames_of_c_alone_have_no_counter_and_code)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_FRAMES; i++)
		forged_set(forged, forged_ep(forged, i), 0, FLAGS_C);
	forged_set(forged, forged->frames[1], STACK_FRAME_BLOCK, 0);
	look(forged);
	ONLY(iseq_body, 8 * STACK_ISEQ_BODY);
	NONE(frame_pc);
	NONE(body_code);
}

VM_TEST(vm_frames_of_c_need_no_counter)
{
	struct forged_vm *forged = *state;

	/* Of two that do, one has it. */
	forged_set(forged, forged_ep(forged, 2), 0, FLAGS_C);
	forged_set(forged, forged->frames[2], STACK_FRAME_PC, 0);
	forged_set(forged, forged->frames[1], STACK_FRAME_PC, 0);
	look(forged);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	ONLY(body_code, 8 * STACK_BODY_CODE);
}

VM_TEST(vm_frames_counter_is_word_that_fits_most_often)
{
	struct forged_vm *forged = *state;
	uint64_t counter;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(memory_read_u64(&forged->reader,
						 forged->frames[i] + 8 * STACK_FRAME_PC, &counter),
				 0);
		forged_set(forged, forged->frames[i], 2, counter);
	}
	look(forged);
	ONLY(frame_pc, 8 * STACK_FRAME_PC);
	/* And where none is more often right, it may be either. */
	forged_set(forged, forged->frames[0], STACK_FRAME_PC, 0);
	look(forged);
	assert_int_equal(COUNT(frame_pc), 2);
}

VM_TEST(vm_frames_counter_is_any_word_from_first_to_last)
{
	static const size_t words[] = { 0, STACK_FRAME_WORDS - 1 };

	for (size_t i = 0; i < 2; i++) {
		struct forged_vm *forged = forge_vm();

		for (size_t j = 0; j < STACK_FRAMES; j++) {
			uint64_t counter;

			assert_int_equal(memory_read_u64(&forged->reader,
							 forged->frames[j] + 8 * STACK_FRAME_PC,
							 &counter),
					 0);
			forged_set(forged, forged->frames[j], STACK_FRAME_PC, 0);
			forged_set(forged, forged->frames[j], words[i], counter);
		}
		look(forged);
		ONLY(frame_pc, 8 * words[i]);
		free(forged);
	}
}
