/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile.pb-c.h"
#include "reader/export/gzip.h"
#include "reader/export/profile_tables.h"

typedef Perftools__Profiles__Profile profile_t;
typedef Perftools__Profiles__Sample sample_t;
typedef Perftools__Profiles__Label label_t;
typedef Perftools__Profiles__ValueType value_type_t;

enum {
	MAPPING_ID = 1, /* the only mapping: it declares that names are known */
	LABELS_MAX = STACKS_LABELS_MAX + 2, /* plus pid and tid */
};

/* Texts of our own, first in the table of strings. */
enum own_text {
	TEXT_EMPTY = PROFILE_TEXT_EMPTY,
	TEXT_SAMPLES,
	TEXT_COUNT,
	TEXT_SPENT,
	TEXT_NANOSECONDS,
	TEXT_PID,
	TEXT_TID,
	TEXT_NOT_SAMPLED,
	TEXT_COMMENT,
	_TEXT_MAX,
};

static const char *const own_texts[][_TEXT_MAX] = {
	[STACKS_CPU] = { "", "samples", "count", "cpu", "nanoseconds", "pid", "tid",
			 "[not sampled]",
			 "cpu: each request's exact CPU, spread over the stacks in which it was "
			 "sampled" },
	[STACKS_OFF_CPU] = { "", "waits", "count", "off_cpu", "nanoseconds", "pid", "tid",
			     "[in no stack]",
			     "off_cpu: blocked and run-queue time of each request, exact, in the "
			     "stacks in which it was spent" },
};

struct writer {
	struct gzip *gzip;
	struct profile_tables tables;
	uint64_t location_ids[FRAMES_DEPTH_MAX];
	label_t labels[LABELS_MAX];
	label_t *label_pointers[LABELS_MAX];
};

/* Concatenated messages form one message with all their parts, so the whole is never in memory. */
static int put(struct writer *writer, const profile_t *part)
{
	size_t size_bytes = perftools__profiles__profile__get_packed_size(part);
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes + 1);

	if (!bytes)
		return -ENOMEM;
	(void)perftools__profiles__profile__pack(part, bytes);
	gzip_put(writer->gzip, bytes, size_bytes);
	return 0;
}

static int put_text(void *context, const char *text)
{
	struct writer *writer = context;
	profile_t part = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *texts = (char *)text;

	part.n_string_table = 1;
	part.string_table = &texts;
	return put(writer, &part);
}

static int put_function(void *context, uint64_t id, uint64_t name, uint64_t file,
			uint32_t first_line)
{
	struct writer *writer = context;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Perftools__Profiles__Function *functions = &function;
	profile_t part = PERFTOOLS__PROFILES__PROFILE__INIT;

	function.id = id;
	function.name = function.system_name = (int64_t)name;
	function.filename = (int64_t)file;
	function.start_line = first_line;
	part.n_function = 1;
	part.function = &functions;
	return put(writer, &part);
}

static int put_location(void *context, uint64_t id, uint64_t function_id, uint32_t line_number)
{
	struct writer *writer = context;
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines = &line;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Location *locations = &location;
	profile_t part = PERFTOOLS__PROFILES__PROFILE__INIT;

	line.function_id = function_id;
	line.line = line_number;
	location.id = id;
	location.mapping_id = MAPPING_ID;
	location.n_line = 1;
	location.line = &lines;
	part.n_location = 1;
	part.location = &locations;
	return put(writer, &part);
}

static const struct profile_format format = {
	.put_text = put_text,
	.put_function = put_function,
	.put_location = put_location,
	.own_text_count = _TEXT_MAX,
	.not_sampled = TEXT_NOT_SAMPLED,
};

static int add_labels(struct writer *writer, const struct stacks_context *context,
		      enum stacks_whose whose, sample_t *sample)
{
	uint64_t key, value;
	int r = 0;

	sample->label = writer->label_pointers;
	for (size_t i = 0; i < context->label_count && r == 0; i++) {
		label_t *label = &writer->labels[sample->n_label];

		if (!stacks_label_is_of(&context->labels[i], whose))
			continue;
		sample->n_label++;
		perftools__profiles__label__init(label);
		r = profile_tables_text(&writer->tables, context->labels[i].key, &key);
		if (r == 0)
			r = profile_tables_text(&writer->tables, context->labels[i].value, &value);
		if (r == 0) {
			label->key = (int64_t)key;
			label->str = (int64_t)value;
		}
	}
	return r;
}

static void add_number(struct writer *writer, enum own_text key, int64_t number, sample_t *sample)
{
	label_t *label = &writer->labels[sample->n_label];

	if (number == 0)
		return;
	perftools__profiles__label__init(label);
	label->key = key;
	label->num = number;
	sample->n_label++;
}

static int put_sample(struct writer *writer, sample_t *sample, uint64_t samples, int64_t spent_ns)
{
	int64_t values[] = { samples > INT64_MAX ? INT64_MAX : (int64_t)samples, spent_ns };
	profile_t part = PERFTOOLS__PROFILES__PROFILE__INIT;

	sample->location_id = writer->location_ids;
	sample->n_value = 2;
	sample->value = values;
	part.n_sample = 1;
	part.sample = &sample;
	return put(writer, &part);
}

static int put_part(struct writer *writer, const struct stacks_place *place,
		    enum stacks_whose whose)
{
	sample_t sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	struct stacks_part part = stacks_part(place, whose);
	int r;

	if (part.spent_ns == 0 && part.samples == 0)
		return 0;
	r = add_labels(writer, place->where.context, whose, &sample);
	add_number(writer, TEXT_PID, place->where.pid, &sample);
	add_number(writer, TEXT_TID, place->where.tid, &sample);
	for (const struct frame *frame = place->where.frame; frame && r == 0; frame = frame->parent)
		r = profile_tables_location(&writer->tables, frame,
					    &writer->location_ids[sample.n_location_id++]);
	return r == 0 ? put_sample(writer, &sample, part.samples, part.spent_ns) : r;
}

static int put_not_sampled(struct writer *writer, const struct stacks_context *context)
{
	sample_t sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	int r = add_labels(writer, context, STACKS_OWN, &sample);

	writer->location_ids[0] = PROFILE_NOT_SAMPLED;
	sample.n_location_id = 1;
	return r == 0 ? put_sample(writer, &sample, 0, context->spent_ns) : r;
}

static value_type_t value_type(enum own_text type, enum own_text unit)
{
	value_type_t value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	value.type = type;
	value.unit = unit;
	return value;
}

static int put_head(struct writer *writer, const struct stacks *stacks)
{
	value_type_t samples = value_type(TEXT_SAMPLES, TEXT_COUNT);
	value_type_t spent = value_type(TEXT_SPENT, TEXT_NANOSECONDS);
	value_type_t *types[] = { &samples, &spent };
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	Perftools__Profiles__Mapping *mappings = &mapping;
	profile_t part = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t comment = TEXT_COMMENT;

	mapping.id = MAPPING_ID;
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	part.n_sample_type = 2;
	part.sample_type = types;
	part.n_mapping = 1;
	part.mapping = &mappings;
	part.n_string_table = _TEXT_MAX;
	part.string_table = (char **)own_texts[stacks->measure];
	part.time_nanos = (int64_t)(stacks->selection.recording.start_ns & INT64_MAX);
	part.duration_nanos =
		(int64_t)(recording_duration_ns(&stacks->selection.recording) & INT64_MAX);
	part.period_type = &spent;
	part.period = stacks->sums.period_ns;
	part.n_comment = 1;
	part.comment = &comment;
	part.default_sample_type = TEXT_SPENT;
	return put(writer, &part);
}

static int put_context(struct writer *writer, const struct stacks_context *context)
{
	int r = 0;

	if (stacks_unsampled_ns(context) > 0)
		return put_not_sampled(writer, context);
	for (const struct stacks_place *place = context->places; place && r == 0;
	     place = place->next)
		for (int whose = 0; whose < _STACKS_WHOSE_MAX && r == 0; whose++)
			r = put_part(writer, place, (enum stacks_whose)whose);
	return r;
}

static int put_all(struct writer *writer, const struct stacks *stacks)
{
	const struct stacks_context *context = NULL;
	int r = put_head(writer, stacks);

	if (r == 0)
		r = profile_tables_begin(&writer->tables);
	while (r == 0 && (context = stacks_next(stacks, context)))
		r = put_context(writer, context);
	gzip_end(writer->gzip);
	return r;
}

int pprof_print(const struct stacks *stacks, FILE *out)
{
	_cleanup_free_ struct writer *writer = calloc(1, sizeof(*writer));
	_cleanup_(gzip_freep) struct gzip *gzip = gzip_new(out);
	int r;

	if (!writer || !gzip)
		return -ENOMEM;
	writer->gzip = gzip;
	for (size_t i = 0; i < LABELS_MAX; i++)
		writer->label_pointers[i] = &writer->labels[i];
	r = profile_tables_init(&writer->tables, &format, writer, &stacks->frames);
	if (r < 0)
		return r;
	r = put_all(writer, stacks);
	profile_tables_deinit(&writer->tables);
	return r;
}
