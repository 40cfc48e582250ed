/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of Ruby's structures as a living process shows it, by what must hold of each member
 * whatever its offset is: the VM's own object points back to it; its main thread has an execution
 * context whose frame lies in its stack; each frame's iseq is one, and its program counter is in
 * that iseq's code. One of the ways of ruby_stack_layout.h. Hostile input: bounded in reads and
 * memory. The process runs meanwhile: what does not hold together is not told. Single thread; does
 * not log. Facts: vm_core.h, iseq.h, method.h, internal/class.h and internal/imemo.h, v2_7_4 to
 * v4_0_1; tcbhead_t of glibc 2.36, sysdeps/x86_64/nptl/tls.h.
 */
#pragma once

#include "recorder/target/ruby/ruby_evidence.h"

/*
 * 0; -ENOENT: no VM, or no thread of it that holds together (now); -ENOMEM; or an error of the
 * reader.
 */
int ruby_behaviour_look(const struct memory_reader *reader,
			const struct ruby_behaviour_hints *hints,
			struct ruby_behaviour *ret_behaviour);
