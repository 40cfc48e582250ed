/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	WIDTH_DEFAULT = 100,
	WIDTH_MIN = 20,
	WIDTH_MAX = 1000,
};

size_t screen_width(bool *ret_is_endless)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	*ret_is_endless = false;
	if (width >= WIDTH_MIN && width <= WIDTH_MAX)
		return (size_t)width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
	*ret_is_endless = true;
	return WIDTH_DEFAULT;
}

bool screen_takes_bold(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no_color || no_color[0] == '\0');
}
