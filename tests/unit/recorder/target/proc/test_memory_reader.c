/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/memory_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

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

TEST(memory_reader_copies_own_memory)
{
	const struct memory_reader reader = own_memory();
	const uint64_t word = 0x1122334455667788;
	uint64_t copy = 0;

	assert_int_equal(memory_read_u64(&reader, (uintptr_t)&word, &copy), 0);
	assert_int_equal(copy, word);
}

TEST(memory_reader_fails_at_unmapped_page)
{
	const struct memory_reader reader = own_memory();
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buffer[16];

	assert_true(pages != MAP_FAILED);
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(memory_read(&reader, (uintptr_t)pages + PAGE - 16, buffer, 16), 0);
	assert_int_equal(memory_read(&reader, (uintptr_t)pages + PAGE - 8, buffer, 16), -EFAULT);
	assert_int_equal(memory_read(&reader, UINT64_MAX - 7, buffer, 16), -EFAULT);
	assert_int_equal(memory_read(&reader, 0, buffer, 16), -EFAULT);
	assert_int_equal(munmap(pages, PAGE), 0);
}

TEST(memory_reader_copies_many_spans_or_fails_for_all)
{
	const struct memory_reader reader = own_memory();
	struct memory_reader single = own_memory();
	struct memory_span spans[SPANS];
	uint32_t from[SPANS], to[SPANS];

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

TEST(memory_reader_returns_esrch_for_exited_process)
{
	pid_t pid = fork();
	struct memory_reader reader;
	uint64_t word;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reader = memory_reader_of_process(pid);
	assert_int_equal(memory_read_u64(&reader, (uintptr_t)&pid, &word), -ESRCH);
}

/* More than is read at a time, across the ends of spans. */
TEST(memory_reader_copies_large_spans_in_pieces)
{
	const struct memory_reader reader = own_memory();
	static uint8_t from[3][LARGE], to[3][LARGE];
	struct memory_span spans[3];

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
TEST(memory_reader_cpu_time_is_counted_by_agent)
{
	const struct memory_reader reader = own_memory();
	uint64_t before_ns = agent_cpu_ns(), word;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(memory_read_u64(&reader, (uintptr_t)&before_ns, &word), 0);
	assert_true(agent_cpu_ns() > before_ns);
}
