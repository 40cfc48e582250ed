/* SPDX-License-Identifier: GPL-2.0-only */
/* Each cpu record as a row of CSV (RFC 4180), with all of its fields. */
#pragma once

#include <stdio.h>

#include "reader/query/recording.h"

/* All zeros has printed nothing. The keys that are known at the first row have columns of their
 * own; those that come later are in the last one. */
struct csv {
	char (*keys)[RECORDING_TEXT_BYTES]; /* owned */
	size_t key_count;
	bool has_header;
};

void csv_deinit(struct csv *csv);

/* Prints nothing of records of other kinds. recording: has seen the record. 0, -ENOMEM. */
int csv_add(struct csv *csv, const struct recording *recording, const struct record_view *record,
	    FILE *out);
/* The header, if there was no row. 0, -ENOMEM. */
int csv_finish(struct csv *csv, const struct recording *recording, FILE *out);
