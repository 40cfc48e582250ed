/* SPDX-License-Identifier: GPL-2.0-only */
#include "export/exporter.h"

#include <errno.h>
#include <stdlib.h>

#include "export/csv.h"
#include "export/openmetrics.h"
#include "export/perfetto.h"
#include "export/selection.h"
#include "report/json_part.h"

struct exporter {
	enum export_format format;
	FILE *out;
	struct selection selection; /* but of OpenMetrics, which sums up as a report does */
	struct csv csv;
	struct openmetrics openmetrics;
	struct perfetto perfetto;
};

static int take(void *context, const struct record_view *record)
{
	struct exporter *exporter = context;

	if (exporter->format == EXPORT_FORMAT_PERFETTO)
		return perfetto_add(&exporter->perfetto, &exporter->selection.recording, record,
				    exporter->out);
	if (exporter->format == EXPORT_FORMAT_CSV)
		return csv_add(&exporter->csv, &exporter->selection.recording, record,
			       exporter->out);
	return json_part_print_record(record, exporter->out);
}

int exporter_new(enum export_format format, const char *by, struct filter *filter, FILE *out,
		 struct exporter **ret_exporter)
{
	_cleanup_(exporter_freep) struct exporter *exporter = calloc(1, sizeof(*exporter));
	int r;

	if (!exporter)
		return -ENOMEM;
	exporter->format = format;
	exporter->out = out;
	if (format == EXPORT_FORMAT_OPENMETRICS)
		r = openmetrics_init(&exporter->openmetrics, by, filter);
	else
		r = selection_init(&exporter->selection, filter, take, exporter);
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
	return selection_add(&exporter->selection, record);
}

int exporter_finish(struct exporter *exporter)
{
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
	return exporter->format == EXPORT_FORMAT_PERFETTO && exporter->perfetto.window_count > 0 &&
	       exporter->perfetto.slice_count == 0;
}

bool exporter_has_key(const struct exporter *exporter, const char *key)
{
	return grouping_is_by_field(key) ||
	       recording_has_key(&exporter->openmetrics.totals.recording, key);
}
