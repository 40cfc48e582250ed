/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A conversation that is cut off: after each byte of the answers, which the sender reads, and all
 * along the requests, of which it does not learn how much was read.
 */
#include "base/log.h"
#include "forward/stream.h"

enum {
	ENTRIES = 20,
	SEGMENT_ENTRIES = 10,
	REQUEST_STRIDE = 7, /* coprime to an entry's size */
};

/* What a collector saw of a conversation. */
struct conversation {
	uint64_t sent_bytes; /* on its longest connection */
	uint64_t ends[COLLECTOR_MESSAGES_MAX]; /* of the messages that it read */
	size_t messages;
};

static char folder[] = "/dev/shm/test_cuts.XXXXXX";

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

static struct conversation converse(const char *shared_key, const struct collector_options *options)
{
	struct stream stream = {
		/* Sealed by size alone: two chunks, however long the appending takes. */
		.backlog_options = { .segment_bytes = SEGMENT_ENTRIES * ENTRY,
				     .seal_ns = STREAM_DEADLINE_MS * MS },
		.shared_key = shared_key,
		.ack_timeout_ns = 1000 * MS,
	};
	struct collector_options own = *options;
	struct sender_status status;
	struct conversation seen;

	own.shared_key = shared_key;
	own.poison = UINT64_MAX;
	(void)snprintf(stream.path, sizeof(stream.path), "%s/socket", folder);
	stream.collector = collector_start(stream.path, &own);
	stream_start(&stream);
	stream_append(&stream, 0, ENTRIES);
	assert_true(stream_await_empty(&stream));
	for (uint64_t number = 0; number < ENTRIES; number++)
		assert_true(collector_count(stream.collector, number) >= 1);
	assert_int_equal(stream.unkept_releases, 0);
	assert_int_equal(stream.rejected, 0);
	assert_int_equal(collector_changed_chunks(stream.collector), 0);
	/* What is said of it at the end of a recording: nobody was there, not that it spoke
	 * nonsense. */
	if (shared_key && own.cuts && own.cut_after_bytes == 0) {
		sender_get_status(stream.sender, &status);
		assert_int_equal(status.last_failure, FAILURE_CONNECT);
		assert_non_null(strstr(status.last_error, "before the handshake"));
	}
	stream_stop(&stream);
	seen.sent_bytes = collector_sent_bytes(stream.collector);
	seen.messages = collector_message_ends(stream.collector, seen.ends);
	collector_stop(stream.collector);
	return seen;
}

/* HELO, PONG and the acks of two chunks. */
static void the_answers_may_end_after_each_byte(void **state)
{
	const char *const keys[] = { NULL, "secret" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct collector_options options = { 0 };
		uint64_t length = converse(keys[i], &options).sent_bytes;

		assert_true(length > 40);
		for (uint64_t cut = 0; cut < length; cut++) {
			options = (struct collector_options){ .cut_after_bytes = cut, .cuts = 1 };
			(void)converse(keys[i], &options);
		}
		print_message("%s key: %llu cuts\n", i ? "with a" : "without a",
			      (unsigned long long)length);
	}
}

struct early {
	uint32_t bytes;
	unsigned int left;
};

static struct fault_plan end_early(void *user, uint64_t number, uint32_t entries)
{
	struct early *early = user;

	(void)entries;
	if (number != UINT64_MAX || !early->left)
		return (struct fault_plan){ 0 };
	early->left--;
	return (struct fault_plan){ FAULT_CLOSE_EARLY, early->bytes };
}

/* Whether the cut is next to where a message ends: there it leaves nothing, or the next one,
 * unread. */
static bool is_at_an_end(const struct conversation *whole, uint64_t bytes)
{
	for (size_t i = 0; i < whole->messages; i++)
		if (bytes + 1 >= whole->ends[i] && bytes <= whole->ends[i] + 1)
			return true;
	return false;
}

/* PING and two chunks: the collector reads so far, and closes. What it has not read makes that a
 * reset, at a Unix socket. */
static void the_requests_may_be_cut_anywhere(void **state)
{
	const char *const keys[] = { NULL, "secret" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct conversation whole = converse(keys[i], &(struct collector_options){ 0 });
		uint64_t longest = whole.ends[whole.messages - 1] + 2, cuts = 0;

		assert_int_equal(whole.messages, i + 2);
		assert_true(whole.ends[i + 1] - whole.ends[i] > SEGMENT_ENTRIES * ENTRY);
		for (uint64_t bytes = 1; bytes < longest; bytes++) {
			struct early early = { (uint32_t)bytes, 1 };

			if (bytes % REQUEST_STRIDE != 1 && !is_at_an_end(&whole, bytes))
				continue;
			(void)converse(keys[i], &(struct collector_options){ .plan = end_early,
									     .user = &early });
			cuts++;
		}
		print_message("%s key: %llu cuts of %llu bytes\n", i ? "with a" : "without a",
			      (unsigned long long)cuts, (unsigned long long)longest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answers_may_end_after_each_byte),
		cmocka_unit_test(the_requests_may_be_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
