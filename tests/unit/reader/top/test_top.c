/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/top/recorder.h"
#include "reader/top/streams.h"
#include "reader/top/top.h"
#include "reader/top/user.h"

UNIT_TEST_ALONE;

enum {
	WIDTH = 100,
	HEIGHT = 16,
	ROUTES = 25,
	CLOCK_BYTES = 8,
};

#define TITLE "correlator top"
#define ENDED "END OF THE RECORDING"
/* How a terminal leaves the screen of a picture. */
#define LEFT "\033[?1049l"

static struct user user;
/* Of the child: where it says that it sleeps until somebody wakes it; -1: nowhere. */
static int asleep_fd = -1;

/* Of the child: whether the terminal's size changes once, just before it sleeps so. */
static bool is_to_resize;

/* In libc's place. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals)
{
	const struct winsize larger = { .ws_row = HEIGHT + 4, .ws_col = WIDTH };
	struct timespec rest = timeout ? *timeout : (struct timespec){ 0 };

	if (!timeout && asleep_fd >= 0)
		(void)!write(asleep_fd, "z", 1);
	if (!timeout && is_to_resize)
		(void)ioctl(STDIN_FILENO, TIOCSWINSZ, &larger);
	if (!timeout)
		is_to_resize = false;
	return (int)syscall(SYS_ppoll, fds, count, timeout ? &rest : NULL, signals, _NSIG / 8);
}

static char path[32], output_path[32];
static FILE *recording;
static char text[1 << 20]; /* of the output */

static FILE *make_file(char *ret_path)
{
	int fd;

	(void)strcpy(ret_path, "/tmp/correlator-top-XXXXXX");
	fd = mkstemp(ret_path);
	assert_true(fd >= 0);
	return fdopen(fd, "wb");
}

static int setup(void **state)
{
	(void)state;
	recording = make_file(path);
	(void)fclose(make_file(output_path));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	user_leaves(&user);
	if (recording)
		(void)fclose(recording);
	(void)unlink(path);
	(void)unlink(output_path);
	return 0;
}

/* What one thread did for a request in a window that ended so many milliseconds after the first. */
static void write_work(uint32_t ms, const char *endpoint, const char *request_id, int64_t cpu_ns)
{
	struct sample sample;

	sample_record(&sample,
		      "cpu pid=42 tid=43 thread_name=worker request_id=%s endpoint=\"%s\" "
		      "window_ns=250000000 cpu_ns=%ld",
		      request_id, endpoint, cpu_ns);
	stream_write(recording, &sample, ms);
}

/* A window of GET /a to GET /y, which cost 25 ms down to 1 ms. */
static void write_routes(uint32_t ms)
{
	for (int i = 0; i < ROUTES; i++) {
		char endpoint[16], id[16];

		(void)snprintf(endpoint, sizeof(endpoint), "GET /%c", 'a' + i);
		(void)snprintf(id, sizeof(id), "id-%c", 'a' + i);
		write_work(ms, endpoint, id, (int64_t)(ROUTES - i) * 1000000);
	}
}

struct run {
	struct top_options options;
	struct navigation start;
	const char *output; /* NULL: the terminal */
	size_t successes; /* before memory runs out */
	bool has_lost_input; /* standard input is a pipe that nobody writes to any more */
};

static struct run run_of(const char *file)
{
	struct run run = { .options = { .path = file,
					.name = "what it is of",
					.width = TOP_BATCH_WIDTH,
					.is_batch = true },
			   .output = output_path };

	navigation_init(&run.start);
	return run;
}

static struct run run_on_terminal(const char *file)
{
	struct run run = run_of(file);

	run.options.is_batch = false;
	run.output = NULL;
	return run;
}

/* The child. */
static int run_top(void *argument)
{
	struct run *run = argument;
	int code, write_error, fds[2];

	run->options.start = &run->start;
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TERM", "xterm-256color", 1);
	if (run->output && !freopen(run->output, "w", stdout))
		return RECORDER_MISTAKEN;
	if (run->has_lost_input && (pipe(fds) < 0 || close(fds[1]) < 0 || dup2(fds[0], 0) < 0))
		return RECORDER_MISTAKEN;
	code = top_run(&run->options, &write_error);
	if (write_error)
		(void)fprintf(stderr, "write error: %s\n", strerror(write_error));
	(void)fclose(stdout);
	return code;
}

static void start(struct run *run)
{
	user_starts(&user, WIDTH, HEIGHT, run_top, run);
}

/* The exit status; what it wrote is in text. */
static int await_frames(struct run *run)
{
	size_t size_bytes;
	FILE *output;
	int code;

	start(run);
	code = user_awaits_end(&user);
	output = fopen(output_path, "rb");
	assert_non_null(output);
	size_bytes = fread(text, 1, sizeof(text) - 1, output);
	(void)fclose(output);
	text[size_bytes] = '\0';
	return code;
}

static size_t count_of(const char *wanted)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, wanted)); at++)
		count++;
	return count;
}

/* What was said on the terminal once the picture was gone. */
static bool is_said_afterwards(const char *wanted)
{
	const char *end = user.seen;

	for (const char *at = user.seen; (at = strstr(at, LEFT)); at++)
		end = at;
	return strstr(end, wanted) != NULL;
}

static void quit(void)
{
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(batch_prints_one_frame_per_second_and_marks_end_in_last)
{
	static const uint32_t ends_ms[] = { 0, 500, 999, 1000, 1500, 3100, 3200 };
	struct run run = run_of(path);

	for (size_t i = 0; i < sizeof(ends_ms) / sizeof(ends_ms[0]); i++)
		write_work(ends_ms[i], "GET /a", "id-1", 1000000);
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(strncmp(text, TITLE, strlen(TITLE)), 0);
	assert_int_equal(count_of(TITLE), 4);
	assert_int_equal(count_of("\n\n" TITLE), 3);
	assert_int_equal(count_of("22:13:21"), 1);
	assert_int_equal(count_of("22:13:22"), 1);
	assert_int_equal(count_of("22:13:24"), 2);
	assert_int_equal(count_of(ENDED), 1);
	assert_int_equal(count_of("22:13:24  " ENDED), 1);
	assert_string_equal(user.seen, "");
}

/* As where cron starts it. */
FIXTURE_TEST(batch_ignores_closed_standard_input)
{
	struct run run = run_of(path);

	run.has_lost_input = true;
	write_work(0, "GET /a", "id-1", 1000000);
	write_work(1000, "GET /a", "id-1", 1000000);
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(count_of(TITLE), 2);
	assert_int_equal(count_of(ENDED), 1);
}

FIXTURE_TEST(batch_marks_end_in_last_frame_if_no_records_follow)
{
	struct run run = run_of(path);

	write_work(0, "GET /a", "id-1", 1000000);
	write_work(1000, "GET /a", "id-1", 1000000);
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(count_of(TITLE), 2);
	assert_int_equal(count_of("22:13:22  " ENDED), 1);
}

FIXTURE_TEST(batch_stops_after_frame_count)
{
	for (uint32_t window = 0; window < 5; window++)
		write_work(1000 * window, "GET /a", "id-1", 1000000);
	for (uint64_t count = 1; count < 4; count++) {
		struct run run = run_of(path);

		run.options.frame_count = count;
		assert_int_equal(await_frames(&run), 0);
		assert_int_equal(count_of(TITLE), count);
		assert_int_equal(count_of(ENDED), 0);
		user_leaves(&user);
	}
}

FIXTURE_TEST(batch_frame_is_limited_to_twenty_rows_and_width)
{
	struct run run = run_of(path);

	write_routes(0);
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(count_of("\nGET /"), 20);
	assert_int_equal(count_of("\nGET /t "), 1);
	assert_int_equal(count_of("\ntotal "), 1);
	assert_int_equal(count_of("\nresidual "), 1);
	assert_int_equal(count_of("? help"), 0);
	user_leaves(&user);

	run.options.width = 60;
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(strncmp(text, "what it is of", 13), 0);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 60);
	assert_int_equal(count_of("\nGET /"), 20);
}

FIXTURE_TEST(batch_frame_height_follows_row_count)
{
	struct run run = run_of(path);
	size_t lines;

	write_work(0, "GET /a", "id-1", 1000000);
	assert_int_equal(await_frames(&run), 0);
	lines = count_of("\n");
	user_leaves(&user);
	write_work(0, "GET /b", "id-2", 1000000);
	assert_int_equal(await_frames(&run), 0);
	assert_int_equal(count_of("\n"), lines + 1);
}

FIXTURE_TEST(batch_reports_missing_empty_foreign_and_damaged_recording)
{
	static const struct {
		const char *bytes;
		bool has_record;
		const char *said;
	} cases[] = {
		{ "", false, "what it is of: no records to show" },
		{ "hello\n", false, "not a recording of correlator" },
		{ "garbage", true, "damaged" },
	};
	struct run run = run_of("/nonexistent/file");

	assert_int_equal(await_frames(&run), 1);
	assert_true(user_has_seen(&user, "/nonexistent/file: No such file"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		user_leaves(&user);
		(void)fclose(recording);
		recording = fopen(path, "wb");
		assert_non_null(recording);
		if (cases[i].has_record)
			write_work(0, "GET /a", "id-1", 1000000);
		assert_true(fputs(cases[i].bytes, recording) >= 0);
		assert_int_equal(fflush(recording), 0);
		run = run_of(path);
		assert_int_equal(await_frames(&run), 1);
		assert_true(user_has_seen(&user, cases[i].said));
		assert_int_equal(count_of(TITLE), cases[i].has_record);
	}
}

/* The child: memory runs out after so many times. */
static int run_without_memory(void *argument)
{
	struct run *run = argument;
	int write_error;

	run->options.start = &run->start;
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (!freopen(run->output, "w", stdout))
		return RECORDER_MISTAKEN;
	memory_fails_after(run->successes);
	return top_run(&run->options, &write_error);
}

FIXTURE_TEST(batch_fails_with_enomem_when_allocation_fails)
{
	size_t failures = 0;
	int code;

	write_work(0, "GET /a", "id-1", 1000000);
	write_work(1000, "GET /a", "id-1", 1000000);
	do {
		struct run run = run_of(path);

		run.successes = failures++;
		user_starts(&user, WIDTH, HEIGHT, run_without_memory, &run);
		code = user_awaits_end(&user);
		if (code != 0) {
			assert_int_equal(code, 1);
			assert_true(user_has_seen(&user, "Cannot allocate memory"));
		}
		user_leaves(&user);
	} while (code != 0);
	assert_true(failures > 6);
}

FIXTURE_TEST(batch_ends_and_reports_write_error)
{
	char copy[64];
	char *const recorder[] = { "top", copy, "stay", NULL };
	struct run run = run_of(NULL);

	(void)snprintf(copy, sizeof(copy), "copy:%s", path);
	write_work(0, "GET /a", "id-1", 1000000);
	run.options.recorder = recorder;
	run.output = "/dev/full";
	start(&run);
	assert_int_equal(user_awaits_end(&user), 0);
	assert_true(user_has_seen(&user, "write error: No space left on device"));
}

FIXTURE_TEST(top_exits_with_status_of_failed_recorder)
{
	char copy[64];
	char *const at_once[] = { "top", "say:cannot look", "exit:4", NULL };
	char *const later[] = { "top", copy, "say:cannot look", "exit:4", NULL };
	char *const *const recorders[] = { at_once, later };

	(void)snprintf(copy, sizeof(copy), "copy:%s", path);
	write_work(0, "GET /a", "id-1", 1000000);
	for (size_t i = 0; i < 2; i++) {
		struct run run = run_of(NULL);

		run.options.recorder = recorders[i];
		assert_int_equal(await_frames(&run), 4);
		assert_true(user_has_seen(&user, "cannot look"));
		user_leaves(&user);

		run = run_on_terminal(NULL);
		run.options.recorder = recorders[i];
		start(&run);
		assert_int_equal(user_awaits_end(&user), 4);
		assert_true(is_said_afterwards("cannot look\r\n"));
		user_leaves(&user);
	}
}

FIXTURE_TEST(top_forwards_only_warnings_of_successful_recorder)
{
	char copy[64];
	char *const recorder[] = {
		"top",		copy, "say:nothing special", "say:correlator: warning: careful",
		"say:nor this", NULL,
	};
	struct run run = run_on_terminal(NULL);

	(void)snprintf(copy, sizeof(copy), "copy:%s", path);
	write_work(0, "GET /a", "id-1", 1000000);
	run.options.recorder = recorder;
	start(&run);
	(void)user_awaits(&user, "GET /a");
	assert_int_equal(user_awaits(&user, "THE TARGET HAS ENDED"), 0);
	assert_int_equal(user_finds(&user, "nor this"), -1);
	quit();
	assert_true(is_said_afterwards("correlator: warning: careful\r\n"));
	assert_false(is_said_afterwards("nothing special"));
	assert_false(is_said_afterwards("nor this"));
}

FIXTURE_TEST(top_shows_last_recorder_line_until_first_window)
{
	char copy[64];
	char *const recorder[] = {
		"top", "say:one", "say:two \033[2Jthree\n\n", copy, "stay", NULL
	};
	struct run run = run_on_terminal(NULL);
	FILE *pipe;

	/* The recorder waits for what comes by it. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)snprintf(copy, sizeof(copy), "copy:%s", path);
	run.options.recorder = recorder;
	start(&run);
	(void)user_awaits(&user, "two \\x1b[2Jthree");
	assert_int_equal(user_finds(&user, "one"), -1);
	pipe = fopen(path, "wb");
	assert_non_null(pipe);
	(void)fclose(recording);
	recording = pipe;
	write_work(0, "GET /a", "id-1", 1000000);
	(void)user_awaits(&user, "GET /a");
	assert_int_equal(user_finds(&user, "three"), -1);
	/* What comes next is shown without a key. */
	write_work(250, "GET /b", "id-2", 1000000);
	(void)user_awaits(&user, "GET /b");
	assert_int_equal(kill(user.pid, SIGTERM), 0);
	assert_int_equal(user_awaits_end(&user), 0);
}

FIXTURE_TEST(top_applies_keys_to_current_list)
{
	struct run run = run_on_terminal(path);

	write_routes(0);
	start(&run);
	assert_int_equal(user_awaits(&user, ENDED), 0);
	(void)user_awaits(&user, "endpoint");
	(void)user_awaits(&user, "cpu▼");
	(void)user_awaits(&user, "? help");

	/* The second one acts on what the first has made. */
	user_types(&user, "\033OB\r");
	(void)user_awaits(&user, "requests of endpoint=GET /b");
	(void)user_awaits(&user, "id-b");
	user_types(&user, "\r");
	(void)user_awaits(&user, "the story of id-b");
	user_types(&user, "\033");
	(void)user_awaits(&user, "requests of endpoint=GET /b");
	user_types(&user, "\033");
	user_awaits_absence(&user, "requests of");

	/* A page: of 16 rows, 4 are heading and foot, 3 the table's own. */
	user_types(&user, "\033OH\033[6~\r");
	(void)user_awaits(&user, "requests of endpoint=GET /j");
	user_types(&user, "\033");
	user_awaits_absence(&user, "requests of");

	user_types(&user, "r");
	(void)user_awaits(&user, "cpu▲");
	user_types(&user, "<");
	user_awaits_absence(&user, "cpu▲");
	user_types(&user, "g");
	user_awaits_absence(&user, "endpoint");
	(void)user_awaits(&user, "pid");
	user_types(&user, "4");
	(void)user_awaits(&user, "residual");
	quit();
}

FIXTURE_TEST(top_redraws_after_resize)
{
	struct run run = run_on_terminal(path);

	write_routes(0);
	start(&run);
	(void)user_awaits(&user, ENDED);
	assert_int_equal(user_awaits(&user, "? help"), HEIGHT - 1);
	user_resizes(&user, WIDTH, HEIGHT + 4);
	while (user_finds(&user, "? help") != HEIGHT + 3)
		assert_true(user_looks(&user, "a higher picture"));
	user_resizes(&user, 20, 5);
	(void)user_awaits(&user, "too small:");
	quit();
}

FIXTURE_TEST(top_handles_resize_just_before_sleep)
{
	struct run run = run_on_terminal(path);

	write_routes(0);
	is_to_resize = true;
	start(&run);
	is_to_resize = false;
	user.height = HEIGHT + 4;
	vterm_set_size(user.vterm, HEIGHT + 4, WIDTH);
	while (user_finds(&user, "? help") != HEIGHT + 3)
		assert_true(user_looks(&user, "a higher picture"));
	quit();
}

FIXTURE_TEST(top_replays_recording_at_given_speed)
{
	struct run run = run_on_terminal(path);

	write_work(0, "GET /a", "id-1", 1000000);
	write_work(200, "GET /b", "id-2", 1000000);
	write_work(300, "GET /c", "id-3", 1000000);
	run.options.speed = 1;
	start(&run);
	(void)user_awaits(&user, "GET /a");
	assert_int_equal(user_finds(&user, ENDED), -1);
	(void)user_awaits(&user, ENDED);
	(void)user_awaits(&user, "GET /c");
	quit();
}

FIXTURE_TEST(top_sleeps_while_only_keys_are_pending)
{
	struct run run = run_on_terminal(path);
	struct pollfd asleep = { .events = POLLIN };
	int fds[2];

	write_work(0, "GET /a", "id-1", 1000000);
	assert_int_equal(pipe(fds), 0);
	asleep_fd = fds[1];
	start(&run);
	asleep_fd = -1;
	(void)close(fds[1]);
	(void)user_awaits(&user, ENDED);
	asleep.fd = fds[0];
	assert_int_equal(poll(&asleep, 1, USER_PATIENCE_MS), 1);
	assert_true(asleep.revents & POLLIN);
	(void)close(fds[0]);
	quit();
}

FIXTURE_TEST(top_accepts_empty_recording_on_terminal)
{
	struct run run = run_on_terminal(path);

	start(&run);
	(void)user_awaits(&user, ENDED);
	quit();
}

FIXTURE_TEST(top_fails_on_damaged_recording_on_terminal)
{
	struct run run = run_on_terminal(path);

	write_work(0, "GET /a", "id-1", 1000000);
	assert_true(fputs("garbage", recording) >= 0);
	assert_int_equal(fflush(recording), 0);
	start(&run);
	(void)user_awaits(&user, "GET /a");
	(void)user_awaits(&user, ENDED);
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 1);
	assert_true(is_said_afterwards("damaged"));
}

FIXTURE_TEST(top_exits_when_terminal_hangs_up)
{
	struct run run = run_on_terminal(path);
	int status;

	write_work(0, "GET /a", "id-1", 1000000);
	start(&run);
	(void)user_awaits(&user, ENDED);
	(void)close(user.master);
	user.master = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(waitpid(user.pid, &status, 0), user.pid);
	user.pid = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return recorder_main(argv + 1);
	return unit_test_run(NULL);
}
