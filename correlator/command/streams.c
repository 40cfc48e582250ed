/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/streams.h"
#include "command/arguments.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "command/command.h"

char **streams_default_paths(struct argp_state *state)
{
	static char path[] = COMMAND_RECORDING, *paths[] = { path };

	if (access(path, F_OK) < 0 && errno == ENOENT)
		arguments_refuse(
			state,
			"there is no %s here: name the recordings to read, or - for standard "
			"input",
			path);
	return paths;
}

error_t streams_parse_paths(int key, struct argp_state *state, char ***paths, size_t *path_count)
{
	if (key == ARGP_KEY_ARGS) {
		*paths = state->argv + state->next;
		*path_count = (size_t)(state->argc - state->next);
		return 0;
	}
	if (key == ARGP_KEY_NO_ARGS) {
		*paths = streams_default_paths(state);
		*path_count = 1;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int streams_finish_flushed_output(const char *what, int error)
{
	struct pollfd poll_fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
	struct stat status;
	bool has_failed;

	if (fflush(stdout) != 0 && error == 0)
		error = errno;
	has_failed = error != 0 || ferror(stdout);
	/* Discards the buffer, so that the error is not reported again at exit. */
	__fpurge(stdout);
	clearerr(stdout);
	if (!has_failed)
		return 0;
	if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLERR | POLLHUP)))
		return 0;
	/* An earlier write failed and its errno is lost: a full disk fails the next write, too. */
	if (error == 0 && fstat(STDOUT_FILENO, &status) == 0 &&
	    (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode)) && !isatty(STDOUT_FILENO) &&
	    write(STDOUT_FILENO, "\n", 1) < 0)
		error = errno;
	if (error == 0)
		return log_error(EIO, "cannot write %s", what);
	return log_error_errno(error, "cannot write %s", what);
}

int streams_finish_output(const char *what)
{
	return streams_finish_flushed_output(what, 0);
}

static void finish_at_exit(void)
{
	if (streams_finish_output("to standard output") < 0)
		_exit(EXIT_CODE_FAILURE);
}

void streams_finish_output_at_exit(void)
{
	(void)atexit(finish_at_exit);
}
