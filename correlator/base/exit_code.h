/* SPDX-License-Identifier: GPL-2.0-only */
/* The process's exit status: what each means is in the help of the tool. */
#pragma once

enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILURE = 1, /* something failed at run time */
	EXIT_CODE_USAGE = 2, /* wrong arguments */
	EXIT_CODE_UNSUPPORTED = 3, /* the kernel or a privilege lacks something */
	EXIT_CODE_NO_TARGET = 4, /* no such process, not Ruby, or nothing published */
	EXIT_CODE_ALERT = 5, /* of `report --alert`: one fired */
	EXIT_CODE_CANNOT_RUN = 126, /* these two of `-- COMMAND`, as env(1) has them */
	EXIT_CODE_NOT_FOUND = 127,
	EXIT_CODE_OF_SIGNAL = 128, /* and its number: a COMMAND that it killed */
	EXIT_CODE_INTERRUPTED = 130, /* SIGINT before anything was written */
};
