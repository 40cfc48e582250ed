/* SPDX-License-Identifier: GPL-2.0-only */
/* Records for an exporter, and what comes of them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "reader/export/exporter.h"
#include "record/sample.h"

/* Ends the sample and decodes it; valid until the next one. */
static inline const struct record_view *exported_view(struct sample *sample)
{
	static struct record_view view;
	static msgpack_sbuffer kept;

	free(kept.data);
	sample_decode(sample, &view);
	kept = sample->buffer;
	return &view;
}

struct exported {
	struct exporter *exporter;
	FILE *out;
	char *text; /* once it has ended */
	size_t size_bytes;
};

static inline void exported_begin(struct exported *exported, enum export_format format,
				  const char *by, const char *where)
{
	struct filter filter = { 0 };

	*exported = (struct exported){ 0 };
	if (where)
		assert_int_equal(filter_add(&filter, where), 0);
	exported->out = open_memstream(&exported->text, &exported->size_bytes);
	assert_non_null(exported->out);
	assert_int_equal(
		exporter_new(format, by, STACKS_CPU, &filter, exported->out, &exported->exporter),
		0);
	/* It is the exporter's. */
	assert_int_equal(filter.condition_count, 0);
}

static inline void exported_add(struct exported *exported, struct sample *sample)
{
	assert_int_equal(exporter_add(exported->exporter, exported_view(sample)), 0);
}

/* The same of a record of a line (sample_record). */
__attribute__((format(printf, 2, 3))) static inline void exported_record(struct exported *exported,
									 const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	exported_add(exported, &sample);
}

static inline void exported_end(struct exported *exported)
{
	assert_int_equal(exporter_finish(exported->exporter), 0);
	assert_int_equal(fclose(exported->out), 0);
}

static inline void exported_free(struct exported *exported)
{
	exporter_free(exported->exporter);
	free(exported->text);
}
