/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/display.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "reader/top/drawing.h"
#include "reader/top/source.h"
#include "reader/top/terminal.h"

enum {
	/* After a picture, pauses for REST_TIMES times the CPU time it took, so that all pictures
	 * together take half a percent of a CPU. Keys are answered at once. */
	REST_TIMES = 200,
	FRAME_NS = 1000000000, /* between two text frames, by the records' clock */
	STATUS_BYTES = 256,
};

struct top {
	const struct top_options *options;
	struct navigation navigation;
	struct history history;
	struct source source;
	struct terminal *terminal; /* NULL: text frames */
	int signal_fd;
	sigset_t signals_of_sleep; /* signal mask while waiting */
	enum figure fields[LISTING_COLUMNS_MAX]; /* this to by_names: of the picture shown */
	char value[NAVIGATION_VALUE_BYTES];
	struct scene scene;
	char by[RECORDING_TEXT_BYTES];
	const char *by_names[LISTING_BY_MAX];
	uint64_t shown_end_ns; /* end of the newest window in the last picture, */
	uint64_t shown_count; /* and window_count() then */
	bool shown_end;
	uint64_t next_picture_ns; /* monotonic clock: earliest next picture */
	bool wants_picture; /* draw even if no window is new */
	uint64_t frame_count;
	bool has_ended;
	int write_error; /* errno */
	int code;
};

/* Number of windows so far, including dropped ones. */
static uint64_t window_count(const struct top *top)
{
	return history_closed_count(&top->history) + top->history.first;
}

/* The last line of the recorder's messages, escaped. */
static void last_line(const char *said, char ret_text[static STATUS_BYTES])
{
	size_t end = strlen(said), begin;

	while (end > 0 && said[end - 1] == '\n')
		end--;
	for (begin = end; begin > 0 && said[begin - 1] != '\n'; begin--)
		;
	(void)display_escape(said + begin, end - begin, ret_text, STATUS_BYTES);
}

static void describe_status(const struct top *top, char ret_text[static STATUS_BYTES])
{
	const char *ended = top->options->path ? "END OF THE RECORDING" : "THE TARGET HAS ENDED";

	ret_text[0] = '\0';
	if (top->source.has_ended)
		(void)snprintf(ret_text, STATUS_BYTES, "%s", ended);
	else if (history_closed_count(&top->history) == 0)
		last_line(top->source.said, ret_text);
}

/* Keeps a copy of the picture's scene for the next key. */
static void keep_scene(struct top *top, const struct drawing *drawing, size_t height)
{
	const struct listing *listing = drawing->listing;

	listing_scene(listing, top->fields, top->value, &top->scene);
	memcpy(top->by, listing->by, sizeof(top->by));
	memcpy(top->by_names, listing->by_names, sizeof(top->by_names));
	top->scene.by = top->by;
	top->scene.by_names = top->by_names;
	top->scene.page_rows = drawing_page_rows(drawing, height);
}

static int show(struct top *top, const struct drawing *drawing, size_t width, size_t height)
{
	_cleanup_(screen_deinit) struct screen screen = { 0 };
	int r = screen_init(&screen, width, height);

	if (r == 0)
		r = drawing_draw(drawing, &screen);
	if (r < 0)
		return r;
	if (top->terminal) {
		terminal_show(top->terminal, &screen);
		return 0;
	}
	if (top->frame_count > 0)
		(void)fputc('\n', stdout);
	screen_print(&screen, stdout);
	/* The reader has closed the pipe, or the disk is full: the caller reports it at the end. */
	if (fflush(stdout) != 0) {
		top->write_error = errno;
		top->has_ended = true;
	}
	return 0;
}

static int draw(struct top *top)
{
	_cleanup_(listing_deinit) struct listing listing = { 0 };
	char status[STATUS_BYTES];
	struct drawing drawing = {
		.listing = &listing,
		.navigation = &top->navigation,
		.source = top->options->name,
		.status = status,
		.is_plain = !top->terminal,
	};
	size_t width = top->options->width, height = 0;
	int r;

	if (top->terminal)
		terminal_size(top->terminal, &width, &height);
	describe_status(top, status);
	r = listing_init(&listing, &top->history, &top->navigation, width);
	if (r == 0 && !top->terminal)
		r = listing_show_first(&listing, TOP_BATCH_ROWS);
	if (r == 0 && !top->terminal)
		height = drawing_height(&drawing, TOP_BATCH_ROWS);
	if (r == 0)
		r = show(top, &drawing, width, height);
	if (r < 0)
		return log_error_errno(r, "cannot draw");
	keep_scene(top, &drawing, height);
	top->frame_count++;
	top->wants_picture = false;
	top->shown_end = top->source.has_ended;
	top->shown_count = window_count(top);
	top->shown_end_ns = listing.end_ns;
	return 0;
}

/* Text frames are FRAME_NS apart, and the last one shows the end. */
static bool is_frame_due(const struct top *top)
{
	const struct history *history = &top->history;
	uint64_t count = history_closed_count(history), end_ns;

	if (count == 0)
		return false;
	end_ns = history_window(history, history->first + count - 1)->end_ns;
	if (top->source.has_ended)
		return end_ns > top->shown_end_ns;
	return top->frame_count == 0 || end_ns >= top->shown_end_ns + FRAME_NS;
}

static bool is_picture_due(const struct top *top, uint64_t now_ns)
{
	if (!top->terminal)
		return is_frame_due(top);
	if (top->wants_picture || top->shown_end != top->source.has_ended)
		return true;
	return now_ns >= top->next_picture_ns && top->shown_count != window_count(top);
}

static int draw_if_due(struct top *top, uint64_t now_ns)
{
	uint64_t before_ns = clock_own_cpu_ns();
	int r;

	if (!is_picture_due(top, now_ns))
		return 0;
	r = draw(top);
	top->next_picture_ns = now_ns + REST_TIMES * (clock_own_cpu_ns() - before_ns);
	return r;
}

static void take_keys(struct top *top)
{
	int key;

	while (top->terminal && terminal_key(top->terminal, &key)) {
		if (key != 0)
			navigation_take(&top->navigation, key, &top->scene);
		top->wants_picture = true;
		/* A key acts on the list as changed by the previous key. */
		if (draw(top) < 0)
			top->code = EXIT_CODE_FAILURE;
	}
	top->has_ended |= top->navigation.has_quit || top->code != 0;
}

/* How long to sleep; NULL: until an event. */
static const struct timespec *timeout_of(const struct top *top, uint64_t due_ns, uint64_t now_ns,
					 struct timespec *timeout)
{
	if (top->terminal && top->shown_count != window_count(top) && top->next_picture_ns < due_ns)
		due_ns = top->next_picture_ns;
	if (due_ns == UINT64_MAX)
		return NULL;
	*timeout = clock_timespec(due_ns > now_ns ? due_ns - now_ns : 0);
	return timeout;
}

static void await(struct top *top)
{
	struct pollfd fds[4] = { { .fd = top->signal_fd, .events = POLLIN },
				 { .events = POLLIN }, /* the fd is set by source_awaits() */
				 { .fd = top->source.said_fd, .events = POLLIN },
				 { .fd = -1, .events = POLLIN } };
	struct timespec timeout;
	uint64_t due_ns;
	bool is_typed;

	source_awaits(&top->source, &fds[1].fd, &due_ns);
	if (top->terminal)
		fds[3].fd = terminal_fd(top->terminal);
	(void)ppoll(fds, 4, timeout_of(top, due_ns, clock_monotonic_ns(), &timeout),
		    &top->signals_of_sleep);
	if (signals_read(top->signal_fd, &is_typed))
		top->has_ended = true;
	/* The terminal is gone. */
	if (fds[3].revents & (POLLHUP | POLLERR))
		top->has_ended = true;
	if (fds[2].revents) {
		source_listen(&top->source);
		top->wants_picture |= history_closed_count(&top->history) == 0;
	}
	take_keys(top);
}

/* Ends with the recorder's exit status if it failed. */
static void end_with_recorder(struct top *top)
{
	int code = top->source.has_ended ? source_exit_code(&top->source) : 0;

	if (code == 0)
		return;
	top->code = code;
	top->has_ended = true;
}

/* A recording without a window is an error; in live mode the recorder reports what is wrong. */
static int check_end(const struct top *top)
{
	if (top->terminal || !top->options->path || top->frame_count > 0)
		return 0;
	return log_error(ENODATA, "%s: no records to show", top->options->name);
}

static int step(struct top *top)
{
	int r = source_read(&top->source, &top->history, clock_monotonic_ns());

	if (r < 0)
		return r;
	end_with_recorder(top);
	if (top->has_ended)
		return 0;
	r = draw_if_due(top, clock_monotonic_ns());
	if (r < 0)
		return r;
	if (!top->terminal &&
	    (top->source.has_ended ||
	     (top->options->frame_count > 0 && top->frame_count >= top->options->frame_count)))
		top->has_ended = true;
	if (!top->has_ended)
		await(top);
	return top->source.has_ended && top->has_ended ? check_end(top) : 0;
}

/* SIGWINCH reports a resize. It is unblocked only inside ppoll(2), so that it cannot arrive
 * unnoticed just before the wait. */
static void hold_resizing(struct top *top)
{
	sigset_t resizing;

	(void)sigemptyset(&resizing);
	(void)sigaddset(&resizing, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &resizing, &top->signals_of_sleep);
}

static int start(struct top *top)
{
	const struct top_options *options = top->options;
	int r = history_init(&top->history);

	if (r < 0)
		return log_error_errno(r, "cannot start");
	top->signal_fd = signals_catch();
	if (top->signal_fd < 0)
		return top->signal_fd;
	r = options->path ? source_open(&top->source, options->path, options->speed)
			  : source_start(&top->source, options->recorder, !options->is_batch);
	if (r == 0 && !options->is_batch)
		r = terminal_open(!isatty(STDIN_FILENO), options->has_colour, &top->terminal);
	hold_resizing(top);
	top->wants_picture = true;
	return r;
}

/* Prints the recorder's messages: all of them, or only the warnings. */
static void pass_on(const char *said, bool is_all)
{
	while (*said) {
		size_t size_bytes = strcspn(said, "\n");
		char line[SOURCE_SAID_BYTES];

		(void)snprintf(line, sizeof(line), "%.*s", (int)size_bytes, said);
		if (is_all || strstr(line, " warning: "))
			(void)fprintf(stderr, "%s\n", line);
		said += size_bytes + (said[size_bytes] == '\n');
	}
}

int top_run(const struct top_options *options, int *ret_write_error)
{
	struct top *top = calloc(1, sizeof(*top));
	int r, code;

	*ret_write_error = 0;
	if (!top)
		return log_error_errno(ENOMEM, "cannot start"), EXIT_CODE_FAILURE;
	*top = (struct top){ .options = options,
			     .navigation = *options->start,
			     .signal_fd = -1,
			     .source = { .fd = -1, .said_fd = -1 } };
	r = start(top);
	while (r == 0 && !top->has_ended)
		r = step(top);
	terminal_close(top->terminal);
	code = r < 0 ? EXIT_CODE_FAILURE : top->code;
	if (code == 0 && top->source.is_damaged)
		code = EXIT_CODE_FAILURE;
	*ret_write_error = top->write_error;
	pass_on(top->source.said, code != 0);
	source_deinit(&top->source);
	history_deinit(&top->history);
	if (top->signal_fd >= 0)
		(void)close(top->signal_fd);
	free(top);
	return code;
}
