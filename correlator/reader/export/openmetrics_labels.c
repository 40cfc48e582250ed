/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/openmetrics_labels.h"

#include <string.h>

#include "base/display.h"
#include "base/openmetrics.h"

enum {
	LABEL_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1
};

/* Label names consist of letters, digits and '_', and do not begin with a digit. */
static void put_name(FILE *out, const char *key)
{
	if (*key >= '0' && *key <= '9')
		(void)fputc('_', out);
	for (; *key; key++) {
		bool is_letter = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z');

		(void)fputc(is_letter || (*key >= '0' && *key <= '9') ? *key : '_', out);
	}
}

static void put_value(FILE *out, struct record_text value)
{
	char label[LABEL_BYTES];

	(void)display_escape(value.bytes, value.size_bytes, label, sizeof(label));
	(void)fputs("=\"", out);
	openmetrics_put_label(out, label);
	(void)fputc('"', out);
}

static bool is_our_own(const char *key)
{
	static const char *const labels[] = { "row", "quantile", "syscall", "io_on", "blocked_on" };

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (strcmp(key, labels[i]) == 0)
			return true;
	return false;
}

void openmetrics_labels_begin(FILE *out, const char *row, const char *by,
			      const struct record_text *value)
{
	(void)fprintf(out, "{row=\"%s\"", row);
	if (!value)
		return;
	(void)fputc(',', out);
	if (is_our_own(by))
		(void)fputs("key_", out);
	put_name(out, by);
	put_value(out, *value);
}

void openmetrics_labels_put(FILE *out, const char *label, struct record_text value)
{
	(void)fprintf(out, ",%s", label);
	put_value(out, value);
}

void openmetrics_labels_put_time(FILE *out, const struct recording *recording)
{
	(void)fputc(' ', out);
	openmetrics_put_seconds(out, (int64_t)(recording->end_ns & INT64_MAX));
	(void)fputc('\n', out);
}
