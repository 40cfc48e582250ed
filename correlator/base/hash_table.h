/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uthash tables that survive running out of memory: an element without memory is not added, and its
 * hh.tbl stays NULL; the code that adds it must check that. By default uthash would end the
 * process. Include this instead of uthash.h, never both: the header reads its settings once.
 */
#pragma once

#ifdef UTHASH_H
#error "uthash.h was included before base/hash_table.h: it has other settings"
#endif

#define HASH_NONFATAL_OOM	 1
#define uthash_nonfatal_oom(elt) ((void)(elt))

#include <uthash.h>

/* Elements per bucket at which the buckets double, instead of uthash's 10: a lookup walks its
 * bucket, and in a large table each element is a cache miss. A bucket takes 16 bytes. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 7U
