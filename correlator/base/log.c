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

/* Process-wide settings that are not passed as parameters: the log level, whether stderr is the
 * journal, and the place (FILE:LINE) being read. */
static enum log_level level_limit = LOG_LEVEL_INFO;
static bool is_journal;
static const char *place_or_null;
static atomic_uint lost_lines; /* since the last line written */

enum {
	LINE_BYTES = 2048, /* below PIPE_BUF: when poll(2) reports room in a pipe, writing the
			    * line does not block */
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

	/* Processes whose stderr is redirected inherit the variable, too. */
	is_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		     !fstat(STDERR_FILENO, &status) && status.st_dev == device &&
		     status.st_ino == inode;
}

/* Waits up to LOG_PATIENCE_MS for room in stderr. After a lost line the reader is considered
 * stalled, and later lines do not wait until it reads again. */
static bool is_writable(void)
{
	struct pollfd stderr_fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&stderr_fd, 1, atomic_load(&lost_lines) ? 0 : LOG_PATIENCE_MS) != 0;
}

static void write_bytes(const char *line, size_t size_bytes)
{
	/* If stderr is closed, there is nowhere to report that. */
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
	/* Names in the line come from outside. One byte is left for the line break. */
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
