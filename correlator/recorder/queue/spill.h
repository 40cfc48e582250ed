/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store in a file without a name: room for what memory cannot hold while the collector is away.
 * It is gone with the process, however that ends, and has no name to be opened by. Never logs.
 */
#pragma once

#include "recorder/queue/store.h"

/* Below $TMPDIR, or /var/tmp, which is a disk where /tmp is memory. 0, or -errno. */
int spill_open(struct store **ret_store);
