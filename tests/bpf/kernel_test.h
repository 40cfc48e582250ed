/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests that load programs skip, with a reason, where that cannot work; in CI that is a failure. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/probe/features.h"

enum {
	KERNEL_TEST_SKIP = 77
};

static inline void kernel_test_require(void)
{
	const char *ci = getenv("CI");
	const char *reason = NULL;

	if (geteuid() != 0)
		reason = "not root";
	else if (access("/sys/kernel/btf/vmlinux", R_OK))
		reason = "this kernel has no BTF";
	if (!reason)
		return;
	printf("SKIP: %s\n", reason);
	exit(ci && !strcmp(ci, "true") ? EXIT_FAILURE : KERNEL_TEST_SKIP);
}

static inline struct kernel_offers ask_kernel(void)
{
	struct kernel_offers offers;

	features_ask_kernel(&offers);
	return offers;
}
