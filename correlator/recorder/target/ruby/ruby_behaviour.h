/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Derives the layout of Ruby's structures from a live process, by invariants that hold whatever the
 * offsets are: the VM's own object points back to it; its main thread has an execution context
 * whose frame lies in its stack; each frame's iseq is one, and its program counter is in that
 * iseq's code. One of the ways to fill a struct ruby_stack_layout. Hostile input: reads and memory
 * are bounded. The process keeps running: inconsistent data is not reported. Single thread; does
 * not log. Facts: vm_core.h, iseq.h, method.h, internal/class.h and internal/imemo.h, v2_7_4 to
 * v4_0_1; tcbhead_t of glibc 2.36, sysdeps/x86_64/nptl/tls.h.
 */
#pragma once

#include "recorder/target/ruby/ruby_evidence.h"

/*
 * 0; -ENOENT: no VM, or none of its threads is consistent (now); -ENOMEM; or an error of the
 * reader.
 */
int ruby_behaviour_look(const struct memory_reader *reader,
			const struct ruby_behaviour_hints *hints,
			struct ruby_behaviour *ret_behaviour);
