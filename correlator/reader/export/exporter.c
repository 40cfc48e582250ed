/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/exporter.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/export/csv.h"
#include "reader/export/folded.h"
#include "reader/export/openmetrics_export.h"
#include "reader/export/otlp.h"
#include "reader/export/perfetto.h"
#include "reader/export/pprof.h"
#include "reader/export/speedscope.h"
#include "reader/profile/stacks.h"
#include "reader/query/selection.h"
#include "reader/report/json_record.h"

struct exporter {
	enum export_format format;
	FILE *out;
	struct selection selection; /* for formats that export each record, */
	uint64_t taken_count; /* and the number of activity records it chose */
	struct csv csv;
	struct openmetrics_export openmetrics;
	struct perfetto perfetto;
	struct stacks stacks;
};

bool exporter_is_of_stacks(enum export_format format)
{
	return format == EXPORT_FORMAT_FOLDED || format == EXPORT_FORMAT_PPROF ||
	       format == EXPORT_FORMAT_SPEEDSCOPE || format == EXPORT_FORMAT_OTLP;
}

/* csv and ndjson export the records as recorded, without lent values. */
static int take(void *context, const struct selection_record *taken)
{
	struct exporter *exporter = context;

	if (!taken->is_wanted)
		return 0;
	exporter->taken_count++;
	if (exporter->format == EXPORT_FORMAT_PERFETTO)
		return perfetto_add(&exporter->perfetto, taken->comm, taken->view, exporter->out);
	if (exporter->format == EXPORT_FORMAT_CSV)
		return csv_add(&exporter->csv, &exporter->selection.recording, taken->raw,
			       exporter->out);
	return json_record_print(taken->raw, exporter->out);
}

/* The books cover everything: with a filter they are left out. */
static int other(void *context, const struct record_view *record)
{
	struct exporter *exporter = context;

	if (exporter->format != EXPORT_FORMAT_NDJSON ||
	    (!selection_holds_at_any_time(record) &&
	     exporter->selection.filter.condition_count > 0))
		return 0;
	return json_record_print(record, exporter->out);
}

static struct selection_consumer consumer_of(struct exporter *exporter)
{
	return (struct selection_consumer){ .other = other, .take = take, .context = exporter };
}

int exporter_new(enum export_format format, const char *by, enum stacks_measure measure,
		 struct filter *filter, FILE *out, struct exporter **ret_exporter)
{
	_cleanup_(exporter_freep) struct exporter *exporter = calloc(1, sizeof(*exporter));
	int r = 0;

	if (!exporter)
		return -ENOMEM;
	exporter->format = format;
	exporter->out = out;
	if (format == EXPORT_FORMAT_OPENMETRICS) {
		r = openmetrics_export_init(&exporter->openmetrics, by, filter);
	} else if (exporter_is_of_stacks(format)) {
		stacks_init(&exporter->stacks, measure, filter);
	} else {
		selection_init(&exporter->selection, sizeof(struct selection_request));
		selection_take_filter(&exporter->selection, filter);
	}
	if (r < 0)
		return r;
	perfetto_init(&exporter->perfetto);
	*ret_exporter = TAKE_PTR(exporter);
	return 0;
}

void exporter_free(struct exporter *exporter)
{
	if (!exporter)
		return;
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		openmetrics_export_deinit(&exporter->openmetrics);
	else if (exporter_is_of_stacks(exporter->format))
		stacks_deinit(&exporter->stacks);
	else
		selection_deinit(&exporter->selection);
	csv_deinit(&exporter->csv);
	perfetto_deinit(&exporter->perfetto);
	free(exporter);
}

int exporter_add(struct exporter *exporter, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(exporter);

	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return openmetrics_export_add(&exporter->openmetrics, record);
	if (exporter_is_of_stacks(exporter->format))
		return stacks_add(&exporter->stacks, record);
	return selection_add(&exporter->selection, &consumer, record);
}

static int finish_stacks(struct exporter *exporter)
{
	int r = stacks_finish(&exporter->stacks);

	if (r < 0)
		return r;
	if (exporter->format == EXPORT_FORMAT_PPROF)
		return pprof_print(&exporter->stacks, exporter->out);
	if (exporter->format == EXPORT_FORMAT_OTLP)
		return otlp_print(&exporter->stacks, exporter->out);
	if (exporter->format == EXPORT_FORMAT_SPEEDSCOPE)
		return speedscope_print(&exporter->stacks, exporter->out);
	return folded_print(&exporter->stacks, exporter->out);
}

int exporter_finish(struct exporter *exporter)
{
	const struct selection_consumer consumer = consumer_of(exporter);
	int r;

	if (exporter_is_of_stacks(exporter->format))
		return finish_stacks(exporter);
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return openmetrics_export_print(&exporter->openmetrics, exporter->out);
	r = selection_settle(&exporter->selection, &consumer, 0);
	if (r == 0 && exporter->format == EXPORT_FORMAT_CSV)
		r = csv_finish(&exporter->csv, &exporter->selection.recording, exporter->out);
	return r;
}

/* The selection that the format's records pass through. */
static const struct selection *selection_of(const struct exporter *exporter)
{
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return &exporter->openmetrics.totals.selection;
	if (exporter_is_of_stacks(exporter->format))
		return &exporter->stacks.selection;
	return &exporter->selection;
}

uint64_t exporter_given_up(const struct exporter *exporter)
{
	const struct selection *selection = selection_of(exporter);

	/* For records that are exported one by one, values are lent only for the filter. */
	return selection == &exporter->selection && selection->filter.condition_count == 0
		       ? 0
		       : selection->given_up;
}

bool exporter_lacks_slices(const struct exporter *exporter)
{
	return exporter->format == EXPORT_FORMAT_PERFETTO && exporter->perfetto.has_windows &&
	       !exporter->perfetto.has_slices;
}

bool exporter_lacks_samples(const struct exporter *exporter)
{
	return exporter_is_of_stacks(exporter->format) && exporter->stacks.contexts &&
	       exporter->stacks.sums.samples == 0 && exporter->stacks.samples_left_out == 0;
}

void exporter_stacks_left_out(const struct exporter *exporter, uint64_t *ret_samples,
			      uint64_t *ret_cpu_records)
{
	*ret_samples = exporter->stacks.samples_left_out;
	*ret_cpu_records = exporter->stacks.cpu_records_left_out;
}

const struct recording *exporter_recording(const struct exporter *exporter)
{
	return &selection_of(exporter)->recording;
}

const struct filter *exporter_filter(const struct exporter *exporter)
{
	return &selection_of(exporter)->filter;
}

bool exporter_has_chosen(const struct exporter *exporter)
{
	return exporter->openmetrics.totals.all.record_count > 0 || exporter->stacks.has_wanted ||
	       exporter->taken_count > 0;
}
