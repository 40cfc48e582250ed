/* SPDX-License-Identifier: GPL-2.0-only */
/* Records that are nowhere at the end are a failure: with a spool, those that its disk did not
 * take. */
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/exit_code.h"
#include "base/log.h"
#include "recorder/observe/output/output.h"
#include "recorder/queue/faulty_disk.h"

UNIT_TEST_ALONE;

static char folder[] = "/tmp/test_output.XXXXXX";
static char spool[sizeof(folder) + 8];

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(spool, sizeof(spool), "%s/spool", folder);
	return 0;
}

static int teardown(void **state)
{
	char line[64];

	(void)state;
	(void)snprintf(line, sizeof(line), "rm -rf %s", folder);
	return system(line);
}

/* Where nobody listens. */
static int record_one(unsigned int failing_call, const char *path)
{
	const char *problem;
	struct forwarding_options forward = { .url_count = 1,
					      .tag = "correlator.test",
					      .ack_timeout_ns = 1000000000,
					      .retry_max_ns = 1000000000 };
	const struct output_options options = { .forward = &forward, .backlog.spool = path };
	struct gap_record record = { .reason = "none" };
	struct output output = { 0 };
	int r;

	assert_int_equal(forward_url_parse("unix:/nonexistent/socket", &forward.urls[0], &problem),
			 0);
	disk_reset(0);
	assert_int_equal(output_prepare(&output, &options), EXIT_CODE_OK);
	assert_int_equal(output_open(&output, 1), EXIT_CODE_OK);
	disk_reset(DISK_CHANGES);
	disk_fail(failing_call, failing_call ? 1000000 : 0, EIO);
	assert_int_equal(output_add(&output, 1, &record), 0);
	assert_int_equal(output_write(&output, 1), 0);
	r = output_close(&output, NULL, NULL);
	output_deinit(&output);
	return r;
}

TEST(output_succeeds_if_unsent_records_are_in_spool)
{
	assert_int_equal(record_one(0, spool), 0);
}

TEST(output_fails_if_unsent_records_are_only_in_memory)
{
	assert_int_equal(record_one(0, NULL), -EIO);
}

TEST(output_fails_if_spool_disk_rejects_records)
{
	/* Each call of a segment: create, write, cut, sync, rename, and sync the folder. */
	for (unsigned int call = 1; call <= 6; call++)
		assert_int_equal(record_one(call, spool), -EIO);
}

TEST_GROUP(setup, teardown)
