/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stories of a backlog with a spool, drawn by seed, on a disk that does everything a disk can do
 * (disk.h), with its keeper taking turns with them (turns.h). Beside it are the books of a writer
 * with a ledger. Whatever happens: what arrives is what was appended; each record arrives, or is
 * counted as dropped, or was not said to be kept when the process died; and no word is untrue.
 * MACHINE_SEED repeats one story, and tells it; MACHINE_COUNT says how many.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "record/check.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/machine/disk.h"
#include "recorder/queue/machine/turns.h"
#include "recorder/queue/numbered_entries.h"

UNIT_TEST_ALONE;

enum {
	STORIES = 5000,
	STEPS_MAX = 40,
	RECORDS_MAX = 512,
	PROCESSES = 4, /* of which the records are, the first of them nobody known */
	ENTRY = sizeof(struct numbered_entry),
	ROUNDS_MAX = 200, /* of the end, a second each: then all has arrived that ever does */
};

#define START_NS (UINT64_C(1000000) * NS_PER_S)

static struct {
	uint64_t seed, dice;
	bool is_told;
	struct backlog_options options;
	uint64_t capacity_bytes; /* of the disk */
	struct backlog *backlog;
	unsigned int arrived[RECORDS_MAX]; /* how often each was released, or set aside */
	uint32_t pids[RECORDS_MAX]; /* whose it is */
	uint64_t appended;
	uint64_t dropped; /* told by processes that are over */
	uint64_t gap_records; /* told by gaps, of this one */
	/* Told of each process: ever, and by this one. */
	uint64_t pid_dropped[PROCESSES], pid_gap_records[PROCESSES];
	uint64_t unkept_records; /* that may be lost by deaths */
	bool has_restarted; /* what could not be removed is there again */
	bool has_died, has_lost_power, is_rough;
	bool is_calm; /* the disk does all that it is told to */
	uint64_t foreign_bytes, used_bytes; /* since the weather changed; we: at that time */
	unsigned int blind_looks; /* at that time */
	bool is_disordered; /* some are behind others that were younger */
	uint64_t next[PROCESSES]; /* numbers that the next chunk has, or later ones, if not */
	bool is_taken; /* a chunk is out */
	struct chunk chunk;
	uint64_t rejected;
	/* The troubles that were said to have begun, and not to be over: */
	bool said_failing, said_unread;
	/* Ever, of what was dropped: it may arrive all the same; of what is damaged: it is there,
	 * it is not where it is to be. */
	bool has_said_unremoved, has_said_damaged, has_said_unmoved;
	char wrong[512]; /* the first law that was broken; "" = none */
} story;

/* SplitMix64. */
static uint64_t draw(void)
{
	uint64_t z = story.dice += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t draw_below(uint64_t count)
{
	return draw() % count;
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list arguments;

	if (!story.is_told)
		return;
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	(void)putchar('\n');
}

__attribute__((format(printf, 2, 3))) static void expect(bool is_so, const char *format, ...)
{
	va_list arguments;

	if (is_so || story.wrong[0])
		return;
	va_start(arguments, format);
	(void)vsnprintf(story.wrong, sizeof(story.wrong), format, arguments);
	va_end(arguments);
	tell("  WRONG: %s", story.wrong);
}

/* Instead of ours: what is drawn is the story's. */
int random_bytes(void *ret_bytes, size_t size_bytes)
{
	uint8_t *bytes = ret_bytes;

	for (size_t i = 0; i < size_bytes; i++)
		bytes[i] = (uint8_t)draw();
	return 0;
}

uint64_t random_seed(void)
{
	return draw();
}

/* A trouble is said once, and once that it is over. */
static void hear(bool *was_said, bool is_trouble, const char *text)
{
	expect(*was_said != is_trouble, "said twice, or never begun: %s", text);
	*was_said = is_trouble;
}

static void hear_of_damage(const char *text)
{
	if (strstr(text, "cannot set aside"))
		story.has_said_unmoved = true;
	if (strstr(text, "a segment is damaged"))
		story.has_said_damaged = true;
	/* A kept segment is damaged only if the disk lied. A torn one was never said to be kept. */
	expect(disk_has_lied() || disk_has_rotted() || !strstr(text, "a segment is damaged"),
	       "what was kept is damaged: %s", text);
	expect(disk_has_lied() || disk_has_rotted() || story.has_lost_power || disk_has_torn() ||
		       !strstr(text, "damaged"),
	       "damage without any: %s", text);
}

static void hear_line(const char *text)
{
	if (strstr(text, "cannot keep records in"))
		hear(&story.said_failing, true, text);
	if (strstr(text, "are kept in"))
		hear(&story.said_failing, false, text);
	if (strstr(text, "cannot read records back"))
		hear(&story.said_unread, true, text);
	if (strstr(text, "are read back from"))
		hear(&story.said_unread, false, text);
	/* Others go first. */
	story.is_disordered = story.is_disordered || story.said_unread;
	if (strstr(text, "cannot remove"))
		story.has_said_unremoved = true;
	hear_of_damage(text);
}

/* Instead of ours: what is said is looked at, but for what the dead say. */
void log_line(enum log_level level, const char *format, ...)
{
	va_list arguments;
	char text[512];

	(void)level;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	tell("    says: %s", text);
	if (!disk_is_dead())
		hear_line(text);
}

int log_error(int error, const char *format, ...)
{
	(void)format;
	tell("    says an error: %s", format);
	return error > 0 ? -error : error;
}

int log_error_errno(int error, const char *format, ...)
{
	(void)format;
	tell("    says an error: %s: %s", format, strerror(error > 0 ? error : -error));
	return error > 0 ? -error : error;
}

static struct backlog_status status_now(void)
{
	struct backlog_status status;

	backlog_get_status(story.backlog, &status);
	return status;
}

static void set_weather(const struct disk_weather *weather)
{
	story.is_calm = !weather->failing && !weather->foreign_bytes;
	story.foreign_bytes = weather->foreign_bytes;
	story.used_bytes = disk_used_bytes();
	story.blind_looks = disk_blind_looks();
	disk_set_weather(weather);
}

/* On a disk that fails it may not open: then it is tried again. */
static void open_backlog(void)
{
	/* A power loss brings back what was removed. */
	if (story.used_bytes < disk_used_bytes())
		story.used_bytes = disk_used_bytes();
	story.said_failing = story.said_unread = story.is_disordered = false;
	memset(story.next, 0, sizeof(story.next));
	memset(story.pid_gap_records, 0, sizeof(story.pid_gap_records));
	story.gap_records = 0;
	for (int tries = 0; !story.backlog && tries < 10; tries++) {
		if (tries == 9)
			set_weather(&(struct disk_weather){ 0 });
		(void)backlog_new(&story.options, &story.backlog);
	}
	expect(story.backlog != NULL, "it does not open on a disk that is well");
}

static void note_arrival(const struct numbered_entry *entry)
{
	uint64_t number = entry_number(entry, 0);
	struct numbered_entry right;

	if (number < story.appended)
		right = number_entry_of(story.pids[number], number);
	expect(number < story.appended && memcmp(entry, &right, ENTRY) == 0,
	       "a record arrives that nobody appended");
	if (number >= story.appended)
		return;
	expect(story.has_restarted || !story.arrived[number], "record %" PRIu64 " arrives twice",
	       number);
	story.arrived[number]++;
}

/* Each record of the chunk, which is released; but for one that was set aside. */
static void release_chunk(void)
{
	for (uint32_t i = 0; i < story.chunk.entries; i++)
		note_arrival((const struct numbered_entry *)story.chunk.bytes + i);
	backlog_done(story.backlog);
	story.is_taken = false;
}

/* The records of each process come in order. */
static void look_at_order(void)
{
	for (uint32_t i = 0; i < story.chunk.entries; i++) {
		uint64_t number = entry_number(story.chunk.bytes, i);
		uint32_t pid = number < story.appended ? story.pids[number] : 0;

		expect(story.is_disordered || number >= story.next[pid],
		       "record %" PRIu64 " of process %" PRIu32 " comes behind %" PRIu64, number,
		       pid, story.next[pid]);
		story.next[pid] = number + 1;
	}
}

/* A new chunk is whole, in order, and kept before anybody gets it, where that can be. */
static void look_at_chunk(void)
{
	expect(story.chunk.entries > 0 && story.chunk.size_bytes == story.chunk.entries * ENTRY,
	       "a chunk of %zu bytes has %" PRIu32 " records", story.chunk.size_bytes,
	       story.chunk.entries);
	look_at_order();
	expect(disk_is_dead() || story.said_failing ||
		       status_now().kept_records >= story.chunk.entries,
	       "a chunk is given out that is not kept");
}

static bool take_chunk(void)
{
	int r;

	if (story.is_taken)
		return true;
	r = backlog_next(story.backlog, &story.chunk);
	if (r == 0)
		tell("  next: a chunk, %" PRIu32 " records from %" PRIu64, story.chunk.entries,
		     entry_number(story.chunk.bytes, 0));
	else
		tell("  next: %s", strerror(-r));
	expect(r == 0 || r == -EAGAIN || r == -ENOMEM, "next gives %d", r);
	story.is_taken = r == 0;
	if (story.is_taken)
		look_at_chunk();
	return story.is_taken;
}

static void append(void)
{
	struct numbered_entry entries[6];
	uint64_t count = 1 + draw_below(6);

	if (story.appended + count > RECORDS_MAX)
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t *pid = &story.pids[story.appended + i];

		*pid = (uint32_t)draw_below(draw_below(PROCESSES) + 1);
		entries[i] = number_entry_of(*pid, story.appended + i);
	}
	tell("  append %" PRIu64 " from %" PRIu64, count, story.appended);
	story.appended += count;
	expect(backlog_append(story.backlog, entries, count * ENTRY) == 0, "append fails");
}

static void set_aside_first(void)
{
	uint64_t before = status_now().dropped_records;
	int r;

	if (!take_chunk())
		return;
	r = backlog_reject(story.backlog, story.chunk.bytes, ENTRY);
	tell("  reject: %d", r);
	/* The keeper may have dropped others meanwhile. */
	expect(status_now().dropped_records >= before + (r < 0), "a lost record is not counted");
	/* The rest goes with the chunk; it is there or counted. */
	for (uint32_t i = r < 0 ? 1 : 0; i < story.chunk.entries; i++)
		note_arrival((const struct numbered_entry *)story.chunk.bytes + i);
	backlog_done(story.backlog);
	story.is_taken = false;
	story.rejected++;
}

static void take_gap(void)
{
	struct gap gap;

	while (backlog_take_gap(story.backlog, &gap)) {
		expect(gap.pid < PROCESSES, "a gap of process %" PRIu32, gap.pid);
		if (gap.pid >= PROCESSES)
			return;
		story.gap_records += gap.dropped_records;
		story.pid_dropped[gap.pid] += gap.dropped_records;
		story.pid_gap_records[gap.pid] += gap.dropped_records;
		expect(gap.pid_dropped_records == (gap.pid ? story.pid_gap_records[gap.pid] : 0),
		       "process %" PRIu32 " lost %" PRIu64
		       " records, and its gaps tell of %" PRIu64,
		       gap.pid, gap.pid_dropped_records, story.pid_gap_records[gap.pid]);
		expect(gap.total_dropped_records >= story.gap_records &&
			       gap.total_dropped_records <= status_now().dropped_records,
		       "%" PRIu64 " records were dropped in total, and gaps tell of %" PRIu64,
		       gap.total_dropped_records, story.gap_records);
	}
	expect(story.gap_records == status_now().dropped_records,
	       "gaps tell of %" PRIu64 " records, and %" PRIu64 " were dropped", story.gap_records,
	       status_now().dropped_records);
}

static void change_weather(void)
{
	static const unsigned int chances[] = { 0, 0, 0, 20, 100, 500, DISK_PER_MILLE };
	struct disk_weather weather = {
		.failing = chances[draw_below(7)],
		.brief = chances[draw_below(7)],
		.late = chances[draw_below(4)],
		.pausing = chances[draw_below(7)],
		.is_reading = draw_below(2),
		.foreign_bytes = draw_below(3) ? 0 : draw_below(6000),
	};

	if (draw_below(3))
		weather = (struct disk_weather){ .pausing = weather.pausing };
	if (story.is_rough) {
		weather.lying = chances[draw_below(6)];
		weather.rotting = chances[draw_below(5)];
	}
	tell("  weather: failing %u, brief %u, late %u, reading %d, foreign %" PRIu64 ", lying %u, "
	     "rotting %u",
	     weather.failing, weather.brief, weather.late, weather.is_reading,
	     weather.foreign_bytes, weather.lying, weather.rotting);
	set_weather(&weather);
}

/* The books of a process that is over. */
static void close_books(void)
{
	take_gap();
	story.dropped += status_now().dropped_records;
	story.is_taken = false;
	backlog_free(story.backlog);
	story.backlog = NULL;
	if (story.is_told)
		disk_print();
	expect(!turns_are_stuck(), "it waits for ever");
}

/* A death, in the next call of the disk or a later one. What was not kept by then may be gone. */
static void die(void)
{
	struct backlog_status status;
	bool is_power = draw_below(2);

	tell("  death%s", is_power ? " by power loss" : "");
	disk_die_at(1 + (unsigned int)draw_below(12));
	for (int i = 0; i < 12 && !disk_is_dead(); i++) {
		append();
		(void)turns_run_keeper();
		if (take_chunk() && draw_below(2) && !disk_is_dead())
			release_chunk();
	}
	disk_die_at(1);
	status = status_now();
	story.unkept_records += status.queued_records - status.kept_records;
	tell("    %" PRIu64 " of %" PRIu64 " were kept", status.kept_records,
	     status.queued_records);
	close_books();
	story.has_died = true;
	story.has_lost_power = story.has_lost_power || is_power;
	disk_restart(is_power);
	story.has_restarted = true;
	open_backlog();
}

static void begin_again(void)
{
	struct backlog_status status;

	tell("  end, and begin again");
	/* As a recording ends: what could not be kept is said then. */
	backlog_seal(story.backlog);
	backlog_settle(story.backlog);
	status = status_now();
	tell("    %" PRIu64 " of %" PRIu64 " are kept", status.kept_records, status.queued_records);
	story.unkept_records += status.queued_records - status.kept_records;
	close_books();
	expect(disk_open_count() == 0, "%u descriptors are open behind its end", disk_open_count());
	disk_restart(false);
	story.has_restarted = true;
	open_backlog();
}

/* A twentieth of the disk stays free for others, or else we take no more than we had. One write may
 * be on its way, and where the disk does not say how much is free there is one more. */
static void check_room(void)
{
	const uint64_t write_bytes = 6 * ENTRY + 3 * CHECK_BYTES;
	uint64_t writes = 1 + disk_blind_looks() - story.blind_looks;
	uint64_t free_bytes = story.capacity_bytes / 20 + story.foreign_bytes;
	uint64_t most_bytes =
		story.capacity_bytes > free_bytes ? story.capacity_bytes - free_bytes : 0;

	if (most_bytes < story.used_bytes)
		most_bytes = story.used_bytes;
	expect(disk_used_bytes() <= most_bytes + writes * write_bytes,
	       "%" PRIu64 " bytes are on the disk, and %" PRIu64 " may be", disk_used_bytes(),
	       most_bytes);
}

static void check_bounds(void)
{
	struct backlog_status status = status_now();

	check_room();
	/* Two that were read back come to it, the one that is deferred and the one that is out:
	 * with a check behind each record, at worst. */
	expect(status.memory_bytes <=
		       story.options.memory_bytes_max + 2 * 6 * (size_t)(ENTRY + CHECK_BYTES),
	       "memory: %" PRIu64 " bytes of %zu", status.memory_bytes,
	       story.options.memory_bytes_max);
	expect(status.kept_records <= status.queued_records, "more is kept than waits");
	expect(!turns_are_stuck(), "it waits for ever");
}

static void settle(void)
{
	struct backlog_status status;

	backlog_seal(story.backlog);
	backlog_settle(story.backlog);
	status = status_now();
	tell("  settled: %" PRIu64 " of %" PRIu64 " are kept", status.kept_records,
	     status.queued_records);
	expect(!story.is_calm || story.said_failing || status.kept_records == status.queued_records,
	       "it settled, and not all is kept");
}

static void take_step(void)
{
	switch (draw_below(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		append();
		break;
	case 4:
		tell("  seal");
		backlog_seal(story.backlog);
		break;
	case 5:
	case 6:
	case 7:
		for (uint64_t i = draw_below(8); i > 0 && turns_run_keeper(); i--)
			continue;
		break;
	case 8:
		turns_advance(draw_below(2 * NS_PER_S));
		break;
	case 9:
	case 10:
		if (take_chunk() && draw_below(4))
			release_chunk();
		break;
	case 11:
		if (story.is_taken && backlog_defer(story.backlog) == 0) {
			story.is_taken = false;
			story.is_disordered = true;
		}
		break;
	case 12:
		take_gap();
		break;
	case 13:
		change_weather();
		break;
	case 14:
		if (draw_below(4) == 0)
			set_aside_first();
		else
			settle();
		break;
	default:
		if (draw_below(3) == 0)
			begin_again();
		else if (draw_below(2))
			die();
		break;
	}
	check_bounds();
}

/* On a disk that is well again all that waits arrives, in time. */
static void let_all_arrive(void)
{
	int rounds;

	tell("  the end");
	set_weather(&(struct disk_weather){ 0 });
	backlog_seal(story.backlog);
	for (rounds = 0; rounds < ROUNDS_MAX && !backlog_is_empty(story.backlog); rounds++) {
		while (take_chunk())
			release_chunk();
		while (turns_run_keeper())
			continue;
		turns_advance(NS_PER_S);
	}
	expect(backlog_is_empty(story.backlog), "something waits for ever");
	/* It may be in a call that takes long. */
	for (rounds = 0; rounds < 10; rounds++) {
		while (turns_run_keeper())
			continue;
		turns_advance(NS_PER_S);
	}
	expect(story.has_said_unremoved || !status_now().store_bytes,
	       "nothing waits, and %" PRIu64 " bytes are in the store", status_now().store_bytes);
	take_gap();
	/* The next process sends again what could not be removed, and what was left alone. */
	begin_again();
	for (rounds = 0; rounds < ROUNDS_MAX && !backlog_is_empty(story.backlog); rounds++) {
		while (take_chunk())
			release_chunk();
		turns_advance(NS_PER_S);
	}
	close_books();
	/* The next process may have dropped it, unread. */
	expect(!story.has_said_damaged || story.has_said_unmoved || story.has_died ||
		       story.dropped || disk_damaged_count(),
	       "what is damaged was not set aside");
}

/* Each arrived, or was told to be dropped, or was not kept when the process died. */
static void close_all_books(void)
{
	uint64_t missing = 0, missing_of[PROCESSES] = { 0 };

	for (uint64_t number = 0; number < story.appended; number++) {
		missing += !story.arrived[number];
		missing_of[story.pids[number]] += !story.arrived[number];
		if (!story.arrived[number])
			tell("    record %" PRIu64 " did not arrive", number);
	}
	tell("  of %" PRIu64 " records %" PRIu64 " are missing; told: %" PRIu64
	     ", unkept: %" PRIu64,
	     story.appended, missing, story.dropped, story.unkept_records);
	if (story.is_rough && (disk_has_lied() || disk_has_rotted()))
		return;
	expect(missing <= story.dropped + story.unkept_records,
	       "%" PRIu64 " records are missing, %" PRIu64 " told and %" PRIu64 " unkept", missing,
	       story.dropped, story.unkept_records);
	for (uint32_t pid = 1; pid < PROCESSES; pid++)
		expect(missing_of[pid] <=
			       story.pid_dropped[pid] + story.pid_dropped[0] + story.unkept_records,
		       "%" PRIu64 " records of process %" PRIu32 " are missing, and %" PRIu64
		       " told",
		       missing_of[pid], pid, story.pid_dropped[pid]);
	expect(story.has_died || story.has_said_unremoved || missing >= story.dropped,
	       "%" PRIu64 " records are missing, and %" PRIu64 " told", missing, story.dropped);
}

static void tell_story(uint64_t seed, bool is_told)
{
	uint64_t steps;

	memset(&story, 0, sizeof(story));
	story.seed = story.dice = seed;
	story.is_told = is_told;
	story.is_rough = draw_below(4) == 0;
	turns_begin(START_NS);
	story.capacity_bytes = 4000 + draw_below(8000);
	disk_begin(draw, story.capacity_bytes);
	story.options = (struct backlog_options){
		.segment_bytes = ENTRY * (1 + draw_below(4)),
		.memory_bytes_max = ENTRY * 4 * (2 + draw_below(5)),
		.seal_ns = NS_PER_S / 10,
		.spool = DISK_SPOOL,
		.store_bytes_max = 400 + draw_below(4000),
	};
	open_backlog();
	for (steps = 1 + draw_below(STEPS_MAX); steps > 0 && !story.wrong[0]; steps--)
		take_step();
	if (!story.wrong[0])
		let_all_arrive();
	if (!story.wrong[0])
		close_all_books();
	if (story.backlog)
		close_books();
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

TEST(backlog_accounts_for_every_record_on_faulty_disk)
{
	uint64_t seed = number_of("MACHINE_SEED", 1);
	uint64_t count = number_of("MACHINE_COUNT", getenv("MACHINE_SEED") ? 1 : STORIES);

	for (uint64_t i = 0; i < count; i++) {
		tell_story(seed + i, count == 1);
		if (story.wrong[0])
			fail_msg("MACHINE_SEED=%" PRIu64 ": %s", seed + i, story.wrong);
	}
}
