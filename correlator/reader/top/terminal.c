/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ncursesw/curses.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "reader/top/navigation.h"

enum {
	ESCAPE_MS = 50, /* after this, an Esc is a key, not the start of a sequence */
	COLOUR_ALARM = 1,
	COLOUR_BAR = 2,
	MESSAGES_BYTES = 8192, /* the end of the held messages is shown */
};

struct terminal {
	SCREEN *screen;
	FILE *keys; /* where keys are read; NULL: standard input */
	bool has_colour;
	int stderr_fd; /* the real one while messages are held; -1: not held */
};

/* Holds messages on standard error until the end: they would spoil the picture. */
static void hold_messages(struct terminal *terminal)
{
	_cleanup_fd_ int kept = memfd_create("messages", MFD_CLOEXEC);

	terminal->stderr_fd = -1;
	if (kept < 0 || !isatty(STDERR_FILENO))
		return;
	terminal->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (terminal->stderr_fd >= 0)
		(void)dup2(kept, STDERR_FILENO);
}

static void release_messages(struct terminal *terminal)
{
	_cleanup_fd_ int kept = -1;
	char text[MESSAGES_BYTES];
	ssize_t got;
	off_t size;

	if (terminal->stderr_fd < 0)
		return;
	kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	(void)dup2(terminal->stderr_fd, STDERR_FILENO);
	(void)close(terminal->stderr_fd);
	size = lseek(kept, 0, SEEK_END);
	got = pread(kept, text, sizeof(text), size > MESSAGES_BYTES ? size - MESSAGES_BYTES : 0);
	if (got > 0 && write(STDERR_FILENO, text, (size_t)got) < 0)
		return;
}

static void set_up(struct terminal *terminal, bool has_colour)
{
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)curs_set(0);
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	terminal->has_colour =
		has_colour && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (terminal->has_colour) {
		(void)init_pair(COLOUR_ALARM, COLOR_RED, -1);
		(void)init_pair(COLOUR_BAR, COLOR_CYAN, -1);
	}
}

int terminal_open(bool takes_tty, bool has_colour, struct terminal **ret_terminal)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	const char *name = getenv("TERM");

	if (!terminal)
		return log_error_errno(ENOMEM, "cannot draw");
	if (takes_tty) {
		terminal->keys = fopen("/dev/tty", "re");
		if (!terminal->keys) {
			free(terminal);
			return log_error_errno(errno, "cannot read keys from /dev/tty: --batch "
						      "needs none");
		}
	}
	terminal->screen = newterm(NULL, stdout, terminal->keys ? terminal->keys : stdin);
	if (!terminal->screen) {
		if (terminal->keys)
			(void)fclose(terminal->keys);
		free(terminal);
		return log_error(ENOTTY, "the terminal %s is not known: --batch needs none",
				 name && name[0] ? name : "(TERM is not set)");
	}
	set_up(terminal, has_colour);
	hold_messages(terminal);
	*ret_terminal = terminal;
	return 0;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	(void)endwin();
	delscreen(terminal->screen);
	if (terminal->keys)
		(void)fclose(terminal->keys);
	release_messages(terminal);
	free(terminal);
}

int terminal_fd(const struct terminal *terminal)
{
	return terminal->keys ? fileno(terminal->keys) : STDIN_FILENO;
}

void terminal_size(const struct terminal *terminal, size_t *ret_width, size_t *ret_height)
{
	int height, width;

	(void)terminal;
	getmaxyx(stdscr, height, width);
	*ret_width = (size_t)width;
	*ret_height = (size_t)height;
}

/* Styles differ by attributes as well, not only by colours. */
static attr_t attributes_of(const struct terminal *terminal, enum screen_style style)
{
	static const attr_t attributes[_SCREEN_STYLE_MAX] = {
		[SCREEN_PLAIN] = A_NORMAL,     [SCREEN_HEADING] = A_BOLD,
		[SCREEN_BAR] = A_NORMAL,       [SCREEN_CURRENT] = A_REVERSE,
		[SCREEN_SELECTED] = A_REVERSE, [SCREEN_FAINT] = A_DIM,
		[SCREEN_ALARM] = A_BOLD,
	};
	attr_t colour = 0;

	if (terminal->has_colour && style == SCREEN_ALARM)
		colour = COLOR_PAIR(COLOUR_ALARM);
	if (terminal->has_colour && style == SCREEN_BAR)
		colour = COLOR_PAIR(COLOUR_BAR);
	return attributes[style] | colour;
}

void terminal_show(struct terminal *terminal, const struct screen *screen)
{
	(void)erase();
	for (size_t row = 0; row < screen->height; row++) {
		for (size_t column = 0; column < screen->width; column++) {
			const struct screen_cell *cell = screen_at(screen, row, column);

			(void)attrset((int)attributes_of(terminal, cell->style));
			if (cell->text[0] != '\0')
				(void)mvaddstr((int)row, (int)column, cell->text);
		}
	}
	(void)refresh();
}

static int key_of(wint_t code)
{
	static const struct {
		wint_t code;
		int key;
	} keys[] = {
		{ KEY_UP, KEY_OF_UP },	       { KEY_DOWN, KEY_OF_DOWN },
		{ KEY_LEFT, KEY_OF_LEFT },     { KEY_RIGHT, KEY_OF_RIGHT },
		{ KEY_PPAGE, KEY_OF_PAGE_UP }, { KEY_NPAGE, KEY_OF_PAGE_DOWN },
		{ KEY_HOME, KEY_OF_HOME },     { KEY_END, KEY_OF_END },
		{ KEY_ENTER, KEY_OF_ENTER },   { KEY_BACKSPACE, KEY_OF_BACKSPACE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return 0;
}

static int key_of_character(wint_t character)
{
	switch (character) {
	case '\r':
	case '\n':
		return KEY_OF_ENTER;
	case '\033':
		return KEY_OF_ESCAPE;
	case '\b':
	case 0x7f:
		return KEY_OF_BACKSPACE;
	default:
		return (int)character;
	}
}

bool terminal_key(struct terminal *terminal, int *ret_key)
{
	wint_t code;
	int kind = get_wch(&code);

	(void)terminal;
	if (kind == ERR)
		return false;
	*ret_key = kind == KEY_CODE_YES ? key_of(code) : key_of_character(code);
	return true;
}
