/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The beginning of a file that continues another one: the records that still hold, in encoded form,
 * so that each file can be read on its own. These are the meta record and, for each live process,
 * the last record of each event. Pure; single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "record/record.h"

struct heads;

/* NULL: no memory. */
struct heads *heads_new(void);
void heads_free(struct heads *heads);
DEFINE_CLEANUP(struct heads *, heads_free);

/*
 * Adds a record and its encoded entry of size_bytes; ignores kinds other than META and PROCESS.
 * -ENOMEM: the record will be missing.
 */
int heads_add(struct heads *heads, enum record_kind kind, const void *record, const void *entry,
	      size_t size_bytes);

/*
 * All of these records, with the checks of a file's beginning (record/check.h); valid until the
 * next call. NULL: no memory.
 */
const void *heads_bytes(struct heads *heads, size_t *ret_size_bytes);
