/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording with --io: when its figures are taken, whose they are, and what they are on. */
#include "unit_test.h"

#include <arpa/inet.h>

#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

static int begin(void **state)
{
	if (set_up(state) < 0)
		return -1;
	fake.recording.counts_io = true;
	fake.recording.duration_ns = 2 * NS_PER_S;
	return 0;
}

static struct io_object at(uint32_t on, const char *address, uint16_t port)
{
	struct io_object object = { .on = on, .end.port = port };

	object.end.is_ipv6 = strchr(address, ':') != NULL;
	assert_int_equal(
		inet_pton(object.end.is_ipv6 ? AF_INET6 : AF_INET, address, object.end.address), 1);
	return object;
}

static struct fake_io *move(const struct account_key *account, struct io_object object,
			    uint64_t calls)
{
	assert_in_range(fake.io_count, 0, FAKE_CALLS_MAX - 1);
	fake.ios[fake.io_count] = (struct fake_io){
		.key = { .account = *account, .object = object },
		.sums = { .calls = calls, .in_bytes = 10 * calls, .out_bytes = calls }
	};
	return &fake.ios[fake.io_count++];
}

static void move_some(void)
{
	struct account_key *request, *none;
	struct io_object accepted = at(IO_ON_TCP, "127.0.0.1", 3000);

	run_a_request();
	request = &fake.accounts[0].key;
	none = &fake.accounts[1].key;
	accepted.end.is_own = 1;
	(void)move(request, (struct io_object){ .on = IO_ON_FILE }, 1);
	(void)move(request, (struct io_object){ .on = IO_ON_PIPE }, 2);
	(void)move(request, at(IO_ON_TCP, "10.0.0.5", 5432), 3);
	(void)move(request, at(IO_ON_UDP, "fe80::1", 8125), 4);
	(void)move(none, at(IO_ON_DNS, "10.0.0.2", 53), 5);
	(void)move(none, accepted, 6);
	(void)move(none, (struct io_object){ .on = IO_ON_UNIX, .end.address = { 7 } }, 7);
	(void)move(none, (struct io_object){ .on = IO_ON_UNIX, .end.is_own = 1 }, 8);
	(void)move(none, (struct io_object){ .on = IO_ON_SOCKET }, 9);
	(void)move(none, (struct io_object){ .on = IO_ON_OTHER }, 10);
	(void)move(none, (struct io_object){ .on = _IO_ON_MAX }, 11);
}

#define FIXTURE_TEST(test) TEST_WITH(test, begin, NULL)

FIXTURE_TEST(recorder_writes_io_after_balance_of_its_window)
{
	plan(NS_PER_S / 2, move_some);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.counts_io);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"io 0 r1 file - 1 in 10 out 1\n"
					"io 0 r1 pipe - 2 in 20 out 2\n"
					"io 0 r1 tcp 10.0.0.5:5432 3 in 30 out 3\n"
					"io 0 r1 udp [fe80::1]:8125 4 in 40 out 4\n"
					"io 0  dns 10.0.0.2:53 5 in 50 out 5\n"
					"io 0  tcp accepted 127.0.0.1:3000 6 in 60 out 6\n"
					"io 0  unix /run/7.sock 7 in 70 out 7\n"
					"io 0  unix - 8 in 80 out 8\n"
					"io 0  socket - 9 in 90 out 9\n"
					"io 0  other - 10 in 100 out 10\n"
					"io 0  other - 11 in 110 out 11\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
}

static void connect_and_ask(void)
{
	struct account_key overflow, unknown;

	run_a_request();
	overflow = unknown = fake.accounts[0].key;
	move(&fake.accounts[0].key, at(IO_ON_TCP, "10.0.0.5", 80), 1)->sums.wait_ns = 300;
	fake.ios[0].sums.waits = 2;
	move(&fake.accounts[0].key, at(IO_ON_DNS, "10.0.0.5", 53), 1)->sums.wait_ns = 400;
	fake.ios[1].sums.waits = 3;
	overflow.context_hash = CONTEXT_HASH_OVERFLOW;
	(void)move(&overflow, (struct io_object){ .on = IO_ON_FILE }, 2);
	/* Of a process that is no longer known. */
	unknown.life = life_of(FAKE_PID + 77);
	(void)move(&unknown, (struct io_object){ .on = IO_ON_FILE }, 5);
}

FIXTURE_TEST(recorder_tells_connects_from_answers_and_has_no_thread_in_overflow)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	unsigned int count = 0;

	plan(NS_PER_S / 2, connect_and_ask);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_IO)
			continue;
		count++;
		assert_int_equal(number(&view, "window_ns"), NS_PER_S);
		if (record_view_lists_at(&view, RECORD_PLACE(io, flags), "overflow")) {
			assert_int_equal(number(&view, "tid"), 0);
			assert_int_equal(number(&view, "io_calls"), 2);
		} else if (!strcmp(text(&view, "io_on"), "tcp")) {
			assert_int_equal(number(&view, "connects"), 2);
			assert_int_equal(number(&view, "connect_ns"), 300);
			assert_null(record_view_find(&view, "answers"));
		} else {
			assert_int_equal(number(&view, "answers"), 3);
			assert_int_equal(number(&view, "answer_ns"), 400);
			assert_null(record_view_find(&view, "connects"));
		}
	}
	assert_int_equal(count, 3);
}

FIXTURE_TEST(recorder_requests_no_io_without_option)
{
	fake.recording.counts_io = false;
	plan(NS_PER_S / 2, move_some);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_false(fake.options.counts_io);
	assert_null(strstr(recorded(), "io 0"));
}

TEST_GROUP(make_file, remove_file)
