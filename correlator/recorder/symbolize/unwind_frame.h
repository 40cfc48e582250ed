/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One step up a thread's native stack: from the registers in a frame to those in its caller, by the
 * rule of the code that runs in the frame (unwind_rule.h). Pure: reads the copy of the stack alone.
 * Everything comes from the target: every address is checked, and every expression ends.
 */
#pragma once

#include <correlator/user_stack.h>

#include "recorder/target/elf/unwind_rule.h"

/* The machine, as its psABI numbers registers. */
struct unwind_machine {
	uint8_t stack_pointer;
	uint8_t pc; /* UNWIND_REGISTERS: it has no number */
	uint8_t pc_index, stack_pointer_index; /* in user_stack.registers */
	uint8_t dwarf_count; /* registers with an index */
	uint8_t indexes[UNWIND_REGISTERS]; /* in user_stack.registers, by DWARF's number */
	uint64_t address_mask; /* other bits of a return address are a signature */
};

extern const struct unwind_machine unwind_x86_64, unwind_arm64;
/* The one that this program is compiled for. */
const struct unwind_machine *unwind_own_machine(void);

struct unwind_frame {
	uint64_t registers[UNWIND_REGISTERS]; /* by DWARF's number */
	uint64_t pc;
};

/* The innermost frame. */
void unwind_frame_begin(const struct unwind_machine *machine, const struct user_stack *stack,
			struct unwind_frame *ret_frame);

/*
 * Goes to the caller. 0; -ENODATA: there is none, this is the outermost frame; -EFAULT: what is
 * needed is not in the copy; -EINVAL: the rule is not understood, or leads down the stack. frame is
 * unchanged unless it is 0.
 */
int unwind_frame_step(const struct unwind_machine *machine, const struct unwind_rule *rule,
		      const struct user_stack *stack, struct unwind_frame *frame);
