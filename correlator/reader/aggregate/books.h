/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The books of a recording: the time that the kernel charged, according to the balance records, and
 * where it went; and known losses (loss counters, gaps). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/counters.h>

#include "record/record_view.h"

enum {
	BOOKS_REASON_BYTES = 64,
	BOOKS_PPM_LIMIT = 1000, /* 0.1 % of exec time: above it the books do not balance */
};

/* Sums over all processes and windows, nanoseconds unless named otherwise. */
struct books {
	uint64_t balance_count; /* balance records; 0 = nothing below is measured */
	int64_t exec_ns;
	int64_t attributed_ns;
	int64_t unattributed_ns;
	int64_t overflow_ns;
	int64_t stated_residual_ns; /* sum of the records' own residual_ns */
	int64_t worst_residual_ns; /* of one record: the one farthest from 0, by its own times */
	int64_t worst_exec_ns; /* the exec time of that record */
	int64_t own_cpu_ns;
	/* The records that have samples; 0 = none has. */
	uint64_t sampled_count;
	int64_t sampled_exec_ns;
	int64_t samples;
	int64_t sampled_ns; /* CPU time that the samples stand for */
	int64_t losses[_COUNTER_MAX];
	uint64_t gap_count;
	int64_t dropped_records;
	int64_t dropped_segments;
	char gap_reason[BOOKS_REASON_BYTES]; /* of the first gap, escaped */
};

/* Returns 0, or -EBADMSG if the record lacks one of its main times. */
int books_add_balance(struct books *books, const struct record_view *record);
void books_add_gap(struct books *books, const struct record_view *record);
/* Adds other to books. */
void books_merge(struct books *books, const struct books *other);

/* attributed + unattributed + overflow. */
int64_t books_charged_ns(const struct books *books);
/* exec - charged. */
int64_t books_residual_ns(const struct books *books);
/* The residual in millionths of exec; false when exec is 0. */
bool books_residual_ppm(const struct books *books, double *ret_ppm);
/* The time that samples stand for, as a fraction of the exec time that was sampled; false when that
 * is 0. */
bool books_sampled_ratio(const struct books *books, double *ret_ratio);
bool books_balance(const struct books *books);

/*
 * Dropped records plus all counters of losses (counter_is_loss()); 0 = no figure may have changed.
 */
int64_t books_lost(const struct books *books);

/* Field name and meaning of a counter (counters.h). */
const char *books_loss_name(enum counter counter);
const char *books_loss_text(enum counter counter);
