/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/refusal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"

/* libbpf passes no context to its callback. */
static struct refusal *listener;

/* Figures about the verifier's work, behind its verdict (print_verification_stats(),
 * kernel/bpf/verifier.c, v6.18). */
static bool is_statistic(const char *line)
{
	static const char *const starts[] = { "processed ", "verification time ", "stack depth " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static void keep_line(struct refusal *refusal, const char *line)
{
	size_t count = 0;

	if (!line[0] || is_statistic(line))
		return;
	while (count < REFUSAL_LINES_MAX && refusal->lines[count][0])
		count++;
	if (count == REFUSAL_LINES_MAX)
		memmove(refusal->lines[0], refusal->lines[1],
			sizeof(refusal->lines[0]) * (size_t)--count);
	(void)snprintf(refusal->lines[count], sizeof(refusal->lines[count]), "%s", line);
}

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_(cleanup_memory) char *text = NULL;
	bool is_verifiers = false;
	char *rest, *line;

	if (vasprintf(&text, format, args) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (line[0])
			log_line(level == LIBBPF_WARN ? LOG_LEVEL_DEBUG : LOG_LEVEL_TRACE, "%s",
				 line);
		if (!listener)
			continue;
		if (strstr(line, "-- BEGIN PROG LOAD LOG --")) {
			is_verifiers = true;
			memset(listener, 0, sizeof(*listener));
			(void)sscanf(line, "libbpf: prog '%63[^']'", listener->program);
		} else if (strstr(line, "-- END PROG LOAD LOG --")) {
			is_verifiers = false;
		} else if (is_verifiers) {
			keep_line(listener, line);
		}
	}
	return 0;
}

void refusal_listen(struct refusal *ret_refusal)
{
	listener = ret_refusal;
	if (listener)
		memset(listener, 0, sizeof(*listener));
	(void)libbpf_set_print(hear);
}
