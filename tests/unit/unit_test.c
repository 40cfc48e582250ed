/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TESTS_MAX = 1024, /* of one program */
	FILES_MAX = 64,
};

/* The tests of a file stand one behind the other. */
struct file {
	const char *path;
	size_t first, count;
	CMFixtureFunction set_up, tear_down;
};

static struct {
	struct CMUnitTest tests[TESTS_MAX];
	size_t test_count;
	struct file files[FILES_MAX];
	size_t file_count;
} registered;

/* Files register their tests one after the other. */
static struct file *file_at(const char *path)
{
	struct file *file = registered.files + registered.file_count;

	if (registered.file_count && !strcmp(file[-1].path, path))
		return file - 1;
	if (registered.file_count++ == FILES_MAX)
		abort();
	*file = (struct file){ .path = path, .first = registered.test_count };
	return file;
}

void unit_test_add(const char *path, struct CMUnitTest test)
{
	if (registered.test_count == TESTS_MAX)
		abort();
	file_at(path)->count++;
	registered.tests[registered.test_count++] = test;
}

void unit_test_group(const char *path, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	struct file *file = file_at(path);

	file->set_up = set_up;
	file->tear_down = tear_down;
}

/* FOLDER/NAME.c is NAME. */
static bool is_named(const struct file *file, const char *name)
{
	const char *slash = strrchr(file->path, '/');
	const char *base = slash ? slash + 1 : file->path;
	size_t size_bytes = strcspn(base, ".");

	return strlen(name) == size_bytes && !strncmp(base, name, size_bytes);
}

int unit_test_run(const char *name)
{
	size_t files_run = 0;
	int failed = 0;

	for (size_t i = 0; i < registered.file_count; i++) {
		const struct file *file = &registered.files[i];

		if (name && !is_named(file, name))
			continue;
		failed += _cmocka_run_group_tests(file->path, registered.tests + file->first,
						  file->count, file->set_up, file->tear_down);
		files_run++;
	}
	if (!files_run)
		(void)fprintf(stderr, "no tests of %s\n", name ? name : "anything");
	return files_run ? failed : EXIT_FAILURE;
}

/* A file may have a main() of its own, to be run as another program, too. */
__attribute__((weak)) int main(int argc, char *argv[])
{
	return unit_test_run(argc > 1 ? argv[1] : NULL);
}
