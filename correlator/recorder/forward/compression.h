/* SPDX-License-Identifier: GPL-2.0-only */
/* Compresses one payload at a time with gzip, in a buffer that is reused. Single thread. */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct compressor;

/* NULL: out of memory. */
struct compressor *compressor_new(void);
void compressor_free(struct compressor *compressor);
DEFINE_CLEANUP(struct compressor *, compressor_free);

/* 0 and the compressed bytes, valid until the next call; -ENOMEM. size_bytes <= UINT_MAX. */
int compressor_run(struct compressor *compressor, const void *bytes, size_t size_bytes,
		   const void **ret_bytes, size_t *ret_size_bytes);
