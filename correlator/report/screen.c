#include "report/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"

enum {
	WIDTH_DEFAULT = 100,
	WIDTH_MIN = 20,
	WIDTH_MAX = 1000
};

size_t screen_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (width >= WIDTH_MIN && width <= WIDTH_MAX)
		return (size_t)width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
	return WIDTH_DEFAULT;
}

bool screen_takes_bold(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no_color || no_color[0] == '\0');
}

int screen_finish(FILE *out)
{
	struct pollfd poll_fd = { .fd = fileno(out), .events = POLLOUT };
	int flushed = fflush(out);
	int error = errno;

	if (flushed == 0 && !ferror(out))
		return 0;
	if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLERR | POLLHUP)))
		return 0;
	if (flushed == 0)
		return log_error(EIO, "cannot write the report");
	return log_error_errno(error, "cannot write the report");
}
