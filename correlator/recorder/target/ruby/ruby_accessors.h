/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Derives the layout of Ruby's structures from the code of functions that libruby exports: each
 * reads a member of a structure, so its code contains the offset. They are public (include/ruby/,
 * and debug.h of vm_backtrace.c), so every build has them, stripped or not. One of the ways to fill
 * a struct ruby_stack_layout; x86-64 only. Hostile input; pure; single thread; does not log.
 */
#pragma once

#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/x86_trace.h"

/* How code reaches a variable. */
enum ruby_place_kind {
	RUBY_PLACE_NONE = 0, /* not known */
	RUBY_PLACE_VARIABLE = 1, /* at address */
	RUBY_PLACE_POINTED = 2, /* at the address that the loader wrote to address */
	/* Thread-locals of the running thread: */
	RUBY_PLACE_TLS = 3, /* at offset from what the loader's slot at address stands for */
	RUBY_PLACE_TLS_OFFSET = 4, /* thread pointer + the number at address + offset */
	RUBY_PLACE_TLS_FIXED = 5, /* thread pointer + offset */
};

struct ruby_place {
	enum ruby_place_kind kind;
	uint64_t address; /* in the ELF file */
	int64_t offset;
};

enum ruby_accessor {
	RUBY_ACCESSOR_THREAD_CURRENT,
	RUBY_ACCESSOR_ISEQ_LABEL,
	RUBY_ACCESSOR_ISEQ_BASE_LABEL,
	RUBY_ACCESSOR_ISEQ_PATH,
	RUBY_ACCESSOR_ISEQ_FIRST_LINE,
	RUBY_ACCESSOR_ISEQ_METHOD_NAME,
	RUBY_ACCESSOR_ISEQ_LINE,
	RUBY_ACCESSOR_PROFILE_FRAMES,
	RUBY_ACCESSOR_PROFILE_FRAME_PATH,
	RUBY_ACCESSOR_PROFILE_FRAME_CLASS_PATH,
	RUBY_ACCESSOR_FRAME_THIS_FUNCTION,
	RUBY_ACCESSOR_FRAME_CALLEE,
	RUBY_ACCESSOR_MODULE_NAME,
	RUBY_ACCESSOR_CLASS_ATTACHED,
	RUBY_ACCESSOR_DURING_GC,
	RUBY_ACCESSOR_GC_COUNT,
	_RUBY_ACCESSOR_MAX,
};

/* Where each function is in the ELF file; address 0 = missing. */
struct ruby_accessors {
	struct {
		uint64_t address;
		uint64_t size_bytes;
	} list[_RUBY_ACCESSOR_MAX];
};

/*
 * Result of decoding. A field is unknown if no function reveals it, or if functions contradict each
 * other.
 */
struct ruby_accessor_layout {
	struct ruby_stack_layout layout; /* without addresses */
	struct ruby_place execution; /* of the pointer to the execution context */
	struct ruby_place vm; /* of the pointer to the rb_vm_t */
};

/* The function's exported name. */
const char *ruby_accessor_name(enum ruby_accessor accessor);

void ruby_accessors_find(const struct elf_image *image, struct ruby_accessors *ret_accessors);

/* 0, -ENOMEM. */
int ruby_accessors_decode(const struct ruby_accessors *accessors,
			  const struct x86_code_source *source,
			  struct ruby_accessor_layout *ret_layout);

/* Sets every __u32 to RUBY_LAYOUT_UNKNOWN, except reserved, and every address to 0. */
void ruby_stack_layout_forget(struct ruby_stack_layout *ret_layout);
