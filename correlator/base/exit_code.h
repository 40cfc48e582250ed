/* SPDX-License-Identifier: GPL-2.0-only */
/* The process's exit status; the tool's help explains each code. */
#pragma once

enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILURE = 1, /* something failed at run time */
	EXIT_CODE_USAGE = 2, /* wrong arguments */
	EXIT_CODE_UNSUPPORTED = 3, /* the kernel or our privileges lack something */
	EXIT_CODE_NO_TARGET = 4, /* no such process, not Ruby, or nothing published */
	EXIT_CODE_ALERT = 5, /* `report --alert`: an alert fired */
	EXIT_CODE_CANNOT_RUN = 126, /* these two for `-- COMMAND`, as in env(1) */
	EXIT_CODE_NOT_FOUND = 127,
	EXIT_CODE_OF_SIGNAL = 128, /* plus the number of the signal that killed COMMAND */
	EXIT_CODE_INTERRUPTED = 130, /* SIGINT before anything was written */
};
