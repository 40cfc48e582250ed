/* SPDX-License-Identifier: GPL-2.0-only */
/* What is sent, when it ends and what is said of it: what reads, sends and catches signals is here.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/signals.h"
#include "command/command.h"
#include "command_line.h"
#include "recorder/forward/forwarding.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/file_source.h"

UNIT_TEST_ALONE;

enum {
	PATHS_MAX = 4
};

struct file_source {
	int unused;
};

struct backlog {
	int unused;
};

struct sender {
	int unused;
};

struct forwarding {
	int unused;
};

static struct file_source the_file;
static struct backlog the_spool;
static struct sender the_sender;
static struct forwarding the_forwarding;

/* What there is. */
static struct {
	bool is_stream;
	struct file_source_status file;
	struct backlog_status spool;
	bool spool_is_empty, spool_is_stuck;
	int next_code;
	struct sender_status sender;
	int catch_code, new_code, start_code, open_code;
	int signals[PATHS_MAX]; /* that come, one after the other */
	uint64_t signal_times_ns[PATHS_MAX];
	size_t signal_count;
	bool ends_at_a_look; /* the sender, once it is asked how far it is */
	int signal_fd, ended_fd;
} world;

/* What was done. */
static struct {
	char paths[PATHS_MAX][64];
	uint64_t skips[PATHS_MAX];
	size_t opened, freed;
	char spool[64];
	struct forwarding_options options;
	struct chunk_source source;
	uint64_t give_up_ns, drain_ns;
	unsigned int starts, stops, sender_frees, forwarding_frees, ends, signal_reads;
} done;

static struct command_result result;

uint64_t clock_monotonic_ns(void)
{
	size_t at = done.signal_reads < PATHS_MAX ? done.signal_reads : PATHS_MAX - 1;

	return NS_PER_S + world.signal_times_ns[at];
}

/* Nobody has to wait for a look at how far it is. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	static const struct timespec at_once;

	/* The log's. */
	if (count == 1)
		return ppoll(fds, count, NULL, NULL);
	if (world.ends_at_a_look)
		assert_int_equal(timeout_ms, 1000);
	return ppoll(fds, count, world.ends_at_a_look ? &at_once : NULL, NULL);
}

int signals_catch(void)
{
	world.signal_fd = eventfd(world.signal_count > 0, EFD_CLOEXEC | EFD_NONBLOCK);
	return world.catch_code < 0 ? world.catch_code : dup(world.signal_fd);
}

int signals_read(int fd, bool *ret_is_typed)
{
	size_t at = done.signal_reads++;
	uint64_t value;

	(void)fd;
	*ret_is_typed = true;
	if (at + 1 == world.signal_count) {
		(void)!read(world.signal_fd, &value, sizeof(value));
		/* And what is sent, too, comes to its end. */
		(void)!write(world.ended_fd, &(uint64_t){ 1 }, sizeof(value));
	}
	return at < world.signal_count ? world.signals[at] : 0;
}

int forwarding_new(const struct forwarding_options *options, struct forwarding **ret_forwarding)
{
	done.options = *options;
	if (world.new_code == 0)
		*ret_forwarding = &the_forwarding;
	return world.new_code;
}

void forwarding_free(struct forwarding *forwarding)
{
	assert_ptr_equal(forwarding, &the_forwarding);
	done.forwarding_frees++;
}

int forwarding_start(const struct forwarding *forwarding, const struct chunk_source *source,
		     uint64_t give_up_ns, struct sender **ret_sender)
{
	assert_ptr_equal(forwarding, &the_forwarding);
	done.source = *source;
	done.give_up_ns = give_up_ns;
	done.starts++;
	if (world.start_code == 0)
		*ret_sender = &the_sender;
	return world.start_code;
}

int sender_ended_fd(const struct sender *sender)
{
	assert_ptr_equal(sender, &the_sender);
	return world.ended_fd;
}

void sender_stop(struct sender *sender, uint64_t drain_ns)
{
	assert_ptr_equal(sender, &the_sender);
	done.stops++;
	done.drain_ns = drain_ns;
}

void sender_free(struct sender *sender)
{
	assert_ptr_equal(sender, &the_sender);
	done.sender_frees++;
}

void sender_get_status(struct sender *sender, struct sender_status *ret_status)
{
	assert_ptr_equal(sender, &the_sender);
	*ret_status = world.sender;
	if (world.ends_at_a_look && !done.stops)
		(void)!write(world.ended_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

int file_source_open(const char *path, uint64_t skip_records, struct file_source **ret_source)
{
	if (world.open_code)
		return world.open_code;
	(void)snprintf(done.paths[done.opened], sizeof(done.paths[0]), "%s", path);
	done.skips[done.opened++] = skip_records;
	*ret_source = &the_file;
	return 0;
}

void file_source_free(struct file_source *source)
{
	done.freed += source == &the_file;
}

struct chunk_source file_source_chunks(struct file_source *source)
{
	return (struct chunk_source){ .user = source, .event_fd = 77 };
}

bool file_source_is_stream(const struct file_source *source)
{
	assert_ptr_equal(source, &the_file);
	return world.is_stream;
}

void file_source_end(struct file_source *source)
{
	assert_ptr_equal(source, &the_file);
	done.ends++;
}

void file_source_get_status(const struct file_source *source, struct file_source_status *ret_status)
{
	assert_ptr_equal(source, &the_file);
	*ret_status = world.file;
}

int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog)
{
	(void)snprintf(done.spool, sizeof(done.spool), "%s", options->spool);
	*ret_backlog = &the_spool;
	done.opened++;
	return 0;
}

void backlog_free(struct backlog *backlog)
{
	done.freed += backlog == &the_spool;
}

struct chunk_source backlog_source(struct backlog *backlog)
{
	return (struct chunk_source){ .user = backlog, .event_fd = 78 };
}

int backlog_next(struct backlog *backlog, struct chunk *ret_chunk)
{
	assert_ptr_equal(backlog, &the_spool);
	(void)ret_chunk;
	return world.next_code;
}

bool backlog_is_empty(struct backlog *backlog)
{
	assert_ptr_equal(backlog, &the_spool);
	return world.spool_is_empty;
}

bool backlog_is_stuck(struct backlog *backlog)
{
	assert_ptr_equal(backlog, &the_spool);
	return world.spool_is_stuck;
}

void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status)
{
	assert_ptr_equal(backlog, &the_spool);
	*ret_status = world.spool;
}

/* A file of which all arrives. */
static int make_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.file = (struct file_source_status){ .done_records = 5, .is_exhausted = true };
	world.sender = (struct sender_status){ .acked_records = 5, .collector = "tcp://c:1" };
	world.ended_fd = -1;
	return 0;
}

static int forward_until(const char *line, bool is_ended)
{
	memset(&done, 0, sizeof(done));
	world.ended_fd = eventfd(is_ended, EFD_CLOEXEC | EFD_NONBLOCK);
	command_run(command_forward, line, &result);
	(void)close(world.ended_fd);
	(void)close(world.signal_fd);
	assert_int_equal(done.opened, done.freed);
	assert_string_equal(result.output, "");
	return result.code;
}

static int forward(const char *line)
{
	return forward_until(line, world.signal_count == 0 && !world.ends_at_a_look);
}

static void says(const char *text)
{
	if (!strstr(result.error, text))
		fail_msg("`%s' is not in:\n%s", text, result.error);
}

static void says_nothing_of(const char *text)
{
	if (strstr(result.error, text))
		fail_msg("`%s' is in:\n%s", text, result.error);
}

static int make_spool(void **state);
static int remove_spool(void **state);

#define FIXTURE_TEST(test) TEST_WITH(test, make_world, NULL)
#define SPOOL_TEST(test)   TEST_WITH(test, make_spool, remove_spool)

FIXTURE_TEST(forward_exits_ok_after_file_is_acknowledged)
{
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_OK);
	says("a.rec: 5 records acknowledged by tcp://c:1\n");
	says_nothing_of("error");
	assert_int_equal(done.opened, 1);
	assert_string_equal(done.paths[0], "a.rec");
	assert_int_equal(done.skips[0], 0);
	assert_int_equal(done.starts, 1);
	assert_int_equal(done.stops, 1);
	assert_int_equal(done.sender_frees, 1);
	assert_int_equal(done.forwarding_frees, 1);
	assert_int_equal(done.ends, 0);
	assert_true(done.give_up_ns == 60 * NS_PER_S);
	assert_int_equal(done.source.event_fd, 77);
	/* A chunk that is on its way has a little time. */
	assert_true(done.drain_ns >= NS_PER_S && done.drain_ns <= 10 * NS_PER_S);
	assert_true(done.options.ack_timeout_ns == 30 * NS_PER_S);
}

FIXTURE_TEST(forward_omits_collector_if_nothing_was_acknowledged)
{
	world.sender = (struct sender_status){ 0 };
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_OK);
	says("a.rec: 0 records acknowledged\n");
}

FIXTURE_TEST(forward_reports_records_as_sent_without_acks)
{
	assert_int_equal(forward("forward a.rec --to tcp://c:1 --no-ack"), EXIT_CODE_OK);
	says("a.rec: 5 records sent, unacknowledged, to tcp://c:1\n");
	assert_true(done.options.has_no_acks);
}

FIXTURE_TEST(forward_applies_options_to_all_files_and_skip_to_first)
{
	assert_int_equal(forward("forward --skip 3 a.rec b.rec --to tcp://c:1 --give-up 5s"),
			 EXIT_CODE_OK);
	assert_int_equal(done.opened, 2);
	assert_string_equal(done.paths[1], "b.rec");
	assert_int_equal(done.skips[0], 3);
	assert_int_equal(done.skips[1], 0);
	assert_true(done.give_up_ns == 5 * NS_PER_S);
	assert_int_equal(done.sender_frees, 2);
	assert_int_equal(done.forwarding_frees, 1);
}

FIXTURE_TEST(forward_options_leave_other_settings_unchanged)
{
	assert_int_equal(forward("forward --skip 3 --to tcp://c:1 a.rec"), EXIT_CODE_OK);
	assert_int_equal(done.skips[0], 3);
	assert_true(done.give_up_ns == 60 * NS_PER_S);
	assert_int_equal(forward("forward --give-up 5s --tag t --to tcp://c:1 a.rec"),
			 EXIT_CODE_OK);
	assert_int_equal(done.opened, 1);
	assert_string_equal(done.paths[0], "a.rec");
	assert_string_equal(done.options.tag, "t");
	assert_int_equal(done.options.url_count, 1);
	assert_int_equal(forward("forward -q --to tcp://c:1 a.rec"), EXIT_CODE_OK);
	assert_string_equal(result.error, "");
}

FIXTURE_TEST(forward_stops_at_first_undelivered_file)
{
	world.file.is_exhausted = false;
	(void)strcpy(world.sender.last_error, "tcp://c:1: it is on fire");
	assert_int_equal(forward("forward a.rec b.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.opened, 1);
	says("a.rec: not all of it was delivered (tcp://c:1: it is on fire); go on with --skip 5");
	says("b.rec: not sent");
	(void)strcpy(world.sender.last_error, "?");
	(void)strcpy(world.sender.collector, "c");
	assert_int_equal(forward("forward a.rec b.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("a.rec: 5 records acknowledged by c\n");
	says("delivered (?);");
	world.sender.last_error[0] = '\0';
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("(it cannot be read any further); go on with --skip 5");
}

FIXTURE_TEST(forward_fails_for_rejected_or_damaged_file_but_sends_others)
{
	world.sender.rejected_records = 1;
	assert_int_equal(forward("forward a.rec b.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.opened, 2);
	says_nothing_of("not sent");
	world.sender.rejected_records = 0;
	world.file.torn_bytes = 9;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("a.rec: truncated: 9 bytes of its last record were not sent");
	world.file.torn_bytes = 0;
	world.file.missing_records = 2;
	assert_int_equal(forward("forward a.rec --to tcp://c:1 --skip 7"), EXIT_CODE_FAILURE);
	says("a.rec: there are only 5 records in it to skip");
	world.file.missing_records = 0;
	world.file.done_records = 0;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("a.rec: there is no record in it: nothing was sent");
	world.file.done_records = 5;
	world.sender.rejected_records = 1;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("a.rec: 1 records were refused");
	says_nothing_of("damaged");
	world.sender.rejected_records = 0;
	world.file.damaged_places = 1;
	world.file.damaged_bytes = 9;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("damaged: 9 bytes in 1 places were not sent");
	says_nothing_of("refused");
	says_nothing_of("--skip");
}

FIXTURE_TEST(forward_fails_if_startup_fails)
{
	world.catch_code = -EMFILE;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.forwarding_frees, 0);
	world.catch_code = 0;
	world.new_code = -EINVAL;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.opened, 0);
	world.new_code = 0;
	world.open_code = -ENOENT;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.starts, 0);
	world.open_code = 0;
	world.start_code = -EAGAIN;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_FAILURE);
	assert_int_equal(done.stops, 0);
	assert_int_equal(done.sender_frees, 0);
}

FIXTURE_TEST(forward_ends_file_at_any_signal)
{
	world.file.is_exhausted = false;
	world.signals[0] = SIGINT;
	world.signal_count = 1;
	(void)strcpy(world.sender.last_error, "tcp://c:1: it is on fire");
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_INTERRUPTED);
	says("(interrupted); go on with --skip 5");
	assert_int_equal(done.ends, 1);
	assert_int_equal(done.stops, 1);
	/* What was on its way was the last of it. */
	world.file.is_exhausted = true;
	assert_int_equal(forward("forward a.rec --to tcp://c:1"), EXIT_CODE_OK);
	assert_int_equal(done.ends, 1);
}

FIXTURE_TEST(forward_leaves_first_ctrl_c_to_writer_of_stream)
{
	world.is_stream = true;
	world.signals[0] = SIGINT;
	world.signal_count = 1;
	assert_int_equal(forward("forward - --to tcp://c:1"), EXIT_CODE_OK);
	says("-: sending on until the writer ends");
	assert_int_equal(done.ends, 0);
	/* The second is for us, but its echo is not. */
	world.signals[1] = SIGINT;
	world.signal_count = 2;
	world.signal_times_ns[1] = SIGNALS_ECHO_NS - 1;
	assert_int_equal(forward("forward - --to tcp://c:1"), EXIT_CODE_OK);
	assert_int_equal(done.ends, 0);
	world.signal_times_ns[1] = SIGNALS_ECHO_NS;
	assert_int_equal(forward("forward - --to tcp://c:1"), EXIT_CODE_OK);
	assert_int_equal(done.ends, 1);
	/* As is each of another kind. */
	world.signals[0] = SIGTERM;
	world.signal_count = 1;
	assert_int_equal(forward("forward - --to tcp://c:1"), EXIT_CODE_OK);
	assert_int_equal(done.ends, 1);
	says_nothing_of("until the writer ends");
	/* It was none after all. */
	world.signals[0] = 0;
	assert_int_equal(forward("forward - --to tcp://c:1"), EXIT_CODE_OK);
	assert_int_equal(done.ends, 0);
}

static char folder[32];

static int make_spool(void **state)
{
	char lock[64];
	FILE *file;

	(void)make_world(state);
	(void)strcpy(folder, "/tmp/test_forward-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(lock, sizeof(lock), "%s/lock", folder);
	file = fopen(lock, "we");
	assert_non_null(file);
	(void)fclose(file);
	world.spool_is_empty = true;
	return 0;
}

static int remove_spool(void **state)
{
	char lock[64];

	(void)state;
	(void)snprintf(lock, sizeof(lock), "%s/lock", folder);
	(void)unlink(lock);
	return rmdir(folder);
}

static int forward_spool(const char *options)
{
	char line[128];

	(void)snprintf(line, sizeof(line), "forward %s --to tcp://c:1%s", folder, options);
	return forward(line);
}

SPOOL_TEST(forward_sends_spool_until_empty_or_stuck)
{
	struct chunk chunk;

	assert_int_equal(forward_spool(""), EXIT_CODE_OK);
	assert_string_equal(done.spool, folder);
	assert_int_equal(done.source.event_fd, 78);
	world.next_code = -EAGAIN;
	assert_int_equal(done.source.next(done.source.user, &chunk), -ENODATA);
	world.spool_is_empty = false;
	assert_int_equal(done.source.next(done.source.user, &chunk), -EAGAIN);
	/* Nothing that is left can be read. */
	world.spool_is_stuck = true;
	assert_int_equal(done.source.next(done.source.user, &chunk), -ENODATA);
	world.next_code = 0;
	world.spool_is_empty = true;
	assert_int_equal(done.source.next(done.source.user, &chunk), 0);
	world.next_code = -ENOMEM;
	assert_int_equal(done.source.next(done.source.user, &chunk), -ENOMEM);
}

SPOOL_TEST(forward_leaves_undelivered_spool_for_next_run)
{
	world.spool_is_empty = false;
	assert_int_equal(forward_spool(""), EXIT_CODE_FAILURE);
	says("the rest stays there, run the same again");
	says_nothing_of("--skip");
	world.signal_count = 1;
	world.signals[0] = SIGINT;
	world.is_stream = true;
	assert_int_equal(forward_spool(""), EXIT_CODE_INTERRUPTED);
	says("(interrupted)");
	assert_int_equal(done.ends, 0);
}

SPOOL_TEST(forward_fails_for_damaged_spool_segment)
{
	world.spool.damaged_segments = 1;
	world.spool.dropped_records = 8;
	assert_int_equal(forward_spool(""), EXIT_CODE_FAILURE);
	says("damaged: at least 8 records in 1 segments are lost");
	says("damaged/, or where they were\n");
}

SPOOL_TEST(forward_rejects_skip_in_spool_and_other_directories)
{
	assert_int_equal(forward_spool(" --skip 1"), EXIT_CODE_USAGE);
	says("--skip applies to files");
	assert_int_equal(forward_spool(" --skip 0"), EXIT_CODE_OK);
	assert_int_equal(forward("forward /proc --to tcp://c:1"), EXIT_CODE_FAILURE);
	says("/proc is a folder, but not the spool");
	assert_int_equal(done.opened, 0);
}

/* Runs it with standard error on a terminal: what it says there. */
static void forward_on_screen(const char *line, char *ret_said, size_t said_bytes)
{
	int screen, program, saved = dup(STDERR_FILENO);
	static char copy[128];
	static char *words[COMMAND_WORDS_MAX];
	ssize_t got;
	int count;

	assert_int_equal(openpty(&screen, &program, NULL, NULL, NULL), 0);
	(void)snprintf(copy, sizeof(copy), "%s", line);
	count = command_split(copy, words);
	memset(&done, 0, sizeof(done));
	world.ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)dup2(program, STDERR_FILENO);
	assert_int_equal(command_forward(count, words), EXIT_CODE_OK);
	(void)dup2(saved, STDERR_FILENO);
	got = read(screen, ret_said, said_bytes - 1);
	ret_said[got > 0 ? got : 0] = '\0';
	(void)close(saved);
	(void)close(program);
	(void)close(screen);
	(void)close(world.ended_fd);
	(void)close(world.signal_fd);
}

FIXTURE_TEST(forward_shows_progress_of_file_on_terminal)
{
	char said[1024];

	world.ends_at_a_look = true;
	world.file.done_bytes = 1;
	world.file.size_bytes = 4;
	forward_on_screen("forward a.rec --to tcp://c:1", said, sizeof(said));
	assert_non_null(strstr(said, "a.rec: 5 records acknowledged, 25 %"));
	world.file.size_bytes = 0;
	forward_on_screen("forward a.rec --to tcp://c:1", said, sizeof(said));
	assert_non_null(strstr(said, "a.rec: 5 records acknowledged\r\n"));
	assert_null(strstr(said, "%"));
}

SPOOL_TEST(forward_shows_progress_of_spool_on_terminal)
{
	char said[1024], line[64];

	world.ends_at_a_look = true;
	(void)snprintf(line, sizeof(line), "forward %s --to tcp://c:1", folder);
	forward_on_screen(line, said, sizeof(said));
	assert_non_null(strstr(said, ": 5 records acknowledged\r\n"));
}

FIXTURE_TEST(forward_rejects_wrong_usage_before_sending)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "forward", "nothing to send" },
		{ "forward --to tcp://c:1", "nothing to send" },
		{ "forward a.rec", "no collector" },
		{ "forward a.rec --to c:1", "c:1" },
		{ "forward a.rec --to tcp://c:1 --skip x", "--skip x" },
		{ "forward a.rec --to tcp://c:1 --skip -1", "--skip -1" },
		{ "forward a.rec --to tcp://c:1 --give-up 0", "--give-up 0" },
		{ "forward a.rec --to tcp://c:1 --tag a/b", "--tag a/b" },
		{ "forward a.rec --to tcp://c:1 --tls-insecure", "--tls-*" },
		{ "forward a.rec --to c:1 --to tcp://c:1", "c:1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(forward(cases[i].line), EXIT_CODE_USAGE);
		says(cases[i].says);
		assert_int_equal(done.opened, 0);
	}
}
