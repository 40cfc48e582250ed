/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests that register themselves: cmocka's, without a list of them. A file of tests has no
 * main() unless it does more than run them (unit_test.c). They run in the order of the file.
 *
 *   TEST(table_drops_first_of_equal_rank)
 *   {
 *           ...
 *   }
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void unit_test_add(struct CMUnitTest test);
/* Fixtures of the file: one before its first test, one after its last. NULL: none. */
void unit_test_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);
/* Runs them: the exit code. */
int unit_test_run(void);

/* Runs a function as a test, once more where a file has it with several fixtures (id tells them
 * apart). NULL: nothing is set up, or torn down. */
#define TEST_ALSO(test, id, set_up, tear_down)                                              \
	__attribute__((constructor)) static void add_##test##_##id(void)                    \
	{                                                                                   \
		unit_test_add((struct CMUnitTest){ #test, test, set_up, tear_down, NULL }); \
	}

#define TEST_WITH(test, set_up, tear_down)    \
	static void test(void **state);       \
	TEST_ALSO(test, 0, set_up, tear_down) \
	static void test(__attribute__((unused)) void **state)
#define TEST(test) TEST_WITH(test, NULL, NULL)

#define TEST_GROUP(set_up, tear_down)                            \
	__attribute__((constructor)) static void add_group(void) \
	{                                                        \
		unit_test_group(set_up, tear_down);              \
	}
