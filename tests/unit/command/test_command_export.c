/* SPDX-License-Identifier: GPL-2.0-only */
/* `correlator export` where memory runs out: export_test.py reads what it writes. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>

#include "unit_test.h"

#include "base/exit_code.h"
#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "record/golden.h"

/* Whichever piece of it is missing, once: it says so, and what it needed no more is free again. */
static void without_memory_it_fails(const char *form, const char *recording)
{
	char path[512], line[1024];
	struct command_result result;
	size_t given = 0;

	golden_path(recording, path, sizeof(path));
	(void)snprintf(line, sizeof(line), "export -f %s %s", form, path);
	for (;; given++) {
		memory_fails_once_after(given);
		command_run(command_export, line, &result);
		memory_never_fails();
		if (!memory_failures())
			break;
		assert_int_equal(result.code, EXIT_CODE_FAILURE);
		assert_non_null(strstr(result.error, "Cannot allocate memory"));
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(given > 3);
}

TEST(export_reports_out_of_memory_in_each_format)
{
	without_memory_it_fails("csv", "shop.rec");
	without_memory_it_fails("ndjson", "shop.rec");
	without_memory_it_fails("openmetrics", "shop.rec");
	without_memory_it_fails("perfetto", "shop.rec");
	without_memory_it_fails("folded", "stacks.rec");
	without_memory_it_fails("pprof", "stacks.rec");
	without_memory_it_fails("speedscope", "stacks.rec");
	without_memory_it_fails("otlp", "stacks.rec");
}

static void onto_a_full_disk(const char *form)
{
	char path[512], line[2048], said[COMMAND_SAID_BYTES];
	char *words[COMMAND_WORDS_MAX];
	int saved, full = open("/dev/full", O_WRONLY | O_CLOEXEC), count, code;
	struct ears ears;

	golden_path("stacks.rec", path, sizeof(path));
	(void)snprintf(line, sizeof(line), "export -f %s %s %s", form, path, path);
	count = command_split(line, words);
	(void)fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(saved >= 0);
	assert_int_equal(dup2(full, STDOUT_FILENO), STDOUT_FILENO);
	assert_int_equal(setvbuf(stdout, NULL, _IONBF, 0), 0);
	ears = ears_open();
	code = command_export(count, words);
	ears_close(&ears, said, sizeof(said));
	clearerr(stdout);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	(void)close(saved);
	(void)close(full);
	assert_int_equal(code, EXIT_CODE_FAILURE);
	assert_non_null(strstr(said, "No space left on device"));
}

/* Also by the first of several recordings, and with nothing left to write at the end. */
TEST(export_reports_full_disk)
{
	onto_a_full_disk("csv");
	onto_a_full_disk("openmetrics"); /* all at the end */
}
