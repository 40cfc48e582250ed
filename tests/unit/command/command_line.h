/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a subcommand within the test, with what it says on standard output and standard error. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ears.h"

enum {
	COMMAND_WORDS_MAX = 600,
	COMMAND_LINE_BYTES = 8192,
	COMMAND_SAID_BYTES = 16384
};

struct command_result {
	int code;
	char output[COMMAND_SAID_BYTES];
	char error[COMMAND_SAID_BYTES];
};

/* The words of the line are what a shell makes of it: what is between blanks. */
static inline int command_split(char *line, char *ret_words[static COMMAND_WORDS_MAX])
{
	char *rest = NULL;
	int count = 0;

	for (char *word = strtok_r(line, " ", &rest); word && count < COMMAND_WORDS_MAX - 1;
	     word = strtok_r(NULL, " ", &rest))
		ret_words[count++] = word;
	ret_words[count] = NULL;
	return count;
}

/* A wrong option and --help end the process: not for them. last: one more word, as it is; or NULL.
 */
static inline void command_run_with(int (*command)(int argc, char **argv), const char *line,
				    char *last, struct command_result *ret_result)
{
	static char copy[COMMAND_LINE_BYTES];
	static char *words[COMMAND_WORDS_MAX + 1];
	FILE *output = tmpfile();
	struct ears ears;
	int count, saved;
	size_t got;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	count = command_split(copy, words);
	if (last) {
		words[count++] = last;
		words[count] = NULL;
	}
	(void)fflush(stdout);
	saved = dup(STDOUT_FILENO);
	(void)dup2(fileno(output), STDOUT_FILENO);
	ears = ears_open();
	/* As something that went before may leave it. */
	errno = ERANGE;
	ret_result->code = command(count, words);
	ears_close(&ears, ret_result->error, sizeof(ret_result->error));
	(void)fflush(stdout);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	rewind(output);
	got = fread(ret_result->output, 1, sizeof(ret_result->output) - 1, output);
	ret_result->output[got] = '\0';
	(void)fclose(output);
}

static inline void command_run(int (*command)(int argc, char **argv), const char *line,
			       struct command_result *ret_result)
{
	command_run_with(command, line, NULL, ret_result);
}

/*
 * At the end of a process of its own, where a sanitizer would look for leaks: that takes ten times
 * as long as a wrong option does. The lines that run within the test are looked into.
 */
static inline void command_leave(int status, void *user)
{
	(void)user;
	(void)fflush(NULL);
	_exit(status);
}

/* Of a line that may end the process, as a wrong option and --help do: in one of its own. */
static inline void command_run_apart(int (*command)(int argc, char **argv), const char *line,
				     struct command_result *ret_result)
{
	FILE *output = tmpfile(), *error = tmpfile();
	int status;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		static char copy[COMMAND_LINE_BYTES];
		static char *words[COMMAND_WORDS_MAX];

		(void)snprintf(copy, sizeof(copy), "%s", line);
		(void)dup2(fileno(output), STDOUT_FILENO);
		(void)dup2(fileno(error), STDERR_FILENO);
		(void)on_exit(command_leave, NULL);
		exit(command(command_split(copy, words), words));
	}
	(void)waitpid(child, &status, 0);
	ret_result->code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	rewind(output);
	rewind(error);
	ret_result->output[fread(ret_result->output, 1, COMMAND_SAID_BYTES - 1, output)] = '\0';
	ret_result->error[fread(ret_result->error, 1, COMMAND_SAID_BYTES - 1, error)] = '\0';
	(void)fclose(output);
	(void)fclose(error);
}
