/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many files we may have open: as many as the hard limit allows, since each CPU, each probed
 * file and each library that is looked into takes one. Programs that we start get the limit that we
 * were given: some of them call select(2). Does not log.
 */
#pragma once

enum {
	OPEN_FILES_MAX = 65536,
};

/* At the start of a program, once. */
void open_files_raise(void);

/* In a child, before it becomes a program, or in the process itself while it starts one. */
void open_files_restore(void);
