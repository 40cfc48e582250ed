/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include <stdlib.h>

enum {
	TESTS_MAX = 512 /* of one program */
};

static struct {
	struct CMUnitTest tests[TESTS_MAX];
	size_t count;
	CMFixtureFunction set_up, tear_down;
} registered;

void unit_test_add(struct CMUnitTest test)
{
	if (registered.count == TESTS_MAX)
		abort();
	registered.tests[registered.count++] = test;
}

void unit_test_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	registered.set_up = set_up;
	registered.tear_down = tear_down;
}

int unit_test_run(void)
{
	return _cmocka_run_group_tests("tests", registered.tests, registered.count,
				       registered.set_up, registered.tear_down);
}

/* A file may have a main() of its own, to be run as another program, too. */
__attribute__((weak)) int main(void)
{
	return unit_test_run();
}
