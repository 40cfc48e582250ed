/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store in an unnamed file, for what does not fit in memory while the collector is away. The file
 * is gone with the process, however that ends, and cannot be opened by name. Never logs.
 */
#pragma once

#include "recorder/queue/store.h"

/* Creates the file in $TMPDIR, or in /var/tmp, which is on disk where /tmp is in memory. 0, or
 * -errno. */
int spill_open(struct store **ret_store);
