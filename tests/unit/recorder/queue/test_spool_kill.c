/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/log.h"
#include "recorder/queue/spool_folder.h"

static int quiet_setup(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	return setup(state);
}

enum {
	KILLS = 100,
	KILL_BATCH = 10,
	AWAIT_MS = 60 * 1000,
};

/* Appends until it is killed; says how far it got before each segment that must be kept. */
static void write_until_killed(uint64_t first, volatile uint64_t *sealed)
{
	struct backlog *backlog = open_spool(KILL_BATCH, LONG, 0);

	for (uint64_t number = first;; number++) {
		struct numbered_entry entry = number_entry(number);
		struct backlog_status status;

		if (backlog_append(backlog, &entry, sizeof(entry)))
			_exit(2);
		if ((number + 1 - first) % KILL_BATCH)
			continue;
		backlog_seal(backlog);
		/* Sealed is what is kept: the queue's memory is empty again. */
		do
			backlog_get_status(backlog, &status);
		while (status.memory_bytes);
		*sealed = number + 1;
	}
}

static void await_sealed(const volatile uint64_t *sealed, uint64_t more_than)
{
	for (int i = 0; i < AWAIT_MS && *sealed <= more_than; i++)
		(void)usleep(1000);
	assert_true(*sealed > more_than);
}

/* Whenever it is killed, all that was sealed is there, in order, with no hole. */
TEST(spool_preserves_sealed_records_across_sigkill)
{
	uint64_t *sealed = mmap(NULL, sizeof(*sealed), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t next = 0;

	srandom(1);
	for (int number = 0; number < KILLS; number++) {
		pid_t child = fork();
		struct backlog *backlog;

		assert_true(child >= 0);
		if (!child)
			write_until_killed(next, sealed);
		/* Any instant must do: in one life out of two, of those after it has kept
		 * something. */
		if (number % 2)
			await_sealed(sealed, next);
		(void)usleep((unsigned int)(random() % 10000));
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		backlog = open_spool(KILL_BATCH, LONG, 0);
		while (!backlog_is_empty(backlog)) {
			struct chunk chunk = await_chunk(backlog);

			for (uint32_t i = 0; i < chunk.entries; i++)
				assert_int_equal(entry_number(chunk.bytes, i), next++);
			backlog_done(backlog);
		}
		backlog_free(backlog);
		assert_true(next >= *sealed);
	}
	assert_int_equal(munmap(sealed, sizeof(*sealed)), 0);
}

TEST_GROUP(quiet_setup, teardown)
