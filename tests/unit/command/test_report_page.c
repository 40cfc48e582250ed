/* SPDX-License-Identifier: GPL-2.0-only */
/* `correlator report --html' where it cannot be done: report_test.py reads what it writes. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "unit_test.h"

#include "base/exit_code.h"
#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "record/golden.h"

static char folder[] = "/tmp/test_report_page.XXXXXX";
static char page[64];
static struct command_result result;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(page, sizeof(page), "%s/page.html", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(page);
	return rmdir(folder);
}

static void report(const char *recording)
{
	char path[1024], line[2048];

	golden_path(recording, path, sizeof(path));
	(void)snprintf(line, sizeof(line), "report --html %s %s", page, path);
	command_run(command_report, line, &result);
}

static size_t count_files(void)
{
	DIR *stream = opendir(folder);
	size_t count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	assert_int_equal(closedir(stream), 0);
	return count - 2; /* itself, and the one above it */
}

TEST(report_page_fails_without_memory_and_leaves_no_file)
{
	size_t given = 0;

	for (;; given++) {
		memory_fails_once_after(given);
		report("shop.rec");
		memory_never_fails();
		if (!memory_failures())
			break;
		if (result.code != EXIT_CODE_FAILURE || !result.error[0])
			fail_msg("%zu: %d, %s", given, result.code, result.error);
		assert_int_equal(count_files(), 0);
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_int_equal(count_files(), 1);
	assert_true(given > 10);
}

TEST(report_page_keeps_existing_file_on_failure)
{
	struct stat before, after;

	report("shop.rec");
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_int_equal(stat(page, &before), 0);
	report("nothing of this name");
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_int_equal(stat(page, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	/* And by what reads well another one. */
	report("shop.rec");
	assert_int_equal(stat(page, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(count_files(), 1);
}

TEST_GROUP(set_up, tear_down)
