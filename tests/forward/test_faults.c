/* SPDX-License-Identifier: GPL-2.0-only */
/* Each way in which a collector can be broken: survived, named, and nothing lost once it is well.
 */
#include <poll.h>

#include "base/log.h"
#include "forward/stream.h"

enum {
	ENTRIES = 100,
	SEGMENT_ENTRIES = 10,
	TIMES = 3, /* so often in a row: below what makes a chunk suspect */
};

static char folder[] = "/dev/shm/test_faults.XXXXXX";

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

struct repeated {
	enum fault fault;
	unsigned int left;
};

static struct fault_plan repeat(void *user, uint64_t number, uint32_t entries)
{
	struct repeated *repeated = user;

	(void)entries;
	if (number == UINT64_MAX || !repeated->left)
		return (struct fault_plan){ 0 };
	repeated->left--;
	return (struct fault_plan){ repeated->fault, 1 };
}

/* What is not silence must not be taken for it, however busy the machine is. */
static void start(struct stream *stream, struct collector_options *options, enum fault fault)
{
	*stream = (struct stream){ .shared_key = options->shared_key,
				   .backlog_options = { .segment_bytes = SEGMENT_ENTRIES * ENTRY,
							.seal_ns = MS },
				   .ack_timeout_ns = (fault == FAULT_SILENT ? 20 : 10000) * MS };
	(void)snprintf(stream->path, sizeof(stream->path), "%s/socket", folder);
	stream->collector = collector_start(stream->path, options);
	stream_start(stream);
}

static void expect_all(struct stream *stream, uint64_t except)
{
	assert_true(stream_await_empty(stream));
	for (uint64_t number = 0; number < ENTRIES; number++)
		if (number != except)
			assert_true(collector_count(stream->collector, number) >= 1);
	assert_int_equal(stream->unkept_releases, except != UINT64_MAX);
	assert_int_equal(collector_changed_chunks(stream->collector), 0);
}

static void each_fault_is_survived_and_named(void **state)
{
	static const struct {
		enum fault fault;
		enum failure_kind kind;
	} cases[] = {
		{ FAULT_KEEP_AND_CLOSE, FAILURE_CLOSED }, { FAULT_CUT_ACK, FAILURE_GARBAGE },
		{ FAULT_SILENT, FAILURE_SILENT },	  { FAULT_WRONG_ACK, FAILURE_WRONG_ACK },
		{ FAULT_EMPTY_MAP, FAILURE_REFUSED },	  { FAULT_GARBAGE, FAILURE_GARBAGE },
		{ FAULT_HUGE, FAILURE_GARBAGE },	  { FAULT_SLOW_ACK, FAILURE_NONE },
		{ FAULT_ABSENT, _FAILURE_KIND_MAX }, /* closed, or not there */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct repeated repeated = { cases[i].fault, TIMES };
		struct collector_options options = { .plan = repeat,
						     .user = &repeated,
						     .poison = UINT64_MAX };
		struct sender_status status;
		struct stream stream;

		start(&stream, &options, cases[i].fault);
		stream_append(&stream, 0, ENTRIES);
		expect_all(&stream, UINT64_MAX);
		sender_get_status(stream.sender, &status);
		if (cases[i].kind != _FAILURE_KIND_MAX)
			assert_int_equal(status.last_failure, cases[i].kind);
		if (cases[i].kind != FAILURE_NONE)
			assert_true(status.failures >= TIMES);
		assert_int_equal(stream.rejected, 0);
		assert_true(status.is_delivering);
		stream_stop(&stream);
		collector_stop(stream.collector);
	}
}

static uint64_t rejected_count(struct stream *stream)
{
	struct sender_status status;

	sender_get_status(stream->sender, &status);
	return status.rejected_records;
}

/* It is found by halves, set aside, and the rest goes through. That needs something else to be
 * acked in between, as there always is while a recording goes on. */
static void one_bad_entry_is_set_aside_and_no_other(void **state)
{
	static const uint64_t bad[] = { 0, 37, 57, ENTRIES - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct collector_options options = { .poison = bad[i] };
		struct stream stream;

		start(&stream, &options, FAULT_NONE);
		stream_append(&stream, 0, ENTRIES);
		for (uint64_t more = ENTRIES; !rejected_count(&stream); more++) {
			assert_true(more < STREAM_DEADLINE_MS);
			stream_append(&stream, more, 1);
			(void)usleep(1000);
		}
		expect_all(&stream, bad[i]);
		assert_int_equal(stream.rejected, 1);
		assert_int_equal(stream.rejected_number, bad[i]);
		assert_int_equal(collector_count(stream.collector, bad[i]), 0);
		stream_stop(&stream);
		collector_stop(stream.collector);
	}
}

static void one_that_says_that_it_closes_does_not_fail(void **state)
{
	struct collector_options options = { .poison = UINT64_MAX,
					     .shared_key = "secret",
					     .says_that_it_closes = true };
	struct sender_status status;
	struct stream stream;

	(void)state;
	start(&stream, &options, FAULT_NONE);
	stream_append(&stream, 0, ENTRIES);
	expect_all(&stream, UINT64_MAX);
	sender_get_status(stream.sender, &status);
	assert_true(status.sent_chunks > 1);
	assert_int_equal(status.failures, 0);
	stream_stop(&stream);
	collector_stop(stream.collector);
}

/* A bad entry that is alone cannot be told from a collector that takes nothing: it waits. */
static void a_collector_that_refuses_everything_costs_nothing(void **state)
{
	struct repeated repeated = { FAULT_CLOSE_EARLY, 200 };
	struct collector_options options = { .plan = repeat,
					     .user = &repeated,
					     .poison = UINT64_MAX };
	struct stream stream;

	(void)state;
	start(&stream, &options, FAULT_CLOSE_EARLY);
	stream_append(&stream, 0, ENTRIES);
	expect_all(&stream, UINT64_MAX);
	assert_int_equal(repeated.left, 0);
	assert_int_equal(stream.rejected, 0);
	stream_stop(&stream);
	collector_stop(stream.collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_survived_and_named),
		cmocka_unit_test(one_bad_entry_is_set_aside_and_no_other),
		cmocka_unit_test(one_that_says_that_it_closes_does_not_fail),
		cmocka_unit_test(a_collector_that_refuses_everything_costs_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
