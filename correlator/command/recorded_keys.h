/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks keys that options name against the keys of the records: a key that no record has is most
 * likely a slip. */
#pragma once

#include <stdint.h>

#include "reader/query/filter.h"
#include "reader/query/recording.h"

/* Returns -ENOENT and logs that no record has this key, which keys occur, and the option that
 * chooses one. */
int recorded_keys_refuse(const struct recording *recording, const char *key, const char *advice);

/* 0 if some record has the key, or it is one of what ran (pid, comm, ...); else -ENOENT, logged
 * with the keys that occur and the option that chooses one. */
int recorded_keys_check(const struct recording *recording, const char *key, const char *option);

/* Checks the key of each condition of the filter, likewise. */
int recorded_keys_check_filter(const struct recording *recording, const struct filter *filter);

/* Explains why the filter let nothing pass. 0, with a warning if it has conditions; -ENOENT,
 * logged: no record has a key of it. */
int recorded_keys_explain_nothing(const struct recording *recording, const struct filter *filter);

/* Warns of given_up records that selection.h could not hold until their request had a late value;
 * none if it is 0. */
void recorded_keys_warn_given_up(uint64_t given_up);
