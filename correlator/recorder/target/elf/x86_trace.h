/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces what a function of x86-64 code does with its arguments, without running it: which words it
 * loads from where, what it tests and compares, what it returns. Takes both sides of each branch,
 * and follows calls and jumps to functions down to a depth, within a bound of instructions; so a
 * loop runs a few times, and a long function is traced in part. Evaluates no condition: a reported
 * load may never happen. Does not truncate values to widths below 8 bytes. The bytes are the
 * target's: whatever they are, a trace ends. Single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/elf/code_value.h"

enum {
	X86_TRACE_EVENTS_MAX = 2048,
	X86_TRACE_STEPS_MAX = 2048, /* instructions; Ruby's accessors take 5 to 3000 */
	X86_TRACE_DEPTH_MAX = 4,
};

enum x86_trace_kind {
	X86_TRACE_LOAD = 0, /* value: the loaded word, a node */
	X86_TRACE_TEST = 1, /* value is tested against a mask, number */
	X86_TRACE_COMPARE = 2, /* value is compared with a constant, number */
	X86_TRACE_DIFFERENCE = 3, /* value and other are subtracted or compared */
	X86_TRACE_RETURN = 4, /* value is returned */
};

struct x86_trace_event {
	enum x86_trace_kind kind;
	struct code_value value;
	struct code_value other;
	int64_t number;
};

/* The kinds of values that the loader writes to an address. */
enum x86_slot_kind {
	X86_SLOT_NONE = 0, /* not known */
	X86_SLOT_TLS = 1, /* {module, offset}, or a descriptor, of a thread-local */
	X86_SLOT_FUNCTION = 2, /* the address of a function that the code source has */
};

/* The code, by address in the ELF file. */
struct x86_code_source {
	const void *context;
	/* Copies up to size_bytes at address; returns the number copied. */
	size_t (*read)(const void *context, uint64_t address, uint8_t *buffer, size_t size_bytes);
	/* Returns the kind of slot at address. X86_SLOT_FUNCTION: also sets *ret_function. */
	enum x86_slot_kind (*slot)(const void *context, uint64_t address, uint64_t *ret_function);
};

/* Result of the last run. */
struct x86_trace {
	struct code_nodes nodes;
	struct x86_trace_event events[X86_TRACE_EVENTS_MAX];
	size_t event_count;
	size_t step_count;
};

/* Free with free(). NULL: no memory. */
struct x86_trace *x86_trace_new(void);

/*
 * Traces the function at address. size_bytes: its length, 0 = not known. depth: how deep calls are
 * followed, at most X86_TRACE_DEPTH_MAX. 0, -ENOMEM.
 */
int x86_trace_run(struct x86_trace *trace, const struct x86_code_source *source, uint64_t address,
		  uint64_t size_bytes, unsigned int depth);
