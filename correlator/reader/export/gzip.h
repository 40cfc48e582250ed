/* SPDX-License-Identifier: GPL-2.0-only */
/* Compresses a stream as gzip on the fly. Single thread. The caller checks ferror(out). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

struct gzip;

/* NULL without memory. out is borrowed. */
struct gzip *gzip_new(FILE *out);
void gzip_free(struct gzip *gzip);
DEFINE_CLEANUP(struct gzip *, gzip_free);

/* size_bytes <= UINT_MAX. */
void gzip_put(struct gzip *gzip, const void *bytes, size_t size_bytes);

/* After the last bytes, once. */
void gzip_end(struct gzip *gzip);
