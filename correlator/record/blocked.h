/* SPDX-License-Identifier: GPL-2.0-only */
/* On what a thread was blocked, by the name that records and reports give it. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/blocked_reason.h>

/* "disk", "network", ...; of a number that is no enum blocked_reason "other". */
const char *blocked_name(uint32_t reason);
/* The reason of a name of so many bytes, which need not be NUL-terminated; -EINVAL: none has it. */
int blocked_find(const char *name, size_t size_bytes);
