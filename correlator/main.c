/* SPDX-License-Identifier: GPL-2.0-only */
/* correlator: says which request of a Ruby process burned the CPU. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/open_files.h"
#include "base/print.h"
#include "base/rights.h"
#include "command/command.h"
#include "command/streams.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool observes; /* may use capabilities that the caller lacks */
	const char *full_name; /* for usage messages */
	const char *summary;
} commands[] = {
	{ "record", command_record, true, "correlator record",
	  "attach to a running Ruby process and record its requests" },
	{ "report", command_report, false, "correlator report", "print what a recording says" },
	{ "top", command_top, true, "correlator top", "show what burns the CPU right now" },
	{ "dump", command_dump, false, "correlator dump",
	  "print every record of a recording as JSON" },
	{ "export", command_export, false, "correlator export",
	  "write a recording in the form that another tool reads" },
	{ "forward", command_forward, false, "correlator forward",
	  "send a recording, or what a spool holds, to a collector" },
	{ "verify", command_verify, false, "correlator verify",
	  "say whether recordings, and what a spool holds, are whole" },
	{ "doctor", command_doctor, true, "correlator doctor",
	  "say what this kernel, user and process offer" },
	{ "ps", command_ps, true, "correlator ps",
	  "list the Ruby processes, and which of them can be recorded" },
};

enum {
	COMMANDS = sizeof(commands) / sizeof(commands[0])
};

static void print_help(FILE *stream)
{
	(void)fputs(
		"Usage: correlator COMMAND [OPTION]...\n"
		"Says which request of a Ruby process burned the CPU: user, kernel, run-queue and\n"
		"blocked time per request, exact across fibers, threads and forks.\n\n",
		stream);
	for (size_t i = 0; i < COMMANDS; i++)
		(void)fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
	(void)fputs("\n  --help     this text; `correlator help COMMAND` of a command\n"
		    "  --version  the version\n\n"
		    "EXAMPLES\n"
		    "  correlator ps                          which Rubies are there?\n"
		    "  correlator doctor 1234                 is everything there?\n"
		    "  correlator record -p 1234 -d 10s -o puma.msgpack\n"
		    "  correlator report puma.msgpack\n"
		    "  correlator top 1234                    what burns the CPU right now\n\n"
		    "EXIT STATUS\n"
		    "  0 ok, 1 failure at run time, 2 usage, 3 the kernel or a privilege lacks\n"
		    "  something, 4 no such process, not Ruby, or it publishes no context,\n"
		    "  5 an alert of `report --alert` fired, 130 interrupted before anything\n"
		    "  was written; of `record -- COMMAND` the command's own, if nothing of\n"
		    "  ours failed\n",
		    stream);
}

/* Index of a command, or COMMANDS: no such command. */
static size_t find_command(const char *name)
{
	size_t command = 0;

	while (command < COMMANDS && strcmp(name, commands[command].name) != 0)
		command++;
	return command;
}

static int run(size_t command, int argc, char **argv)
{
	if (!commands[command].observes)
		rights_give_up();
	argv[0] = (char *)commands[command].full_name;
	return commands[command].run(argc, argv);
}

static int refuse(const char *name)
{
	print_line(stderr, "correlator: no command `%s`; see correlator --help", name);
	return EXIT_CODE_USAGE;
}

static bool is_help(const char *name)
{
	return strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
}

/* argv[1] asks for help on the command behind it, or on all. */
static int help(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "";
	char *words[] = { NULL, "--help", NULL };

	if (find_command(name) < COMMANDS)
		return run(find_command(name), 2, words);
	if (name[0] && !is_help(name))
		return refuse(name);
	print_help(stdout);
	return EXIT_CODE_OK;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	/* Records are UTF-8 in any locale; so are the output and the widths of its characters. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	/* A closed pipe, or a file at its size limit, is an error to report: the signal would kill
	 * us. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	open_files_raise();
	log_detect_journal();
	streams_finish_output_at_exit();
	/* No core dump, and no access to our memory: it has names of other users' requests. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (rights_begin() < 0) {
		(void)log_error(EPERM,
				"correlator must not be setuid or setgid: `correlator doctor' "
				"of root says how others may run it");
		return EXIT_CODE_UNSUPPORTED;
	}
	if (find_command(name) < COMMANDS)
		return run(find_command(name), argc - 1, argv + 1);
	if (is_help(name))
		return help(argc, argv);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		(void)printf("correlator %s\n", CORRELATOR_VERSION);
		return EXIT_CODE_OK;
	}
	if (name[0])
		return refuse(name);
	print_help(stderr);
	return EXIT_CODE_USAGE;
}
