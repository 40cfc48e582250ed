/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the stack of Ruby's main thread, starting from libruby's data, by invariants on the way:
 * part of ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include <stdint.h>

#include "recorder/target/ruby/ruby_evidence.h"

enum {
	RUBY_STACK_WORDS_MAX = 1 << 27, /* 1 GiB */
};

struct ruby_vm_stack {
	uint64_t end; /* the address after it */
	uint64_t frame; /* the innermost frame; in the stack */
};

/*
 * Adds the evidence for threads and their execution contexts, and the addresses of the VM, the main
 * thread and its native thread. 0; -ENOENT: no VM, or none of its threads is consistent.
 */
int ruby_main_thread_find(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints,
			  struct ruby_vm_stack *ret_stack);
