/* SPDX-License-Identifier: GPL-2.0-only */
/* gzip of one payload at a time, in memory that is kept for the next. Single thread. */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct compressor;

/* NULL without memory. */
struct compressor *compressor_new(void);
void compressor_free(struct compressor *compressor);
DEFINE_CLEANUP(struct compressor *, compressor_free);

/* 0 and the compressed bytes, valid until the next call; -ENOMEM. size_bytes <= UINT_MAX. */
int compressor_run(struct compressor *compressor, const void *bytes, size_t size_bytes,
		   const void **ret_bytes, size_t *ret_size_bytes);
