/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/x86_trace.h"

#include <stdbool.h>
#include <stdio.h>

#include "unit_test.h"

#include "recorder/target/ruby_code.h"

enum {
	BASE = 0x1000
};

static struct ruby_code code;
static struct x86_trace *trace;

static int setup(void **state)
{
	(void)state;
	code = (struct ruby_code){ 0 };
	trace = x86_trace_new();
	return trace ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(trace);
	return 0;
}

static void run_sized(const char *hex, uint64_t size_bytes, unsigned int depth)
{
	struct x86_code_source source = ruby_code_source(&code);

	ruby_code_add(&code, BASE, hex);
	assert_int_equal(x86_trace_run(trace, &source, BASE, size_bytes, depth), 0);
}

static void run(const char *hex)
{
	run_sized(hex, 0, 0);
}

/* A value as text: A0 an argument, [..] a load of 8 bytes, [..]4 of 4. */
static void write_value(FILE *file, const struct code_value *value)
{
	const char *between = "";

	for (size_t i = 0; i < CODE_TERMS_MAX && value->terms[i].node; i++) {
		const struct code_node *node = &trace->nodes.list[value->terms[i].node];

		(void)fputs(between, file);
		between = "+";
		if (value->terms[i].factor != 1)
			(void)fprintf(file, "%d*", value->terms[i].factor);
		if (node->kind == CODE_NODE_LOAD) {
			(void)fputc('[', file);
			write_value(file, &node->of);
			(void)fputc(']', file);
			if (node->number != 8)
				(void)fprintf(file, "%d", (int)node->number);
		} else if (node->kind == CODE_NODE_SHIFTED || node->kind == CODE_NODE_MASKED) {
			(void)fputc('(', file);
			write_value(file, &node->of);
			(void)fprintf(file, node->kind == CODE_NODE_MASKED ? "&%x)" : ">>%x)",
				      (unsigned int)node->number);
		} else if (node->kind == CODE_NODE_UNKNOWN) {
			(void)fputc('?', file);
		} else {
			(void)fprintf(file, "%c%x", "?ASTL"[node->kind],
				      (unsigned int)node -> number);
		}
	}
	if (value->constant || !value->terms[0].node)
		(void)fprintf(file, "%+d", (int)value->constant);
}

/* All events of a kind, each followed by a blank. */
static void assert_events(enum x86_trace_kind kind, const char *expected)
{
	char text[4096] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");

	for (size_t i = 0; i < trace->event_count; i++) {
		const struct x86_trace_event *event = &trace->events[i];

		if (event->kind != kind)
			continue;
		write_value(file, &event->value);
		if (kind == X86_TRACE_DIFFERENCE) {
			(void)fputc('~', file);
			write_value(file, &event->other);
		} else if (kind == X86_TRACE_TEST || kind == X86_TRACE_COMPARE) {
			(void)fprintf(file, ":%llx", (unsigned long long)event->number);
		}
		(void)fputc(' ', file);
	}
	(void)fclose(file);
	assert_string_equal(text, expected);
}

static void assert_returns(const char *hex, const char *expected)
{
	run(hex);
	assert_events(X86_TRACE_RETURN, expected);
	code = (struct ruby_code){ 0 };
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(trace_starts_with_arguments_in_their_registers)
{
	assert_returns("48 89 f8 c3", "A0 "); /* mov %rdi,%rax */
	assert_returns("48 89 f0 c3", "A1 ");
	assert_returns("48 89 d0 c3", "A2 ");
	assert_returns("48 89 c8 c3", "A3 ");
	assert_returns("4c 89 c0 c3", "A4 ");
	assert_returns("4c 89 c8 c3", "A5 ");
	assert_returns("48 89 e0 c3", "S0 "); /* mov %rsp,%rax */
	assert_returns("48 89 d8 c3", "? "); /* mov %rbx,%rax */
	assert_returns("c3", "? ");
}

FIXTURE_TEST(trace_loads_have_width_of_instruction)
{
	assert_returns("48 8b 47 10 c3", "[A0+16] ");
	assert_returns("8b 47 10 c3", "[A0+16]4 ");
	assert_returns("48 63 47 58 c3", "[A0+88]4 "); /* movslq */
	assert_returns("0f b6 47 10 c3", "[A0+16]1 "); /* movzbl */
	assert_returns("48 0f bf 47 10 c3", "[A0+16]2 "); /* movswq */
	assert_returns("48 8b 44 b7 08 c3", "[A0+4*A1+8] "); /* mov 8(%rdi,%rsi,4),%rax */
	assert_returns("48 8b 05 00 10 00 00 c3", "[+8199] "); /* mov 0x1000(%rip),%rax */
	/* mov 8(%rdi),%rax; mov (%rax),%rax */
	assert_returns("48 8b 47 08 48 8b 00 c3", "[[A0+8]] ");
	assert_events(X86_TRACE_LOAD, "[A0+8] [[A0+8]] ");
}

FIXTURE_TEST(trace_follows_sums_and_products)
{
	assert_returns("48 8d 44 37 c8 c3", "A0+A1-56 "); /* lea -0x38(%rdi,%rsi),%rax */
	assert_returns("48 83 c7 38 48 89 f8 c3", "A0+56 "); /* add $0x38,%rdi */
	assert_returns("48 83 ef 38 48 89 f8 c3", "A0-56 "); /* sub $0x38,%rdi */
	assert_returns("48 01 f7 48 89 f8 c3", "A0+A1 "); /* add %rsi,%rdi */
	assert_returns("48 29 f7 48 89 f8 c3", "A0+-1*A1 "); /* sub %rsi,%rdi */
	assert_events(X86_TRACE_DIFFERENCE, "A0~A1 ");
	assert_returns("48 ff c7 48 89 f8 c3", "A0+1 "); /* inc %rdi */
	assert_returns("48 ff cf 48 89 f8 c3", "A0-1 "); /* dec %rdi */
	assert_returns("48 6b c7 0c c3", "12*A0 "); /* imul $12,%rdi,%rax */
	assert_returns("48 c1 e7 03 48 89 f8 c3", "8*A0 "); /* shl $3,%rdi */
	assert_returns("48 0f af fe 48 89 f8 c3", "? "); /* imul %rsi,%rdi */
	assert_returns("48 d3 e7 48 89 f8 c3", "? "); /* shl %cl,%rdi */
	/* lea (%rdi,%rsi),%rax; add %rdx,%rax */
	assert_returns("48 8d 04 37 48 01 d0 c3", "? ");
	/* lea (%rdi,%rsi),%rax; mov (%rax,%rdx),%rax */
	assert_returns("48 8d 04 37 48 8b 04 10 c3", "? ");
	assert_returns("31 c0 c3", "+0 "); /* xor %eax,%eax */
	assert_returns("48 31 f7 48 89 f8 c3", "? "); /* xor %rsi,%rdi */
	assert_returns("b8 08 00 00 00 c3", "+8 ");
	assert_returns("48 f7 d7 48 89 f8 c3", "? "); /* not %rdi */
	assert_returns("48 c7 c7 00 00 00 00 48 83 c7 05 48 89 f8 c3", "+5 ");
}

static void assert_test(const char *hex, const char *expected)
{
	run(hex);
	assert_events(X86_TRACE_TEST, expected);
	code = (struct ruby_code){ 0 };
}

FIXTURE_TEST(trace_maps_shifted_bits_to_whole_value)
{
	assert_test("f6 07 80 c3", "[A0]1:80 "); /* testb $0x80,(%rdi) */
	/* movzbl 0x10(%rdi),%eax; shr $5,%al; and $1,%eax */
	assert_test("0f b6 47 10 c0 e8 05 83 e0 01 c3", "[A0+16]1:20 ");
	assert_events(X86_TRACE_RETURN, "(([A0+16]1>>5)&1) ");
	/* mov (%rdi),%rax; test $0x20,%ah */
	assert_test("48 8b 07 f6 c4 20 c3", "[A0]:2000 ");
	/* mov (%rdi),%rax; shr $12,%rax; and $0xf,%eax */
	assert_test("48 8b 07 48 c1 e8 0c 83 e0 0f c3", "[A0]:f000 ");
	assert_test("48 c1 ff 02 40 f6 c7 01 c3", "A0:4 "); /* sar $2,%rdi; test $1,%dil */
	assert_test("48 83 e7 fc c3", "A0:fffffffffffffffc "); /* and $-4,%rdi */
	assert_test("83 e7 fc c3", "A0:fffffffc "); /* and $-4,%edi */
	assert_test("48 85 ff c3", ""); /* test %rdi,%rdi */
	assert_events(X86_TRACE_COMPARE, "A0:0 ");
	assert_test("48 85 f7 c3", ""); /* test %rsi,%rdi */
	assert_events(X86_TRACE_COMPARE, "");
	assert_returns("48 21 f7 48 89 f8 c3", "? "); /* and %rsi,%rdi */
	assert_returns("48 21 ff 48 89 f8 c3", "A0 "); /* and %rdi,%rdi */
	assert_returns("48 d3 ef 48 89 f8 c3", "? "); /* shr %cl,%rdi */
	/* A write to a byte that is not the lowest: mov $1,%ah */
	assert_returns("48 89 f8 b4 01 c3", "? ");
	/* mov %rsi,%rax; mov %ah,%cl; mov %rcx,%rax */
	assert_returns("48 89 f0 88 e1 48 89 c8 c3", "(A1>>8) ");
}

FIXTURE_TEST(trace_reports_comparisons)
{
	run("83 3f 01 48 39 f7 c3"); /* cmpl $1,(%rdi); cmp %rsi,%rdi */
	assert_events(X86_TRACE_COMPARE, "[A0]4:1 ");
	assert_events(X86_TRACE_DIFFERENCE, "A0~A1 ");
}

FIXTURE_TEST(trace_takes_both_sides_of_branch)
{
	/* test %edi,%edi; je 1f; mov %rsi,%rax; ret; 1: mov %rdx,%rax; ret */
	assert_returns("85 ff 74 04 48 89 f0 c3 48 89 d0 c3", "A1 A2 ");
	/* mov %rsi,%rax; cmove %rdx,%rax; ret */
	assert_returns("48 89 f0 48 0f 44 c2 c3", "A1 A2 ");
	/* jmp 1f; mov %rsi,%rax; ret; 1: mov %rdx,%rax; ret */
	assert_returns("eb 04 48 89 f0 c3 48 89 d0 c3", "A2 ");
}

FIXTURE_TEST(trace_loop_ends_after_step_limit_or_without_change)
{
	/* 1: mov 0x20(%rdi),%rax; add $0x38,%rdi; jmp 1b */
	run("48 8b 47 20 48 83 c7 38 eb f6");
	assert_int_equal(trace->step_count, X86_TRACE_STEPS_MAX);
	assert_int_equal(trace->events[0].value.terms[0].factor, 1);
	assert_true(trace->event_count > 2);
	assert_true(trace->nodes.list[trace->events[1].value.terms[0].node].of.constant == 0x58);
	code = (struct ruby_code){ 0 };
	/* 1: test %edi,%edi; jne 1b; ret: there is nothing new in going round */
	run("85 ff 75 fc c3");
	assert_true(trace->step_count < 10);
	assert_events(X86_TRACE_RETURN, "? ");
}

FIXTURE_TEST(trace_keeps_values_stored_on_stack)
{
	/* push %rdi; push %rsi; pop %rax; pop %rcx; sub %rcx,%rax; ret */
	assert_returns("57 56 58 59 48 29 c8 c3", "-1*A0+A1 ");
	/* sub $0x18,%rsp; mov %rsi,8(%rsp); xor %esi,%esi; mov 8(%rsp),%rax; add $0x18,%rsp; ret */
	assert_returns("48 83 ec 18 48 89 74 24 08 31 f6 48 8b 44 24 08 48 83 c4 18 c3", "A1 ");
	/* mov 8(%rsp),%rax: nobody put anything there */
	assert_returns("48 8b 44 24 08 c3", "? ");
	assert_events(X86_TRACE_LOAD, "");
	/* push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp); mov -8(%rbp),%rax; leave; ret */
	assert_returns("55 48 89 e5 48 89 7d f8 48 8b 45 f8 c9 c3", "A0 ");
	/* push %rdi; mov %rsi,(%rsp); pop %rax */
	assert_returns("57 48 89 34 24 58 c3", "A1 ");
	/* What is stored elsewhere is not looked after: mov %rsi,(%rdi); mov (%rdi),%rax */
	assert_returns("48 89 37 48 8b 07 c3", "[A0] ");
}

FIXTURE_TEST(trace_follows_calls_up_to_given_depth)
{
	/* call 1f; ret; 1: mov 8(%rdi),%rax; ret */
	static const char hex[] = "e8 01 00 00 00 c3 48 8b 47 08 c3";
	/* call 1f; ret; 1: call 2f; ret; 2: mov 8(%rdi),%rax; ret */
	static const char nested[] = "e8 01 00 00 00 c3 e8 01 00 00 00 c3 48 8b 47 08 c3";

	assert_returns(hex, "? ");
	run_sized(hex, 0, 1);
	assert_events(X86_TRACE_RETURN, "[A0+8] ");
	code = (struct ruby_code){ 0 };
	run_sized(nested, 0, 1);
	assert_events(X86_TRACE_RETURN, "? ");
	code = (struct ruby_code){ 0 };
	run_sized(nested, 0, 2);
	assert_events(X86_TRACE_RETURN, "[A0+8] ");
	code = (struct ruby_code){ 0 };
	/* Without an end: call itself. */
	run_sized("e8 fb ff ff ff c3", 0, 100);
	assert_int_equal(trace->step_count, 2 * (X86_TRACE_DEPTH_MAX + 1));
}

FIXTURE_TEST(trace_call_not_followed_clobbers_volatile_registers)
{
	/* mov %rdi,%rbx; call 0x2000; mov %rbx,%rax; ret */
	assert_returns("48 89 fb e8 f8 0f 00 00 48 89 d8 c3", "A0 ");
	/* call 0x2000; mov REGISTER,%rax; ret */
	assert_returns("e8 fb 0f 00 00 48 89 f8 c3", "? "); /* %rdi */
	assert_returns("e8 fb 0f 00 00 48 89 f0 c3", "? "); /* %rsi */
	assert_returns("e8 fb 0f 00 00 48 89 d0 c3", "? "); /* %rdx */
	assert_returns("e8 fb 0f 00 00 48 89 c8 c3", "? "); /* %rcx */
	assert_returns("e8 fb 0f 00 00 4c 89 c0 c3", "? "); /* %r8 */
	assert_returns("e8 fb 0f 00 00 4c 89 c8 c3", "? "); /* %r9 */
	/* mov %rdi,%r10; call; mov %r10,%rax, and the same of %r11, %r12 */
	assert_returns("49 89 fa e8 f8 0f 00 00 4c 89 d0 c3", "? ");
	assert_returns("49 89 fb e8 f8 0f 00 00 4c 89 d8 c3", "? ");
	assert_returns("49 89 fc e8 f8 0f 00 00 4c 89 e0 c3", "A0 ");
}

FIXTURE_TEST(trace_jump_through_slot_reaches_function)
{
	ruby_code_add_slot(&code, 0x2006, X86_SLOT_FUNCTION, 0x3000);
	ruby_code_add(&code, 0x3000, "48 8b 47 08 c3");
	run("ff 25 00 10 00 00"); /* jmp *0x1000(%rip) */
	assert_events(X86_TRACE_RETURN, "[A0+8] ");
	code = (struct ruby_code){ 0 };
	/* One that is not here returns something. */
	assert_returns("ff 25 00 10 00 00", "? ");
	assert_returns("ff e0", "? "); /* jmp *%rax */
}

FIXTURE_TEST(trace_resolves_thread_local_by_its_slot)
{
	ruby_code_add_slot(&code, 0x2007, X86_SLOT_TLS, 0);
	/* lea 0x1000(%rip),%rdi; call 0x2000; mov (%rax),%rax; ret */
	run("48 8d 3d 00 10 00 00 e8 f4 0f 00 00 48 8b 00 c3");
	assert_events(X86_TRACE_RETURN, "[L2007] ");
	code = (struct ruby_code){ 0 };
	/* mov %fs:0,%rax; ret: the thread pointer stands there itself */
	assert_returns("64 48 8b 04 25 00 00 00 00 c3", "T0 ");
	assert_returns("64 48 8b 04 25 f8 ff ff ff c3", "[T0-8] ");
	assert_returns("65 48 8b 04 25 00 00 00 00 c3", "? "); /* mov %gs:0,%rax */
}

FIXTURE_TEST(trace_stops_after_call_at_end_of_function)
{
	/* call 0x2000; (the end) mov %rdi,%rax; ret */
	static const char hex[] = "e8 fb 0f 00 00 48 89 f8 c3";

	run_sized(hex, 5, 0);
	assert_events(X86_TRACE_RETURN, "");
	code = (struct ruby_code){ 0 };
	run_sized(hex, 9, 0);
	assert_events(X86_TRACE_RETURN, "? ");
}

FIXTURE_TEST(trace_path_ends_at_undecodable_instruction)
{
	assert_returns("48 89 f8 0f 0b c3", ""); /* ud2 */
	assert_returns("48 89 f8 cc c3", ""); /* int3 */
	assert_returns("48 89 f8 f4 c3", ""); /* hlt */
	assert_returns("48 89 f8 06 c3", ""); /* not in 64 bits */
	assert_returns("48 89 f8 0f 05 c3", ""); /* syscall */
	assert_returns("48 8b 47", ""); /* cut short */
	assert_returns("", "");
	assert_returns("f3 0f 1e fa 66 0f 1f 44 00 00 48 89 f8 c3", "A0 "); /* endbr64, nop */
}

FIXTURE_TEST(trace_reports_each_event_once_per_run)
{
	run("48 8b 07 48 8b 07 c3"); /* mov (%rdi),%rax, twice */
	assert_events(X86_TRACE_LOAD, "[A0] ");
	code = (struct ruby_code){ 0 };
	run("c3"); /* Those of the last run are gone. */
	assert_events(X86_TRACE_LOAD, "");
}
