/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/unwind_frame.h"

#include <dwarf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
	VALUES_MAX = 8, /* of an expression at a time */
};

/* System V ABI, AMD64 Architecture Processor Supplement, figure 3.36. */
const struct unwind_machine unwind_x86_64 = {
	.stack_pointer = 7,
	.pc = 16,
	.pc_index = 16,
	.stack_pointer_index = 19,
	.dwarf_count = 16,
	/* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
	.indexes = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 },
	.address_mask = UINT64_MAX,
};

/* DWARF for the Arm 64-bit Architecture, 4.1; user addresses have 48 bits. */
const struct unwind_machine unwind_arm64 = {
	.stack_pointer = 31,
	.pc = UNWIND_REGISTERS,
	.pc_index = 32,
	.stack_pointer_index = 31,
	.dwarf_count = 32,
	.indexes = { 0,	 1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10, 11, 12, 13, 14, 15,
		     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.address_mask = (UINT64_C(1) << 48) - 1,
};

const struct unwind_machine *unwind_own_machine(void)
{
#ifdef __aarch64__
	return &unwind_arm64;
#else
	return &unwind_x86_64;
#endif
}

/* A register of the other machine, which has more, reads as 0. */
static uint64_t register_at(const struct user_stack *stack, size_t index)
{
	return index < USER_REGISTERS ? stack->registers[index] : 0;
}

static void set_pc(const struct unwind_machine *machine, uint64_t pc, struct unwind_frame *frame)
{
	frame->pc = pc;
	if (machine->pc < UNWIND_REGISTERS)
		frame->registers[machine->pc] = pc;
}

void unwind_frame_begin(const struct unwind_machine *machine, const struct user_stack *stack,
			struct unwind_frame *ret_frame)
{
	*ret_frame = (struct unwind_frame){ 0 };
	for (size_t i = 0; i < machine->dwarf_count; i++)
		ret_frame->registers[i] = register_at(stack, machine->indexes[i]);
	set_pc(machine, register_at(stack, machine->pc_index), ret_frame);
}

/* A step up the stack: what its expressions read, and the values so far. */
struct evaluation {
	const struct unwind_machine *machine;
	const struct user_stack *stack;
	const struct unwind_frame *frame;
	uint64_t values[VALUES_MAX];
	size_t count;
};

/* 0 or -EFAULT. */
static int read_word(const struct evaluation *evaluation, uint64_t address, uint64_t *ret_word)
{
	const struct user_stack *stack = evaluation->stack;
	uint64_t pointer = register_at(stack, evaluation->machine->stack_pointer_index);
	uint64_t offset = address - (pointer - USER_RED_ZONE_BYTES);

	if (stack->size_bytes > USER_STACK_BYTES_MAX || stack->size_bytes < sizeof(*ret_word) ||
	    offset > stack->size_bytes - sizeof(*ret_word))
		return -EFAULT;
	memcpy(ret_word, stack->bytes + offset, sizeof(*ret_word));
	return 0;
}

static int push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->count == VALUES_MAX)
		return -EINVAL;
	evaluation->values[evaluation->count++] = value;
	return 0;
}

static int push_register(struct evaluation *evaluation, int64_t number, int64_t offset)
{
	if (number < 0 || number >= UNWIND_REGISTERS)
		return -EINVAL;
	return push(evaluation, evaluation->frame->registers[number] + (uint64_t)offset);
}

/* Replaces the last two values by what an operation makes of them. */
static int combine(struct evaluation *evaluation, uint32_t operation)
{
	uint64_t *left, right;

	if (evaluation->count < 2)
		return -EINVAL;
	right = evaluation->values[--evaluation->count];
	left = &evaluation->values[evaluation->count - 1];
	switch (operation) {
	case DW_OP_plus:
		*left += right;
		return 0;
	case DW_OP_minus:
		*left -= right;
		return 0;
	case DW_OP_and:
		*left &= right;
		return 0;
	case DW_OP_or:
		*left |= right;
		return 0;
	case DW_OP_shl:
		*left = right < 64 ? *left << right : 0;
		return 0;
	case DW_OP_ge:
		*left = (int64_t)*left >= (int64_t)right;
		return 0;
	default:
		return -EINVAL;
	}
}

/* The operations of compilers, assemblers and linkers in expressions of a frame's address. */
static int evaluate_step(struct evaluation *evaluation, const struct unwind_step *step)
{
	uint64_t *last = evaluation->count ? &evaluation->values[evaluation->count - 1] : NULL;
	uint32_t operation = step->operation;

	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		return push_register(evaluation, operation - DW_OP_breg0, step->number);
	if (operation == DW_OP_bregx)
		return push_register(evaluation, step->number, step->number2);
	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
		return push(evaluation, operation - DW_OP_lit0);
	if (operation >= DW_OP_const1u && operation <= DW_OP_consts)
		return push(evaluation, (uint64_t)step->number);
	if (!last)
		return -EINVAL;
	if (operation == DW_OP_deref)
		return read_word(evaluation, *last, last);
	if (operation != DW_OP_plus_uconst)
		return combine(evaluation, operation);
	*last += (uint64_t)step->number;
	return 0;
}

static int find_address(struct evaluation *evaluation, const struct unwind_rule *rule,
			uint64_t *ret_address)
{
	int r = rule->step_count > 0 && rule->step_count <= UNWIND_STEPS_MAX ? 0 : -EINVAL;

	for (size_t i = 0; i < rule->step_count && r == 0; i++)
		r = evaluate_step(evaluation, &rule->steps[i]);
	if (r == 0)
		*ret_address = evaluation->values[evaluation->count - 1];
	return r;
}

/* The caller's value of a register. */
static int recover(const struct evaluation *evaluation, const struct unwind_rule *rule,
		   size_t number, uint64_t address, uint64_t *ret_value)
{
	if (rule->places[number] == UNWIND_SAVED)
		return read_word(evaluation, address + (uint64_t)(int64_t)rule->offsets[number],
				 ret_value);
	*ret_value = evaluation->frame->registers[number];
	return 0;
}

int unwind_frame_step(const struct unwind_machine *machine, const struct unwind_rule *rule,
		      const struct user_stack *stack, struct unwind_frame *frame)
{
	struct evaluation evaluation = { machine, stack, frame, { 0 }, 0 };
	struct unwind_frame caller = { 0 };
	uint64_t address = 0, pc = 0;
	int r = find_address(&evaluation, rule, &address);

	if (r < 0)
		return r;
	if (rule->return_register >= UNWIND_REGISTERS ||
	    address < frame->registers[machine->stack_pointer])
		return -EINVAL;
	if (rule->places[rule->return_register] == UNWIND_LOST)
		return -ENODATA;
	r = recover(&evaluation, rule, rule->return_register, address, &pc);
	/* Only what a caller's own rule needs must be there. */
	for (size_t i = 0; i < machine->dwarf_count; i++)
		if (recover(&evaluation, rule, i, address, &caller.registers[i]) < 0)
			caller.registers[i] = 0;
	if (r < 0)
		return r;
	caller.registers[machine->stack_pointer] = address;
	set_pc(machine, pc & machine->address_mask, &caller);
	if (caller.pc == 0)
		return -ENODATA;
	*frame = caller;
	return 0;
}
