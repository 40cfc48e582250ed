/* SPDX-License-Identifier: GPL-2.0-only */
/* Apart: both machines' calls have the same names. */
#define __ARCH_WANT_SYS_CLONE3 /* as its asm/unistd.h does */
#include <asm-generic/unistd.h>

#include <correlator/blocked_reason.h>

#include "unit_test.h"

/* arm64 has the generic table (arch/arm64/include/uapi/asm/unistd.h, v6.1). */
TEST(blocked_calls_are_numbered_as_on_arm64)
{
#define CHECK(name, x86, arm64, reason) assert_int_equal(arm64, __NR_##name);
	BLOCKED_CALLS(CHECK)
#undef CHECK
}
