/*
 * The subcommands. Each parses its own arguments (argv[0] is the subcommand's name) and returns
 * the process's exit status.
 */
#pragma once

#include "base/exit_code.h"

int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_forward(int argc, char **argv);
int command_doctor(int argc, char **argv);
