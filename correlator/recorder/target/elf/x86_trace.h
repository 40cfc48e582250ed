/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a function of x86-64 code does with its arguments, without running it: which words it loads
 * from where, what it tests and compares, what it returns. Both sides of each branch are taken, and
 * calls and jumps of functions are followed to a depth, within a bound of instructions, so a loop
 * is run some times and a long function in part. No condition is weighed: a load that is told of
 * may never happen. Widths below 8 bytes are not cut off. The bytes are the target's: whatever they
 * are, a trace ends. Single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/elf/code_value.h"

enum {
	X86_TRACE_EVENTS_MAX = 2048,
	X86_TRACE_STEPS_MAX = 2048, /* instructions; Ruby's take 5 to 3000 */
	X86_TRACE_DEPTH_MAX = 4,
};

enum x86_trace_kind {
	X86_TRACE_LOAD = 0, /* value: what was loaded, a node */
	X86_TRACE_TEST = 1, /* bits of value, number: the mask, are looked at */
	X86_TRACE_COMPARE = 2, /* value beside a constant, number */
	X86_TRACE_DIFFERENCE = 3, /* of value and other */
	X86_TRACE_RETURN = 4, /* value is returned */
};

struct x86_trace_event {
	enum x86_trace_kind kind;
	struct code_value value;
	struct code_value other;
	int64_t number;
};

/* What the loader writes to an address. */
enum x86_slot_kind {
	X86_SLOT_NONE = 0, /* nothing that is known */
	X86_SLOT_TLS = 1, /* {module, offset}, or a descriptor, of a thread-local */
	X86_SLOT_FUNCTION = 2, /* the address of a function that the code source has */
};

/* The code, by its addresses in the ELF file. */
struct x86_code_source {
	const void *context;
	/* Copies up to size_bytes at an address; how many there are. */
	size_t (*read)(const void *context, uint64_t address, uint8_t *buffer, size_t size_bytes);
	/* What slot is there; of a function ret_function. */
	enum x86_slot_kind (*slot)(const void *context, uint64_t address, uint64_t *ret_function);
};

/* What the last run found. */
struct x86_trace {
	struct code_nodes nodes;
	struct x86_trace_event events[X86_TRACE_EVENTS_MAX];
	size_t event_count;
	size_t step_count;
};

/* To be freed with free(). NULL: no memory. */
struct x86_trace *x86_trace_new(void);

/*
 * Traces the function at address; size_bytes: it ends there, 0 = not known. depth: of calls that
 * are followed, at most X86_TRACE_DEPTH_MAX. 0, -ENOMEM.
 */
int x86_trace_run(struct x86_trace *trace, const struct x86_code_source *source, uint64_t address,
		  uint64_t size_bytes, unsigned int depth);
