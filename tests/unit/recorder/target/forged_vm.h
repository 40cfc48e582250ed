/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Ruby's VM, main thread and frames in forged memory, with its members at offsets that no Ruby
 * has: what finds them finds them by meaning. Outermost first: the program, a method, a block in
 * it, a C function.
 */
#pragma once

#include "recorder/target/forged_memory.h"
#include "recorder/target/ruby/ruby_behaviour.h"

enum {
	/* In words. */
	STACK_VM_THREAD = 37,
	STACK_THREAD_VM = 5,
	STACK_THREAD_SELF = 3,
	STACK_THREAD_EXECUTION = 9,
	STACK_THREAD_NATIVE = 11,
	STACK_EXECUTION_STACK = 2,
	STACK_EXECUTION_THREAD = 7,
	STACK_FRAME_PC = 1,
	STACK_FRAME_ISEQ = 3,
	STACK_FRAME_BLOCK = 0, /* an iseq or 0, as block_code */
	STACK_FRAME_EP = 5,
	STACK_FRAME_JIT = 7,
	STACK_FRAME_WORDS = 8,
	STACK_ISEQ_BODY = 4,
	STACK_BODY_TYPE = 3, /* half words */
	STACK_BODY_SIZE = 2,
	STACK_BODY_CODE = 2,
	STACK_BODY_LOCATION = 11,
	STACK_BODY_LINES = 17,
	STACK_BODY_LOCAL = 25,
	STACK_METHOD_CLASS = 2,
	STACK_METHOD_DEFINITION = 1,
	STACK_METHOD_CALLED = 4,
	STACK_DEFINITION_ID = 5,
	STACK_CLASS_PATH = 15,
	STACK_CLASS_ATTACHED = 12,
	STACK_SINGLETON = 1 << 14,
	STACK_WORDS = 1024,
	STACK_CODE_WORDS = 20,
	STACK_FRAMES = 4,
	STACK_ISEQS = 3,
};

struct forged_vm {
	struct forged_memory memory;
	struct memory_reader reader;
	struct ruby_behaviour_hints hints;
	struct ruby_data_range range;
	uint64_t vm_pointer, vm, thread, execution, native, stack;
	uint64_t frames[STACK_FRAMES]; /* outermost first */
	uint64_t iseqs[STACK_ISEQS];
	uint64_t bodies[STACK_ISEQS];
	uint64_t entry, definition;
	uint64_t classes[3];
};

static inline void forged_set(struct forged_vm *forged, uint64_t object, size_t word,
			      uint64_t value)
{
	forged_write_u64(&forged->memory, object + 8 * word, value);
}

static inline uint64_t forged_object(struct forged_vm *forged, uint64_t flags, size_t words)
{
	uint64_t object = forged_take(&forged->memory, 8 * words);

	forged_set(forged, object, 0, flags);
	return object;
}

static inline uint64_t forged_text(struct forged_vm *forged, const char *text)
{
	uint64_t object = forged_object(forged, 0x05, 16);

	forged_set(forged, object, 2, strlen(text));
	forged_write(&forged->memory, object + 24, text, strlen(text));
	return object;
}

/* A T_DATA that wraps a C structure. */
static inline uint64_t forged_data(struct forged_vm *forged, uint64_t wrapped)
{
	uint64_t object = forged_object(forged, 0x0c, 8);

	forged_set(forged, object, 3, 1);
	forged_set(forged, object, 4, wrapped);
	return object;
}

static inline void forged_half(struct forged_vm *forged, uint64_t object, size_t half,
			       uint32_t value)
{
	forged_write(&forged->memory, object + 4 * half, &value, sizeof(value));
}

static inline void forge_iseq(struct forged_vm *forged, size_t i, uint32_t type, const char *label,
			      const char *base_label, uint32_t line)
{
	const uint32_t lines[] = { line + 1, 5, 1, line + 2, UINT32_MAX, 0x10 };
	uint64_t iseq = forged_object(forged, 7 << 12 | 0x1a, 5);
	uint64_t body = forged_take(&forged->memory, 256), table;

	forged->iseqs[i] = iseq;
	forged->bodies[i] = body;
	forged_set(forged, iseq, STACK_ISEQ_BODY, body);
	forged_half(forged, body, STACK_BODY_SIZE, STACK_CODE_WORDS);
	forged_half(forged, body, STACK_BODY_TYPE, type);
	forged_set(forged, body, STACK_BODY_CODE,
		   forged_take(&forged->memory, 8 * STACK_CODE_WORDS));
	forged_set(forged, body, STACK_BODY_LOCATION, forged_text(forged, "/srv/a.rb"));
	forged_set(forged, body, STACK_BODY_LOCATION + 1, forged_text(forged, base_label));
	forged_set(forged, body, STACK_BODY_LOCATION + 2, forged_text(forged, label));
	forged_half(forged, body, 2 * (STACK_BODY_LOCATION + 3), line);
	table = forged_take(&forged->memory, sizeof(lines));
	forged_write(&forged->memory, table, lines, sizeof(lines));
	forged_set(forged, body, STACK_BODY_LINES, table);
	forged_set(forged, body, STACK_BODY_LINES + 2, 2);
	forged_set(forged, body, STACK_BODY_LINES + 3, forged_take(&forged->memory, 128));
	/* A block's is the method around it. */
	forged_set(forged, body, STACK_BODY_LOCAL, i == 2 ? forged->iseqs[1] : iseq);
}

/* Where the environment of frame i is, outermost first. */
static inline uint64_t forged_ep(const struct forged_vm *forged, size_t i)
{
	return forged->stack + 64 + 32 * i;
}

/* One that runs nothing of Ruby's, and is the innermost. Returns its address. */
static inline uint64_t forge_plain_frame(struct forged_vm *forged, size_t i, uint64_t flags,
					 uint64_t entry)
{
	uint64_t frame = forged->stack + 8 * STACK_WORDS - (i + 2) * 8 * STACK_FRAME_WORDS;
	uint64_t ep = forged_ep(forged, i);

	forged_set(forged, ep - 16, 0, entry);
	forged_set(forged, ep, 0, flags);
	forged_set(forged, frame, STACK_FRAME_EP, ep);
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 2, frame);
	return frame;
}

/* Makes it run the code of a body, at a word of it. */
static inline void forged_run(struct forged_vm *forged, uint64_t frame, uint64_t iseq,
			      uint64_t body, size_t word)
{
	uint64_t code;

	memcpy(&code, forged->memory.bytes + (body - FORGED_BASE) + 8 * STACK_BODY_CODE, 8);
	forged_set(forged, frame, STACK_FRAME_ISEQ, iseq);
	forged_set(forged, frame, STACK_FRAME_PC, code + 8 * word);
}

static inline void forge_frame(struct forged_vm *forged, size_t i, uint64_t flags, uint64_t entry)
{
	forged->frames[i] = forge_plain_frame(forged, i, flags, entry);
	if (i < STACK_ISEQS)
		forged_run(forged, forged->frames[i], forged->iseqs[i], forged->bodies[i], i + 3);
}

static inline void forge_classes(struct forged_vm *forged)
{
	static const char *const names[] = { "String", "Array", "Hash" };

	for (size_t i = 0; i < 3; i++) {
		uint64_t class = forged_object(forged, 0x02 | 1 << 13, 20);
		uint64_t singleton = forged_object(forged, 0x02 | 1 << 13 | STACK_SINGLETON, 20);

		forged_set(forged, class, 1, singleton);
		forged_set(forged, class, STACK_CLASS_PATH, forged_text(forged, names[i]));
		forged_set(forged, singleton, STACK_CLASS_ATTACHED, class);
		forged->classes[i] = class;
		forged->hints.classes[i] = forged_words(&forged->memory, &class, 1);
	}
}

static inline void forge_method(struct forged_vm *forged)
{
	forged->entry = forged_object(forged, 6 << 12 | 0x1a, 5);
	forged->definition = forged_take(&forged->memory, 64);
	forged_set(forged, forged->entry, STACK_METHOD_CLASS, forged->classes[1]);
	forged_set(forged, forged->entry, STACK_METHOD_DEFINITION, forged->definition);
	forged_set(forged, forged->entry, STACK_METHOD_CALLED, 0xd581);
	forged_set(forged, forged->definition, 0, 0x4321);
	forged_set(forged, forged->definition, STACK_DEFINITION_ID, 0xd581);
}

static inline void forge_threads(struct forged_vm *forged)
{
	forged->vm = forged_take(&forged->memory, 8 * 512);
	forged->thread = forged_take(&forged->memory, 8 * 96);
	forged->execution = forged_take(&forged->memory, 8 * 24);
	forged->native = forged_take(&forged->memory, 64);
	forged->stack = forged_take(&forged->memory, 8 * STACK_WORDS);
	forged_set(forged, forged->vm, 0, forged_data(forged, forged->vm));
	forged_set(forged, forged->vm, STACK_VM_THREAD, forged->thread);
	forged_set(forged, forged->thread, STACK_THREAD_VM, forged->vm);
	forged_set(forged, forged->thread, STACK_THREAD_SELF, forged_data(forged, forged->thread));
	forged_set(forged, forged->thread, STACK_THREAD_EXECUTION, forged->execution);
	forged_set(forged, forged->thread, STACK_THREAD_NATIVE, forged->native);
	forged_set(forged, forged->native, 0, forged->native);
	forged_set(forged, forged->native, 2, forged->native);
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK, forged->stack);
	forged_set(forged, forged->execution, STACK_EXECUTION_STACK + 1, STACK_WORDS);
	forged_set(forged, forged->execution, STACK_EXECUTION_THREAD, forged->thread);
}

/* To be freed with free(). */
static inline struct forged_vm *forge_vm(void)
{
	struct forged_vm *forged = calloc(1, sizeof(*forged));

	if (!forged)
		abort();
	forged->reader = forged_reader(&forged->memory);
	forged->hints.string_layout = STRING_LAYOUT_LONG;
	forge_classes(forged);
	forge_method(forged);
	forge_threads(forged);
	forge_iseq(forged, 0, 7, "<main>", "<main>", 0);
	forge_iseq(forged, 1, 1, "each", "each", 10);
	forge_iseq(forged, 2, 2, "block in each", "each", 12);
	forge_frame(forged, 0, 0x77770021, 0);
	forge_frame(forged, 1, 0x11110003, forged->entry);
	forge_frame(forged, 2, 0x22220021, 0);
	forge_frame(forged, 3, 0x55550083, forged->entry);
	forged_set(forged, forged->frames[1], STACK_FRAME_BLOCK, forged->iseqs[2]);
	forged->range.address = forged_take(&forged->memory, 1024);
	forged->range.size_bytes = 1024;
	forged->vm_pointer = forged->range.address + 8 * 70;
	forged_set(forged, forged->vm_pointer, 0, forged->vm);
	forged->hints.ranges = &forged->range;
	forged->hints.range_count = 1;
	return forged;
}
