/* SPDX-License-Identifier: GPL-2.0-only */
#include "export/exporter.h"

#include <errno.h>
#include <stdlib.h>

#include "export/csv.h"
#include "export/folded.h"
#include "export/openmetrics.h"
#include "export/otlp.h"
#include "export/perfetto.h"
#include "export/pprof.h"
#include "export/selection.h"
#include "export/speedscope.h"
#include "report/json_record.h"
#include "report/stacks.h"

struct exporter {
	enum export_format format;
	FILE *out;
	struct selection
		selection; /* but of OpenMetrics and stacks, which sum up as a report does */
	struct csv csv;
	struct openmetrics openmetrics;
	struct perfetto perfetto;
	struct stacks stacks;
};

bool exporter_is_of_stacks(enum export_format format)
{
	return format == EXPORT_FORMAT_FOLDED || format == EXPORT_FORMAT_PPROF ||
	       format == EXPORT_FORMAT_SPEEDSCOPE || format == EXPORT_FORMAT_OTLP;
}

static int take(void *context, const struct record_view *record)
{
	struct exporter *exporter = context;

	if (exporter->format == EXPORT_FORMAT_PERFETTO)
		return perfetto_add(&exporter->perfetto, &exporter->selection.recording, record,
				    exporter->out);
	if (exporter->format == EXPORT_FORMAT_CSV)
		return csv_add(&exporter->csv, &exporter->selection.recording, record,
			       exporter->out);
	return json_record_print(record, exporter->out);
}

int exporter_new(enum export_format format, const char *by, enum stacks_measure measure,
		 struct filter *filter, FILE *out, struct exporter **ret_exporter)
{
	_cleanup_(exporter_freep) struct exporter *exporter = calloc(1, sizeof(*exporter));
	int r;

	if (!exporter)
		return -ENOMEM;
	exporter->format = format;
	exporter->out = out;
	if (format == EXPORT_FORMAT_OPENMETRICS) {
		r = openmetrics_init(&exporter->openmetrics, by, filter);
	} else if (exporter_is_of_stacks(format)) {
		stacks_init(&exporter->stacks, measure, filter);
		r = 0;
	} else {
		r = selection_init(&exporter->selection, filter, take, exporter);
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
		openmetrics_deinit(&exporter->openmetrics);
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
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return totals_add(&exporter->openmetrics.totals, record);
	if (exporter_is_of_stacks(exporter->format))
		return stacks_add(&exporter->stacks, record);
	return selection_add(&exporter->selection, record);
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
	if (exporter_is_of_stacks(exporter->format))
		return finish_stacks(exporter);
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return openmetrics_print(&exporter->openmetrics, exporter->out);
	if (exporter->format == EXPORT_FORMAT_CSV)
		return csv_finish(&exporter->csv, &exporter->selection.recording, exporter->out);
	return 0;
}

uint64_t exporter_left_out(const struct exporter *exporter)
{
	return exporter->selection.left_out;
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
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return &exporter->openmetrics.totals.recording;
	if (exporter_is_of_stacks(exporter->format))
		return &exporter->stacks.recording;
	return &exporter->selection.recording;
}

const struct filter *exporter_filter(const struct exporter *exporter)
{
	if (exporter->format == EXPORT_FORMAT_OPENMETRICS)
		return &exporter->openmetrics.totals.filter;
	if (exporter_is_of_stacks(exporter->format))
		return &exporter->stacks.filter;
	return &exporter->selection.filter;
}

bool exporter_has_chosen(const struct exporter *exporter)
{
	/* Of stacks it is known only at the end: a request is chosen as a whole. */
	return exporter->openmetrics.totals.all.record_count > 0 || exporter->stacks.has_wanted ||
	       exporter->selection.taken_count > 0;
}
