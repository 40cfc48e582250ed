/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that make much more than there is room for, beside others that make little: those lose
 * nothing, whatever the collector takes; of the rest no more is dropped than comes, the oldest
 * first; what each loses is told of it, and what it does not comes in order. Drawn by seed:
 * NEIGHBOURS_SEED repeats one story.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/queue/spool_folder.h"

UNIT_TEST_ALONE;

enum {
	STORIES = 15,
	ROUNDS = 60,
	SEGMENT = 32, /* entries */
	MEMORY = 12 * SEGMENT,
	STORE = 64 * SEGMENT,
	QUIET_MAX = 4,
	LOUD_MAX = 4,
	PROCESSES_MAX = QUIET_MAX + LOUD_MAX,
};

/* Instead of libc's: it is not about the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

struct process {
	uint32_t pid;
	uint64_t most_by_round, most; /* records that it makes, all told */
	uint64_t appended, arrived, told;
	/* The number that comes next, if none is missing; and how many arrived before the last that
	 * is missing. */
	uint64_t next, old;
};

struct story {
	struct backlog *backlog;
	struct process processes[PROCESSES_MAX];
	size_t quiet, count; /* the first are quiet */
	unsigned int chunks_by_round; /* that the collector takes */
	uint64_t store_bytes; /* in the end */
};

static uint64_t dice;

static uint64_t draw_below(uint64_t count)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (dice >> 33) % count;
}

static void draw(struct story *story, const char *folder)
{
	*story = (struct story){ .quiet = 1 + draw_below(QUIET_MAX) };
	story->count = story->quiet + 1 + draw_below(LOUD_MAX);
	story->chunks_by_round = draw_below(2) ? 0 : (unsigned int)draw_below(20);
	for (size_t i = 0; i < story->count; i++) {
		struct process *process = &story->processes[i];

		process->pid = 100 + (uint32_t)i;
		process->most = UINT64_MAX;
		process->most_by_round = SEGMENT * (1 + draw_below(10));
		if (i < story->quiet) {
			/* Less than a share, even if nothing of it is ever taken, and the checks of
			 * small segments take a third of the room. */
			process->most = STORE / 2 / story->count;
			process->most_by_round = 1 + draw_below(2 * process->most / ROUNDS);
		}
	}
	story->backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = SEGMENT * ENTRY,
							.memory_bytes_max = MEMORY * ENTRY,
							.seal_ns = draw_below(2) ? LONG : 1000000,
							.spool = folder,
							.store_bytes_max = STORE * ENTRY });
}

static void append_some(struct story *story, struct process *process)
{
	struct numbered_entry entries[SEGMENT * 10];
	uint64_t count = draw_below(process->most_by_round + 1);

	if (count > process->most - process->appended)
		count = process->most - process->appended;
	for (uint64_t i = 0; i < count; i++)
		entries[i] = number_entry_of(process->pid, process->appended + i);
	process->appended += count;
	assert_int_equal(backlog_append(story->backlog, entries, count * ENTRY), 0);
}

static void arrive(struct story *story, const struct numbered_entry *bytes)
{
	struct numbered_entry entry;
	struct process *process;

	memcpy(&entry, bytes, ENTRY);
	process = &story->processes[be32toh(entry.pid) - 100];
	assert_true(be64toh(entry.number) >= process->next);
	if (be64toh(entry.number) > process->next)
		process->old = process->arrived;
	process->next = be64toh(entry.number) + 1;
	process->arrived++;
}

static bool take_one(struct story *story)
{
	struct chunk chunk;

	if (backlog_next(story->backlog, &chunk) < 0)
		return false;
	for (uint32_t i = 0; i < chunk.entries; i++)
		arrive(story, (const struct numbered_entry *)chunk.bytes + i);
	backlog_done(story->backlog);
	return true;
}

static void take_gaps(struct story *story)
{
	struct gap gap;

	while (backlog_take_gap(story->backlog, &gap)) {
		struct process *process = &story->processes[gap.pid - 100];

		assert_in_range(gap.pid, 100, 100 + story->count - 1);
		process->told += gap.dropped_records;
		assert_int_equal(gap.pid_dropped_records, process->told);
		assert_true(gap.first_ns <= gap.last_ns);
	}
}

static void tell(const struct story *story)
{
	for (size_t i = 0; i < story->count; i++) {
		const struct process *process = &story->processes[i];

		(void)printf("%s %" PRIu32 ": %" PRIu64 " made, %" PRIu64 " arrived, %" PRIu64
			     " told to be lost\n",
			     i < story->quiet ? "quiet" : "loud", process->pid, process->appended,
			     process->arrived, process->told);
	}
}

static void close_books(const struct story *story)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < story->count; i++) {
		const struct process *process = &story->processes[i];

		assert_int_equal(process->arrived + process->told, process->appended);
		if (i < story->quiet)
			assert_int_equal(process->told, 0);
		/* It is the oldest that is lost, but for what came before it was known who makes
		 * much: that is in chunks with what others made. */
		if (!story->chunks_by_round)
			assert_true(process->old <= MEMORY);
		lost += process->told;
	}
	/* With nobody who takes them the store was full in the end, but for less than a segment. */
	if (lost && !story->chunks_by_round)
		assert_true(story->store_bytes + 2 * SEGMENT * ENTRY >= STORE * ENTRY);
}

static void tell_story(uint64_t seed, const char *folder)
{
	struct backlog_status status;
	struct story story;

	dice = seed;
	draw(&story, folder);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < story.count; i++)
			append_some(&story, &story.processes[i]);
		for (unsigned int i = story.chunks_by_round; i > 0 && take_one(&story); i--)
			continue;
		take_gaps(&story);
	}
	backlog_seal(story.backlog);
	backlog_settle(story.backlog);
	backlog_get_status(story.backlog, &status);
	story.store_bytes = status.store_bytes;
	while (!backlog_is_empty(story.backlog))
		if (!take_one(&story))
			assert_true(is_readable(story.backlog, DEADLINE_MS));
	take_gaps(&story);
	if (getenv("NEIGHBOURS_SEED"))
		tell(&story);
	close_books(&story);
	backlog_free(story.backlog);
}

static void tell_stories(const char *folder)
{
	const char *only = getenv("NEIGHBOURS_SEED");
	uint64_t first = only ? strtoull(only, NULL, 0) : 1;

	for (uint64_t seed = first; seed < first + (only ? 1 : STORIES); seed++) {
		print_message("NEIGHBOURS_SEED=%" PRIu64 "\n", seed);
		tell_story(seed, folder);
	}
}

TEST(backlog_drops_nothing_of_process_within_its_share)
{
	tell_stories(NULL);
}

TEST_WITH(spool_drops_nothing_of_process_within_its_share, empty, NULL)
{
	tell_stories(spool);
}

TEST_GROUP(setup, teardown)
