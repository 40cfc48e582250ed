/* SPDX-License-Identifier: GPL-2.0-only */
/* The names, in records and reports, of what a thread was blocked on. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/blocked_reason.h>

/* Returns "disk", "network", ...; "other" for a number that is not an enum blocked_reason. */
const char *blocked_name(uint32_t reason);
/* Returns the reason of a name of size_bytes bytes, which need not be NUL-terminated; -EINVAL if
 * there is none. */
int blocked_find(const char *name, size_t size_bytes);
