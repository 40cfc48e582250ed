/* SPDX-License-Identifier: GPL-2.0-only */
/* Resuming a vectored read or write after a partial transfer. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Removes done_bytes, at most their total size, from the front of parts. Returns the number of
 * leading parts that are used up. */
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
