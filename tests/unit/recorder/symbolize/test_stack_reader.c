/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/stack_reader.h"

#include "unit_test.h"

#include "recorder/symbolize/forged_code.h"
#include "recorder/target/ruby_layouts.h"

/* A frame of Ruby, of compiled code where jit_return is not 0, whose environment has a method. */
static uint64_t forge_stack(struct forged_ruby *ruby, uint64_t jit_return, uint64_t *ret_method)
{
	uint64_t method = forge_method(ruby, RUBY_DEFINITION_ISEQ, 0);
	const uint64_t environment[] = { method, 0, RUBY_FRAME_IS_LOCAL };
	const uint64_t frames[] = { 0x7f7700000008, 0, forge_iseq(ruby, "total", "total"), 0,
				    forged_words(&ruby->memory, environment, 3) + 16, 0, 0,
				    jit_return,
				    /* The dummy. */
				    0, 0, 0, 0, 0, 0, 0, 0 };
	uint64_t stack = forged_words(&ruby->memory, frames, 16);
	const uint64_t context[] = { stack, 16, stack };

	*ret_method = method;
	return forged_words(&ruby->memory, context, 3);
}

TEST(stack_reader_reads_frames_with_methods)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	static struct ruby_frames frames;
	uint64_t method, context = forge_stack(ruby, 0, &method);

	stack_reader_walk(&ruby->reader, &layout_3_1, context, 0, &frames);
	assert_int_equal(frames.count, 1);
	assert_int_equal(ruby_frame_kind(&frames.frames[0]), RUBY_FRAME_RUBY);
	assert_int_equal(frames.frames[0].pc, 0x7f7700000008);
	assert_int_equal(frames.frames[0].method, method);
	assert_int_equal(frames.unreadable, 0);
	free(ruby);
}

TEST(stack_reader_detects_compiled_code_by_stack_pointer)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	static struct ruby_frames frames;
	uint64_t method, context = forge_stack(ruby, 0x7f1100000123, &method);

	stack_reader_walk(&ruby->reader, &layout_3_1, context, 0, &frames);
	assert_int_equal(ruby_frame_kind(&frames.frames[0]), RUBY_FRAME_UNREADABLE);
	stack_reader_walk(&ruby->reader, &layout_3_1, context, 0x7ff000000000, &frames);
	assert_int_equal(ruby_frame_kind(&frames.frames[0]), RUBY_FRAME_COMPILED);
	free(ruby);
}
