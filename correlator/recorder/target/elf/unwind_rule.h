/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How to get from a frame of native code to its caller, by the file's .eh_frame (DWARF 5, 6.4 "Call
 * Frame Information"; registers as the psABIs number them). Read by elfutils' libdw, in the agent
 * (agent.h): libdw maps the file and trusts it. Single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/target/elf/object_file.h"

enum {
	UNWIND_STEPS_MAX = 12, /* of real files: at most 10, for stubs of the procedure linkage */
	UNWIND_REGISTERS =
		32, /* those of arm64; x86-64 has 16, and number 16 is the return address */
};

/* An operation of an expression that yields an address: DW_OP_... and its operands. */
struct unwind_step {
	int64_t number;
	int64_t number2;
	uint32_t operation;
	uint32_t reserved;
};

/* Where the caller's value of a register is. */
enum unwind_place {
	UNWIND_SAME, /* in the register */
	UNWIND_SAVED, /* at an offset from the frame's address */
	UNWIND_LOST, /* nowhere; of the return address: there is no caller */
};

struct unwind_rule {
	uint64_t begin, end; /* virtual addresses in the file: it holds from begin to before end */
	struct unwind_step steps[UNWIND_STEPS_MAX]; /* yield the frame's address (CFA) */
	int32_t offsets[UNWIND_REGISTERS]; /* of UNWIND_SAVED */
	uint8_t places[UNWIND_REGISTERS]; /* enum unwind_place */
	uint8_t step_count;
	uint8_t return_register;
	bool is_signal; /* a signal's: its caller was interrupted, and did not call */
};

/*
 * The rule for the code at a virtual address of a file that process pid maps, called name there.
 * Its range is as the file says: it need not have the address. 0; -ENOENT: the file has none;
 * -ENOTSUP: a rule that cannot be expressed as above; -EPIPE, and others, as agent_call().
 */
int unwind_rule_read(const struct object_file *file, pid_t pid, const char *name,
		     uint64_t virtual_address, struct unwind_rule *ret_rule);

/*
 * The rule for code of the vDSO, by its distance from the vDSO's start: the kernel maps the same
 * pages to all 64-bit processes (vdso(7)), so that of the agent is read. As above.
 */
int unwind_rule_read_vdso(uint64_t distance, struct unwind_rule *ret_rule);
