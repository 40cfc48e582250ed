/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/stdout_screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/arguments.h"

enum {
	WIDTH_DEFAULT = 100,
	WIDTH_MIN = 20,
	WIDTH_MAX = 1000,
};

size_t stdout_screen_columns_wanted(size_t minimum)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns;

	if (!text || arguments_parse_number(text, minimum, WIDTH_MAX, &columns) < 0)
		return 0;
	return (size_t)columns;
}

/* Columns of the terminal; 0: standard output is none. */
static size_t find_columns(void)
{
	size_t columns = stdout_screen_columns_wanted(WIDTH_MIN);
	struct winsize size;

	if (columns > 0)
		return columns;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < WIDTH_MIN)
		return 0;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

size_t stdout_screen_width(void)
{
	size_t columns = find_columns();

	return columns > 0 ? columns : WIDTH_DEFAULT;
}

bool stdout_screen_is_endless(void)
{
	return find_columns() == 0;
}

bool stdout_screen_may_be_coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return !no_color || no_color[0] == '\0';
}

bool stdout_screen_takes_bold(void)
{
	return isatty(STDOUT_FILENO) && stdout_screen_may_be_coloured();
}
