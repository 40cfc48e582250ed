/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random faults on every side of the way, from a seed: nothing that was acked is lost, every record
 * arrives at least once, a chunk that is sent again is the same, and memory stays bounded.
 *   test_schedules [SCHEDULES [FIRST SEED]]
 */
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "forward/stream.h"

enum {
	SCHEDULES = 1000,
	ENTRIES_MAX = 600,
	MEMORY_BYTES = 64 * 1024,
	/* A chunk is looked into after 5 refusals: random ones must not make it a suspect. */
	REFUSALS_MAX = 3,
};

struct schedule {
	uint64_t random; /* xorshift64: the collector's own */
	unsigned int faults_left;
	unsigned int refusals; /* since the last chunk that was let through */
};

static unsigned int schedule_count = SCHEDULES;
static uint64_t first_seed = 1;

static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static uint64_t below(uint64_t *random, uint64_t end)
{
	return draw(random) % end;
}

static bool is_refusal(enum fault fault)
{
	return fault != FAULT_SILENT && fault != FAULT_WRONG_ACK && fault != FAULT_SLOW_ACK &&
	       fault != FAULT_SLOW_READ && fault != FAULT_NONE;
}

static struct fault_plan plan(void *user, uint64_t number, uint32_t entries)
{
	static const enum fault of_connections[] = { FAULT_NONE, FAULT_CLOSE_EARLY,
						     FAULT_RESET_EARLY, FAULT_SLOW_READ };
	struct schedule *schedule = user;
	struct fault_plan plan = { FAULT_NONE, (uint32_t)below(&schedule->random, 2000) };

	(void)entries;
	if (schedule->faults_left && below(&schedule->random, 3)) {
		if (number == UINT64_MAX)
			plan.fault = of_connections[below(&schedule->random, 4)];
		else
			plan.fault = (enum fault)below(&schedule->random, _FAULT_MAX);
	}
	if (is_refusal(plan.fault) && schedule->refusals >= REFUSALS_MAX)
		plan.fault = FAULT_NONE;
	if (plan.fault != FAULT_NONE)
		schedule->faults_left--;
	if (is_refusal(plan.fault))
		schedule->refusals++;
	else if (number != UINT64_MAX && plan.fault == FAULT_NONE)
		schedule->refusals = 0;
	return plan;
}

static void check_stream(struct stream *stream, uint64_t entries, uint64_t seed)
{
	struct backlog_status backlog;
	struct sender_status sender;
	uint64_t missing = 0;

	backlog_get_status(stream->backlog, &backlog);
	sender_get_status(stream->sender, &sender);
	for (uint64_t number = 0; number < entries; number++)
		missing += !collector_count(stream->collector, number);
	if (missing || stream->unkept_releases || backlog.dropped_records || stream->rejected ||
	    collector_changed_chunks(stream->collector))
		fail_msg("seed %llu: %llu of %llu missing, %llu released unkept, %llu dropped, "
			 "%llu rejected, %llu chunks changed; last error: %s",
			 (unsigned long long)seed, (unsigned long long)missing,
			 (unsigned long long)entries, (unsigned long long)stream->unkept_releases,
			 (unsigned long long)backlog.dropped_records,
			 (unsigned long long)stream->rejected,
			 (unsigned long long)collector_changed_chunks(stream->collector),
			 sender.last_error);
}

static void expect_bounded(struct stream *stream, uint64_t seed)
{
	struct backlog_status status;

	backlog_get_status(stream->backlog, &status);
	if (status.memory_bytes > MEMORY_BYTES)
		fail_msg("seed %llu: %llu bytes of memory", (unsigned long long)seed,
			 (unsigned long long)status.memory_bytes);
}

static void run_schedule(const char *folder, uint64_t seed)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15 + 1;
	struct schedule schedule = { .random = draw(&random) | 1,
				     .faults_left = (unsigned int)below(&random, 12) };
	uint64_t entries = 1 + below(&random, ENTRIES_MAX);
	char spool[STREAM_PATH_BYTES];
	struct stream stream = {
		.backlog_options = { .segment_bytes = ENTRY * (1 + below(&random, 100)),
				     .memory_bytes_max = MEMORY_BYTES,
				     .seal_ns = MS / 5 },
		.shared_key = below(&random, 4) ? NULL : "secret",
		.ack_timeout_ns = 4 * MS,
	};
	bool has_spool = below(&random, 2);

	(void)snprintf(stream.path, sizeof(stream.path), "%s/socket", folder);
	(void)snprintf(spool, sizeof(spool), "%s/spool.%llu", folder, (unsigned long long)seed);
	if (has_spool)
		stream.backlog_options.spool = spool;
	stream.collector = collector_start(
		stream.path, &(struct collector_options){ .plan = plan,
							  .user = &schedule,
							  .shared_key = stream.shared_key,
							  .poison = UINT64_MAX });
	stream_start(&stream);
	for (uint64_t next = 0, count; next < entries; next += count) {
		count = 1 + below(&random, entries - next);
		stream_append(&stream, next, count);
		expect_bounded(&stream, seed);
		if (!below(&random, 2))
			(void)usleep((unsigned int)below(&random, 1000));
		/* What is in the spool is sent by the next one. */
		if (has_spool && !below(&random, 3)) {
			stream_stop(&stream);
			stream_start(&stream);
		}
	}
	if (!stream_await_empty(&stream))
		fail_msg("seed %llu: not all sent in time", (unsigned long long)seed);
	check_stream(&stream, entries, seed);
	stream_stop(&stream);
	collector_stop(stream.collector);
}

static void every_record_arrives_whatever_happens_on_the_way(void **state)
{
	/* In memory: what a disk loses is test_spool's. */
	char folder[] = "/dev/shm/test_schedules.XXXXXX", line[64];
	struct timespec start, end;

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(folder));
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint64_t i = 0; i < schedule_count; i++)
		run_schedule(folder, first_seed + i);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("%u schedules in %lld s\n", schedule_count,
		      (long long)(end.tv_sec - start.tv_sec));
	(void)snprintf(line, sizeof(line), "rm -rf %s", folder);
	assert_int_equal(system(line), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_arrives_whatever_happens_on_the_way),
	};

	if (argc > 1)
		schedule_count = (unsigned int)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
