/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/input.h"

#include <signal.h>
#include <unistd.h>

#include "unit_test.h"

#include "record/golden.h"

/* What Ctrl-C does. */
static bool ends_us(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
	return now.sa_handler == SIG_DFL;
}

static int take(void *context, struct record_reader *reader, const struct record_view *record)
{
	unsigned int *spared = context;

	(void)reader;
	(void)record;
	*spared += !ends_us();
	return 0;
}

/* The first Ctrl-C is the writer's as long as it is read from, and ours again from then on. */
TEST(input_ignores_interrupt_while_reading_pipe)
{
	int fds[2], saved = dup(STDIN_FILENO);
	struct input_file file = { 0 };
	unsigned int spared = 0;
	size_t size_bytes;
	char *recording = golden_read("stacks.rec", &size_bytes);

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], recording, size_bytes), size_bytes);
	free(recording);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(fds[0]), 0);
	assert_true(ends_us());
	assert_int_equal(input_read("-", INPUT_STEADY, true, take, &spared, &file), 0);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	assert_true(file.entry_count > 0);
	assert_int_equal(spared, file.entry_count);
	assert_true(ends_us());
}

TEST(input_keeps_interrupt_enabled_for_file)
{
	struct input_file file = { 0 };
	unsigned int spared = 0;
	char path[512];

	golden_path("stacks.rec", path, sizeof(path));
	assert_int_equal(input_read(path, INPUT_STEADY, true, take, &spared, &file), 0);
	assert_true(file.entry_count > 0);
	assert_int_equal(spared, 0);
}
