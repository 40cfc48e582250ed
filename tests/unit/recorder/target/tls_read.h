/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The variable's value in one thread, by the way that the kernel program goes: through the thread's
 * DTV. thread_pointer: fs base (x86-64) or tpidr_el0 (aarch64).
 */
#pragma once

#include <errno.h>

#include "recorder/target/elf/tls_symbol.h"

/* The address of the module's block in one thread. */
static inline int tls_read_block(const struct tls_location *location, uint64_t thread_pointer,
				 const struct memory_reader *reader, uint64_t *ret_block)
{
	uint64_t length;
	uint64_t block;
	uint64_t dtv;
	int r = memory_read_u64(reader, thread_pointer + (uint64_t)location->dtv_pointer_offset,
				&dtv);

	if (r < 0)
		return r;
	if (dtv == 0)
		return -ENODATA;
	r = memory_read_u64(
		reader, location->dtv_has_length ? dtv - location->dtv_entry_bytes : dtv, &length);
	if (r < 0)
		return r;
	if (location->module > length)
		return -ENODATA;
	r = memory_read_u64(reader, dtv + location->module * location->dtv_entry_bytes, &block);
	if (r < 0)
		return r;
	/* glibc marks an unallocated block with -1; nptl_db takes any odd value for one. */
	if (block == 0 || (block & 1))
		return -ENODATA;
	*ret_block = block;
	return 0;
}

/* -ENODATA: this thread never touched the variable. */
static inline int tls_read(const struct tls_location *location, uint64_t thread_pointer,
			   const struct memory_reader *reader, uint64_t *ret_value)
{
	uint64_t block = thread_pointer;
	int r;

	if (location->model == TLS_MODEL_DYNAMIC) {
		r = tls_read_block(location, thread_pointer, reader, &block);
		if (r < 0)
			return r;
	}
	return memory_read_u64(reader, block + (uint64_t)location->offset, ret_value);
}
