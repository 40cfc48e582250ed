/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Diagnostics on stderr, one line each, `correlator: ` in front. The function that first turns a
 * condition into an error logs it, with the names involved, and returns -errno; its callers pass
 * that up in silence. Thread rule: any thread; a line is written with one write. What nobody reads
 * holds up nothing for long: lines that find stderr full are lost, and counted in the next one.
 * Names of processes, files and collectors go in as they are: a line is escaped as a whole, for a
 * screen (TEXT_SHOWN of base/text.h), and so is one line, whatever is in it.
 */
#pragma once

enum {
	LOG_PATIENCE_MS = 500 /* for who reads stderr, once until he goes on */
};

enum log_level {
	LOG_LEVEL_ERROR = 0,
	LOG_LEVEL_WARNING = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3,
	LOG_LEVEL_TRACE = 4, /* what libraries say: thousands of lines */
};

/* Lines above this level are dropped. Set once by main before threads start; default INFO. */
void log_set_level(enum log_level level);
/* The same, one level more than now. */
void log_raise_level(void);

/*
 * Where what is said from now on comes from, as FILE:LINE, in front of each message: NULL, as at
 * first, is nowhere. The caller's memory, until the next call. Not while there are other threads.
 */
void log_set_place(const char *place);

/*
 * When stderr is the journal's (JOURNAL_STREAM, systemd.exec(5)) each line starts with its
 * priority, as sd-daemon(3) has it. Called once by main before threads start.
 */
void log_detect_journal(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/*
 * Logs "<message>: <strerror(error)>" at ERROR level. error is an errno value, positive or
 * negative; returns it negative (0 gives -EIO: "error with no reason" is never success).
 */
__attribute__((format(printf, 2, 3))) int log_error_errno(int error, const char *format, ...);

/* Logs the message at ERROR level, without a reason, and returns -abs(error). */
__attribute__((format(printf, 2, 3))) int log_error(int error, const char *format, ...);

#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)	 log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)	 log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_trace(...)	 log_line(LOG_LEVEL_TRACE, __VA_ARGS__)
