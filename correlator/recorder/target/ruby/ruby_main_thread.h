/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From libruby's data to the stack of a Ruby's main thread, by what must hold on the way: part of
 * ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include <stdint.h>

#include "recorder/target/ruby/ruby_evidence.h"

enum {
	RUBY_STACK_WORDS_MAX = 1 << 27, /* 1 GiB */
};

struct ruby_vm_stack {
	uint64_t end; /* the address behind it */
	uint64_t frame; /* the innermost; in the stack */
};

/*
 * Adds what is seen of threads and their execution contexts, and where the VM, the main thread and
 * its native thread are. 0; -ENOENT: no VM, or no thread of it that holds together.
 */
int ruby_main_thread_find(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints,
			  struct ruby_vm_stack *ret_stack);
