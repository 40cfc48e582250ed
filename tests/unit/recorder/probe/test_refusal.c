/* SPDX-License-Identifier: GPL-2.0-only */
/* What is kept of what libbpf says when the kernel refuses a program. */
#include "recorder/probe/refusal.h"

#include <stdio.h>
#include <string.h>

#include "unit_test.h"
#include <bpf/libbpf.h>

/* Says it as libbpf does, to whom it would. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	libbpf_print_fn_t hear = libbpf_set_print(NULL);
	va_list args;

	(void)libbpf_set_print(hear);
	va_start(args, format);
	(void)hear(LIBBPF_WARN, format, args);
	va_end(args);
}

TEST(refusal_keeps_program_name_and_last_log_lines)
{
	struct refusal refusal;

	memset(&refusal, 'x', sizeof(refusal));
	refusal_listen(&refusal);
	assert_string_equal(refusal.program, "");
	assert_string_equal(refusal.lines[0], "");
	say("libbpf: prog 'on_exit': BPF program load failed: Permission denied\n");
	say("libbpf: prog 'on_exit': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n\n1: (95) exit\n2: a\n"
	    "3: b\nR0 !read_ok\nverification time 30 usec\nstack depth 16\n"
	    "processed 2 insns (limit 1000000)\n-- END PROG LOAD LOG --\n");
	say("libbpf: failed to load object\n");
	refusal_listen(NULL);
	assert_string_equal(refusal.program, "on_exit");
	assert_string_equal(refusal.lines[0], "1: (95) exit");
	assert_string_equal(refusal.lines[1], "2: a");
	assert_string_equal(refusal.lines[2], "3: b");
	assert_string_equal(refusal.lines[3], "R0 !read_ok");
	say("libbpf: prog 'other': -- BEGIN PROG LOAD LOG --\nfine\n-- END PROG LOAD LOG --\n");
	assert_string_equal(refusal.program, "on_exit");
}

TEST(refusal_keeps_later_of_two_programs)
{
	struct refusal refusal;

	refusal_listen(&refusal);
	say("libbpf: prog 'one': -- BEGIN PROG LOAD LOG --\na\nb\n-- END PROG LOAD LOG --\n");
	say("libbpf: prog 'two': -- BEGIN PROG LOAD LOG --\nc\n-- END PROG LOAD LOG --\n");
	refusal_listen(NULL);
	assert_string_equal(refusal.program, "two");
	assert_string_equal(refusal.lines[0], "c");
	assert_string_equal(refusal.lines[1], "");
}

TEST(refusal_truncates_long_lines_and_names)
{
	struct refusal refusal;
	char name[65], line[REFUSAL_LINE_BYTES + 1];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(line, 'l', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	refusal_listen(&refusal);
	say("libbpf: prog '%s': -- BEGIN PROG LOAD LOG --\n%s\n%s\n%s\n%s\n%s\n"
	    "-- END PROG LOAD LOG --\n",
	    name, line, line, line, line, line + 1);
	refusal_listen(NULL);
	assert_int_equal(strlen(refusal.program), sizeof(refusal.program) - 1);
	for (int i = 0; i < REFUSAL_LINES_MAX; i++) {
		assert_int_equal(strlen(refusal.lines[i]), REFUSAL_LINE_BYTES - 1);
		assert_int_equal(strspn(refusal.lines[i], "l"), REFUSAL_LINE_BYTES - 1);
	}
}
