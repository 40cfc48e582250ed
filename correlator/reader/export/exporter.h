/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exports recordings in formats that other tools read. Takes records in order and writes them to a
 * stream as soon as possible. Bounded memory. Single thread; nothing here logs. The caller checks
 * ferror(out).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "reader/profile/stacks.h"
#include "reader/query/filter.h"
#include "reader/query/recording.h"
#include "record/record_view.h"

enum export_format {
	EXPORT_FORMAT_PERFETTO = 0, /* a trace */
	EXPORT_FORMAT_OPENMETRICS = 1, /* sums by a key */
	EXPORT_FORMAT_NDJSON = 2, /* each record as a line */
	EXPORT_FORMAT_CSV = 3, /* each cpu record as a row */
	EXPORT_FORMAT_FOLDED = 4, /* stacks, with their exact CPU or time off the CPU */
	EXPORT_FORMAT_PPROF = 5, /* as folded, with all keys */
	EXPORT_FORMAT_SPEEDSCOPE = 6, /* as folded, in total and by endpoint */
	EXPORT_FORMAT_OTLP = 7, /* as pprof, in OpenTelemetry's format */
	_EXPORT_FORMAT_MAX,
};

struct exporter;

/* True if the format writes stacks and the time spent in them. */
bool exporter_is_of_stacks(enum export_format format);

/* by: the key of OpenMetrics' sums; NULL: endpoint if it was recorded, else request_id, or the
 * first key. measure: for formats of stacks. Takes over the filter. 0, -ENOMEM. */
int exporter_new(enum export_format format, const char *by, enum stacks_measure measure,
		 struct filter *filter, FILE *out, struct exporter **ret_exporter);
void exporter_free(struct exporter *exporter);
DEFINE_CLEANUP(struct exporter *, exporter_free);

/* 0; -ENOMEM; for OpenMetrics also -E2BIG and -EBADMSG as totals_add (reader/aggregate/totals.h) */
int exporter_add(struct exporter *exporter, const struct record_view *record);

/* After the last record. 0, -ENOMEM. */
int exporter_finish(struct exporter *exporter);

/* Number of records without a key that their requests may have got later: the memory for held
 * records was full. */
uint64_t exporter_given_up(const struct exporter *exporter);
/* For a trace: it has cpu records and no slice. */
bool exporter_lacks_slices(const struct exporter *exporter);
/* For stacks: there are cpu records and no sample. */
bool exporter_lacks_samples(const struct exporter *exporter);
/* For stacks: number of samples that did not fit, and of cpu records whose CPU therefore counts as
 * not sampled. */
void exporter_stacks_left_out(const struct exporter *exporter, uint64_t *ret_samples,
			      uint64_t *ret_cpu_records);
/* The recording seen so far, the filter, and whether the filter let any activity record pass.
 * Borrowed. */
const struct recording *exporter_recording(const struct exporter *exporter);
const struct filter *exporter_filter(const struct exporter *exporter);
bool exporter_has_chosen(const struct exporter *exporter);
