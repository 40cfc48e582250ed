/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk over a Ruby's frames, over memory that changes between any two reads. First the layout,
 * the execution context's address and the stack pointer.
 */
#include <correlator/ruby_stack_layout.h>

#include "fuzz_memory.h"

#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address)                                \
	fuzz_memory_read((struct fuzz_memory *)(uintptr_t)(walk)->reader, address, buffer, \
			 size_bytes)

#include <correlator/ruby_frames.h>

enum {
	/* Of each step the frame in a piece and alone, and what it leads to: three words of an
	 * iseq, or environments, the first of them alone as well. */
	READS_PER_STEP = 2 + 2 + 1 + 3 + 3 * (RUBY_FRAMES_EPS_MAX + 1),
	READS_MAX = 4 + READS_PER_STEP * RUBY_FRAMES_STEPS_MAX,
};

static void take_layout(struct fuzz_input *input, struct ruby_stack_layout *layout)
{
	/* Small ones are mostly sane. */
	layout->frame_bytes = fuzz_take_u8(input);
	layout->frame_pc = fuzz_take_u8(input);
	layout->frame_iseq = fuzz_take_u8(input);
	layout->frame_ep = fuzz_take_u8(input);
	layout->frame_jit_return = fuzz_take_u8(input);
	if (layout->frame_jit_return == 0xff)
		layout->frame_jit_return = RUBY_LAYOUT_UNKNOWN;
	layout->execution_stack = fuzz_take_u8(input);
	layout->execution_stack_words = fuzz_take_u8(input);
	layout->execution_frame = fuzz_take_u8(input);
	layout->iseq_body = 0x10;
	layout->body_code_words = 4;
	layout->body_code = 8;
	layout->gc_flags_address = FUZZ_MEMORY_BASE;
	layout->gc_flags_mask = fuzz_take_u8(input);
}

static void require_sound(const struct ruby_frames *frames)
{
	FUZZ_REQUIRE(frames->count <= RUBY_FRAMES_MAX);
	FUZZ_REQUIRE(frames->hash >= CONTEXT_HASH_FIRST);
	FUZZ_REQUIRE((frames->flags & ~(RUBY_FRAMES_CUT | RUBY_FRAMES_TORN)) == 0);
	for (uint32_t i = 0; i < frames->count; i++) {
		const struct ruby_frame *frame = &frames->frames[i];
		uint32_t kind = ruby_frame_kind(frame);

		FUZZ_REQUIRE(kind > 0 && kind < _RUBY_FRAME_KIND_MAX);
		FUZZ_REQUIRE(kind != RUBY_FRAME_GC || i == 0);
		FUZZ_REQUIRE(kind != RUBY_FRAME_UNREADABLE || frames->unreadable > 0);
		FUZZ_REQUIRE(ruby_frame_is_ruby(frame) || frame->pc == 0);
		FUZZ_REQUIRE(ruby_frame_is_ruby(frame)
				     ? ruby_frames_pointer_is_sane(ruby_frame_object(frame))
				     : ruby_frame_object(frame) == 0 || kind == RUBY_FRAME_C);
		/* Those that follow each other are one. */
		FUZZ_REQUIRE(i == 0 || kind != RUBY_FRAME_UNREADABLE ||
			     ruby_frame_kind(frame - 1) != RUBY_FRAME_UNREADABLE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct ruby_frames frames;
	static const struct context_hash_key key = { { 1, 2 } };
	struct fuzz_input input = { data, size_bytes };
	struct ruby_stack_layout layout = { 0 };
	struct fuzz_memory memory;
	struct ruby_frames_walk walk = {
		.layout = &layout,
		.key = &key,
		.reader = &memory,
		.frames = &frames,
		.tells_block_methods = 1,
	};
	uint64_t hash;

	take_layout(&input, &layout);
	walk.execution_context = fuzz_take_u64(&input);
	walk.stack_pointer = fuzz_take_u64(&input);
	fuzz_memory_init(&memory, &input);
	memset(&frames, 0, sizeof(frames));
	ruby_frames_walk(&walk);
	FUZZ_REQUIRE(memory.reads <= READS_MAX);
	require_sound(&frames);
	ruby_frames_find_methods(&walk);
	require_sound(&frames);
	/* What an earlier walk has left is not seen. */
	hash = frames.hash;
	memset(&frames, 0xff, sizeof(frames));
	memory.reads = 0;
	ruby_frames_walk(&walk);
	FUZZ_REQUIRE(frames.hash == hash);
	return 0;
}
