/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/memory_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/target/proc/agent.h"

enum {
	SPANS = 1000,
	PAGE = 4096,
	LARGE = 300001
};

/* Our own memory: the kernel lets every process read itself so. */
static struct memory_reader own_memory(void)
{
	return memory_reader_of_process(getpid());
}

static void memory_is_copied(void **state)
{
	const struct memory_reader reader = own_memory();
	const uint64_t word = 0x1122334455667788;
	uint64_t copy = 0;

	(void)state;
	assert_int_equal(memory_read_u64(&reader, (uintptr_t)&word, &copy), 0);
	assert_int_equal(copy, word);
}

static void a_read_that_runs_into_a_hole_fails(void **state)
{
	const struct memory_reader reader = own_memory();
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buffer[16];

	(void)state;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(memory_read(&reader, (uintptr_t)pages + PAGE - 16, buffer, 16), 0);
	assert_int_equal(memory_read(&reader, (uintptr_t)pages + PAGE - 8, buffer, 16), -EFAULT);
	assert_int_equal(memory_read(&reader, UINT64_MAX - 7, buffer, 16), -EFAULT);
	assert_int_equal(memory_read(&reader, 0, buffer, 16), -EFAULT);
	assert_int_equal(munmap(pages, PAGE), 0);
}

static void many_spans_are_copied_and_one_bad_one_fails_them(void **state)
{
	const struct memory_reader reader = own_memory();
	struct memory_reader single = own_memory();
	struct memory_span spans[SPANS];
	uint32_t from[SPANS], to[SPANS];

	(void)state;
	for (uint32_t i = 0; i < SPANS; i++) {
		from[i] = i * 2654435761u;
		spans[i] = (struct memory_span){ (uintptr_t)&from[i], &to[SPANS - 1 - i], 4 };
	}
	single.read_many = NULL;
	for (int round = 0; round < 2; round++) {
		memset(to, 0, sizeof(to));
		assert_int_equal(memory_read_many(round ? &single : &reader, spans, SPANS), 0);
		for (size_t i = 0; i < SPANS; i++)
			assert_int_equal(to[SPANS - 1 - i], from[i]);
	}
	assert_int_equal(memory_read_many(&reader, spans, 0), 0);
	spans[SPANS - 1].address = 0;
	assert_int_equal(memory_read_many(&reader, spans, SPANS), -EFAULT);
	assert_int_equal(memory_read_many(&single, spans, SPANS), -EFAULT);
}

static void a_process_that_is_gone_is_named_so(void **state)
{
	pid_t pid = fork();
	struct memory_reader reader;
	uint64_t word;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reader = memory_reader_of_process(pid);
	assert_int_equal(memory_read_u64(&reader, (uintptr_t)&pid, &word), -ESRCH);
}

/* More than is read at a time, across the ends of spans. */
static void large_spans_are_copied_in_pieces(void **state)
{
	const struct memory_reader reader = own_memory();
	static uint8_t from[3][LARGE], to[3][LARGE];
	struct memory_span spans[3];

	(void)state;
	for (size_t i = 0; i < 3UL * LARGE; i++)
		from[i % 3][i / 3] = (uint8_t)(i * 2654435761U >> 16);
	for (size_t i = 0; i < 3; i++)
		spans[i] = (struct memory_span){ (uintptr_t)from[i], to[i], LARGE - i };
	assert_int_equal(memory_read_many(&reader, spans, 3), 0);
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(to[i], from[i], LARGE - i);
	assert_int_equal(to[2][LARGE - 1], 0);
}

/* Who reads is another process: this one's time is its own. */
static void what_reads_is_counted(void **state)
{
	const struct memory_reader reader = own_memory();
	uint64_t before_ns = agent_cpu_ns(), word;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(memory_read_u64(&reader, (uintptr_t)&before_ns, &word), 0);
	assert_true(agent_cpu_ns() > before_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_copied),
		cmocka_unit_test(a_read_that_runs_into_a_hole_fails),
		cmocka_unit_test(many_spans_are_copied_and_one_bad_one_fails_them),
		cmocka_unit_test(a_process_that_is_gone_is_named_so),
		cmocka_unit_test(large_spans_are_copied_in_pieces),
		cmocka_unit_test(what_reads_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
