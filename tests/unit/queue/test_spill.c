/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue/backlog_of_numbers.h"

static char folder[] = "/tmp/test_spill.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? setenv("TMPDIR", folder, 1) : -1;
}

/* Fails if anything is left there. */
static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

enum {
	COUNT = 100000,
	MEMORY_BYTES = 1000 * ENTRY,
};

static void append_as_the_disk_can(struct backlog *backlog, uint64_t count)
{
	struct backlog_status status;

	for (uint64_t number = 0; number < count; number++) {
		append_numbers(backlog, number, 1);
		do
			backlog_get_status(backlog, &status);
		while (status.memory_bytes > MEMORY_BYTES * 9 / 10);
	}
}

static void an_outage_goes_to_disk_and_comes_back_in_order(void **state)
{
	struct backlog *backlog = make_backlog(&(struct backlog_options){
		.segment_bytes = 100 * ENTRY, .memory_bytes_max = MEMORY_BYTES, .seal_ns = LONG });
	struct backlog_status status;
	uint64_t next = 0;

	(void)state;
	append_as_the_disk_can(backlog, COUNT);
	backlog_seal(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.queued_records, COUNT);
	assert_int_equal(status.dropped_records, 0);
	assert_true(status.memory_bytes <= MEMORY_BYTES);
	assert_true(status.store_bytes > COUNT / 2 * ENTRY);
	while (!backlog_is_empty(backlog)) {
		struct chunk chunk = await_chunk(backlog);

		for (uint32_t i = 0; i < chunk.entries; i++)
			assert_int_equal(entry_number(chunk.bytes, i), next++);
		backlog_done(backlog);
	}
	assert_int_equal(next, COUNT);
	backlog_free(backlog);
}

static void it_is_bounded_and_the_oldest_goes_first(void **state)
{
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = 100 * ENTRY,
							.memory_bytes_max = MEMORY_BYTES,
							.seal_ns = LONG,
							.store_bytes_max = 5000 * ENTRY });
	struct backlog_status status;
	uint64_t next = 0, read = 0;

	(void)state;
	append_as_the_disk_can(backlog, COUNT);
	backlog_seal(backlog);
	while (next < COUNT) {
		struct chunk chunk = await_chunk(backlog);

		assert_true(entry_number(chunk.bytes, 0) >= next);
		next = entry_number(chunk.bytes, chunk.entries - 1) + 1;
		read += chunk.entries;
		backlog_done(backlog);
	}
	backlog_get_status(backlog, &status);
	assert_int_equal(read + status.dropped_records, COUNT);
	assert_true(read >= 5000 && read <= 6000);
	backlog_free(backlog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outage_goes_to_disk_and_comes_back_in_order),
		cmocka_unit_test(it_is_bounded_and_the_oldest_goes_first),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
