/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys that an option names, against those that the records which were read have: one that none has
 * is more likely a slip. */
#pragma once

#include <stdint.h>

#include "reader/query/filter.h"
#include "reader/query/recording.h"

/* -ENOENT, logged: no record has this key, those that occur, and what it is wanted for, or how one
 * of them is chosen. */
int recorded_keys_refuse(const struct recording *recording, const char *key, const char *advice);

/* A key of some record, or one of what ran (pid, comm, ...). 0; -ENOENT, logged with the keys that
 * occur, and the option to choose one of them with. */
int recorded_keys_check(const struct recording *recording, const char *key, const char *option);

/* The same for each key of the filter's conditions. */
int recorded_keys_check_filter(const struct recording *recording, const struct filter *filter);

/* Where the filter has let nothing pass. 0, and a warning if it wants something; -ENOENT, logged:
 * it wants a key of none. */
int recorded_keys_explain_nothing(const struct recording *recording, const struct filter *filter);

/* Warns of records that had no value of some key while there was room to wait for it (selection.h);
 * of 0 of nothing. */
void recorded_keys_warn_given_up(uint64_t given_up);
