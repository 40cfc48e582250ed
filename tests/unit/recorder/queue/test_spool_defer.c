/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "recorder/queue/spool_folder.h"

static void remove_newest_chunk(void)
{
	char line[sizeof(spool) + 64];

	(void)snprintf(line, sizeof(line), "rm $(ls %s/*.chunks | tail -n 1)", spool);
	assert_int_equal(system(line), 0);
}

/* Or it would wait for a turn of others that there are none of. */
TEST_WITH(spool_returns_deferred_chunk_if_other_is_unreadable, empty, NULL)
{
	struct backlog *backlog = open_spool(2, LONG, 0);
	char path[PATH_MAX];
	struct chunk chunk;

	append_numbers(backlog, 1, 4);
	backlog_seal(backlog);
	await_files(".chunks", 2, path);
	(void)expect_numbers(backlog, 1, 2);
	assert_int_equal(backlog_defer(backlog), 0);
	remove_newest_chunk();
	assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
	(void)expect_numbers(backlog, 1, 2);
	backlog_free(backlog);
}

/* It was read back from the spool, and is there still: nothing is lost with its memory. */
TEST_WITH(spool_drops_no_kept_chunk_when_memory_is_full, empty, NULL)
{
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = 2 * ENTRY,
							.memory_bytes_max = 6 * ENTRY,
							.seal_ns = LONG,
							.spool = spool });
	struct backlog_status status;
	char path[PATH_MAX];

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	await_files(".chunks", 1, path);
	append_numbers(backlog, 3, 2);
	backlog_seal(backlog);
	await_files(".chunks", 2, path);
	(void)expect_numbers(backlog, 1, 2);
	assert_int_equal(backlog_defer(backlog), 0);
	(void)expect_numbers(backlog, 3, 2);
	assert_int_equal(backlog_defer(backlog), 0);
	append_numbers(backlog, 5, 4);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	(void)expect_numbers(backlog, 1, 2);
	backlog_free(backlog);
}

TEST_GROUP(setup, teardown)
