/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <locale.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "reader/top/navigation.h"
#include "reader/top/terminal.h"
#include "reader/top/user.h"

UNIT_TEST_ALONE;

enum {
	WIDTH = 30,
	HEIGHT = 8,
	RED = 1, /* of the palette */
	CYAN = 6,
	MISTAKEN = 99,
};

static struct user user;

static int teardown(void **state)
{
	(void)state;
	user_leaves(&user);
	return 0;
}

/* Of the child, from here on. */

struct wish {
	bool takes_tty;
	bool has_colour;
	const char *terminal; /* its kind; NULL: nothing says so */
	const char *said; /* meanwhile; "" = nothing */
	int said_fd; /* of standard error; -1: it is the terminal */
};

static const struct wish plain = { .terminal = "xterm-256color", .said = "", .said_fd = -1 };

static int begin(const struct wish *wish, struct terminal **ret_terminal)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return -MISTAKEN;
	if (wish->terminal)
		(void)setenv("TERM", wish->terminal, 1);
	else
		(void)unsetenv("TERM");
	if (wish->said_fd >= 0)
		(void)dup2(wish->said_fd, STDERR_FILENO);
	return terminal_open(wish->takes_tty, wish->has_colour, ret_terminal);
}

static int await_key(struct terminal *terminal)
{
	struct pollfd keys = { .fd = terminal_fd(terminal), .events = POLLIN };
	int key;

	while (!terminal_key(terminal, &key))
		(void)poll(&keys, 1, USER_PATIENCE_MS);
	return key;
}

/* All styles, a wide character, and the corner. */
static int show_styles(void *argument)
{
	_cleanup_(screen_deinit) struct screen screen = { 0 };
	struct terminal *terminal = NULL;
	size_t width, height;
	int r = begin(argument, &terminal);

	if (r < 0)
		return MISTAKEN;
	terminal_size(terminal, &width, &height);
	r = screen_init(&screen, width, height);
	for (int style = 0; style < _SCREEN_STYLE_MAX; style++)
		(void)screen_put(&screen, (size_t)style, 0, (enum screen_style)style, "style 漢");
	(void)screen_put(&screen, height - 1, width - 2, SCREEN_PLAIN, "!");
	terminal_show(terminal, &screen);
	screen_deinit(&screen);
	r |= await_key(terminal) != 'n';
	/* Less than there is room for. */
	r |= screen_init(&screen, width - 10, 2);
	(void)screen_put(&screen, 1, 0, SCREEN_PLAIN, "next");
	terminal_show(terminal, &screen);
	r |= await_key(terminal) != 'q';
	terminal_close(terminal);
	return r;
}

/* Each key's number, as text, until one is q. */
static int show_keys(void *argument)
{
	const struct wish *wish = argument;
	struct terminal *terminal = NULL;
	int key = 0, count = 0, r = begin(wish, &terminal);

	if (r < 0)
		return -r;
	if (wish->takes_tty == (terminal_fd(terminal) == STDIN_FILENO))
		return MISTAKEN;
	(void)fputs(wish->said, stderr);
	for (; key != 'q'; key = await_key(terminal)) {
		_cleanup_(screen_deinit) struct screen screen = { 0 };
		size_t width, height;
		char text[64];

		terminal_size(terminal, &width, &height);
		r = screen_init(&screen, width, height);
		(void)snprintf(text, sizeof(text), "key %d is %d of %zux%zu", count++, key, width,
			       height);
		(void)screen_put(&screen, 0, 0, SCREEN_PLAIN, text);
		terminal_show(terminal, &screen);
	}
	terminal_close(terminal);
	return r;
}

/* Its keys come from the terminal, standard input from elsewhere. */
static int show_keys_of_tty(void *argument)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (dup2(null_fd, STDIN_FILENO) < 0)
		return MISTAKEN;
	return show_keys(argument);
}

static int open_without_tty(void *argument)
{
	/* Who leads a session and leaves its terminal gets a SIGHUP. */
	(void)signal(SIGHUP, SIG_IGN);
	if (ioctl(STDIN_FILENO, TIOCNOTTY) < 0)
		return MISTAKEN;
	return show_keys_of_tty(argument);
}

/* Of who looks at it. */

static bool has_style(int row, bool is_bold, bool is_reverse, int colour)
{
	VTermScreenCell cell = user_cell(&user, row, 0);

	return cell.attrs.bold == is_bold && cell.attrs.reverse == is_reverse &&
	       VTERM_COLOR_IS_DEFAULT_BG(&cell.bg) &&
	       (colour < 0 ? VTERM_COLOR_IS_DEFAULT_FG(&cell.fg)
			   : VTERM_COLOR_IS_INDEXED(&cell.fg) && cell.fg.indexed.idx == colour);
}

static void see_styles(bool has_colour)
{
	struct wish wish = plain;

	wish.has_colour = has_colour;
	user_starts(&user, WIDTH, HEIGHT, show_styles, &wish);
	(void)user_awaits(&user, "!");
	assert_true(has_style(SCREEN_PLAIN, false, false, -1));
	assert_true(has_style(SCREEN_HEADING, true, false, -1));
	assert_true(has_style(SCREEN_BAR, false, false, has_colour ? CYAN : -1));
	assert_true(has_style(SCREEN_CURRENT, false, true, -1));
	assert_true(has_style(SCREEN_SELECTED, false, true, -1));
	assert_true(has_style(SCREEN_FAINT, false, false, -1));
	/* The emulator knows of no faint. */
	assert_true(user_has_seen(&user, "\033[0;2m"));
	assert_true(has_style(SCREEN_ALARM, true, false, has_colour ? RED : -1));
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(terminal_shows_screen_and_restores_modes_on_close)
{
	struct termios before, after;

	see_styles(false);
	for (int row = 0; row < _SCREEN_STYLE_MAX; row++)
		assert_string_equal(user_row(&user, row), "style 漢");
	assert_string_equal(user_row(&user, HEIGHT - 1), "                            !");
	assert_true(user.is_alternate);
	assert_false(user.has_cursor);
	assert_int_equal(tcgetattr(user.master, &before), 0);
	assert_false(before.c_lflag & (ECHO | ICANON));
	assert_true(before.c_lflag & ISIG);
	assert_false(before.c_oflag & ONLCR);

	user_types(&user, "n");
	assert_int_equal(user_awaits(&user, "next"), 1);
	assert_int_equal(user_finds(&user, "style"), -1);
	assert_int_equal(user_finds(&user, "!"), -1);

	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
	assert_false(user.is_alternate);
	assert_true(user.has_cursor);
	assert_int_equal(tcgetattr(user.master, &after), 0);
	assert_int_equal(after.c_lflag & (ECHO | ICANON), ECHO | ICANON);
	assert_true(after.c_oflag & ONLCR);
}

FIXTURE_TEST(terminal_uses_colours_for_bar_and_alarm)
{
	see_styles(true);
}

static void expect_key(int number, int key)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "key %d is %d of", number, key);
	(void)user_awaits(&user, text);
}

FIXTURE_TEST(terminal_decodes_keys_and_resize)
{
	static const struct {
		const char *bytes;
		int key;
	} keys[] = {
		{ "\033OA", KEY_OF_UP },
		{ "\033OB", KEY_OF_DOWN },
		{ "\033OD", KEY_OF_LEFT },
		{ "\033OC", KEY_OF_RIGHT },
		{ "\033[5~", KEY_OF_PAGE_UP },
		{ "\033[6~", KEY_OF_PAGE_DOWN },
		{ "\033OH", KEY_OF_HOME },
		{ "\033OF", KEY_OF_END },
		{ "\033OM", KEY_OF_ENTER },
		{ "\r", KEY_OF_ENTER },
		{ "\n", KEY_OF_ENTER },
		{ "\b", KEY_OF_BACKSPACE },
		{ "\177", KEY_OF_BACKSPACE },
		{ "\033", KEY_OF_ESCAPE },
		{ "\033OP", 0 },
		{ "x", 'x' },
		{ "é", 0xe9 },
	};
	struct wish wish = plain;
	int count = 0;

	user_starts(&user, WIDTH, HEIGHT, show_keys, &wish);
	expect_key(count++, 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		user_types(&user, keys[i].bytes);
		expect_key(count++, keys[i].key);
	}
	user_resizes(&user, WIDTH + 1, HEIGHT - 1);
	expect_key(count++, 0);
	(void)user_awaits(&user, "of 31x7");
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
}

FIXTURE_TEST(terminal_holds_back_standard_error_until_close)
{
	struct wish wish = plain;

	wish.said = "it is late\n";
	user_starts(&user, WIDTH, HEIGHT, show_keys, &wish);
	user_types(&user, "x");
	expect_key(1, 'x');
	assert_false(user_has_seen(&user, "it is late"));
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
	assert_true(user_has_seen(&user, "it is late"));
}

FIXTURE_TEST(terminal_keeps_tail_of_long_standard_error)
{
	static char said[8192 + 8];
	struct wish wish = plain;

	memset(said, '.', sizeof(said) - 1);
	memcpy(said, "gone<kept", 9);
	memcpy(said + sizeof(said) - 4, "end", 3);
	said[sizeof(said) - 1] = '\0';
	wish.said = said;
	user_starts(&user, WIDTH, HEIGHT, show_keys, &wish);
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
	assert_true(user_has_seen(&user, "end"));
	assert_true(user_has_seen(&user, "pt..."));
	assert_false(user_has_seen(&user, "gone"));
}

FIXTURE_TEST(terminal_passes_redirected_standard_error_at_once)
{
	struct wish wish = plain;
	char said[32] = "";
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	wish.said = "elsewhere";
	wish.said_fd = fds[1];
	user_starts(&user, WIDTH, HEIGHT, show_keys, &wish);
	assert_int_equal(read(fds[0], said, sizeof(said) - 1), strlen("elsewhere"));
	assert_string_equal(said, "elsewhere");
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
	assert_false(user_has_seen(&user, "elsewhere"));
	(void)close(fds[0]);
	(void)close(fds[1]);
}

FIXTURE_TEST(terminal_reads_keys_from_tty_if_stdin_is_redirected)
{
	struct wish wish = plain;

	wish.takes_tty = true;
	user_starts(&user, WIDTH, HEIGHT, show_keys_of_tty, &wish);
	expect_key(0, 0);
	user_types(&user, "\033OA");
	expect_key(1, KEY_OF_UP);
	user_types(&user, "q");
	assert_int_equal(user_awaits_end(&user), 0);
}

FIXTURE_TEST(terminal_open_fails_without_controlling_tty)
{
	struct wish wish = plain;

	wish.takes_tty = true;
	user_starts(&user, WIDTH, HEIGHT, open_without_tty, &wish);
	assert_int_equal(user_awaits_end(&user), ENXIO);
	assert_true(user_has_seen(&user, "/dev/tty"));
}

FIXTURE_TEST(terminal_open_names_unknown_or_unset_term)
{
	static const struct {
		const char *terminal;
		const char *said;
		bool takes_tty;
	} cases[] = {
		{ "nonsense", "the terminal nonsense is not known", false },
		{ "nonsense", "the terminal nonsense is not known", true },
		{ "", "(TERM is not set)", false },
		{ NULL, "(TERM is not set)", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wish wish = plain;

		wish.terminal = cases[i].terminal;
		wish.takes_tty = cases[i].takes_tty;
		user_starts(&user, 100, HEIGHT, show_keys, &wish);
		assert_int_equal(user_awaits_end(&user), ENOTTY);
		assert_true(user_has_seen(&user, cases[i].said));
		user_leaves(&user);
	}
}

FIXTURE_TEST(terminal_close_accepts_null)
{
	terminal_close(NULL);
}
