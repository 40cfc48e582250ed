/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules and stacks: each step ends, leads up the stack or is refused, and then changes nothing. */
#include <errno.h>

#include "fuzz.h"
#include "recorder/symbolize/unwind_frame.h"

enum {
	STEPS_MAX = 64
};

static void take_rule(struct fuzz_input *input, struct unwind_rule *ret_rule)
{
	memset(ret_rule, 0, sizeof(*ret_rule));
	ret_rule->step_count = fuzz_take_u8(input);
	ret_rule->return_register = fuzz_take_u8(input);
	ret_rule->is_signal = fuzz_take_u8(input) & 1;
	for (size_t i = 0; i < ret_rule->step_count && i < UNWIND_STEPS_MAX; i++) {
		ret_rule->steps[i].operation = fuzz_take_u8(input);
		ret_rule->steps[i].number = (int64_t)fuzz_take_u64(input);
		ret_rule->steps[i].number2 = (int64_t)fuzz_take_u64(input);
	}
	fuzz_take(input, ret_rule->places, sizeof(ret_rule->places));
	fuzz_take(input, ret_rule->offsets, sizeof(ret_rule->offsets));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct user_stack stack;
	struct fuzz_input input = { data, size_bytes };
	const struct unwind_machine *machine =
		fuzz_take_u8(&input) & 1 ? &unwind_arm64 : &unwind_x86_64;
	struct unwind_frame frame, before;
	struct unwind_rule rule;
	int r = 0;

	take_rule(&input, &rule);
	fuzz_take(&input, stack.registers, sizeof(stack.registers));
	fuzz_take(&input, &stack.size_bytes, sizeof(stack.size_bytes));
	fuzz_take(&input, stack.bytes, sizeof(stack.bytes));
	unwind_frame_begin(machine, &stack, &frame);
	for (int i = 0; i < STEPS_MAX && r == 0; i++) {
		before = frame;
		r = unwind_frame_step(machine, &rule, &stack, &frame);
		FUZZ_REQUIRE(r == 0 || r == -ENODATA || r == -EFAULT || r == -EINVAL);
		FUZZ_REQUIRE(r == 0 || memcmp(before.registers, frame.registers,
					      sizeof(frame.registers)) == 0);
		FUZZ_REQUIRE(r < 0 ||
			     (frame.pc != 0 && frame.registers[machine->stack_pointer] >=
						       before.registers[machine->stack_pointer]));
	}
	return 0;
}
