/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints each cpu record as a row of CSV (RFC 4180) with all of its fields. */
#pragma once

#include <stdio.h>

#include "reader/query/recording.h"

/* All zeros: nothing printed yet. Keys known at the first row have columns of their own; later ones
 * are together in the last column. */
struct csv {
	char (*keys)[RECORDING_TEXT_BYTES]; /* owned */
	size_t key_count;
	bool has_header;
};

void csv_deinit(struct csv *csv);

/* Prints a cpu record as a row, and ignores records of other kinds. recording: must have seen the
 * record. 0, -ENOMEM. */
int csv_add(struct csv *csv, const struct recording *recording, const struct record_view *record,
	    FILE *out);
/* Prints the header if there was no row. 0, -ENOMEM. */
int csv_finish(struct csv *csv, const struct recording *recording, FILE *out);
