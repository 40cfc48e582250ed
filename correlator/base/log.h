/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Diagnostics on stderr, one line each, prefixed with `correlator: `. The function that first turns
 * a condition into an error logs it, with the names involved, and returns -errno; its callers
 * propagate it without logging. Any thread; each line is a single write. A stalled reader does not
 * block us for long: lines that find stderr full are lost, and counted in the next one. Names of
 * processes, files and collectors are passed unescaped: the line as a whole is escaped for a screen
 * (TEXT_SHOWN of base/text.h), so it stays one line whatever it contains.
 */
#pragma once

enum {
	LOG_PATIENCE_MS = 500 /* wait for a stalled stderr reader, once until it reads again */
};

enum log_level {
	LOG_LEVEL_ERROR = 0,
	LOG_LEVEL_WARNING = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3,
	LOG_LEVEL_TRACE = 4, /* messages of libraries: thousands of lines */
};

/* Lines above this level are dropped. Set once by main before threads start; default INFO. */
void log_set_level(enum log_level level);
/* Raises the level by one. */
void log_raise_level(void);

/*
 * Sets the place, as FILE:LINE, that prefixes each later message; NULL, the default, means none.
 * place is borrowed until the next call. Not while there are other threads.
 */
void log_set_place(const char *place);

/*
 * If stderr is the journal (JOURNAL_STREAM, systemd.exec(5)), prefixes each line with its priority,
 * as in sd-daemon(3). Called once by main before threads start.
 */
void log_detect_journal(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/*
 * Logs "<message>: <strerror(error)>" at ERROR level. error is an errno value, positive or
 * negative; returns it negative (0 gives -EIO: an error without a reason is never success).
 */
__attribute__((format(printf, 2, 3))) int log_error_errno(int error, const char *format, ...);

/* Logs the message at ERROR level, without a reason, and returns -abs(error) (-EIO for 0). */
__attribute__((format(printf, 2, 3))) int log_error(int error, const char *format, ...);

#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)	 log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)	 log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_trace(...)	 log_line(LOG_LEVEL_TRACE, __VA_ARGS__)
