/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raises the limit of open files to the hard limit, at most OPEN_FILES_MAX: each CPU, each probed
 * file and each inspected library takes one. Programs that we start get the original limit back, as
 * some of them call select(2). Does not log.
 */
#pragma once

enum {
	OPEN_FILES_MAX = 65536,
};

/* Call once at program start. */
void open_files_raise(void);

/* Call in a child before exec, or in the process itself while it starts a program. */
void open_files_restore(void);
