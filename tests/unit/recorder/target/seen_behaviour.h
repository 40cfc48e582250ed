/* SPDX-License-Identifier: GPL-2.0-only */
/* What ruby_behaviour_look() says of a forged VM, and how a test asks of one member of it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "unit_test.h"

#include "recorder/target/forged_vm.h"

static struct ruby_behaviour seen;

static inline int setup_vm(void **state)
{
	*state = forge_vm();
	return 0;
}

static inline int teardown_vm(void **state)
{
	free(*state);
	return 0;
}

static inline void look(struct forged_vm *forged)
{
	assert_int_equal(ruby_behaviour_look(&forged->reader, &forged->hints, &seen), 0);
}

static inline void assert_only(const char *name, const struct ruby_candidates *candidates,
			       size_t value)
{
	if (candidates->count != 1 || candidates->values[0] != value)
		print_error("%s: %u, the first %u\n", name, candidates->count,
			    candidates->values[0]);
	assert_int_equal(candidates->count, 1);
	assert_int_equal(candidates->values[0], value);
}

#define ONLY(name, value) assert_only(#name, &seen.fields[RUBY_LAYOUT_FIELD(name)], (value))
#define HAS(name, value)  ruby_candidates_have(&seen.fields[RUBY_LAYOUT_FIELD(name)], (value))
#define COUNT(name)	  (seen.fields[RUBY_LAYOUT_FIELD(name)].count)
#define NONE(name)	  assert_int_equal(COUNT(name), 0)
#define VM_TEST(test)	  TEST_WITH(test, setup_vm, teardown_vm)
