/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that runs out. Unit tests are linked so that the code under test allocates here
 * (CMakeLists.txt): a given number of allocations succeed; then all fail, or only the next one, so
 * that code that goes on without it is not stopped by a second failure.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void memory_fails_after(size_t successes);
void memory_fails_once_after(size_t successes);
void memory_never_fails(void);

/* How often it failed since it was last said when it does. */
size_t memory_failures(void);

/* False: an allocation fails now. For functions that take the place of others that allocate. */
bool has_memory(void);

/*
 * Evaluates `call` again and again: its first allocation fails, then its second, and so on, until
 * it is given all that it asks for. Each time but the last it must yield -ENOMEM, and then `undo`
 * is evaluated (`(void)0`: there is nothing to undo), with memory. The last time it must yield 0,
 * and that must not be the first.
 */
#define assert_each_allocation_can_fail(call, undo)                         \
	for (size_t given_ = 0;; given_++) {                                \
		int result_;                                                \
                                                                            \
		memory_fails_once_after(given_);                            \
		result_ = (call);                                           \
		memory_never_fails();                                       \
		assert_int_equal(result_, memory_failures() ? -ENOMEM : 0); \
		if (!memory_failures()) {                                   \
			assert_true(given_ > 0);                            \
			break;                                              \
		}                                                           \
		undo;                                                       \
	}
