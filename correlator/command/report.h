/*
 * `correlator report`: reads recordings and says which request burned the CPU. Needs no privilege.
 */
#pragma once

/* argv[0] is the subcommand's name. Returns the exit code: 0 ok, 1 runtime failure, 2 usage; a
 * wrong option, --help and --usage exit from within argp. The caller ignores SIGPIPE. */
int command_report(int argc, char **argv);
