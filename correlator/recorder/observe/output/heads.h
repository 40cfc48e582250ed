/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The beginning of a file that goes on where another one ended: the records that still hold, as
 * they were encoded, so that each file can be read by itself. These are the record of the mode, and
 * for each process that lives the last record of each event. Pure; single thread.
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

/* A record and the entry that it became, of size_bytes. Other kinds than META and PROCESS are none
 * of these. -ENOMEM: it will be missing. */
int heads_add(struct heads *heads, enum record_kind kind, const void *record, const void *entry,
	      size_t size_bytes);

/* All of them, with the checks of a file's beginning (record/check.h), until the next call; NULL:
 * no memory. */
const void *heads_bytes(struct heads *heads, size_t *ret_size_bytes);
