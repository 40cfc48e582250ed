/* SPDX-License-Identifier: GPL-2.0-only */
/* The native frames of this thread, against those that libgcc's unwinder finds: backtrace(3). */
#include "recorder/symbolize/native_callers.h"

#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/symbolize/unwind_frame.h"

enum {
	DEPTH_MAX = 256,
#ifdef __aarch64__
	PC = 32, /* its number in the registers */
#else
	PC = 16,
#endif
};

struct bench {
	struct native_names *names;
	struct native_callers *callers;
	struct native_process *process;
	struct user_stack stack;
	void *known[DEPTH_MAX]; /* innermost first */
	int known_count;
	struct native_frames frames;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*state = bench;
	bench->names = native_names_new(NULL);
	bench->callers = native_callers_new(bench->names);
	bench->process = native_process_new(getpid());
	return bench->names && bench->callers && bench->process ? 0 : -1;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	native_process_free(bench->process);
	native_callers_free(bench->callers);
	native_names_free(bench->names);
	free(bench);
	return 0;
}

/* As the kernel side does. */
static void copy_stack(struct user_stack *stack, uint64_t pointer)
{
	uint64_t from = pointer - USER_RED_ZONE_BYTES;
	size_t first = USER_STACK_PAGE_BYTES - from % USER_STACK_PAGE_BYTES;
	struct iovec here = { stack->bytes, first + 3 * USER_STACK_PAGE_BYTES };
	struct iovec there = { (void *)(uintptr_t)from, here.iov_len };
	ssize_t copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	assert_true(copied > 0);
	stack->size_bytes = (uint32_t)copied;
}

#ifdef __aarch64__
static uint64_t set_registers(struct user_stack *stack, const ucontext_t *context)
{
	memcpy(stack->registers, context->uc_mcontext.regs, sizeof(context->uc_mcontext.regs));
	stack->registers[31] = context->uc_mcontext.sp;
	stack->registers[32] = context->uc_mcontext.pc;
	return stack->registers[31];
}
#else
static uint64_t set_registers(struct user_stack *stack, const ucontext_t *context)
{
	/* In the order of struct pt_regs. */
	static const int order[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11,
				     REG_R10, REG_R9,  REG_R8,	REG_RAX, REG_RCX, REG_RDX, REG_RSI,
				     REG_RDI, REG_ERR, REG_RIP, REG_ERR, REG_EFL, REG_RSP };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		stack->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	return stack->registers[19];
}
#endif

__attribute__((noinline)) static int capture_here(struct bench *bench)
{
	ucontext_t context;

	memset(&bench->stack, 0, sizeof(bench->stack));
	assert_int_equal(getcontext(&context), 0);
	copy_stack(&bench->stack, set_registers(&bench->stack, &context));
	bench->known_count = backtrace(bench->known, DEPTH_MAX);
	return 0;
}

static void find(struct bench *bench, bool may_read)
{
	memset(&bench->frames, '?', sizeof(bench->frames));
	native_callers_find(bench->callers, bench->process, &bench->stack, clock_monotonic_ns(),
			    may_read, &bench->frames);
}

/* Captures the stack of a function that has called itself depth times. */
__attribute__((noinline)) static int capture(struct bench *bench, int depth)
{
	return depth > 0 ? capture(bench, depth - 1) + 1 : capture_here(bench);
}

/* The callers are known; above them are functions of backtrace() itself. */
static void expect_known(const struct bench *bench)
{
	int above = 0;

	assert_true(bench->frames.count > 1);
	while (above < bench->known_count &&
	       (uint64_t)bench->known[above] - 1 != bench->frames.addresses[1])
		above++;
	assert_in_range(bench->frames.count - 1, 1, bench->known_count - above);
	for (size_t i = 1; i < bench->frames.count; i++, above++)
		assert_int_equal(bench->frames.addresses[i], (uint64_t)bench->known[above] - 1);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(native_callers_are_those_of_backtrace)
{
	struct bench *bench = *state;

	assert_int_equal(capture(bench, 3), 3);
	find(bench, true);
	expect_known(bench);
	assert_true(bench->frames.count > 4);
	/* By rules from the cache. */
	find(bench, false);
	expect_known(bench);
	assert_true(bench->frames.count > 4);
}

FIXTURE_TEST(native_callers_are_cut_at_end_of_copy)
{
	struct bench *bench = *state;

	assert_int_equal(capture(bench, 200), 200);
	find(bench, true);
	expect_known(bench);
	assert_int_equal(bench->frames.end, NATIVE_END_CUT);
	assert_int_equal(capture(bench, 3), 3);
	bench->stack.size_bytes = 4096;
	find(bench, true);
	expect_known(bench);
	assert_int_equal(bench->frames.end, NATIVE_END_CUT);
	bench->stack.size_bytes = 0;
	find(bench, true);
	assert_int_equal(bench->frames.count, 1);
	assert_int_equal(bench->frames.end, NATIVE_END_CUT);
}

FIXTURE_TEST(native_callers_need_one_rule_for_code_with_the_same)
{
	struct bench *bench = *state;

	assert_int_equal(capture(bench, 3), 3);
	find(bench, true);
	bench->stack.registers[PC]++;
	find(bench, false);
	expect_known(bench);
	assert_true(bench->frames.count > 4);
}

FIXTURE_TEST(native_callers_need_rules)
{
	struct bench *bench = *state;

	assert_int_equal(capture(bench, 3), 3);
	find(bench, false);
	assert_int_equal(bench->frames.count, 1);
	assert_int_equal(bench->frames.end, NATIVE_END_CUT);
}

FIXTURE_TEST(native_callers_read_no_rules_of_costly_process)
{
	struct bench *bench = *state;

	for (int i = 0; i < NATIVE_COSTLY_CALLS_MAX; i++) {
		assert_false(native_process_is_costly(bench->process));
		native_process_note_cost(bench->process);
	}
	assert_int_equal(capture(bench, 3), 3);
	find(bench, true);
	assert_int_equal(bench->frames.count, 1);
	assert_int_equal(bench->frames.end, NATIVE_END_CUT);
}

FIXTURE_TEST(native_callers_end_at_generated_code)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bench *bench = *state;

	assert_true(code != MAP_FAILED);
	assert_int_equal(capture(bench, 3), 3);
	bench->stack.registers[unwind_own_machine()->pc_index] = (uint64_t)code;
	find(bench, true);
	assert_int_equal(bench->frames.count, 1);
	assert_int_equal(bench->frames.addresses[0], (uint64_t)code);
	assert_int_equal(bench->frames.end, NATIVE_END_GENERATED);
	assert_int_equal(munmap(code, 4096), 0);
}
