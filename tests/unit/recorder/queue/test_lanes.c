/* SPDX-License-Identifier: GPL-2.0-only */
/* Lanes of processes that wait with much: what they cost the others. */
#include "unit_test.h"

#include "recorder/queue/spool_folder.h"

enum {
	SEGMENT = 100, /* entries */
	MEMORY = 8 * SEGMENT,
	MUCH = MEMORY / 2, /* beyond that there are lanes */
	PROCESSES = 40,
};

static struct backlog *make(uint64_t seal_ns)
{
	return make_backlog(&(struct backlog_options){ .segment_bytes = SEGMENT * ENTRY,
						       .memory_bytes_max = MEMORY * ENTRY,
						       .seal_ns = seal_ns });
}

static void append_of(struct backlog *backlog, uint32_t pid, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++) {
		struct numbered_entry entry = number_entry_of(pid, number);

		assert_int_equal(backlog_append(backlog, &entry, ENTRY), 0);
	}
}

TEST(lanes_of_many_processes_fit_in_memory_without_drops)
{
	struct backlog *backlog = make(LONG);
	struct backlog_status status;

	/* With full segments the 33 lanes would take four times as much. */
	for (uint64_t number = 0; number < MUCH + 4 * PROCESSES; number++)
		append_of(backlog, 1 + (uint32_t)(number % PROCESSES), number, 1);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	assert_true(status.memory_bytes <= MEMORY * ENTRY);
	backlog_free(backlog);
}

/* The segment that others fill, slowly, is before those of a lane, which are full. */
TEST(lanes_seal_open_segment_early_if_others_wait_behind_it)
{
	struct backlog *backlog = make(UINT64_C(1100000) * DEADLINE_MS);

	append_of(backlog, 2, 0, 1);
	append_of(backlog, 1, 0, MUCH + 2 * SEGMENT);
	for (unsigned int i = 0; i < MUCH / SEGMENT; i++) {
		assert_int_equal(await_chunk(backlog).entries, SEGMENT);
		backlog_done(backlog);
	}
	/* The one with which more than much waited. */
	assert_int_equal(await_chunk(backlog).entries, 1);
	backlog_done(backlog);
	assert_true(await_chunk(backlog).entries > 1);
	backlog_free(backlog);
}

TEST_GROUP(setup, teardown)
