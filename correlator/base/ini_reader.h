/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A text of [SECTION] and KEY = VALUE lines, as systemd.syntax(7) has them, line by line: blanks
 * around a line and around its first = are nothing, lines that begin with # or ; are comments.
 * Stricter than that, so that nothing is taken otherwise than it was meant: what a program that
 * reads a shell or another INI would make something else of (quotes, a comment behind a value, a
 * backslash at the end) is refused. Pure, allocates nothing; any thread.
 *
 * Not by a library: Debian 12's inih (55) cuts a line of more than 200 bytes in two, drops what
 * stands behind a ] or a NUL, takes a : for a =, has no reason for what it refuses, and is set by
 * variables that are the process's; GLib's GKeyFile does not say where a key was.
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
	unsigned int line; /* of the last item, from 1 */
};

/* What a line is. Texts are in the reader's, without control characters and valid UTF-8, but for
 * that of a line that is wrong. */
struct ini_item {
	enum ini_kind kind;
	char *name; /* of a section; of a setting its key; of a wrong line that or all of it */
	char *value; /* of a setting: not empty */
	const char *problem; /* of a wrong line: what it is, constant */
};

/* text is changed, up to text[size_bytes], and must live as long as the items' texts. */
void ini_reader_init(struct ini_reader *reader, char *text, size_t size_bytes);

/* The next line that is not empty, nor a comment. A wrong one is passed over. INI_KIND_END at the
 * end, as often as it is asked. */
void ini_reader_next(struct ini_reader *reader, struct ini_item *ret_item);
