/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_main_thread.h"

#include <errno.h>

#include "recorder/target/ruby/ruby_object.h"

enum {
	VM_WORDS = 512, /* of rb_vm_t that are inspected; it has 150 to 400 */
	THREAD_WORDS = 96, /* of rb_thread_t */
	NATIVE_WORDS = 24, /* of rb_native_thread, since 3.3 */
	EXECUTION_WORDS = 24, /* of rb_execution_context_t */
	STACK_WORDS_MIN = 256,
};

/* True if vm is the C structure of the object that it points to: vm->self. */
static bool is_vm(struct ruby_evidence *evidence, uint64_t vm)
{
	struct ruby_object object;
	uint64_t self, data;

	return ruby_evidence_read(evidence, vm, &self, 1) &&
	       ruby_object_read(&evidence->reader, self, &object) == 0 &&
	       ruby_object_data(&object, &data) == 0 && data == vm;
}

static bool try_vm_pointer(struct ruby_evidence *evidence, uint64_t address)
{
	uint64_t vm;

	if (!ruby_evidence_read(evidence, address, &vm, 1) || !is_vm(evidence, vm))
		return false;
	evidence->result->vm_pointer = address;
	evidence->result->vm = vm;
	return true;
}

/* Tries the hinted variable, then takes the first word of libruby's data that passes. */
static bool find_vm(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints)
{
	uint64_t words[64];

	if (hints->vm_pointer && try_vm_pointer(evidence, hints->vm_pointer))
		return true;
	for (size_t i = 0; i < hints->range_count; i++) {
		const struct ruby_data_range *range = &hints->ranges[i];

		for (uint64_t at = 0; at + sizeof(words) <= range->size_bytes;
		     at += sizeof(words)) {
			if (!ruby_evidence_read(evidence, range->address + at, words, 64))
				continue;
			for (size_t j = 0; j < 64; j++)
				if (is_vm(evidence, words[j]))
					return try_vm_pointer(evidence,
							      range->address + at + 8 * j);
		}
	}
	return false;
}

/* True for {stack, its size in words, frame in it}. */
static bool is_stack(const uint64_t *words)
{
	uint64_t stack = words[0], count = words[1], frame = words[2];

	return ruby_object_is_address(stack) && count >= STACK_WORDS_MIN &&
	       count <= RUBY_STACK_WORDS_MAX && ruby_object_is_address(frame) && frame > stack &&
	       frame < stack + 8 * count;
}

/* Takes address as the execution context of the thread, if it is one. */
static bool try_execution(struct ruby_evidence *evidence, uint64_t thread, uint64_t address,
			  struct ruby_vm_stack *ret_stack)
{
	uint64_t words[EXECUTION_WORDS];
	bool is_threads = false;

	if (!ruby_evidence_read(evidence, address, words, EXECUTION_WORDS))
		return false;
	for (size_t i = 0; i < EXECUTION_WORDS; i++)
		is_threads |= words[i] == thread;
	for (size_t i = 0; is_threads && i + 2 < EXECUTION_WORDS; i++) {
		if (!is_stack(words + i))
			continue;
		RUBY_EVIDENCE_ADD(evidence, execution_stack, 8 * i);
		RUBY_EVIDENCE_ADD(evidence, execution_stack_words, 8 * i + 8);
		RUBY_EVIDENCE_ADD(evidence, execution_frame, 8 * i + 16);
		for (size_t j = 0; j < EXECUTION_WORDS; j++)
			if (words[j] == thread)
				RUBY_EVIDENCE_ADD(evidence, execution_thread, 8 * j);
		ret_stack->end = words[i] + 8 * words[i + 1];
		ret_stack->frame = words[i + 2];
		evidence->result->execution = address;
		evidence->result->main_thread = thread;
		return true;
	}
	return false;
}

/* A thread of the VM points to it. */
static bool try_thread(struct ruby_evidence *evidence, uint64_t thread,
		       struct ruby_vm_stack *ret_stack)
{
	uint64_t words[THREAD_WORDS];
	bool knows_vm = false;

	if (thread == evidence->result->vm)
		return false;
	ruby_evidence_read_some(evidence, thread, words, THREAD_WORDS);
	for (size_t i = 0; i < THREAD_WORDS; i++)
		knows_vm |= words[i] == evidence->result->vm;
	for (size_t i = 0; knows_vm && i < THREAD_WORDS; i++)
		if (try_execution(evidence, thread, words[i], ret_stack))
			return true;
	return false;
}

static bool find_main_thread(struct ruby_evidence *evidence, struct ruby_vm_stack *ret_stack)
{
	uint64_t words[VM_WORDS];

	ruby_evidence_read_some(evidence, evidence->result->vm, words, VM_WORDS);
	for (size_t i = 0; i < VM_WORDS; i++)
		if (try_thread(evidence, words[i], ret_stack))
			return true;
	return false;
}

/* Finds the Thread object whose C structure is the main thread. */
static void find_thread_self(struct ruby_evidence *evidence, const uint64_t *words)
{
	struct ruby_object object;
	uint64_t data;

	for (size_t i = 0; i < 16; i++)
		if (ruby_object_read(&evidence->reader, words[i], &object) == 0 &&
		    ruby_object_data(&object, &data) == 0 && data == evidence->result->main_thread)
			RUBY_EVIDENCE_ADD(evidence, thread_self, 8 * i);
}

/*
 * True for a pthread_self() value: its first and third words are its own address (glibc, x86-64).
 */
static bool is_thread_pointer(struct ruby_evidence *evidence, uint64_t address)
{
	uint64_t words[3];

	return ruby_evidence_read(evidence, address, words, 3) && words[0] == address &&
	       words[2] == address;
}

static void find_native_thread(struct ruby_evidence *evidence)
{
	uint64_t words[THREAD_WORDS], native[NATIVE_WORDS];

	ruby_evidence_read_some(evidence, evidence->result->main_thread, words, THREAD_WORDS);
	find_thread_self(evidence, words);
	for (size_t i = 0; i < THREAD_WORDS; i++) {
		if (!is_thread_pointer(evidence, words[i]))
			continue;
		RUBY_EVIDENCE_ADD(evidence, thread_native_id, 8 * i);
		evidence->result->thread_pointer = words[i];
		return;
	}
	for (size_t i = 0; i < THREAD_WORDS; i++) {
		if (!ruby_evidence_read(evidence, words[i], native, NATIVE_WORDS))
			continue;
		for (size_t j = 0; j < NATIVE_WORDS; j++) {
			if (!is_thread_pointer(evidence, native[j]))
				continue;
			evidence->result->thread_pointer = native[j];
			return;
		}
	}
}

int ruby_main_thread_find(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints,
			  struct ruby_vm_stack *ret_stack)
{
	if (!find_vm(evidence, hints) || !find_main_thread(evidence, ret_stack))
		return -ENOENT;
	find_native_thread(evidence);
	return 0;
}
