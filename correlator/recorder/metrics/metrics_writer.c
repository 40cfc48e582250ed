/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/metrics_writer.h"

#include <inttypes.h>

#include "figures/figure.h"

const char *metrics_writer_begin(const struct metrics_writer *writer, enum openmetrics_type type,
				 const char *name, const char *unit, const char *help)
{
	char full_name[METRICS_NAME_BYTES];

	(void)snprintf(full_name, sizeof(full_name), METRICS_PREFIX "%s", name);
	return openmetrics_begin(writer->file, writer->format == METRICS_FORMAT_CLASSIC, type,
				 full_name, unit, help);
}

void metrics_writer_put_count(const struct metrics_writer *writer, enum openmetrics_type type,
			      const char *name, const char *unit, const char *help, uint64_t value)
{
	const char *suffix = metrics_writer_begin(writer, type, name, unit, help);

	(void)fprintf(writer->file, METRICS_PREFIX "%s%s %" PRIu64 "\n", name, suffix, value);
}

void metrics_writer_put_seconds(FILE *file, int64_t ns)
{
	openmetrics_put_seconds(file, ns);
	(void)fputc('\n', file);
}

size_t cost_families(const char *of, struct cost_family ret_families[static _COST_MAX])
{
	enum figure figures[_FIGURE_MAX];
	size_t count = figures_of_view(FIGURE_VIEW_METRICS, figures), found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figure_info *info = &figure_infos[figures[i]];
		struct cost_family *family = &ret_families[found];
		bool is_time = info->unit == FIGURE_UNIT_NS;

		if (!figure_cost(figures[i], &family->cost))
			continue;
		family->unit = is_time ? "seconds" : NULL;
		family->help = info->text;
		(void)snprintf(family->name, sizeof(family->name), "%s_%s%s", of, info->name,
			       is_time ? "_seconds" : "");
		found++;
	}
	return found;
}
