/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A live Ruby for tests: started with a script that evaluates the lines it is sent and prints what
 * comes out. `id(:name)` in a line is the symbol's ID by Ruby's own rb_sym2id, as a number.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/target/ruby/ruby_symbols.h"

enum {
	LIVE_RUBY_RANGES_MAX = 16
};

struct live_ruby {
	pid_t pid;
	FILE *to;
	FILE *from;
};

static const char live_ruby_script[] =
	"require 'fiddle'\n"
	"$stdout.sync = true\n"
	"SYM2ID = Fiddle::Function.new(Fiddle::Handle::DEFAULT['rb_sym2id'],\n"
	"  [Fiddle::TYPE_UINTPTR_T], Fiddle::TYPE_UINTPTR_T, need_gvl: true)\n"
	"def id(symbol) = SYM2ID.call(Fiddle.dlwrap(symbol))\n"
	"while (line = gets)\n"
	"  puts eval(line)\n"
	"end\n";

/* False: there is no Ruby with Fiddle here. */
static inline bool live_ruby_ask(struct live_ruby *ruby, const char *line, char *answer,
				 int answer_bytes)
{
	if (fprintf(ruby->to, "%s\n", line) < 0 || fflush(ruby->to) != 0 ||
	    !fgets(answer, answer_bytes, ruby->from))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return true;
}

static inline bool live_ruby_start(struct live_ruby *ruby)
{
	int to[2], from[2];
	char answer[16];

	*ruby = (struct live_ruby){ .pid = -1 };
	(void)signal(SIGPIPE, SIG_IGN);
	if (pipe(to) < 0 || pipe(from) < 0)
		return false;
	ruby->pid = fork();
	if (ruby->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		(void)close(to[1]);
		(void)close(from[0]);
		(void)execlp("ruby", "ruby", "-Ku", "-e", live_ruby_script, (char *)NULL);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	ruby->to = fdopen(to[1], "w");
	ruby->from = fdopen(from[0], "r");
	return live_ruby_ask(ruby, "'ready'", answer, sizeof(answer));
}

static inline void live_ruby_stop(struct live_ruby *ruby)
{
	if (ruby->to)
		(void)fclose(ruby->to);
	if (ruby->from)
		(void)fclose(ruby->from);
	if (ruby->pid <= 0)
		return;
	(void)kill(ruby->pid, SIGKILL);
	(void)waitpid(ruby->pid, NULL, 0);
}

/* The writable mappings of the object that is Ruby, with the bss behind them. */
static inline size_t live_ruby_ranges(const struct live_ruby *ruby,
				      struct ruby_data_range ranges[LIVE_RUBY_RANGES_MAX])
{
	char path[64], line[PATH_MAX + 128], mode[8];
	uint64_t start, end, previous_end = 0;
	size_t count = 0;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", ruby->pid);
	maps = fopen(path, "re");
	while (maps && count < LIVE_RUBY_RANGES_MAX && fgets(line, sizeof(line), maps)) {
		const char *name = strchr(line, '/');
		bool is_ruby = name && (strstr(name, "/libruby") || strstr(name, "bin/ruby"));

		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) != 3)
			continue;
		if (mode[1] == 'w' && (is_ruby || (!name && start == previous_end))) {
			ranges[count].address = start;
			ranges[count++].size_bytes = end - start;
			previous_end = end;
		}
	}
	if (maps)
		(void)fclose(maps);
	return count;
}
