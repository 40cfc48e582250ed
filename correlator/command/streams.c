/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/streams.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "command/command.h"

char **streams_default_paths(struct argp_state *state)
{
	static char path[] = COMMAND_RECORDING, *paths[] = { path };

	if (access(path, F_OK) < 0 && errno == ENOENT)
		argp_error(state,
			   "there is no %s here: name the recordings to read, or - for standard "
			   "input",
			   path);
	return paths;
}

void streams_spare_writer(const char *path)
{
	struct stat status;
	int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

	if (r == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		signals_spare_interrupt(
			"correlator: reading on until the writer ends; Ctrl-C again "
			"to end at once\n");
}

int streams_finish_output(const char *what)
{
	struct pollfd poll_fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
	int flushed = fflush(stdout);
	int error = errno;

	if (flushed == 0 && !ferror(stdout))
		return 0;
	if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLERR | POLLHUP)))
		return 0;
	if (flushed == 0)
		return log_error(EIO, "cannot write %s", what);
	return log_error_errno(error, "cannot write %s", what);
}
