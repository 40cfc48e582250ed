/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/arguments.h"

enum {
	WIDTH_DEFAULT = 100,
	WIDTH_MIN = 20,
	WIDTH_MAX = 1000,
};

size_t screen_columns_wanted(size_t minimum)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns;

	if (!text || arguments_parse_number(text, minimum, WIDTH_MAX, &columns) < 0)
		return 0;
	return (size_t)columns;
}

size_t screen_width(bool *ret_is_endless)
{
	size_t columns = screen_columns_wanted(WIDTH_MIN);
	struct winsize size;

	*ret_is_endless = false;
	if (columns > 0)
		return columns;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
	*ret_is_endless = true;
	return WIDTH_DEFAULT;
}

bool screen_may_be_coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return !no_color || no_color[0] == '\0';
}

bool screen_takes_bold(void)
{
	return isatty(STDOUT_FILENO) && screen_may_be_coloured();
}
