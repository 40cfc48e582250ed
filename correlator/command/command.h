/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The subcommands. Each parses its own arguments (argv[0] is the subcommand's name, for messages)
 * and returns the process's exit status; a wrong option, --help and --usage exit from within argp.
 * SIGPIPE and SIGXFSZ must be ignored.
 */
#pragma once

#include "base/exit_code.h"

int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_top(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_export(int argc, char **argv);
int command_forward(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_ps(int argc, char **argv);

/* The default file of record and report. */
#define COMMAND_RECORDING "correlator.msgpack"
