/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests that register themselves: cmocka's, without a list of them. They run in the order of
 * the file.
 *
 *   TEST(table_drops_first_of_equal_rank)
 *   {
 *           ...
 *   }
 *
 * The files of a folder are one program, which runs those of the file that its argument names
 * (`unit_record test_token`), or all. A file that has a main(), more sources, or functions that
 * take the place of the library's or of libc's, says that it is a program of its own:
 * UNIT_TEST_ALONE.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* On a line of its own: CMakeLists.txt looks for it. */
#define UNIT_TEST_ALONE _Static_assert(1, "is a program of its own")

/* path: of the file, __BASE_FILE__. */
void unit_test_add(const char *path, struct CMUnitTest test);
/* Fixtures of the file: one before its first test, one after its last. NULL: none. */
void unit_test_group(const char *path, CMFixtureFunction set_up, CMFixtureFunction tear_down);
/* Runs those of a file (its name without .c), or all of the program if it is NULL. Returns the
 * exit code. */
int unit_test_run(const char *name);

/* Runs a function as a test, once more where a file has it with several fixtures (id tells them
 * apart). NULL: nothing is set up, or torn down. */
#define TEST_ALSO(test, id, set_up, tear_down)                                              \
	__attribute__((constructor)) static void add_##test##_##id(void)                    \
	{                                                                                   \
		unit_test_add(__BASE_FILE__,                                                \
			      (struct CMUnitTest){ #test, test, set_up, tear_down, NULL }); \
	}

#define TEST_WITH(test, set_up, tear_down)    \
	static void test(void **state);       \
	TEST_ALSO(test, 0, set_up, tear_down) \
	static void test(__attribute__((unused)) void **state)
#define TEST(test) TEST_WITH(test, NULL, NULL)

#define TEST_GROUP(set_up, tear_down)                              \
	__attribute__((constructor)) static void add_group(void)   \
	{                                                          \
		unit_test_group(__BASE_FILE__, set_up, tear_down); \
	}
