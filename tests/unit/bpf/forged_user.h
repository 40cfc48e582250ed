/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel programs, compiled natively, read of user memory: forged memory, which the test
 * fills. Included once by each test program.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "bpf/native_kernel.h"
#include "context.bpf.h"
#include "recorder/target/forged_memory.h"

static struct forged_memory memory;

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	const struct memory_reader reader = forged_reader(&memory);
	int r = forged_read(&reader, (uint64_t)address, buffer, size_bytes);

	if (r < 0)
		memset(buffer, 0, size_bytes);
	return r;
}
