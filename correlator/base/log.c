/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* The settings of the process that are not passed around: how talkative stderr is, who reads, and
 * what is being read. */
static enum log_level level_limit = LOG_LEVEL_INFO;
static bool is_journal;
static const char *place_or_null;
static atomic_uint lost_lines; /* since the last one that was written */

enum {
	LINE_BYTES = 2048, /* below PIPE_BUF: what poll(2) finds room for in a pipe, a write does
			    * not wait for */
	PLACE_BYTES_MAX = LINE_BYTES / 2,
};

void log_set_level(enum log_level level)
{
	level_limit = level;
}

void log_raise_level(void)
{
	if (level_limit < LOG_LEVEL_TRACE)
		level_limit++;
}

void log_set_place(const char *place)
{
	place_or_null = place;
}

void log_detect_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	/* Inherited by those whose stderr goes elsewhere, too. */
	is_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		     !fstat(STDERR_FILENO, &status) && status.st_dev == device &&
		     status.st_ino == inode;
}

/* A reader who lets a line wait so long has stopped reading: none waits for him until he goes on.
 */
static bool is_writable(void)
{
	struct pollfd stderr_fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&stderr_fd, 1, atomic_load(&lost_lines) ? 0 : LOG_PATIENCE_MS) != 0;
}

static void write_bytes(const char *line, size_t size_bytes)
{
	/* stderr gone: there is nobody left to tell. */
	(void)!write(STDERR_FILENO, line, size_bytes);
}

static void say_lost(void)
{
	unsigned int count = atomic_exchange(&lost_lines, 0);
	char line[128];
	int size;

	if (!count)
		return;
	size = snprintf(line, sizeof(line),
			"%scorrelator: warning: %u lines were not written: nobody read\n",
			is_journal ? "<4>" : "", count);
	write_bytes(line, (size_t)size);
}

static void write_line(enum log_level level, const char *reason, const char *format, va_list args)
{
	static const char *const marks[] = { "error: ", "warning: ", "", "debug: ", "trace: " };
	static const char *const priorities[] = { "<3>", "<4>", "<6>", "<7>", "<7>" };
	char raw[LINE_BYTES], line[LINE_BYTES];
	const char *place = place_or_null ? place_or_null : "";
	int used = snprintf(raw, sizeof(raw), "%scorrelator: %s%.*s%s",
			    is_journal ? priorities[level] : "", marks[level], PLACE_BYTES_MAX,
			    place, *place ? ": " : "");
	size_t line_bytes;

	(void)vsnprintf(raw + used, sizeof(raw) - (size_t)used, format, args);
	used = (int)strlen(raw);
	if (reason)
		(void)snprintf(raw + used, sizeof(raw) - (size_t)used, ": %s", reason);
	/* Names in it are chosen by others. The line break has room. */
	line_bytes = text_escape(raw, strlen(raw), TEXT_SHOWN | TEXT_CUT, line, sizeof(line) - 1);
	line[line_bytes++] = '\n';
	if (!is_writable()) {
		atomic_fetch_add(&lost_lines, 1);
		return;
	}
	say_lost();
	write_bytes(line, line_bytes);
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;

	if (level > level_limit)
		return;
	va_start(args, format);
	write_line(level, NULL, format, args);
	va_end(args);
}

int log_error_errno(int error, const char *format, ...)
{
	va_list args;

	error = error == 0 ? EIO : abs(error);
	va_start(args, format);
	write_line(LOG_LEVEL_ERROR, strerror(error), format, args);
	va_end(args);
	return -error;
}

int log_error(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(LOG_LEVEL_ERROR, NULL, format, args);
	va_end(args);
	return error == 0 ? -EIO : -abs(error);
}
