/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the sender tries, when again, until when, and what it says of it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/log.h"
#include "ears.h"
#include "forward/collector.h"
#include "forward/virtual_time.h"
#include "inheritable.h"
#include "recorder/forward/forwarding.h"
#include "recorder/forward/sender.h"
#include "recorder/queue/numbered_entries.h"

enum {
	ENTRY = sizeof(struct numbered_entry),
	ENTRIES_MAX = 2, /* of a chunk */
	ENTRIES_MORE = 4, /* where they are halved twice */
	CHUNKS_MAX = 8,
	COLLECTORS_MAX = SENDER_URLS_MAX,
	FAULTS_MAX = 16,
	TRIES_MAX = 64,
	DEADLINE_MS = 10000,
	ACK_BYTES = 30,
	HELD = _FAULT_MAX, /* a chunk that waits for scene.is_released */
	SECOND_MS = 1000,
};

#define MS	 UINT64_C(1000000) /* in ns */
#define SECOND	 (1000 * MS)
#define HOUR	 (3600 * SECOND)
#define BASE_NS	 MS
#define NO_ENTRY UINT64_MAX

/* A collector with a letter, and what it does to one try after the other; then it acks. */
struct letter {
	struct scene *scene;
	char letter;
	struct collector *collector;
	struct forward_url url;
	enum fault faults[FAULTS_MAX];
	atomic_uint tried;
	atomic_uint connected;
};

struct scene {
	struct letter letters[COLLECTORS_MAX];
	struct sender_options options;
	struct forward_url urls[COLLECTORS_MAX];
	struct sender *sender;
	atomic_bool is_released;
	enum fault release_fault; /* what becomes of a chunk that was held */
	uint64_t bad_number; /* of an entry that is refused */
	bool drops_refused; /* the source has no more room for it */
	char tries[TRIES_MAX]; /* whom, in order */
	char sizes[TRIES_MAX]; /* how many entries, as digits */
	atomic_uint try_count;
	/* The source: */
	struct numbered_entry entries[CHUNKS_MAX][ENTRIES_MORE];
	struct numbered_entry
		offered[2][ENTRIES_MORE]; /* they move with each time they are asked for */
	uint32_t entries_each;
	atomic_uint available, done, asked, rejected, tries_before_defer;
	uint64_t rejected_number;
	atomic_int result; /* of next, instead of a chunk: it is given once */
	int event_fd;
};

static char folder[] = "/dev/shm/test_sender.XXXXXX";

#define AWAIT(condition)                                    \
	do {                                                \
		for (int ms = 0; !(condition); ms++) {      \
			if (ms > DEADLINE_MS)               \
				fail_msg("%s", #condition); \
			(void)usleep(1000);                 \
		}                                           \
	} while (0)

static struct fault_plan plan(void *user, uint64_t number, uint32_t entries)
{
	struct letter *letter = user;
	struct scene *scene = letter->scene;
	unsigned int at, tried;
	enum fault fault;

	if (number == UINT64_MAX) {
		letter->connected++;
		return (struct fault_plan){ FAULT_NONE, 0 };
	}
	at = scene->try_count;
	if (at < TRIES_MAX - 1) {
		scene->tries[at] = letter->letter;
		scene->sizes[at] = (char)('0' + entries);
	}
	scene->try_count++;
	tried = letter->tried++;
	fault = tried < FAULTS_MAX ? letter->faults[tried] : FAULT_NONE;
	if (number <= scene->bad_number && scene->bad_number < number + entries)
		fault = FAULT_EMPTY_MAP;
	if (fault == FAULT_EMPTY_MAP && scene->drops_refused)
		scene->done++;
	while ((int)fault == HELD && !scene->is_released)
		(void)usleep(100);
	return (struct fault_plan){ (int)fault == HELD ? scene->release_fault : fault, 0 };
}

static int next(void *user, struct chunk *ret_chunk)
{
	struct scene *scene = user;
	unsigned int number = scene->done;
	uint64_t ignored;
	int r = atomic_exchange(&scene->result, 0);

	(void)eventfd_read(scene->event_fd, &ignored);
	memset(scene->offered[scene->asked % 2], 0xff, sizeof(scene->offered[0]));
	scene->asked++;
	if (r == 0 && number >= scene->available)
		r = -EAGAIN;
	if (r < 0)
		return r;
	memcpy(scene->offered[scene->asked % 2], scene->entries[number], sizeof(scene->offered[0]));
	*ret_chunk = (struct chunk){ .bytes = scene->offered[scene->asked % 2],
				     .size_bytes = scene->entries_each * ENTRY,
				     .entries = scene->entries_each };
	(void)snprintf(ret_chunk->id, sizeof(ret_chunk->id), "%024u", number);
	return 0;
}

static void done(void *user)
{
	((struct scene *)user)->done++;
}

static const char *reject(void *user, const void *entry, size_t entry_bytes)
{
	struct scene *scene = user;

	scene->rejected_number = entry_bytes == ENTRY ? entry_number(entry, 0) : NO_ENTRY;
	scene->rejected++;
	return "it is set aside";
}

static int defer(void *user)
{
	struct scene *scene = user;

	if (!scene->tries_before_defer)
		scene->tries_before_defer = scene->try_count;
	return -ENOENT;
}

static void give(struct scene *scene, unsigned int chunks)
{
	scene->available += chunks;
	assert_int_equal(eventfd_write(scene->event_fd, 1), 0);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	virtual_time_reset();
	virtual_time.random = (BASE_NS << 20) - 1; /* each wait is its ceiling */
	scene->bad_number = NO_ENTRY;
	scene->entries_each = ENTRIES_MAX;
	for (uint64_t i = 0; i < CHUNKS_MAX; i++)
		for (uint64_t j = 0; j < ENTRIES_MORE; j++)
			scene->entries[i][j] = number_entry(i * ENTRIES_MAX + j);
	scene->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	scene->options = (struct sender_options){ .urls = scene->urls,
						  .client_name = "host",
						  .tag = "correlator.test",
						  .ack_timeout_ns = HOUR,
						  .backoff_base_ns = BASE_NS,
						  .backoff_max_ns = 8 * BASE_NS };
	return scene->event_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	scene->is_released = true;
	sender_free(scene->sender);
	for (size_t i = 0; i < scene->options.url_count; i++)
		if (scene->letters[i].collector)
			collector_stop(scene->letters[i].collector);
	(void)close(scene->event_fd);
	free(scene);
	return 0;
}

/* One more collector, to be tried behind those before. faults: until the first FAULT_NONE. */
static struct letter *add_letter(struct scene *scene, const enum fault *faults, size_t count,
				 const struct collector_options *more)
{
	size_t index = scene->options.url_count++;
	struct letter *letter = &scene->letters[index];
	struct collector_options options = *more;
	char text[64];
	const char *problem;

	*letter = (struct letter){ .scene = scene, .letter = (char)('a' + index) };
	memcpy(letter->faults, faults, count * sizeof(*faults));
	(void)snprintf(text, sizeof(text), "unix:%s/%c", folder, letter->letter);
	assert_int_equal(forward_url_parse(text, &scene->urls[index], &problem), 0);
	options.plan = plan;
	options.user = letter;
	options.poison = UINT64_MAX;
	letter->collector = collector_start(text + strlen("unix:"), &options);
	return letter;
}

#define ADD_LETTER(scene, ...)                                                       \
	add_letter(scene, (const enum fault[]){ __VA_ARGS__ },                       \
		   sizeof((const enum fault[]){ __VA_ARGS__ }) / sizeof(enum fault), \
		   &(struct collector_options){ 0 })

static void start(struct scene *scene, bool can_defer)
{
	const struct chunk_source source = { .user = scene,
					     .next = next,
					     .done = done,
					     .reject = reject,
					     .defer = can_defer ? defer : NULL,
					     .event_fd = scene->event_fd };

	assert_int_equal(sender_start(&scene->options, &source, &scene->sender), 0);
}

static struct sender_status status_of(struct scene *scene)
{
	struct sender_status status;

	sender_get_status(scene->sender, &status);
	return status;
}

static bool has_ended(const struct scene *scene)
{
	struct pollfd fd = { .fd = sender_ended_fd(scene->sender), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void expect_pauses(const int *pauses_ms, unsigned int count)
{
	assert_int_equal(virtual_time.pause_count, count);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(virtual_time.pauses_ms[i], pauses_ms[i]);
}

#define EXPECT_PAUSES(...)                          \
	expect_pauses((const int[]){ __VA_ARGS__ }, \
		      sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static void the_next_is_tried_at_once_and_the_one_that_acks_is_kept(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK);
	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_NONE, FAULT_WRONG_ACK, FAULT_WRONG_ACK);
	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_NONE, FAULT_WRONG_ACK);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->tries, "ab");
	assert_string_equal(status_of(scene).collector, scene->urls[1].name);
	give(scene, 3);
	AWAIT(scene->done == 4);
	assert_string_equal(scene->tries, "ab"
					  "b"
					  "bc"
					  "c");
	give(scene, 1);
	AWAIT(scene->done == 5);
	assert_string_equal(scene->tries + 6, "ca");
	assert_int_equal(virtual_time.pause_count, 0);
	assert_int_equal(status_of(scene).failures, 3);
}

/* Those that cannot even be reached, too. */
static void one_that_is_not_there_costs_no_wait(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	collector_stop(TAKE_PTR(scene->letters[0].collector));
	(void)ADD_LETTER(scene, FAULT_NONE);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->tries, "b");
	assert_int_equal(virtual_time.pause_count, 0);
	assert_int_equal(status_of(scene).last_failure, FAILURE_CONNECT);
	assert_int_equal(status_of(scene).sent_chunks, 1);
}

static void the_last_of_as_many_as_can_be_is_tried_too(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < SENDER_URLS_MAX; i++)
		(void)ADD_LETTER(scene, i + 1 < SENDER_URLS_MAX ? FAULT_WRONG_ACK : FAULT_NONE);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->tries, "abcdefgh");
}

static void when_all_failed_the_wait_doubles_up_to_its_maximum_and_an_ack_ends_that(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK,
			 FAULT_WRONG_ACK, FAULT_NONE, FAULT_WRONG_ACK);
	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK,
			 FAULT_WRONG_ACK, FAULT_WRONG_ACK);
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->done == 2);
	assert_string_equal(scene->tries, "ababababab"
					  "a"
					  "ab"
					  "a");
	EXPECT_PAUSES(1, 2, 4, 8, 8, 1);
}

/* As the command line has it: 500 ms at first, and no more than --retry-max. */
static void the_first_wait_is_half_a_second_or_less_if_so_told(void **state)
{
	struct scene *scene = *state;
	struct forwarding_options options = { .tag = "correlator.test", .url_count = 1 };
	struct forwarding *forwarding = NULL;
	const struct chunk_source source = { .user = scene,
					     .next = next,
					     .done = done,
					     .reject = reject,
					     .event_fd = scene->event_fd };
	struct letter *letter = ADD_LETTER(scene, FAULT_SILENT);

	for (size_t i = 0; i < FAULTS_MAX; i++)
		letter->faults[i] = FAULT_SILENT;
	options.urls[0] = scene->urls[0];
	options.ack_timeout_ns = SECOND;
	virtual_time.flies = true;
	for (int is_short = 0; is_short <= 1; is_short++) {
		virtual_time.pause_count = 0;
		virtual_time.random = ((is_short ? 100 : 500) * MS << 20) - 1;
		options.retry_max_ns = is_short ? 100 * MS : 800 * MS;
		assert_int_equal(forwarding_new(&options, &forwarding), 0);
		scene->available++;
		assert_int_equal(forwarding_start(forwarding, &source,
						  is_short ? 3200 * MS : 5300 * MS, &scene->sender),
				 0);
		AWAIT(has_ended(scene));
		sender_free(scene->sender);
		scene->sender = NULL;
		forwarding_free(forwarding);
		/* Each try lasts a second: the last one is given up. */
		if (is_short)
			EXPECT_PAUSES(100, 100);
		else
			EXPECT_PAUSES(500, 800, 800);
	}
}

/* Nothing is acked for so long: no try and no wait begins beyond that. */
static void it_gives_up_when_nothing_was_acked_for_so_long(void **state)
{
	struct scene *scene = *state;
	uint64_t start_ns = virtual_time.now_ns;

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK);
	scene->options.backoff_base_ns = SECOND;
	scene->options.backoff_max_ns = 4 * SECOND;
	virtual_time.random = (SECOND << 20) - 1;
	scene->options.give_up_ns = 10 * SECOND;
	start(scene, false);
	give(scene, 1);
	AWAIT(has_ended(scene));
	EXPECT_PAUSES(1 * SECOND_MS, 2 * SECOND_MS, 4 * SECOND_MS, 3 * SECOND_MS);
	assert_string_equal(scene->tries, "aaaa");
	assert_int_equal(virtual_time.now_ns - start_ns, 10 * SECOND);
	assert_int_equal(scene->done, 0);
}

static void a_try_that_lasts_so_long_is_the_last(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_SILENT);
	scene->options.ack_timeout_ns = 10 * SECOND;
	scene->options.give_up_ns = 10 * SECOND;
	virtual_time.flies = true;
	start(scene, false);
	give(scene, 1);
	AWAIT(has_ended(scene));
	assert_int_equal(status_of(scene).sent_chunks, 1);
	assert_int_equal(virtual_time.pause_count, 0);
	assert_int_equal(status_of(scene).last_failure, FAILURE_SILENT);
}

/* Nor is the time before an ack. */
static void that_nothing_was_to_be_sent_is_no_silence_of_the_collector(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_NONE, FAULT_WRONG_ACK, FAULT_NONE,
			 FAULT_WRONG_ACK);
	scene->options.give_up_ns = 2 * MS;
	start(scene, false);
	AWAIT(scene->asked);
	for (unsigned int chunk = 0; chunk < 3; chunk++) {
		virtual_time_pass(3600 * SECOND_MS);
		give(scene, 1);
		AWAIT(scene->done == chunk + 1 || has_ended(scene));
	}
	assert_int_equal(scene->done, 3);
	assert_false(has_ended(scene));
	EXPECT_PAUSES(1, 1, 1);
}

struct drain {
	enum fault faults[3];
	unsigned int tries; /* up to the one that is held */
	int drain_ms;
	int expected_ms;
};

static void *release_when_draining(void *user)
{
	struct scene *scene = user;

	/* Without the fd that sender_stop writes to. */
	while (!virtual_time.last_wait_ms)
		(void)usleep(100);
	scene->is_released = true;
	return NULL;
}

static void drain(struct scene *scene, const struct drain *drain)
{
	pthread_t releaser;

	(void)add_letter(scene, drain->faults, 3, &(struct collector_options){ 0 });
	start(scene, false);
	give(scene, 3);
	AWAIT(scene->try_count == drain->tries);
	assert_int_equal(pthread_create(&releaser, NULL, release_when_draining, scene), 0);
	sender_stop(scene->sender, (uint64_t)drain->drain_ms * MS);
	assert_int_equal(pthread_join(releaser, NULL), 0);
	assert_int_equal(virtual_time.last_wait_ms, drain->expected_ms);
}

/* Whatever was before: a collector that takes what it gets has all the time to do so. */
static void at_the_end_one_that_delivers_is_given_all_the_time(void **state)
{
	struct scene *scene = *state;

	drain(scene, &(struct drain){ { (enum fault)HELD }, 1, 60 * SECOND_MS, 60 * SECOND_MS });
	assert_int_equal(scene->done, 3);
	assert_true(has_ended(scene));
}

static void also_when_it_has_failed_before(void **state)
{
	struct scene *scene = *state;

	drain(scene, &(struct drain){ { FAULT_WRONG_ACK, FAULT_NONE, (enum fault)HELD },
				      3,
				      60 * SECOND_MS,
				      60 * SECOND_MS });
	assert_int_equal(scene->done, 3);
}

static void one_that_fails_is_given_a_second(void **state)
{
	struct scene *scene = *state;

	drain(scene,
	      &(struct drain){
		      { FAULT_WRONG_ACK, (enum fault)HELD }, 2, 60 * SECOND_MS, 1 * SECOND_MS });
	/* It acked after all: then the others follow. */
	assert_int_equal(scene->done, 3);
}

static void and_no_more_than_there_is(void **state)
{
	drain(*state, &(struct drain){ { FAULT_WRONG_ACK, (enum fault)HELD }, 2, 500, 500 });
}

static atomic_uint joins; /* of threads, so far */

/* Instead of libc's, and then that. */
int pthread_join(pthread_t thread, void **ret_result)
{
	int (*join)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, __func__);

	joins++;
	return join(thread, ret_result);
}

static void at_the_end_nothing_is_tried_twice(void **state)
{
	struct scene *scene = *state;
	unsigned int joins_before;

	scene->release_fault = FAULT_WRONG_ACK;
	drain(scene, &(struct drain){ { (enum fault)HELD }, 1, 60 * SECOND_MS, 60 * SECOND_MS });
	assert_string_equal(scene->tries, "a");
	assert_int_equal(scene->done, 0);
	assert_int_equal(virtual_time.pause_count, 0);
	/* Once more is no harm: its thread is no more. */
	joins_before = joins;
	sender_stop(scene->sender, 0);
	assert_int_equal(joins, joins_before);
}

static void nothing_of_it_is_inherited(void **state)
{
	struct scene *scene = *state;
	unsigned int before = count_inheritable();

	(void)ADD_LETTER(scene, FAULT_NONE);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_int_equal(count_inheritable(), before);
}

/* Nor is it given to another one. */
static void what_is_stopped_goes_to_nobody_else(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, (enum fault)HELD);
	(void)ADD_LETTER(scene, FAULT_NONE);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->try_count == 1);
	sender_stop(scene->sender, 0);
	assert_int_equal(status_of(scene).sent_chunks, 1);
	assert_int_equal(scene->done, 0);
}

/* A collector may close a connection that it served, in the moment that the next chunk comes. */
static void one_that_closes_between_chunks_is_no_failure(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_CLOSE_EARLY);
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->done == 2);
	assert_string_equal(scene->tries, "aaa");
	assert_int_equal(status_of(scene).failures, 0);
	assert_int_equal(status_of(scene).sent_chunks, 3);
	assert_int_equal(status_of(scene).resent_chunks, 1);
	assert_int_equal(virtual_time.pause_count, 0);
	assert_int_equal(scene->letters[0].connected, 2);
}

static void one_that_closes_a_new_connection_too_is_one(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_CLOSE_EARLY, FAULT_CLOSE_EARLY);
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->done == 2);
	assert_string_equal(scene->tries, "aaaa");
	assert_int_equal(status_of(scene).failures, 1);
	EXPECT_PAUSES(1);
}

static void another_failure_on_a_connection_that_served_is_one_at_once(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_WRONG_ACK);
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->done == 2);
	assert_int_equal(status_of(scene).failures, 1);
	EXPECT_PAUSES(1);
}

static void an_end_while_there_is_nothing_to_do_is_noticed(void **state)
{
	struct scene *scene = *state;

	(void)add_letter(scene, (const enum fault[]){ FAULT_NONE }, 1,
			 &(struct collector_options){ .cut_after_bytes = ACK_BYTES, .cuts = 1 });
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1 && virtual_time.idle_fd == -1);
	give(scene, 1);
	AWAIT(scene->done == 2);
	assert_int_equal(status_of(scene).resent_chunks, 0);
	assert_int_equal(scene->letters[0].connected, 2);
}

static void what_is_said_of_it_is_what_happened(void **state)
{
	struct scene *scene = *state;
	struct sender_status status;
	char error[sizeof(status.last_error)];

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_NONE, (enum fault)HELD);
	start(scene, false);
	status = status_of(scene);
	assert_false(status.is_delivering);
	assert_string_equal(status.collector, "");
	assert_string_equal(status.last_error, "");
	assert_int_equal(status.last_failure, FAILURE_NONE);
	assert_int_equal(status.last_error_wall_ns, 0);
	assert_int_equal(status.last_ack_wall_ns, 0);
	give(scene, 2);
	AWAIT(scene->done == 1 && scene->try_count == 3);
	status = status_of(scene);
	assert_true(status.is_delivering);
	assert_int_equal(status.sent_chunks, 3);
	assert_int_equal(status.resent_chunks, 1);
	assert_int_equal(status.acked_chunks, 1);
	assert_int_equal(status.acked_records, ENTRIES_MAX);
	assert_int_equal(status.acked_bytes, ENTRIES_MAX * ENTRY);
	assert_int_equal(status.failures, 1);
	assert_int_equal(status.last_failure, FAILURE_WRONG_ACK);
	assert_string_equal(status.collector, scene->urls[0].name);
	(void)snprintf(error, sizeof(error), "%s: it acknowledges a chunk that was not sent",
		       scene->urls[0].name);
	assert_string_equal(status.last_error, error);
	/* 2020-09-13: of the wall's clock, not of the other. */
	assert_true(status.last_error_wall_ns > UINT64_C(1600000000) * SECOND);
	assert_true(status.last_ack_wall_ns >= status.last_error_wall_ns);
}

static void it_is_delivering_no_more_once_a_try_has_failed(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_WRONG_ACK, (enum fault)HELD);
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->try_count == 3);
	assert_false(status_of(scene).is_delivering);
}

/* Once when it begins, and once when it is over; not with every try. */
static void each_kind_of_failure_is_said_once_and_its_end(void **state)
{
	struct scene *scene = *state;
	struct ears ears = ears_open();
	char said[2048], expected[2048];
	const char *name;

	(void)ADD_LETTER(scene, FAULT_NONE, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_EMPTY_MAP,
			 FAULT_WRONG_ACK, FAULT_NONE, FAULT_NONE, FAULT_NONE, (enum fault)HELD);
	start(scene, false);
	give(scene, 5);
	AWAIT(scene->done == 4 && scene->try_count == 9);
	/* That we stop is no failure of anybody's. */
	sender_stop(scene->sender, 0);
	assert_int_equal(status_of(scene).failures, 4);
	ears_close(&ears, said, sizeof(said));
	log_set_level(LOG_LEVEL_ERROR);
	name = scene->urls[0].name;
	(void)snprintf(expected, sizeof(expected),
		       "correlator: %s: delivering\n"
		       "correlator: warning: %s: it acknowledges a chunk that was not sent\n"
		       "correlator: warning: %s: it refused the chunk\n"
		       "correlator: %s: delivering again\n",
		       name, name, name, name);
	assert_string_equal(said, expected);
}

/* Five times it may be the collector's doing. Then it is halved, and the rest goes through. */
static void a_chunk_is_looked_into_after_five_refusals(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	scene->bad_number = 1;
	start(scene, false);
	give(scene, 2);
	AWAIT(scene->done == 2);
	assert_string_equal(scene->sizes, "22222"
					  "11"
					  "2");
	assert_int_equal(scene->rejected, 1);
	assert_int_equal(scene->rejected_number, 1);
	assert_int_equal(status_of(scene).rejected_records, 1);
	assert_int_equal(collector_count(scene->letters[0].collector, 0), 1);
	assert_int_equal(collector_count(scene->letters[0].collector, 1), 0);
}

/* Nothing is kept of one that went through, and so nothing is held against it. */
static void a_chunk_that_was_taken_is_no_suspect_any_more(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP,
			 FAULT_NONE, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP, FAULT_NONE);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	scene->done = 0;
	give(scene, 0);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->sizes, "22222"
					  "222");
	assert_int_equal(scene->rejected, 0);
}

static void a_chunk_is_looked_into_where_its_bytes_are_then(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	scene->entries_each = ENTRIES_MORE;
	scene->bad_number = 1;
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->sizes, "44444"
					  "22"
					  "11");
	assert_int_equal(scene->rejected_number, 1);
	assert_int_equal(collector_changed_chunks(scene->letters[0].collector), 0);
}

/* It was refused, and never comes again: the next one's ack says nothing of it. */
static void a_chunk_may_be_gone_after_a_refusal(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_EMPTY_MAP);
	scene->drops_refused = true;
	start(scene, true);
	give(scene, 3);
	AWAIT(scene->done == 3);
	assert_string_equal(scene->sizes, "222");
	assert_int_equal(status_of(scene).acked_chunks, 2);
	assert_int_equal(scene->rejected, 0);
}

static void what_is_no_refusal_is_not_held_against_a_chunk(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK, FAULT_WRONG_ACK,
			 FAULT_EMPTY_MAP, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP, FAULT_EMPTY_MAP);
	start(scene, false);
	give(scene, 1);
	AWAIT(scene->done == 1);
	assert_string_equal(scene->sizes, "222222222");
}

/* Refused alone, and nothing else was acked since: others go first, and it is not judged. */
static void what_cannot_be_judged_yet_is_put_behind_the_others(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	scene->entries_each = 1;
	scene->bad_number = 0;
	start(scene, true);
	give(scene, 1);
	AWAIT(scene->tries_before_defer);
	assert_int_equal(scene->tries_before_defer, 6);
	assert_int_equal(scene->rejected, 0);
	assert_int_equal(scene->done, 0);
}

static void a_source_without_memory_is_asked_again_after_a_wait(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	scene->result = -ENOMEM;
	scene->available = 1;
	start(scene, false);
	AWAIT(scene->done == 1);
	EXPECT_PAUSES(1);
}

static void the_end_of_the_source_is_the_end(void **state)
{
	struct scene *scene = *state;

	(void)ADD_LETTER(scene, FAULT_NONE);
	scene->result = -ENODATA;
	scene->available = 1;
	start(scene, false);
	AWAIT(has_ended(scene));
	assert_int_equal(scene->asked, 1);
	assert_int_equal(scene->done, 0);
}

/* Nobody would tell us later that it never looked at what it got. */
static void without_acks_one_that_wants_a_key_gets_nothing(void **state)
{
	struct scene *scene = *state;

	(void)add_letter(scene, (const enum fault[]){ FAULT_NONE }, 1,
			 &(struct collector_options){ .shared_key = "secret" });
	scene->options.has_no_acks = true;
	scene->options.give_up_ns = 2 * MS;
	start(scene, false);
	give(scene, 1);
	AWAIT(has_ended(scene));
	assert_int_equal(status_of(scene).last_failure, FAILURE_KEY_WANTED);
	assert_int_equal(status_of(scene).sent_chunks, 0);
	assert_int_equal(scene->done, 0);
}

static int make_folder(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_is_tried_at_once_and_the_one_that_acks_is_kept),
		TEST(one_that_is_not_there_costs_no_wait),
		TEST(the_last_of_as_many_as_can_be_is_tried_too),
		TEST(when_all_failed_the_wait_doubles_up_to_its_maximum_and_an_ack_ends_that),
		TEST(the_first_wait_is_half_a_second_or_less_if_so_told),
		TEST(it_gives_up_when_nothing_was_acked_for_so_long),
		TEST(a_try_that_lasts_so_long_is_the_last),
		TEST(that_nothing_was_to_be_sent_is_no_silence_of_the_collector),
		TEST(at_the_end_one_that_delivers_is_given_all_the_time),
		TEST(also_when_it_has_failed_before),
		TEST(one_that_fails_is_given_a_second),
		TEST(and_no_more_than_there_is),
		TEST(at_the_end_nothing_is_tried_twice),
		TEST(nothing_of_it_is_inherited),
		TEST(what_is_stopped_goes_to_nobody_else),
		TEST(one_that_closes_between_chunks_is_no_failure),
		TEST(one_that_closes_a_new_connection_too_is_one),
		TEST(another_failure_on_a_connection_that_served_is_one_at_once),
		TEST(an_end_while_there_is_nothing_to_do_is_noticed),
		TEST(what_is_said_of_it_is_what_happened),
		TEST(it_is_delivering_no_more_once_a_try_has_failed),
		TEST(each_kind_of_failure_is_said_once_and_its_end),
		TEST(a_chunk_is_looked_into_after_five_refusals),
		TEST(a_chunk_that_was_taken_is_no_suspect_any_more),
		TEST(a_chunk_is_looked_into_where_its_bytes_are_then),
		TEST(a_chunk_may_be_gone_after_a_refusal),
		TEST(what_is_no_refusal_is_not_held_against_a_chunk),
		TEST(what_cannot_be_judged_yet_is_put_behind_the_others),
		TEST(a_source_without_memory_is_asked_again_after_a_wait),
		TEST(the_end_of_the_source_is_the_end),
		TEST(without_acks_one_that_wants_a_key_gets_nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
