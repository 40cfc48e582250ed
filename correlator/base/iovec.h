/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of memory that a system call took only some bytes of. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Takes done_bytes, which they have, off the front of the parts. Returns how many parts
 * have nothing left, from the first one on. */
static inline size_t iovec_skip(struct iovec *parts, size_t count, size_t done_bytes)
{
	size_t done = 0;

	while (done < count && done_bytes >= parts[done].iov_len)
		done_bytes -= parts[done++].iov_len;
	if (done == count)
		return count;
	parts[done].iov_base = (uint8_t *)parts[done].iov_base + done_bytes;
	parts[done].iov_len -= done_bytes;
	return done;
}
