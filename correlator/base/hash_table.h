/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uthash's tables, where memory may run out: an element for which there is none is just not added,
 * and its hh.tbl stays NULL. Whoever adds one looks at that. By itself uthash would end the
 * process. Included instead of uthash.h, never beside it: the header reads its settings once.
 */
#pragma once

#ifdef UTHASH_H
#error "uthash.h was included before base/hash_table.h: it has other settings"
#endif

#define HASH_NONFATAL_OOM	 1
#define uthash_nonfatal_oom(elt) ((void)(elt))

#include <uthash.h>

/* Buckets are doubled when one has so many elements, not uthash's ten: a search goes from one to
 * the next of a bucket, and in a large table each is a line that no cache holds. 16 bytes a bucket.
 */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 7U
