/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads [SECTION] and KEY = VALUE lines, as in systemd.syntax(7), line by line: blanks around a
 * line and around its first = are ignored, lines that begin with # or ; are comments. Stricter than
 * systemd, so that nothing is misread: syntax to which a shell or another INI parser would give a
 * different meaning (quotes, a comment after a value, a trailing backslash) is refused. Pure,
 * allocates nothing; any thread.
 *
 * No library is used:
 *   - Debian 12's inih (55) splits lines above 200 bytes, drops what follows a ] or a NUL, takes
 *     a : for a =, gives no reason for a refusal, and is configured by process-wide variables.
 *   - GLib's GKeyFile does not report where a key was.
 */
#pragma once

#include <stddef.h>

enum ini_kind {
	INI_KIND_END = 0,
	INI_KIND_SECTION = 1,
	INI_KIND_SETTING = 2,
	INI_KIND_WRONG = 3,
};

struct ini_reader {
	char *rest;
	char *end;
	unsigned int line; /* number of the last item's line, from 1 */
};

/* One parsed line. Texts point into the reader's text, and are valid UTF-8 without control
 * characters unless the line is wrong. */
struct ini_item {
	enum ini_kind kind;
	char *name; /* section name; key of a setting; key or whole line if wrong */
	char *value; /* of a setting; not empty */
	const char *problem; /* of a wrong line: static text */
};

/* Modifies text, up to and including text[size_bytes]. It must outlive the items' texts. */
void ini_reader_init(struct ini_reader *reader, char *text, size_t size_bytes);

/* Returns the next line that is neither empty nor a comment. A wrong line is reported, then
 * skipped. Returns INI_KIND_END at the end, and on every later call. */
void ini_reader_next(struct ini_reader *reader, struct ini_item *ret_item);
