/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack of a Ruby that does not exist: one block of memory with an execution context, a VM
 * stack whose frames grow downwards from its end, their environments, and what these point at. The
 * walk reads it through forged_stack_read(); a page can be missing. Included once, instead of
 * ruby_frames.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "recorder/target/ruby_layouts.h"

#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address) \
	forged_stack_read((walk)->reader, address, buffer, size_bytes)

#define FORGED_STACK_BASE UINT64_C(0x7f5500000000)
/* Where native stack and compiled code would be: nothing is there to be read. */
#define FORGED_STACK_POINTER (FORGED_STACK_BASE + FORGED_STACK_NATIVE)
#define FORGED_COMPILED_CODE UINT64_C(0x7f1100000123)

enum {
	FORGED_STACK_BYTES = 1 << 20,
	FORGED_STACK_CONTEXT = 0x100,
	FORGED_STACK_GC_FLAGS = 0x200,
	FORGED_STACK_METHOD = 0x300, /* a method entry that no frame has */
	FORGED_STACK_METHOD_FLAGS = 0x601a,
	FORGED_STACK_VM = 0x1000, /* the VM stack: environments from here on */
	FORGED_STACK_VM_WORDS = 65536,
	FORGED_STACK_VM_END = FORGED_STACK_VM + 8 * FORGED_STACK_VM_WORDS,
	FORGED_STACK_HEAP = FORGED_STACK_VM_END + 0x1000,
	FORGED_STACK_NATIVE = 0xf0000,
	FORGED_STACK_PAGE = 4096,
};

struct forged_stack {
	uint8_t bytes[FORGED_STACK_BYTES];
	uint64_t hole; /* address of a page that is not there; 0 = none */
	uint32_t reads;
	uint64_t frame; /* of the innermost */
	uint64_t sp; /* where the next environment goes */
	uint64_t heap;
	struct ruby_stack_layout *layout; /* of the test's, which can change it */
};

static inline bool forged_stack_is_there(const struct forged_stack *stack, uint64_t address,
					 uint32_t size_bytes)
{
	uint64_t offset = address - FORGED_STACK_BASE;

	if (offset > FORGED_STACK_BYTES || size_bytes > FORGED_STACK_BYTES - offset)
		return false;
	if (stack->hole && address < stack->hole + FORGED_STACK_PAGE &&
	    address + size_bytes > stack->hole)
		return false;
	/* Behind the VM stack there is nothing. */
	return offset + size_bytes <= FORGED_STACK_VM_END || offset >= FORGED_STACK_HEAP;
}

/* What a read that fails leaves looks like what is looked for: an environment, or an imemo. */
static inline int forged_stack_read(const void *reader, uint64_t address, void *buffer,
				    uint32_t size_bytes)
{
	struct forged_stack *stack = (struct forged_stack *)(uintptr_t)reader;
	const uint64_t environment[] = { FORGED_STACK_BASE + FORGED_STACK_METHOD, 0,
					 RUBY_FRAME_IS_LOCAL };
	const uint64_t method[] = { FORGED_STACK_METHOD_FLAGS, 0 };

	stack->reads++;
	if (forged_stack_is_there(stack, address, size_bytes)) {
		memcpy(buffer, stack->bytes + (address - FORGED_STACK_BASE), size_bytes);
		return 0;
	}
	if (size_bytes == sizeof(environment))
		memcpy(buffer, environment, sizeof(environment));
	else if (size_bytes == sizeof(method))
		memcpy(buffer, method, sizeof(method));
	return -1;
}

#include <correlator/ruby_frames.h>

static inline uint64_t forged_stack_at(uint64_t offset)
{
	return FORGED_STACK_BASE + offset;
}

static inline void forged_stack_write(struct forged_stack *stack, uint64_t address, uint64_t word)
{
	memcpy(stack->bytes + (address - FORGED_STACK_BASE), &word, sizeof(word));
}

static inline uint64_t forged_stack_heap(struct forged_stack *stack, const uint64_t *words,
					 size_t count)
{
	uint64_t address = stack->heap;

	for (size_t i = 0; i < count; i++)
		forged_stack_write(stack, address + 8 * i, words[i]);
	stack->heap += (8 * count + 15) & ~(size_t)15;
	return address;
}

/* An environment's three words on the VM stack; returns its ep. */
static inline uint64_t forged_stack_environment(struct forged_stack *stack, uint64_t method,
						uint64_t previous, uint64_t flags)
{
	uint64_t ep = stack->sp + 16;

	forged_stack_write(stack, ep - 16, method);
	forged_stack_write(stack, ep - 8, previous);
	forged_stack_write(stack, ep, flags);
	stack->sp += 32;
	return ep;
}

static inline uint64_t forged_stack_imemo(struct forged_stack *stack, uint32_t type, uint64_t word)
{
	const uint64_t words[] = { RUBY_TYPE_IMEMO | (uint64_t)type << RUBY_IMEMO_SHIFT, word };

	return forged_stack_heap(stack, words, 2);
}

/* Pushes a frame, with the members as they are given. Returns its address. */
static inline uint64_t forged_stack_push(struct forged_stack *stack,
					 const struct ruby_control_frame *frame)
{
	const struct ruby_stack_layout *layout = stack->layout;

	stack->frame -= layout->frame_bytes;
	/* What Ruby has in the others means nothing to the walk. */
	for (uint32_t offset = 0; offset < layout->frame_bytes; offset += 8)
		forged_stack_write(stack, stack->frame + offset, FORGED_STACK_BASE + 0x18);
	forged_stack_write(stack, stack->frame + layout->frame_pc, frame->pc);
	forged_stack_write(stack, stack->frame + layout->frame_iseq, frame->iseq);
	forged_stack_write(stack, stack->frame + layout->frame_ep, frame->ep);
	if (layout->frame_jit_return != RUBY_LAYOUT_UNKNOWN)
		forged_stack_write(stack, stack->frame + layout->frame_jit_return,
				   frame->jit_return);
	forged_stack_write(stack, forged_stack_at(FORGED_STACK_CONTEXT) + layout->execution_frame,
			   stack->frame);
	return stack->frame;
}

/* The iseq number so: an address that is only its own, with nothing to read at it. */
static inline uint64_t forged_stack_iseq(uint32_t number)
{
	return FORGED_STACK_BASE + 0x100000000 + 64ULL * number;
}

static inline void forged_stack_push_ruby(struct forged_stack *stack, uint32_t number,
					  uint64_t method)
{
	const struct ruby_control_frame frame = {
		.pc = forged_stack_iseq(number) + 0x800000000,
		.iseq = forged_stack_iseq(number),
		.ep = forged_stack_environment(stack, method, 0, 0x11110001 | RUBY_FRAME_IS_LOCAL)
	};

	forged_stack_push(stack, &frame);
}

static inline void forged_stack_push_c(struct forged_stack *stack, uint64_t method)
{
	const struct ruby_control_frame frame = {
		.ep = forged_stack_environment(stack, method, 0,
					       0x55550001 | RUBY_FRAME_IS_C | RUBY_FRAME_IS_LOCAL)
	};

	forged_stack_push(stack, &frame);
}

/* With the dummy frame that each stack begins with. */
static inline void forged_stack_init(struct forged_stack *stack, struct ruby_stack_layout *layout)
{
	const struct ruby_control_frame dummy = { .iseq = forged_stack_iseq(0xdead) };
	uint64_t context = forged_stack_at(FORGED_STACK_CONTEXT);

	memset(stack, 0, sizeof(*stack));
	stack->layout = layout;
	stack->frame = forged_stack_at(FORGED_STACK_VM_END);
	stack->sp = forged_stack_at(FORGED_STACK_VM);
	stack->heap = forged_stack_at(FORGED_STACK_HEAP);
	forged_stack_write(stack, context + layout->execution_stack,
			   forged_stack_at(FORGED_STACK_VM));
	forged_stack_write(stack, context + layout->execution_stack_words, FORGED_STACK_VM_WORDS);
	forged_stack_push(stack, &dummy);
	forged_stack_write(stack, forged_stack_at(FORGED_STACK_METHOD), FORGED_STACK_METHOD_FLAGS);
}

/* As Ruby 3.1 has it, and with the frames of others. */
static inline struct ruby_stack_layout forged_stack_layout(uint32_t frame_bytes,
							   uint32_t jit_return)
{
	struct ruby_stack_layout layout = layout_3_1;

	layout.frame_bytes = frame_bytes;
	layout.frame_jit_return = jit_return;
	return layout;
}
