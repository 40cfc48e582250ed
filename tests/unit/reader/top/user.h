/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Someone at a terminal, for tests: a child runs there, with a pseudo-terminal for standard input,
 * output and error, and what it draws is read by a terminal emulator (libvterm).
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>
#include <vterm.h>

enum {
	USER_PATIENCE_MS = 20000,
	USER_ROW_BYTES = 4096,
	USER_SEEN_BYTES = 1 << 20,
};

struct user {
	pid_t pid; /* 0: it has ended */
	int master;
	int status; /* of waitpid(2) */
	int width, height;
	VTerm *vterm;
	VTermScreen *screen;
	bool has_cursor, is_alternate;
	char *seen; /* every byte */
	size_t seen_bytes;
};

/* ncurses keeps something of each terminal that it does not know. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtinfo";
}

static inline int user_note(VTermProp property, VTermValue *value, void *context)
{
	struct user *user = context;

	if (property == VTERM_PROP_CURSORVISIBLE)
		user->has_cursor = value->boolean;
	if (property == VTERM_PROP_ALTSCREEN)
		user->is_alternate = value->boolean;
	return 1;
}

/* The child runs run(argument), and ends with what that returns. */
static inline void user_starts(struct user *user, int width, int height, int (*run)(void *),
			       void *argument)
{
	static const VTermScreenCallbacks callbacks = { .settermprop = user_note };
	const struct winsize size = { .ws_row = (unsigned short)height,
				      .ws_col = (unsigned short)width };

	*user = (struct user){ .width = width, .height = height, .has_cursor = true };
	user->seen = calloc(1, USER_SEEN_BYTES);
	assert_non_null(user->seen);
	user->vterm = vterm_new(height, width);
	vterm_set_utf8(user->vterm, 1);
	user->screen = vterm_obtain_screen(user->vterm);
	vterm_screen_enable_altscreen(user->screen, 1);
	vterm_screen_set_callbacks(user->screen, &callbacks, user);
	vterm_screen_reset(user->screen, 1);
	(void)fflush(stdout);
	(void)fflush(stderr);
	user->pid = forkpty(&user->master, NULL, NULL, &size);
	assert_true(user->pid >= 0);
	if (user->pid == 0)
		exit(run(argument));
}

static inline void user_leaves(struct user *user)
{
	if (user->pid > 0) {
		(void)kill(user->pid, SIGKILL);
		(void)waitpid(user->pid, NULL, 0);
	}
	if (user->vterm) {
		vterm_free(user->vterm);
		(void)close(user->master);
	}
	free(user->seen);
	*user = (struct user){ 0 };
}

/* A row as it is on the screen, without the blanks at its end. */
static inline const char *user_row(struct user *user, int row)
{
	static char text[USER_ROW_BYTES];
	const VTermRect rect = { row, row + 1, 0, user->width };
	size_t size_bytes = vterm_screen_get_text(user->screen, text, sizeof(text) - 1, rect);

	while (size_bytes > 0 && strchr(" \n", text[size_bytes - 1]))
		size_bytes--;
	text[size_bytes] = '\0';
	return text;
}

/* The first row with a text; -1: none has it. */
static inline int user_finds(struct user *user, const char *text)
{
	for (int row = 0; row < user->height; row++)
		if (strstr(user_row(user, row), text))
			return row;
	return -1;
}

/* With what there is instead. */
static inline void user_complains(struct user *user, const char *text)
{
	print_message("nothing comes of \"%s\":\n", text);
	for (int row = 0; row < user->height; row++)
		print_message("|%s\n", user_row(user, row));
	fail();
}

/* Reads what comes next; false: nothing more will. awaited: what for. */
static inline bool user_looks(struct user *user, const char *awaited)
{
	struct pollfd master = { .fd = user->master, .events = POLLIN };
	char bytes[4096];
	ssize_t got;

	if (poll(&master, 1, USER_PATIENCE_MS) != 1)
		user_complains(user, awaited);
	got = read(user->master, bytes, sizeof(bytes));
	if (got <= 0)
		return false;
	assert_true(user->seen_bytes + (size_t)got < USER_SEEN_BYTES);
	memcpy(user->seen + user->seen_bytes, bytes, (size_t)got);
	user->seen_bytes += (size_t)got;
	(void)vterm_input_write(user->vterm, bytes, (size_t)got);
	return true;
}

/* The row in which a text is, once it is there. */
static inline int user_awaits(struct user *user, const char *text)
{
	int row;

	while ((row = user_finds(user, text)) < 0)
		if (!user_looks(user, text))
			user_complains(user, text);
	return row;
}

static inline void user_awaits_absence(struct user *user, const char *text)
{
	while (user_finds(user, text) >= 0)
		assert_true(user_looks(user, "what should go"));
}

static inline VTermScreenCell user_cell(struct user *user, int row, int column)
{
	VTermScreenCell cell = { 0 };

	assert_int_equal(
		vterm_screen_get_cell(user->screen, (VTermPos){ .row = row, .col = column }, &cell),
		1);
	return cell;
}

static inline void user_types(struct user *user, const char *bytes)
{
	assert_int_equal(write(user->master, bytes, strlen(bytes)), strlen(bytes));
}

static inline void user_resizes(struct user *user, int width, int height)
{
	const struct winsize size = { .ws_row = (unsigned short)height,
				      .ws_col = (unsigned short)width };

	user->width = width;
	user->height = height;
	vterm_set_size(user->vterm, height, width);
	assert_int_equal(ioctl(user->master, TIOCSWINSZ, &size), 0);
}

/* Whether it has come so far, wherever it is by now. */
static inline bool user_has_seen(const struct user *user, const char *text)
{
	return memmem(user->seen, user->seen_bytes, text, strlen(text)) != NULL;
}

/* The exit status, once it has ended; 128 and more: of a signal. */
static inline int user_awaits_end(struct user *user)
{
	while (user_looks(user, "the end"))
		;
	assert_int_equal(waitpid(user->pid, &user->status, 0), user->pid);
	user->pid = 0;
	return WIFSIGNALED(user->status) ? 128 + WTERMSIG(user->status) : WEXITSTATUS(user->status);
}
