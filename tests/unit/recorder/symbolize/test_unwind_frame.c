/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules as compilers make them, and forged ones, on both machines. */
#include "recorder/symbolize/unwind_frame.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "unit_test.h"

enum {
	STACK_AT = 0x10000,
	RBP = 6,
	RSP = 7,
	RETURN_ADDRESS = 16,
};

static struct user_stack stack;
static struct unwind_frame frame;
static struct unwind_rule rule;

static void put_word(int64_t offset, uint64_t word)
{
	memcpy(stack.bytes + USER_RED_ZONE_BYTES + offset, &word, sizeof(word));
}

/* rsp and pc; the word at offset i from rsp is 0x1000 + i. */
static int set_up(void **state)
{
	(void)state;
	memset(&stack, 0, sizeof(stack));
	stack.size_bytes = USER_RED_ZONE_BYTES + 256;
	for (int64_t i = -USER_RED_ZONE_BYTES; i < 256; i += 8)
		put_word(i, (uint64_t)(0x1000 + i));
	stack.registers[unwind_x86_64.stack_pointer_index] = STACK_AT;
	stack.registers[unwind_x86_64.pc_index] = 0x400000;
	unwind_frame_begin(&unwind_x86_64, &stack, &frame);
	rule = (struct unwind_rule){
		.steps[0] = { .operation = DW_OP_bregx, .number = RSP, .number2 = 32 },
		.step_count = 1,
		.return_register = RETURN_ADDRESS,
		.places[RETURN_ADDRESS] = UNWIND_SAVED,
		.offsets[RETURN_ADDRESS] = -8,
	};
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

static int step(void)
{
	return unwind_frame_step(&unwind_x86_64, &rule, &stack, &frame);
}

static void expect_unchanged(int error)
{
	const struct unwind_frame before = frame;

	assert_int_equal(step(), error);
	assert_memory_equal(&frame, &before, sizeof(frame));
}

FIXTURE_TEST(unwind_frame_goes_to_caller)
{
	frame.registers[RBP] = 7;
	rule.places[3] = UNWIND_SAVED;
	rule.offsets[3] = -16;
	assert_int_equal(step(), 0);
	assert_int_equal(frame.pc, 0x1000 + 24);
	assert_int_equal(frame.registers[RSP], STACK_AT + 32);
	assert_int_equal(frame.registers[RBP], 7);
	assert_int_equal(frame.registers[3], 0x1000 + 16);
	assert_int_equal(step(), 0);
	assert_int_equal(frame.pc, 0x1000 + 56);
	assert_int_equal(frame.registers[RSP], STACK_AT + 64);
}

FIXTURE_TEST(unwind_frame_ends_at_outermost_function)
{
	rule.places[RETURN_ADDRESS] = UNWIND_LOST;
	expect_unchanged(-ENODATA);
	rule.places[RETURN_ADDRESS] = UNWIND_SAVED;
	put_word(24, 0);
	expect_unchanged(-ENODATA);
}

FIXTURE_TEST(unwind_frame_reads_copy_alone)
{
	stack.size_bytes = USER_RED_ZONE_BYTES + 32;
	assert_int_equal(step(), 0);
	expect_unchanged(-EFAULT);
	set_up(state);
	stack.size_bytes = USER_RED_ZONE_BYTES + 31;
	expect_unchanged(-EFAULT);
	stack.size_bytes = 0;
	expect_unchanged(-EFAULT);
	stack.size_bytes = USER_STACK_BYTES_MAX + 1;
	expect_unchanged(-EFAULT);
	stack.size_bytes = 256;
	rule.offsets[RETURN_ADDRESS] = -40 - USER_RED_ZONE_BYTES;
	expect_unchanged(-EFAULT);
	/* The caller's value of another register is not needed yet. */
	rule.offsets[RETURN_ADDRESS] = -8;
	rule.places[RBP] = UNWIND_SAVED;
	rule.offsets[RBP] = 4096;
	assert_int_equal(step(), 0);
	assert_int_equal(frame.registers[RBP], 0);
}

FIXTURE_TEST(unwind_frame_never_goes_down)
{
	rule.steps[0].number2 = -8;
	rule.offsets[RETURN_ADDRESS] = 8;
	expect_unchanged(-EINVAL);
	rule.steps[0].number2 = 0;
	assert_int_equal(step(), 0);
	assert_int_equal(frame.registers[RSP], STACK_AT);
}

/* OpenSSL's SHA-512: the caller's rsp is saved below its own. */
FIXTURE_TEST(unwind_frame_evaluates_saved_stack_pointer)
{
	put_word(-8, STACK_AT + 128);
	rule.steps[0] = (struct unwind_step){ .operation = DW_OP_breg0 + RSP, .number = -8 };
	rule.steps[1] = (struct unwind_step){ .operation = DW_OP_deref };
	rule.steps[2] = (struct unwind_step){ .operation = DW_OP_plus_uconst, .number = 8 };
	rule.step_count = 3;
	assert_int_equal(step(), 0);
	assert_int_equal(frame.registers[RSP], STACK_AT + 136);
	assert_int_equal(frame.pc, 0x1000 + 128);
}

/* The linker's: rsp + 8, and 8 more from the twelfth byte of a stub of 16 on. */
FIXTURE_TEST(unwind_frame_evaluates_stub_of_procedure_linkage)
{
	static const struct unwind_step steps[] = {
		{ .operation = DW_OP_breg0 + RSP, .number = 8 },
		{ .operation = DW_OP_breg0 + RETURN_ADDRESS, .number = 0 },
		{ .operation = DW_OP_lit15 },
		{ .operation = DW_OP_and },
		{ .operation = DW_OP_lit11 },
		{ .operation = DW_OP_ge },
		{ .operation = DW_OP_lit3 },
		{ .operation = DW_OP_shl },
		{ .operation = DW_OP_plus },
	};

	memcpy(rule.steps, steps, sizeof(steps));
	rule.step_count = sizeof(steps) / sizeof(steps[0]);
	assert_int_equal(step(), 0);
	assert_int_equal(frame.registers[RSP], STACK_AT + 8);
	set_up(state);
	memcpy(rule.steps, steps, sizeof(steps));
	rule.step_count = sizeof(steps) / sizeof(steps[0]);
	stack.registers[unwind_x86_64.pc_index] = 0x40000b;
	unwind_frame_begin(&unwind_x86_64, &stack, &frame);
	assert_int_equal(step(), 0);
	assert_int_equal(frame.registers[RSP], STACK_AT + 16);
}

FIXTURE_TEST(unwind_frame_refuses_forged_rules)
{
	static const uint32_t unary[] = { DW_OP_deref, DW_OP_plus_uconst, DW_OP_plus,
					  DW_OP_minus, DW_OP_and,	  DW_OP_shl };

	rule.step_count = 0;
	expect_unchanged(-EINVAL);
	rule.step_count = UNWIND_STEPS_MAX + 1;
	expect_unchanged(-EINVAL);
	rule.step_count = 1;
	rule.return_register = UNWIND_REGISTERS;
	expect_unchanged(-EINVAL);
	rule.return_register = RETURN_ADDRESS;
	rule.steps[0].number = UNWIND_REGISTERS;
	expect_unchanged(-EINVAL);
	rule.steps[0].number = -1;
	expect_unchanged(-EINVAL);
	for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); i++) {
		rule.steps[0] = (struct unwind_step){ .operation = unary[i] };
		expect_unchanged(-EINVAL);
	}
	/* More values than there is room for. */
	for (size_t i = 0; i < UNWIND_STEPS_MAX; i++)
		rule.steps[i] = (struct unwind_step){ .operation = DW_OP_lit0 };
	rule.step_count = UNWIND_STEPS_MAX;
	expect_unchanged(-EINVAL);
	rule.step_count = 2;
	rule.steps[1].operation = 0xff;
	expect_unchanged(-EINVAL);
}

/* A function that has saved nothing: its caller is in a register, with a signature. */
FIXTURE_TEST(unwind_frame_finds_return_address_in_register_of_arm64)
{
	frame = (struct unwind_frame){ .registers[31] = STACK_AT,
				       .registers[30] = 0x123a000000401234 };
	rule = (struct unwind_rule){
		.steps[0] = { .operation = DW_OP_bregx, .number = 31 },
		.step_count = 1,
		.return_register = 30,
	};
	assert_int_equal(unwind_frame_step(&unwind_arm64, &rule, &stack, &frame), 0);
	assert_int_equal(frame.pc, 0x401234);
	assert_int_equal(frame.registers[31], STACK_AT);
}
