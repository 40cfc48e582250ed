/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/streams.h"
#include "command/arguments.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "command/command.h"
#include "command/progress.h"

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

void streams_spare_writer(const char *path)
{
	struct stat status;
	int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

	if (r == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		signals_spare_interrupt(
			"correlator: reading on until the writer ends; Ctrl-C again "
			"to end at once\n");
}

static int take_records(struct record_reader *reader, struct record_view *view,
			enum streams_clock clock, streams_take take, void *context,
			struct progress *progress)
{
	int r;

	while ((r = record_reader_next(reader, view)) > 0) {
		if (clock == STREAMS_STEADY)
			record_view_steady(view);
		r = take(context, reader, view);
		if (r != 0)
			break;
		progress_tell(progress, record_reader_offset(reader),
			      record_reader_entry_count(reader));
	}
	return r;
}

static int read_records(const char *path, enum streams_clock clock, bool take_prints,
			streams_take take, void *context, struct format_file *ret_file)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	struct progress progress = { 0 };
	int r;

	if (!view)
		return log_error_errno(ENOMEM, "cannot read %s", path);
	r = record_reader_open(path, &reader);
	if (r < 0)
		return r;
	if (!take_prints || !isatty(STDOUT_FILENO))
		progress_begin(&progress, path, record_reader_name(reader));
	r = take_records(reader, view, clock, take, context, &progress);
	progress_end(&progress);
	if (r < 0)
		return r;
	*ret_file = (struct format_file){ .name = path,
					  .entry_count = record_reader_entry_count(reader),
					  .is_truncated = record_reader_is_truncated(reader),
					  .checks = record_reader_checks(reader) };
	record_reader_get_damage(reader, &ret_file->damaged_places, &ret_file->damaged_bytes);
	if (ret_file->entry_count == 0)
		log_warning("%s: empty, no records in it", record_reader_name(reader));
	return 0;
}

int streams_read(const char *path, enum streams_clock clock, bool take_prints, streams_take take,
		 void *context, struct format_file *ret_file)
{
	int r;

	streams_spare_writer(path);
	r = read_records(path, clock, take_prints, take, context, ret_file);
	signals_obey_interrupt();
	return r;
}

int streams_finish_flushed_output(const char *what, int error)
{
	struct pollfd poll_fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
	struct stat status;
	bool has_failed;

	if (fflush(stdout) != 0 && error == 0)
		error = errno;
	has_failed = error != 0 || ferror(stdout);
	/* It is said once: not at the exit, too. */
	__fpurge(stdout);
	clearerr(stdout);
	if (!has_failed)
		return 0;
	if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLERR | POLLHUP)))
		return 0;
	/* It failed before, and the reason is gone: where it is the disk's, the next write has it.
	 */
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
