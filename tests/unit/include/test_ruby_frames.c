/* SPDX-License-Identifier: GPL-2.0-only */
#include "include/forged_stack.h"

#include <stdlib.h>

#include "unit_test.h"

enum {
	YJIT = 0x30, /* where jit_return is since 3.3 */
	CODE_WORDS = 8,
};

struct fixture {
	struct forged_stack stack;
	struct ruby_stack_layout layout;
	struct context_hash_key key;
	struct ruby_frames frames;
	struct ruby_frames_walk walk;
	bool tells_block_methods;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->layout = forged_stack_layout(56, YJIT);
	fixture->key = (struct context_hash_key){ { 1, 2 } };
	forged_stack_init(&fixture->stack, &fixture->layout);
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void walk(struct fixture *fixture)
{
	/* Of an earlier walk there is something left. */
	memset(&fixture->frames, 0xa0 | RUBY_FRAME_RUBY, sizeof(fixture->frames));
	memset(&fixture->walk, 0xa5, sizeof(fixture->walk));
	fixture->walk.layout = &fixture->layout;
	fixture->walk.key = &fixture->key;
	fixture->walk.execution_context = forged_stack_at(FORGED_STACK_CONTEXT);
	fixture->walk.stack_pointer = FORGED_STACK_POINTER;
	fixture->walk.reader = &fixture->stack;
	fixture->walk.tells_block_methods = fixture->tells_block_methods;
	fixture->walk.frames = &fixture->frames;
	fixture->stack.reads = 0;
	ruby_frames_walk(&fixture->walk);
}

static void assert_frame(const struct fixture *fixture, uint32_t number, uint32_t kind,
			 uint64_t object)
{
	const struct ruby_frame *frame = &fixture->frames.frames[number];

	assert_in_range(number, 0, fixture->frames.count - 1);
	assert_int_equal(ruby_frame_kind(frame), kind);
	assert_int_equal(ruby_frame_object(frame), object);
	if (ruby_frame_is_ruby(frame))
		return;
	assert_int_equal(frame->pc, 0);
	assert_int_equal(frame->method, 0);
}

static void assert_ruby(const struct fixture *fixture, uint32_t number, uint32_t iseq)
{
	assert_frame(fixture, number, RUBY_FRAME_RUBY, forged_stack_iseq(iseq));
	assert_int_equal(fixture->frames.frames[number].pc, forged_stack_iseq(iseq) + 0x800000000);
}

static void assert_sound(const struct fixture *fixture, uint32_t count)
{
	assert_int_equal(fixture->frames.count, count);
	assert_int_equal(fixture->frames.flags, 0);
	assert_int_equal(fixture->frames.unreadable, 0);
}

static uint64_t new_method(struct fixture *fixture)
{
	return forged_stack_imemo(&fixture->stack, RUBY_IMEMO_METHOD, 0);
}

/* ---- what is there ---- */

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(frames_of_each_size_are_walked_innermost_first)
{
	static const uint32_t sizes[][2] = {
		{ 56, RUBY_LAYOUT_UNKNOWN }, { 64, 0x38 }, { 56, YJIT }, { 72, 0x40 }, { 128, 0x78 }
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t method;

		fixture->layout = forged_stack_layout(sizes[i][0], sizes[i][1]);
		forged_stack_init(&fixture->stack, &fixture->layout);
		method = new_method(fixture);
		for (uint32_t number = 0; number < 300; number++) {
			if (number % 3 == 1)
				forged_stack_push_c(&fixture->stack, method);
			else
				forged_stack_push_ruby(&fixture->stack, number, 0);
		}
		walk(fixture);
		assert_sound(fixture, 300);
		for (uint32_t number = 0; number < 300; number++) {
			if (number % 3 != 1) {
				assert_ruby(fixture, 299 - number, number);
				continue;
			}
			assert_frame(fixture, 299 - number, RUBY_FRAME_C, method);
		}
	}
}

FIXTURE_TEST(frame_members_are_read_at_layout_offsets)
{
	struct fixture *fixture = *state;
	uint64_t method;

	fixture->layout.execution_stack = 0x48;
	fixture->layout.execution_stack_words = 0x20;
	fixture->layout.execution_frame = 0x40;
	fixture->layout.frame_pc = 0x28;
	fixture->layout.frame_iseq = 0;
	fixture->layout.frame_ep = 0x30;
	fixture->layout.frame_jit_return = 0x10;
	forged_stack_init(&fixture->stack, &fixture->layout);
	method = new_method(fixture);
	forged_stack_push_ruby(&fixture->stack, 7, 0);
	forged_stack_push_c(&fixture->stack, method);
	walk(fixture);
	assert_sound(fixture, 2);
	assert_frame(fixture, 0, RUBY_FRAME_C, method);
	assert_ruby(fixture, 1, 7);
}

FIXTURE_TEST(stack_without_frames_is_empty)
{
	struct fixture *fixture = *state;

	walk(fixture);
	assert_sound(fixture, 0);
	assert_true(fixture->frames.hash >= CONTEXT_HASH_FIRST);
}

FIXTURE_TEST(frames_are_read_in_chunks)
{
	struct fixture *fixture = *state;

	for (uint32_t number = 0; number < 200; number++)
		forged_stack_push_ruby(&fixture->stack, number, 0);
	walk(fixture);
	assert_sound(fixture, 200);
	/* Three words of the context, and 73 frames of 56 bytes in 4 KiB. */
	assert_int_equal(fixture->stack.reads, 3 + 3);
}

/* ---- depth ---- */

static void push_many(struct fixture *fixture, uint32_t count)
{
	for (uint32_t number = 0; number < count; number++)
		forged_stack_push_ruby(&fixture->stack, number, 0);
}

FIXTURE_TEST(stack_deeper_than_limit_drops_outermost_frames)
{
	struct fixture *fixture = *state;

	push_many(fixture, 2000);
	walk(fixture);
	assert_int_equal(fixture->frames.count, RUBY_FRAMES_MAX);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_CUT);
	assert_int_equal(fixture->frames.unreadable, 0);
	for (uint32_t number = 0; number < RUBY_FRAMES_MAX; number++)
		assert_ruby(fixture, number, 1999 - number);
}

FIXTURE_TEST(stack_at_frame_limit_is_not_truncated)
{
	struct fixture *fixture = *state;
	uint64_t hash;

	push_many(fixture, RUBY_FRAMES_MAX);
	walk(fixture);
	assert_sound(fixture, RUBY_FRAMES_MAX);
	hash = fixture->frames.hash;
	/* One that is cut looks the same, and is another. */
	forged_stack_init(&fixture->stack, &fixture->layout);
	forged_stack_push_ruby(&fixture->stack, 5000, 0);
	push_many(fixture, RUBY_FRAMES_MAX);
	walk(fixture);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_CUT);
	assert_true(fixture->frames.hash != hash);
}

FIXTURE_TEST(frames_walk_limits_skipped_frames)
{
	struct fixture *fixture = *state;
	struct ruby_control_frame block = { .iseq = forged_stack_iseq(1) };

	block.ep = forged_stack_environment(&fixture->stack, 0, 0, RUBY_FRAME_IS_C);
	forged_stack_push_ruby(&fixture->stack, 3, 0);
	for (uint32_t i = 0; i < RUBY_FRAMES_STEPS_MAX; i++)
		forged_stack_push(&fixture->stack, &block);
	walk(fixture);
	assert_int_equal(fixture->frames.count, 0);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_CUT);
	/* Of each its environment, and they themselves in pieces. */
	assert_int_equal(fixture->stack.reads,
			 3 + RUBY_FRAMES_STEPS_MAX + RUBY_FRAMES_STEPS_MAX / (4096 / 56) + 1);
}

/* ---- frames of C ---- */

FIXTURE_TEST(frames_walk_skips_c_blocks_but_not_ruby_blocks)
{
	struct fixture *fixture = *state;
	struct ruby_control_frame block = { .iseq = forged_stack_iseq(1) };

	forged_stack_push_ruby(&fixture->stack, 3, 0);
	block.ep = forged_stack_environment(&fixture->stack, 0, 0, 0x66660001 | RUBY_FRAME_IS_C);
	forged_stack_push(&fixture->stack, &block);
	forged_stack_push_ruby(&fixture->stack, 4, 0);
	/* Compiled code has not stored its pc, yet. */
	block.ep = forged_stack_environment(&fixture->stack, 0, 0, 0x22220001 & ~RUBY_FRAME_IS_C);
	forged_stack_push(&fixture->stack, &block);
	walk(fixture);
	assert_sound(fixture, 3);
	assert_frame(fixture, 0, RUBY_FRAME_RUBY, forged_stack_iseq(1));
	assert_int_equal(fixture->frames.frames[0].pc, 0);
	assert_int_equal(fixture->frames.frames[0].method, block.ep);
	assert_ruby(fixture, 1, 4);
	assert_ruby(fixture, 2, 3);
}

FIXTURE_TEST(frame_of_unknown_kind_is_unreadable)
{
	struct fixture *fixture = *state;
	const struct ruby_control_frame block = { .iseq = forged_stack_iseq(1), .ep = 8 };

	forged_stack_push(&fixture->stack, &block);
	walk(fixture);
	assert_int_equal(fixture->frames.count, 1);
	assert_frame(fixture, 0, RUBY_FRAME_UNREADABLE, 0);
	assert_int_equal(fixture->frames.unreadable, 1);
}

/* A C frame whose method is `around` environments away. */
static void push_nested(struct fixture *fixture, uint32_t around, uint64_t outermost,
			uint64_t inner, uint64_t tag)
{
	uint64_t ep = forged_stack_environment(&fixture->stack, outermost, 0, RUBY_FRAME_IS_LOCAL);

	for (uint32_t i = 0; i < around; i++)
		ep = forged_stack_environment(&fixture->stack, inner, ep | tag, RUBY_FRAME_IS_C);
	forged_stack_push(&fixture->stack, &(struct ruby_control_frame){ .ep = ep });
}

FIXTURE_TEST(c_frame_method_is_found_through_ten_blocks)
{
	struct fixture *fixture = *state;
	uint64_t method = new_method(fixture);

	for (uint32_t around = 0; around <= RUBY_FRAMES_EPS_MAX + 1; around++) {
		forged_stack_init(&fixture->stack, &fixture->layout);
		method = new_method(fixture);
		/* The two low bits of what stands around are not its address's. */
		push_nested(fixture, around, method, 0, around & 3);
		walk(fixture);
		assert_sound(fixture, 1);
		assert_frame(fixture, 0, RUBY_FRAME_C, around <= RUBY_FRAMES_EPS_MAX ? method : 0);
	}
}

FIXTURE_TEST(c_frame_uses_nearest_method)
{
	struct fixture *fixture = *state;
	uint64_t outer = new_method(fixture), inner = new_method(fixture);

	push_nested(fixture, 3, outer, inner, 0);
	walk(fixture);
	assert_sound(fixture, 1);
	assert_frame(fixture, 0, RUBY_FRAME_C, inner);
}

FIXTURE_TEST(c_frame_in_cyclic_blocks_has_no_method)
{
	struct fixture *fixture = *state;
	uint64_t ep = forged_stack_environment(&fixture->stack, 0, 0, 0);

	forged_stack_write(&fixture->stack, ep - 8, ep);
	forged_stack_push(&fixture->stack, &(struct ruby_control_frame){ .ep = ep });
	walk(fixture);
	assert_sound(fixture, 1);
	assert_frame(fixture, 0, RUBY_FRAME_C, 0);
	assert_in_range(fixture->stack.reads, 1, 3 + 1 + 2 * (RUBY_FRAMES_EPS_MAX + 1));
}

static void assert_found_behind(struct fixture *fixture, uint64_t object, uint64_t expected)
{
	push_nested(fixture, 1, object, 0, 0);
	walk(fixture);
	assert_sound(fixture, fixture->frames.count);
	assert_frame(fixture, 0, RUBY_FRAME_C, expected);
}

FIXTURE_TEST(special_variable_is_followed_to_method_once)
{
	struct fixture *fixture = *state;
	struct forged_stack *stack = &fixture->stack;
	uint64_t method = new_method(fixture);
	uint64_t svar = forged_stack_imemo(stack, RUBY_IMEMO_SVAR, method);
	uint64_t cref = forged_stack_imemo(stack, 1, method);
	uint64_t words[] = { 5 | RUBY_IMEMO_METHOD << RUBY_IMEMO_SHIFT, 0 };

	assert_found_behind(fixture, svar, method);
	assert_found_behind(fixture, cref, 0);
	assert_found_behind(fixture, forged_stack_imemo(stack, RUBY_IMEMO_SVAR, cref), 0);
	assert_found_behind(fixture, forged_stack_imemo(stack, RUBY_IMEMO_SVAR, svar), 0);
	assert_found_behind(fixture, forged_stack_imemo(stack, RUBY_IMEMO_SVAR, 0), 0);
	/* A String with such bits, and what is no address. */
	assert_found_behind(fixture, forged_stack_heap(stack, words, 2), 0);
	assert_found_behind(fixture, method + 4, 0);
	assert_found_behind(fixture, 0xfff8, 0);
	assert_found_behind(fixture, 0, 0);
	/* Special variables are the outermost's alone. */
	push_nested(fixture, 1, 0, svar, 0);
	walk(fixture);
	assert_frame(fixture, 0, RUBY_FRAME_C, 0);
}

FIXTURE_TEST(c_frame_with_unreadable_method_is_counted)
{
	struct fixture *fixture = *state;
	struct forged_stack *stack = &fixture->stack;
	uint64_t nowhere = FORGED_STACK_BASE - 4096;

	/* The environment; what is around it; what it leads to. */
	forged_stack_push(stack, &(struct ruby_control_frame){ .ep = nowhere });
	forged_stack_push(stack, &(struct ruby_control_frame){ .ep = 4 });
	forged_stack_push(stack, &(struct ruby_control_frame){
					 .ep = forged_stack_environment(stack, 0, nowhere, 0) });
	push_nested(fixture, 1, nowhere, 0, 0);
	walk(fixture);
	assert_int_equal(fixture->frames.count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_frame(fixture, i, RUBY_FRAME_C, 0);
	assert_int_equal(fixture->frames.unreadable, 4);
}

FIXTURE_TEST(c_frame_method_must_be_valid_address)
{
	struct fixture *fixture = *state;

	forged_stack_push_c(&fixture->stack, FORGED_STACK_BASE + 4);
	forged_stack_push_c(&fixture->stack, 8);
	forged_stack_push_c(&fixture->stack, 1ULL << 56);
	forged_stack_push_c(&fixture->stack, (1ULL << 56) - 8);
	forged_stack_push_c(&fixture->stack, 0x10000);
	walk(fixture);
	assert_sound(fixture, 5);
	assert_frame(fixture, 0, RUBY_FRAME_C, 0x10000);
	assert_frame(fixture, 1, RUBY_FRAME_C, (1ULL << 56) - 8);
	for (uint32_t i = 2; i < 5; i++)
		assert_frame(fixture, i, RUBY_FRAME_C, 0);
}

/* ---- methods of Ruby frames ---- */

FIXTURE_TEST(ruby_frame_methods_are_found_on_request)
{
	struct fixture *fixture = *state;
	uint64_t method = new_method(fixture), c_method = new_method(fixture);
	uint64_t svar = forged_stack_imemo(&fixture->stack, RUBY_IMEMO_SVAR, method);
	uint64_t hash;

	forged_stack_push_ruby(&fixture->stack, 0, 0);
	forged_stack_push_ruby(&fixture->stack, 1, method);
	forged_stack_push_c(&fixture->stack, c_method);
	forged_stack_push_ruby(&fixture->stack, 2, svar);
	walk(fixture);
	assert_sound(fixture, 4);
	hash = fixture->frames.hash;
	ruby_frames_find_methods(&fixture->walk);
	assert_sound(fixture, 4);
	assert_int_equal(fixture->frames.frames[0].method, method);
	assert_int_equal(fixture->frames.frames[1].method, 0);
	assert_int_equal(fixture->frames.frames[2].method, method);
	assert_int_equal(fixture->frames.frames[3].method, 0);
	assert_frame(fixture, 1, RUBY_FRAME_C, c_method);
	assert_int_equal(fixture->frames.hash, hash);
	/* Only of the frames that there are. */
	assert_int_equal(fixture->frames.frames[4].method, 0xa2a2a2a2a2a2a2a2);
}

/* Of define_method the entry is in the block's own environment. */
static uint64_t push_block_method(struct fixture *fixture, uint64_t method, uint64_t around)
{
	struct ruby_control_frame block = { .iseq = forged_stack_iseq(1), .pc = 0x7f0000000008 };

	block.ep = forged_stack_environment(&fixture->stack, method, around | 1,
					    RUBY_FRAME_IS_BLOCK_METHOD);
	forged_stack_push(&fixture->stack, &block);
	return block.ep;
}

/* What stands around such a block is no part of the method. */
FIXTURE_TEST(block_method_is_found_with_its_level)
{
	struct fixture *fixture = *state;
	uint64_t method = new_method(fixture), around = new_method(fixture);
	struct ruby_control_frame block = { .iseq = forged_stack_iseq(2), .pc = 0x7f0000000008 };
	uint64_t local = forged_stack_environment(&fixture->stack, around, 0, RUBY_FRAME_IS_LOCAL);

	block.ep = push_block_method(fixture, method, local);
	for (int i = 1; i < 9; i++) {
		block.ep = forged_stack_environment(&fixture->stack, 0, block.ep | 1, 0);
		forged_stack_push(&fixture->stack, &block);
	}
	/* A block of the method around. */
	block.ep = forged_stack_environment(&fixture->stack, 0, local | 1, 0);
	forged_stack_push(&fixture->stack, &block);
	fixture->tells_block_methods = true;
	walk(fixture);
	ruby_frames_find_methods(&fixture->walk);
	assert_int_equal(fixture->frames.frames[0].method, around);
	for (uint32_t i = 0; i < 9; i++) {
		const struct ruby_frame *frame = &fixture->frames.frames[9 - i];

		assert_int_equal(ruby_frame_method(frame), method);
		assert_int_equal(ruby_frame_method_level(frame), i < 7 ? i + 1 : 7);
	}
	/* Where they are not told apart none has a level. */
	fixture->tells_block_methods = false;
	walk(fixture);
	ruby_frames_find_methods(&fixture->walk);
	assert_int_equal(fixture->frames.frames[9].method, method);
}

FIXTURE_TEST(block_methods_of_one_block_make_distinct_stacks)
{
	struct fixture *fixture = *state;
	uint64_t first = new_method(fixture), second = new_method(fixture);
	uint64_t local = forged_stack_environment(&fixture->stack, 0, 0, RUBY_FRAME_IS_LOCAL);
	uint64_t ep = push_block_method(fixture, first, local);
	uint64_t hashes[2][2];

	for (int tells = 0; tells < 2; tells++) {
		fixture->tells_block_methods = tells;
		for (int i = 0; i < 2; i++) {
			forged_stack_write(&fixture->stack, ep - 16, i ? second : first);
			walk(fixture);
			assert_sound(fixture, 1);
			hashes[tells][i] = fixture->frames.hash;
		}
	}
	assert_int_equal(hashes[0][0], hashes[0][1]);
	assert_int_not_equal(hashes[1][0], hashes[1][1]);
}

/* A method entry of four words. */
static uint64_t new_whole_method(struct fixture *fixture)
{
	static const uint64_t rest[2];
	uint64_t method = new_method(fixture);

	(void)forged_stack_heap(&fixture->stack, rest, 2);
	return method;
}

FIXTURE_TEST(same_methods_check_detects_each_changed_word)
{
	struct fixture *fixture = *state;
	uint64_t method = new_whole_method(fixture), c_method = new_whole_method(fixture);
	struct ruby_frames_walk other = { .reader = &fixture->stack, .frames = &fixture->frames };

	forged_stack_push_ruby(&fixture->stack, 0, method);
	forged_stack_push_c(&fixture->stack, c_method);
	walk(fixture);
	ruby_frames_find_methods(&fixture->walk);
	assert_true(ruby_frames_have_same_methods(&fixture->walk));
	assert_true(ruby_frames_have_same_methods(&other));
	for (uint64_t at = 8; at < 32; at += 8) {
		forged_stack_write(&fixture->stack, method + at, 7);
		assert_false(ruby_frames_have_same_methods(&other));
		forged_stack_write(&fixture->stack, method + at, 0);
		forged_stack_write(&fixture->stack, c_method + at, 7);
		assert_false(ruby_frames_have_same_methods(&other));
		forged_stack_write(&fixture->stack, c_method + at, 0);
		assert_true(ruby_frames_have_same_methods(&other));
	}
}

FIXTURE_TEST(ruby_frame_methods_are_found_up_to_frame_limit)
{
	struct fixture *fixture = *state;
	uint64_t method = new_method(fixture);

	for (uint32_t i = 0; i < RUBY_FRAMES_MAX; i++)
		forged_stack_push_ruby(&fixture->stack, i, method);
	walk(fixture);
	ruby_frames_find_methods(&fixture->walk);
	for (uint32_t i = 0; i < RUBY_FRAMES_MAX; i++)
		assert_int_equal(fixture->frames.frames[i].method, method);
	assert_sound(fixture, RUBY_FRAMES_MAX);
}

/* ---- what cannot be ---- */

static void assert_torn(struct fixture *fixture)
{
	walk(fixture);
	assert_int_equal(fixture->frames.count, 1);
	assert_frame(fixture, 0, RUBY_FRAME_UNREADABLE, 0);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_TORN);
	assert_int_equal(fixture->frames.unreadable, 1);
	assert_in_range(fixture->stack.reads, 0, 3);
}

static void assert_torn_with(struct fixture *fixture, uint32_t offset, uint64_t word)
{
	uint64_t address = forged_stack_at(FORGED_STACK_CONTEXT) + offset, before;

	memcpy(&before, fixture->stack.bytes + (address - FORGED_STACK_BASE), sizeof(before));
	forged_stack_write(&fixture->stack, address, word);
	assert_torn(fixture);
	forged_stack_write(&fixture->stack, address, before);
}

FIXTURE_TEST(stack_with_invalid_bounds_is_not_read)
{
	struct fixture *fixture = *state;
	uint64_t end = forged_stack_at(FORGED_STACK_VM_END);
	uint64_t more_words = FORGED_STACK_VM_WORDS;

	/* Frames of seven words are still a whole number of them from the end. */
	while (more_words <= RUBY_FRAMES_STACK_WORDS_MAX)
		more_words += 7;
	push_many(fixture, 3);
	assert_torn_with(fixture, fixture->layout.execution_stack, 0);
	assert_torn_with(fixture, fixture->layout.execution_stack,
			 forged_stack_at(FORGED_STACK_VM) + 4);
	assert_torn_with(fixture, fixture->layout.execution_stack, 1ULL << 56);
	/* The frame would be below. */
	assert_torn_with(fixture, fixture->layout.execution_stack, end - 8);
	assert_torn_with(fixture, fixture->layout.execution_stack_words, 0);
	assert_torn_with(fixture, fixture->layout.execution_stack_words, UINT64_MAX);
	assert_torn_with(fixture, fixture->layout.execution_stack_words, more_words);
	/* Not a whole number of frames from the end. */
	assert_torn_with(fixture, fixture->layout.execution_stack_words, FORGED_STACK_VM_WORDS - 1);
	assert_torn_with(fixture, fixture->layout.execution_frame, 0);
	assert_torn_with(fixture, fixture->layout.execution_frame, end - 56 - 8);
	assert_torn_with(fixture, fixture->layout.execution_frame, end);
	assert_torn_with(fixture, fixture->layout.execution_frame, UINT64_MAX - 55);
	walk(fixture);
	assert_sound(fixture, 3);
	/* All of it where no stack can be: not aligned, or too high. */
	for (uint64_t shift = 4; shift != 0; shift = shift == 4 ? 1ULL << 56 : 0) {
		forged_stack_write(&fixture->stack, forged_stack_at(FORGED_STACK_CONTEXT),
				   forged_stack_at(FORGED_STACK_VM) + shift);
		assert_torn_with(fixture, fixture->layout.execution_frame,
				 fixture->stack.frame + shift);
	}
}

FIXTURE_TEST(stack_may_be_full_and_of_maximum_size)
{
	struct fixture *fixture = *state;
	uint64_t context = forged_stack_at(FORGED_STACK_CONTEXT);
	uint64_t end = forged_stack_at(FORGED_STACK_VM_END);

	push_many(fixture, 2);
	forged_stack_write(&fixture->stack, context + fixture->layout.execution_stack,
			   end - 8ULL * RUBY_FRAMES_STACK_WORDS_MAX);
	forged_stack_write(&fixture->stack, context + fixture->layout.execution_stack_words,
			   RUBY_FRAMES_STACK_WORDS_MAX);
	walk(fixture);
	assert_sound(fixture, 2);
	/* Frames down to its very beginning. */
	forged_stack_write(&fixture->stack, context + fixture->layout.execution_stack,
			   end - 3ULL * 56);
	forged_stack_write(&fixture->stack, context + fixture->layout.execution_stack_words,
			   3 * 56 / 8);
	walk(fixture);
	assert_sound(fixture, 2);
}

FIXTURE_TEST(stack_is_torn_if_execution_context_is_unreadable)
{
	struct fixture *fixture = *state;
	uint32_t *members[] = { &fixture->layout.execution_stack,
				&fixture->layout.execution_stack_words,
				&fixture->layout.execution_frame };

	push_many(fixture, 3);
	for (size_t i = 0; i < 3; i++) {
		uint32_t before = *members[i];

		*members[i] = RUBY_LAYOUT_UNKNOWN;
		assert_torn(fixture);
		assert_int_equal(fixture->stack.reads, 0);
		*members[i] = before;
	}
	/* Each of the three words is asked for. */
	for (uint32_t i = 0; i < 3; i++) {
		fixture->stack.hole = forged_stack_at(FORGED_STACK_CONTEXT) + 8 * i;
		if (i < 2)
			fixture->stack.hole -= FORGED_STACK_PAGE - 8;
		assert_torn(fixture);
	}
	fixture->stack.hole = 0;
	walk(fixture);
	fixture->walk.execution_context = 0;
	ruby_frames_walk(&fixture->walk);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_TORN);
	fixture->walk.execution_context = forged_stack_at(FORGED_STACK_CONTEXT) + 1;
	ruby_frames_walk(&fixture->walk);
	assert_int_equal(fixture->frames.flags, RUBY_FRAMES_TORN);
}

FIXTURE_TEST(layout_that_cannot_be_walked_is_rejected)
{
	struct fixture *fixture = *state;
	const struct ruby_stack_layout sane = forged_stack_layout(56, YJIT);
	uint32_t *members[] = { &fixture->layout.frame_pc, &fixture->layout.frame_iseq,
				&fixture->layout.frame_ep, &fixture->layout.frame_jit_return };
	static const uint32_t sizes[] = { 0, 55, 60, 136, 4096, RUBY_LAYOUT_UNKNOWN };

	push_many(fixture, 3);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fixture->layout.frame_bytes = sizes[i];
		assert_torn(fixture);
	}
	for (size_t i = 0; i < 4; i++) {
		static const uint32_t offsets[] = { 4, 56, 64, UINT32_MAX - 7 };

		for (size_t k = 0; k < 4; k++) {
			fixture->layout = sane;
			*members[i] = offsets[k];
			assert_torn(fixture);
		}
		fixture->layout = sane;
		*members[i] = RUBY_LAYOUT_UNKNOWN;
		/* Older ones have no compiled code. */
		if (i == 3) {
			walk(fixture);
			assert_sound(fixture, 3);
		} else {
			assert_torn(fixture);
		}
	}
	fixture->layout = sane;
	fixture->layout.execution_stack = RUBY_LAYOUT_OFFSET_MAX;
	fixture->layout.execution_stack_words = RUBY_LAYOUT_OFFSET_MAX;
	fixture->layout.execution_frame = RUBY_LAYOUT_OFFSET_MAX;
	assert_true(ruby_frames_layout_is_sane(&fixture->layout));
	fixture->layout = sane;
	fixture->layout.frame_pc = 48;
	fixture->layout.frame_jit_return = RUBY_LAYOUT_UNKNOWN;
	assert_true(ruby_frames_layout_is_sane(&fixture->layout));
}

FIXTURE_TEST(frame_with_invalid_iseq_address_is_unreadable)
{
	struct fixture *fixture = *state;
	static const uint64_t addresses[] = { 3, 8, 0xfff8, 1ULL << 56, UINT64_MAX - 7 };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		forged_stack_init(&fixture->stack, &fixture->layout);
		forged_stack_push_ruby(&fixture->stack, 1, 0);
		forged_stack_push(&fixture->stack,
				  &(struct ruby_control_frame){ .pc = 8, .iseq = addresses[i] });
		forged_stack_push_ruby(&fixture->stack, 2, 0);
		walk(fixture);
		assert_int_equal(fixture->frames.count, 3);
		assert_frame(fixture, 1, RUBY_FRAME_UNREADABLE, 0);
		assert_ruby(fixture, 0, 2);
		assert_ruby(fixture, 2, 1);
		assert_int_equal(fixture->frames.unreadable, 1);
		assert_int_equal(fixture->frames.flags, 0);
	}
}

static void assert_gap(struct fixture *fixture, uint32_t frame_bytes)
{
	uint32_t lost = 0;

	fixture->layout = forged_stack_layout(frame_bytes, YJIT);
	forged_stack_init(&fixture->stack, &fixture->layout);
	push_many(fixture, 300);
	/* Behind the first piece. */
	fixture->stack.hole = (fixture->stack.frame + 2 * FORGED_STACK_PAGE - 1) &
			      ~(uint64_t)(FORGED_STACK_PAGE - 1);
	walk(fixture);
	for (uint32_t number = 0; number < 300; number++) {
		uint64_t at = fixture->stack.frame + (uint64_t)number * frame_bytes;

		if (at + frame_bytes > fixture->stack.hole &&
		    at < fixture->stack.hole + FORGED_STACK_PAGE) {
			if (lost++ == 0)
				assert_frame(fixture, number, RUBY_FRAME_UNREADABLE, 0);
			continue;
		}
		assert_ruby(fixture, lost ? number - lost + 1 : number, 299 - number);
	}
	assert_in_range(lost, FORGED_STACK_PAGE / frame_bytes, FORGED_STACK_PAGE / frame_bytes + 2);
	assert_int_equal(fixture->frames.count, 300 - lost + 1);
	assert_int_equal(fixture->frames.unreadable, lost);
	assert_int_equal(fixture->frames.flags, 0);
	/* The context, a piece, another one in vain, and then one frame at a time. */
	assert_int_equal(fixture->stack.reads, 3 + 2 + 300 - 4096 / frame_bytes);
}

FIXTURE_TEST(frames_on_missing_page_become_one_unreadable_frame)
{
	assert_gap(*state, 56);
	assert_gap(*state, 64);
	assert_gap(*state, RUBY_FRAMES_FRAME_BYTES_MAX);
}

/* ---- a collection ---- */

FIXTURE_TEST(gc_frame_is_added_above_frame_during_collection)
{
	struct fixture *fixture = *state;
	uint64_t hash;

	push_many(fixture, 2);
	fixture->layout.gc_flags_address = forged_stack_at(FORGED_STACK_GC_FLAGS);
	fixture->layout.gc_flags_mask = 0x20;
	fixture->stack.bytes[FORGED_STACK_GC_FLAGS] = 0xdf;
	fixture->stack.bytes[FORGED_STACK_GC_FLAGS + 1] = 0xff;
	walk(fixture);
	assert_sound(fixture, 2);
	hash = fixture->frames.hash;
	fixture->stack.bytes[FORGED_STACK_GC_FLAGS] = 0x20;
	walk(fixture);
	assert_sound(fixture, 3);
	assert_frame(fixture, 0, RUBY_FRAME_GC, 0);
	assert_ruby(fixture, 1, 1);
	assert_true(fixture->frames.hash != hash);
	/* Where it is not known, and where it cannot be read. */
	fixture->layout.gc_flags_address = 0;
	walk(fixture);
	assert_sound(fixture, 2);
	assert_int_equal(fixture->stack.reads, 4);
	fixture->layout.gc_flags_address = FORGED_STACK_BASE - 1;
	walk(fixture);
	assert_sound(fixture, 2);
}

/* ---- compiled code ---- */

struct code {
	uint64_t iseq;
	uint64_t start;
};

/* An iseq with a body and so many words of code. */
static struct code new_code(struct fixture *fixture)
{
	uint64_t body[] = { (uint64_t)CODE_WORDS << 32 | RUBY_ISEQ_METHOD, 0 };
	uint64_t iseq[] = { RUBY_TYPE_IMEMO | RUBY_IMEMO_ISEQ << RUBY_IMEMO_SHIFT, 0, 0 };
	struct code code = { .start = fixture->stack.heap + 0x100 };

	body[1] = code.start;
	iseq[2] = forged_stack_heap(&fixture->stack, body, 2);
	code.iseq = forged_stack_heap(&fixture->stack, iseq, 3);
	return code;
}

static void push_compiled(struct fixture *fixture, struct code code, uint64_t pc)
{
	const struct ruby_control_frame frame = { .pc = pc,
						  .iseq = code.iseq,
						  .ep = forged_stack_environment(&fixture->stack, 0,
										 0, 0x11110003),
						  .jit_return = FORGED_COMPILED_CODE };

	forged_stack_push(&fixture->stack, &frame);
}

FIXTURE_TEST(compiled_frame_keeps_pc_only_inside_its_iseq)
{
	struct fixture *fixture = *state;
	struct code code = new_code(fixture);
	const struct {
		uint64_t pc;
		uint64_t expected;
	} cases[] = {
		{ code.start + 16, code.start + 16 },
		{ code.start, code.start },
		{ code.start + 8 * CODE_WORDS, code.start + 8 * CODE_WORDS },
		{ code.start + 8 * CODE_WORDS + 1, 0 },
		{ code.start - 1, 0 },
		{ 0, 0 },
		{ UINT64_MAX, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		push_compiled(fixture, code, cases[i].pc);
		walk(fixture);
		assert_sound(fixture, i + 1);
		assert_frame(fixture, 0, RUBY_FRAME_COMPILED, code.iseq);
		assert_int_equal(fixture->frames.frames[0].pc, cases[i].expected);
		/* Below it is a frame that has called another one. */
		if (i == 0)
			continue;
		assert_frame(fixture, 1, RUBY_FRAME_RUBY, code.iseq);
		assert_int_equal(fixture->frames.frames[1].pc, cases[i - 1].pc);
		assert_int_equal(fixture->frames.frames[1].method, fixture->stack.sp - 32 - 16);
	}
}

FIXTURE_TEST(compiled_frame_in_or_below_c_is_ordinary)
{
	struct fixture *fixture = *state;
	struct code code = new_code(fixture);
	uint64_t method = new_method(fixture);
	struct ruby_control_frame frame = { .jit_return = FORGED_COMPILED_CODE };

	push_compiled(fixture, code, code.start + 8);
	frame.ep = forged_stack_environment(&fixture->stack, method, 0, 0x55550083);
	forged_stack_push(&fixture->stack, &frame);
	walk(fixture);
	assert_sound(fixture, 2);
	assert_frame(fixture, 0, RUBY_FRAME_C, method);
	assert_frame(fixture, 1, RUBY_FRAME_RUBY, code.iseq);
}

FIXTURE_TEST(compiled_frame_of_unreadable_iseq_has_no_pc)
{
	struct fixture *fixture = *state;
	struct code code = new_code(fixture);
	uint64_t body = code.iseq - 16;

	push_compiled(fixture, code, code.start + 8);
	/* The iseq's pointer to its body; then what it points at: the size is in the first word. */
	for (uint32_t i = 0; i < 3; i++) {
		forged_stack_write(&fixture->stack, code.iseq + 0x10,
				   i == 0   ? UINT64_MAX
				   : i == 1 ? FORGED_STACK_BASE + FORGED_STACK_BYTES - 12
					    : body);
		fixture->stack.hole = i < 2 ? 0 : body - FORGED_STACK_PAGE + 8;
		walk(fixture);
		assert_int_equal(fixture->frames.count, 1);
		assert_frame(fixture, 0, RUBY_FRAME_COMPILED, code.iseq);
		assert_int_equal(fixture->frames.frames[0].pc, 0);
		assert_int_equal(fixture->frames.unreadable, 1);
	}
}

/* ZJIT: what the frame itself says is of another iseq. */
static void push_zjit(struct fixture *fixture, uint64_t jit_return, uint64_t jit_frame)
{
	const struct ruby_control_frame frame = { .pc = 8,
						  .iseq = forged_stack_iseq(77),
						  .jit_return = jit_return };

	forged_stack_write(&fixture->stack, jit_return - 8, jit_frame);
	forged_stack_push(&fixture->stack, &frame);
}

FIXTURE_TEST(zjit_frame_is_read_from_native_stack)
{
	struct fixture *fixture = *state;
	struct code inner = new_code(fixture), outer = new_code(fixture);
	const uint64_t inner_words[] = { inner.start + 8, inner.iseq };
	const uint64_t outer_words[] = { outer.start + 24, outer.iseq };
	uint64_t inner_frame = forged_stack_heap(&fixture->stack, inner_words, 2);
	uint64_t outer_frame = forged_stack_heap(&fixture->stack, outer_words, 2);

	push_zjit(fixture, FORGED_STACK_POINTER + 0x100, outer_frame);
	push_zjit(fixture, FORGED_STACK_POINTER, inner_frame);
	walk(fixture);
	assert_sound(fixture, 2);
	assert_frame(fixture, 0, RUBY_FRAME_COMPILED, inner.iseq);
	assert_int_equal(fixture->frames.frames[0].pc, inner.start + 8);
	assert_frame(fixture, 1, RUBY_FRAME_RUBY, outer.iseq);
	assert_int_equal(fixture->frames.frames[1].pc, outer.start + 24);
}

FIXTURE_TEST(zjit_marked_c_frame_is_a_c_frame)
{
	struct fixture *fixture = *state;
	uint64_t method = new_method(fixture);
	struct ruby_control_frame frame = { .pc = 8, .iseq = forged_stack_iseq(77) };

	frame.ep = forged_stack_environment(&fixture->stack, method, 0, 0x55550083);
	frame.jit_return = 1;
	forged_stack_push(&fixture->stack, &frame);
	walk(fixture);
	assert_sound(fixture, 1);
	assert_frame(fixture, 0, RUBY_FRAME_C, method);
}

static void assert_unreadable_zjit(struct fixture *fixture, uint64_t jit_return, uint64_t jit_frame)
{
	uint32_t count;

	forged_stack_push_c(&fixture->stack, 0x10000);
	push_zjit(fixture, jit_return, jit_frame);
	walk(fixture);
	count = fixture->frames.count;
	assert_frame(fixture, 0, RUBY_FRAME_UNREADABLE, 0);
	assert_frame(fixture, 1, RUBY_FRAME_C, 0x10000);
	assert_int_equal(fixture->frames.unreadable, (count + 1) / 2);
}

FIXTURE_TEST(zjit_frame_with_invalid_address_is_unreadable)
{
	struct fixture *fixture = *state;
	struct code code = new_code(fixture);
	const uint64_t words[] = { code.start, code.iseq };
	uint64_t jit_frame = forged_stack_heap(&fixture->stack, words, 2);

	assert_unreadable_zjit(fixture, FORGED_STACK_POINTER + 0x204, jit_frame);
	assert_unreadable_zjit(fixture, FORGED_STACK_POINTER + 0x300, 0);
	assert_unreadable_zjit(fixture, FORGED_STACK_POINTER + 0x400, jit_frame + 4);
	assert_unreadable_zjit(fixture, FORGED_STACK_POINTER + 0x500, FORGED_STACK_BASE - 64);
}

FIXTURE_TEST(native_stack_extends_upward_from_stack_pointer)
{
	struct fixture *fixture = *state;
	struct code code = new_code(fixture);
	uint64_t pc = code.start + 8;
	struct ruby_control_frame frame = { .pc = pc, .iseq = code.iseq };
	static const struct {
		int64_t distance;
		uint32_t kind;
	} cases[] = {
		{ -8, RUBY_FRAME_COMPILED },
		{ RUBY_FRAMES_NATIVE_STACK_BYTES, RUBY_FRAME_COMPILED },
		/* There is nothing to be read. */
		{ RUBY_FRAMES_NATIVE_STACK_BYTES - 8, RUBY_FRAME_UNREADABLE },
	};

	for (size_t i = 0; i < 3; i++) {
		forged_stack_init(&fixture->stack, &fixture->layout);
		code = new_code(fixture);
		frame.iseq = code.iseq;
		frame.jit_return = FORGED_STACK_POINTER + (uint64_t)cases[i].distance;
		forged_stack_push(&fixture->stack, &frame);
		walk(fixture);
		assert_int_equal(fixture->frames.count, 1);
		assert_int_equal(ruby_frame_kind(&fixture->frames.frames[0]), cases[i].kind);
	}
}

FIXTURE_TEST(compiled_frame_without_stack_pointer_is_unreadable)
{
	struct fixture *fixture = *state;

	forged_stack_push_ruby(&fixture->stack, 5, 0);
	push_compiled(fixture, new_code(fixture), 8);
	push_compiled(fixture, new_code(fixture), 8);
	walk(fixture);
	fixture->walk.stack_pointer = 0;
	ruby_frames_walk(&fixture->walk);
	assert_int_equal(fixture->frames.count, 2);
	assert_frame(fixture, 0, RUBY_FRAME_UNREADABLE, 0);
	assert_int_equal(fixture->frames.unreadable, 2);
	assert_ruby(fixture, 1, 5);
}

/* ---- the hash ---- */

static uint64_t hash_of(struct fixture *fixture)
{
	walk(fixture);
	return fixture->frames.hash;
}

FIXTURE_TEST(frames_hash_covers_all_that_distinguishes_stacks)
{
	struct fixture *fixture = *state;
	uint64_t hashes[8];
	size_t count = 0;
	uint64_t method;

	hashes[count++] = hash_of(fixture);
	forged_stack_push_ruby(&fixture->stack, 1, 0);
	hashes[count++] = hash_of(fixture);
	forged_stack_push_ruby(&fixture->stack, 2, 0);
	hashes[count++] = hash_of(fixture);
	assert_int_equal(hash_of(fixture), hashes[2]);
	/* The pc alone. */
	forged_stack_write(&fixture->stack, fixture->stack.frame, 0x123450);
	hashes[count++] = hash_of(fixture);
	/* The other order. */
	forged_stack_init(&fixture->stack, &fixture->layout);
	forged_stack_push_ruby(&fixture->stack, 2, 0);
	forged_stack_push_ruby(&fixture->stack, 1, 0);
	hashes[count++] = hash_of(fixture);
	/* The method of a C function, and not that of a Ruby frame. */
	method = new_method(fixture);
	forged_stack_push_c(&fixture->stack, method);
	hashes[count++] = hash_of(fixture);
	forged_stack_write(&fixture->stack, fixture->stack.sp - 32, new_method(fixture));
	hashes[count++] = hash_of(fixture);
	forged_stack_write(&fixture->stack, fixture->stack.sp - 64, method);
	assert_int_equal(hash_of(fixture), hashes[count - 1]);
	/* Whose key it is. */
	fixture->key.words[1]++;
	hashes[count++] = hash_of(fixture);
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			assert_true(hashes[i] != hashes[k]);
}
