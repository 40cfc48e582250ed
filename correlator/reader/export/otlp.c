/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/otlp.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "otlp.pb-c.h"
#include "reader/export/profile_tables.h"

typedef Otlp__ProfilesDictionary dictionary_t;
typedef Otlp__Profile profile_t;
typedef Otlp__Sample sample_t;
typedef Otlp__AnyValue value_t;
typedef Otlp__KeyValueAndUnit attribute_t;

enum {
	TRACE_ID_BYTES = 16,
	SPAN_ID_BYTES = 8,
	ATTRIBUTES_MAX = STACKS_LABELS_MAX + 2, /* plus pid and tid */
	/* Field numbers of messages that are too large to be packed in one piece (otlp.proto). */
	FIELD_RESOURCE_PROFILES = 1,
	FIELD_DICTIONARY = 2,
	FIELD_SCOPE_PROFILES = 2,
	FIELD_PROFILES = 2,
	WIRE_TYPE_LENGTH = 2,
	HEADER_BYTES_MAX = 1 + 10, /* header of such a field */
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
	_TEXT_MAX,
};

/* process.pid and thread.id are names of OpenTelemetry's semantic conventions. */
static const char *const own_texts[][_TEXT_MAX] = {
	[STACKS_CPU] = { "", "samples", "count", "cpu", "nanoseconds", "process.pid", "thread.id",
			 "[not sampled]" },
	[STACKS_OFF_CPU] = { "", "waits", "count", "off_cpu", "nanoseconds", "process.pid",
			     "thread.id", "[in no stack]" },
};

/* Quantities, one per profile. The first one is shown by default. */
enum profile_kind {
	PROFILE_SPENT = 0,
	PROFILE_SAMPLES = 1,
	_PROFILE_MAX,
};

static const enum own_text types[_PROFILE_MAX][2] = {
	[PROFILE_SPENT] = { TEXT_SPENT, TEXT_NANOSECONDS },
	[PROFILE_SAMPLES] = { TEXT_SAMPLES, TEXT_COUNT },
};

/* Concatenated pieces of a message form that message, so each piece is appended when it is made. */
struct part {
	FILE *out;
	char *bytes;
	size_t size_bytes;
};

struct writer {
	struct part dictionary;
	struct part profiles[_PROFILE_MAX];
	struct profile_tables tables;
	struct numbering attributes; /* this and links: numbered from 1 in the output */
	struct numbering links;
	int32_t *stack_of; /* stack number by innermost frame; 0: none yet */
	int32_t stack_count;
	int32_t locations[FRAMES_DEPTH_MAX];
	int32_t attribute_indices[ATTRIBUTES_MAX];
};

static int part_open(struct part *part)
{
	part->out = open_memstream(&part->bytes, &part->size_bytes);
	return part->out ? 0 : -ENOMEM;
}

/* Called when the part is complete: sets its bytes. */
static int part_end(struct part *part)
{
	return fflush(part->out) != 0 || ferror(part->out) ? -ENOMEM : 0;
}

static void part_close(struct part *part)
{
	if (part->out)
		(void)fclose(part->out);
	free(part->bytes);
}

static int put(struct part *part, const ProtobufCMessage *piece)
{
	size_t size_bytes = protobuf_c_message_get_packed_size(piece);
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes + 1);

	if (!bytes)
		return -ENOMEM;
	(void)protobuf_c_message_pack(piece, bytes);
	return fwrite(bytes, 1, size_bytes, part->out) == size_bytes ? 0 : -ENOMEM;
}

/* The tables. */

static int put_text(void *context, const char *text)
{
	struct writer *writer = context;
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	char *texts = (char *)text;

	piece.n_string_table = 1;
	piece.string_table = &texts;
	return put(&writer->dictionary, &piece.base);
}

static int put_function(void *context, uint64_t number, uint64_t name, uint64_t file,
			uint32_t first_line)
{
	struct writer *writer = context;
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Function function = OTLP__FUNCTION__INIT;
	Otlp__Function *functions = &function;

	(void)number;
	function.name_strindex = function.system_name_strindex = (int32_t)name;
	function.filename_strindex = (int32_t)file;
	function.start_line = first_line;
	piece.n_function_table = 1;
	piece.function_table = &functions;
	return put(&writer->dictionary, &piece.base);
}

static int put_location(void *context, uint64_t number, uint64_t function, uint32_t line_number)
{
	struct writer *writer = context;
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Location location = OTLP__LOCATION__INIT;
	Otlp__Location *locations = &location;
	Otlp__Line line = OTLP__LINE__INIT, *lines = &line;

	(void)number;
	line.function_index = (int32_t)function;
	line.line = line_number;
	location.n_lines = 1;
	location.lines = &lines;
	piece.n_location_table = 1;
	piece.location_table = &locations;
	return put(&writer->dictionary, &piece.base);
}

static const struct profile_format format = {
	.put_text = put_text,
	.put_function = put_function,
	.put_location = put_location,
	.own_text_count = _TEXT_MAX,
	.not_sampled = TEXT_NOT_SAMPLED,
};

static int put_stack(struct writer *writer, size_t depth)
{
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Stack stack = OTLP__STACK__INIT;
	Otlp__Stack *stacks = &stack;

	stack.n_location_indices = depth;
	stack.location_indices = writer->locations;
	piece.n_stack_table = 1;
	piece.stack_table = &stacks;
	return put(&writer->dictionary, &piece.base);
}

static int find_stack(struct writer *writer, const struct frame *innermost, int32_t *ret_number)
{
	int32_t *known = &writer->stack_of[innermost->number];
	uint64_t location;
	size_t depth = 0;
	int r = 0;

	for (const struct frame *frame = innermost; frame && *known == 0 && r == 0;
	     frame = frame->parent) {
		r = profile_tables_location(&writer->tables, frame, &location);
		writer->locations[depth++] = (int32_t)location;
	}
	if (depth > 0 && r == 0) {
		*known = ++writer->stack_count;
		r = put_stack(writer, depth);
	}
	*ret_number = *known;
	return r;
}

static int put_attribute(struct writer *writer, uint64_t key, value_t *value)
{
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	attribute_t pair = OTLP__KEY_VALUE_AND_UNIT__INIT;
	attribute_t *pairs = &pair;

	pair.key_strindex = (int32_t)key;
	pair.value = value;
	piece.n_attribute_table = 1;
	piece.attribute_table = &pairs;
	return put(&writer->dictionary, &piece.base);
}

static int find_text_attribute(struct writer *writer, const struct stacks_label *label,
			       int32_t *ret_number)
{
	value_t value = OTLP__ANY_VALUE__INIT;
	char escaped[FRAMES_TEXT_ESCAPED_BYTES];
	uint64_t number = 0, key;
	int r = numbering_find(&writer->attributes,
			       &(struct numbering_key){ label->key, label->value, 0 }, &number);

	*ret_number = (int32_t)number + 1;
	if (r <= 0)
		return r;
	r = profile_tables_text(&writer->tables, label->key, &key);
	if (r < 0)
		return r;
	(void)display_escape(label->value->bytes, label->value->size_bytes, escaped,
			     sizeof(escaped));
	value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value.string_value = escaped;
	return put_attribute(writer, key, &value);
}

static int find_number_attribute(struct writer *writer, enum own_text key, int64_t figure,
				 int32_t *ret_number)
{
	value_t value = OTLP__ANY_VALUE__INIT;
	struct numbering_key of = { .number = (uint64_t)figure << 1 | (key == TEXT_TID) };
	uint64_t number = 0;
	int r = numbering_find(&writer->attributes, &of, &number);

	*ret_number = (int32_t)number + 1;
	if (r <= 0)
		return r;
	value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value.int_value = figure;
	return put_attribute(writer, key, &value);
}

/* Trace links. */

/* Parses a hexadecimal ID. False if it is not an ID of that size, or 0, which means none. */
static bool read_id(const struct frames_text *text, uint8_t *ret_bytes, size_t size_bytes)
{
	uint8_t any = 0;

	if (!text || text->size_bytes != 2 * size_bytes)
		return false;
	for (size_t i = 0; i < text->size_bytes; i++)
		if (!isxdigit((unsigned char)text->bytes[i]))
			return false;
	for (size_t i = 0; i < size_bytes; i++) {
		const char digits[] = { text->bytes[2 * i], text->bytes[2 * i + 1], 0 };

		any |= ret_bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return any != 0;
}

static int find_link(struct writer *writer, const struct stacks_context *context,
		     int32_t *ret_number)
{
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;
	const struct frames_text *trace = stacks_value(context, "otel.trace_id");
	const struct frames_text *span = stacks_value(context, "otel.span_id");
	uint8_t trace_id[TRACE_ID_BYTES], span_id[SPAN_ID_BYTES];
	uint64_t number;
	int r;

	*ret_number = 0;
	if (!read_id(trace, trace_id, sizeof(trace_id)) || !read_id(span, span_id, sizeof(span_id)))
		return 0;
	r = numbering_find(&writer->links, &(struct numbering_key){ trace, span, 0 }, &number);
	if (r < 0)
		return r;
	*ret_number = (int32_t)number + 1;
	if (r == 0)
		return 0;
	link.trace_id = (ProtobufCBinaryData){ sizeof(trace_id), trace_id };
	link.span_id = (ProtobufCBinaryData){ sizeof(span_id), span_id };
	piece.n_link_table = 1;
	piece.link_table = &links;
	return put(&writer->dictionary, &piece.base);
}

/* The samples. */

static int fill_sample(struct writer *writer, const struct stacks_context *context,
		       enum stacks_whose whose, sample_t *sample)
{
	int r = whose == STACKS_OWN ? find_link(writer, context, &sample->link_index) : 0;

	sample->attribute_indices = writer->attribute_indices;
	for (size_t i = 0; i < context->label_count && r == 0; i++)
		if (stacks_label_is_of(&context->labels[i], whose))
			r = find_text_attribute(
				writer, &context->labels[i],
				&writer->attribute_indices[sample->n_attribute_indices++]);
	return r;
}

static int add_number(struct writer *writer, enum own_text key, int64_t figure, sample_t *sample)
{
	return figure == 0 ? 0
			   : find_number_attribute(
				     writer, key, figure,
				     &writer->attribute_indices[sample->n_attribute_indices++]);
}

static int put_sample(struct writer *writer, enum profile_kind kind, sample_t *sample,
		      int64_t figure)
{
	profile_t piece = OTLP__PROFILE__INIT;

	if (figure == 0)
		return 0;
	sample->n_values = 1;
	sample->values = &figure;
	piece.n_samples = 1;
	piece.samples = &sample;
	return put(&writer->profiles[kind], &piece.base);
}

static int put_part(struct writer *writer, const struct stacks_place *place,
		    enum stacks_whose whose)
{
	sample_t sample = OTLP__SAMPLE__INIT;
	struct stacks_part part = stacks_part(place, whose);
	int r;

	if (part.spent_ns == 0 && part.samples == 0)
		return 0;
	r = fill_sample(writer, place->where.context, whose, &sample);
	if (r == 0)
		r = add_number(writer, TEXT_PID, place->where.pid, &sample);
	if (r == 0)
		r = add_number(writer, TEXT_TID, place->where.tid, &sample);
	if (r == 0)
		r = find_stack(writer, place->where.frame, &sample.stack_index);
	if (r == 0)
		r = put_sample(writer, PROFILE_SPENT, &sample, part.spent_ns);
	return r == 0 ? put_sample(writer, PROFILE_SAMPLES, &sample,
				   part.samples > INT64_MAX ? INT64_MAX : (int64_t)part.samples)
		      : r;
}

static int put_not_sampled(struct writer *writer, const struct stacks_context *context)
{
	sample_t sample = OTLP__SAMPLE__INIT;
	int r = fill_sample(writer, context, STACKS_OWN, &sample);

	sample.stack_index = PROFILE_NOT_SAMPLED;
	return r == 0 ? put_sample(writer, PROFILE_SPENT, &sample, context->spent_ns) : r;
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

/* Index 0 of each table means "none": puts these first entries. */
static int put_nothing(struct writer *writer, enum stacks_measure measure)
{
	dictionary_t piece = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Mapping mapping = OTLP__MAPPING__INIT;
	Otlp__Location location = OTLP__LOCATION__INIT;
	Otlp__Function function = OTLP__FUNCTION__INIT;
	Otlp__Link link = OTLP__LINK__INIT;
	Otlp__Stack stack = OTLP__STACK__INIT;
	attribute_t pair = OTLP__KEY_VALUE_AND_UNIT__INIT;

	piece.n_mapping_table = piece.n_location_table = piece.n_function_table =
		piece.n_link_table = piece.n_attribute_table = piece.n_stack_table = 1;
	piece.mapping_table = (Otlp__Mapping *[]){ &mapping };
	piece.location_table = (Otlp__Location *[]){ &location };
	piece.function_table = (Otlp__Function *[]){ &function };
	piece.link_table = (Otlp__Link *[]){ &link };
	piece.attribute_table = (attribute_t *[]){ &pair };
	piece.stack_table = (Otlp__Stack *[]){ &stack };
	piece.n_string_table = _TEXT_MAX;
	piece.string_table = (char **)own_texts[measure];
	return put(&writer->dictionary, &piece.base);
}

static int put_head(struct writer *writer, const struct stacks *stacks, enum profile_kind kind,
		    int64_t period_ns)
{
	profile_t piece = OTLP__PROFILE__INIT;
	Otlp__ValueType type = OTLP__VALUE_TYPE__INIT;
	Otlp__ValueType period = OTLP__VALUE_TYPE__INIT;

	type.type_strindex = types[kind][0];
	type.unit_strindex = types[kind][1];
	period.type_strindex = TEXT_SPENT;
	period.unit_strindex = TEXT_NANOSECONDS;
	piece.sample_type = &type;
	piece.time_unix_nano = stacks->selection.recording.start_ns;
	piece.duration_nano = recording_duration_ns(&stacks->selection.recording);
	piece.period_type = &period;
	piece.period = period_ns;
	return put(&writer->profiles[kind], &piece.base);
}

static int put_all(struct writer *writer, const struct stacks *stacks)
{
	const struct stacks_context *context = NULL;
	int64_t period_ns = stacks->sums.period_ns;
	int r = put_nothing(writer, stacks->measure);

	if (r == 0)
		r = profile_tables_begin(&writer->tables);
	writer->locations[0] = writer->stack_count = PROFILE_NOT_SAMPLED;
	if (r == 0)
		r = put_stack(writer, 1);
	for (enum profile_kind kind = 0; kind < _PROFILE_MAX && r == 0; kind++)
		r = put_head(writer, stacks, kind, period_ns);
	while (r == 0 && (context = stacks_next(stacks, context)))
		r = put_context(writer, context);
	for (enum profile_kind kind = 0; kind < _PROFILE_MAX && r == 0; kind++)
		r = part_end(&writer->profiles[kind]);
	return r == 0 ? part_end(&writer->dictionary) : r;
}

/* The message around the parts. */

/* Writes the header of a field that is a message of size_bytes. Returns the header's size. */
static size_t field_head(unsigned int field, size_t size_bytes, uint8_t *ret_bytes)
{
	size_t count = 0;

	ret_bytes[count++] = (uint8_t)(field << 3 | WIRE_TYPE_LENGTH);
	for (; size_bytes > 0x7f; size_bytes >>= 7)
		ret_bytes[count++] = (uint8_t)(size_bytes | 0x80);
	ret_bytes[count++] = (uint8_t)size_bytes;
	return count;
}

static size_t field_bytes(unsigned int field, size_t size_bytes)
{
	uint8_t head[HEADER_BYTES_MAX];

	return field_head(field, size_bytes, head) + size_bytes;
}

static void put_field_head(unsigned int field, size_t size_bytes, FILE *out)
{
	uint8_t head[HEADER_BYTES_MAX];

	(void)fwrite(head, 1, field_head(field, size_bytes, head), out);
}

static void put_field(unsigned int field, const void *bytes, size_t size_bytes, FILE *out)
{
	put_field_head(field, size_bytes, out);
	(void)fwrite(bytes, 1, size_bytes, out);
}

/* Packs the resource: the host, if there is only one. Returns its size. */
static size_t pack_resource(const struct recording *recording, uint8_t *ret_bytes)
{
	Otlp__ResourceProfiles piece = OTLP__RESOURCE_PROFILES__INIT;
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__KeyValue host = OTLP__KEY_VALUE__INIT;
	Otlp__KeyValue *hosts = &host;
	value_t name = OTLP__ANY_VALUE__INIT;

	host.key = (char *)"host.name";
	host.value = &name;
	name.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	name.string_value = (char *)recording->first_host;
	resource.n_attributes = recording->first_host[0] && !recording->has_several_hosts;
	resource.attributes = &hosts;
	piece.resource = &resource;
	return otlp__resource_profiles__pack(&piece, ret_bytes);
}

static size_t pack_scope(const struct recording *recording, uint8_t *ret_bytes)
{
	Otlp__ScopeProfiles piece = OTLP__SCOPE_PROFILES__INIT;
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;

	scope.name = (char *)"correlator";
	scope.version = (char *)recording->tool_version;
	piece.scope = &scope;
	return otlp__scope_profiles__pack(&piece, ret_bytes);
}

static void put_message(const struct writer *writer, const struct recording *recording, FILE *out)
{
	uint8_t resource[2 * RECORDING_TEXT_BYTES], scope[2 * RECORDING_TEXT_BYTES];
	size_t resource_bytes = pack_resource(recording, resource);
	size_t scope_bytes = pack_scope(recording, scope);
	size_t profiles_bytes = scope_bytes;

	for (enum profile_kind kind = 0; kind < _PROFILE_MAX; kind++)
		profiles_bytes += field_bytes(FIELD_PROFILES, writer->profiles[kind].size_bytes);
	put_field_head(FIELD_RESOURCE_PROFILES,
		       resource_bytes + field_bytes(FIELD_SCOPE_PROFILES, profiles_bytes), out);
	(void)fwrite(resource, 1, resource_bytes, out);
	put_field_head(FIELD_SCOPE_PROFILES, profiles_bytes, out);
	(void)fwrite(scope, 1, scope_bytes, out);
	for (enum profile_kind kind = 0; kind < _PROFILE_MAX; kind++)
		put_field(FIELD_PROFILES, writer->profiles[kind].bytes,
			  writer->profiles[kind].size_bytes, out);
	put_field(FIELD_DICTIONARY, writer->dictionary.bytes, writer->dictionary.size_bytes, out);
}

static int print(struct writer *writer, const struct stacks *stacks, FILE *out)
{
	int r = part_open(&writer->dictionary);

	for (enum profile_kind kind = 0; kind < _PROFILE_MAX && r == 0; kind++)
		r = part_open(&writer->profiles[kind]);
	if (r == 0)
		r = put_all(writer, stacks);
	if (r == 0)
		put_message(writer, &stacks->selection.recording, out);
	part_close(&writer->dictionary);
	for (enum profile_kind kind = 0; kind < _PROFILE_MAX; kind++)
		part_close(&writer->profiles[kind]);
	return r;
}

int otlp_print(const struct stacks *stacks, FILE *out)
{
	_cleanup_free_ struct writer *writer = calloc(1, sizeof(*writer));
	_cleanup_free_ int32_t *stack_of = calloc(stacks->frames.number_count, sizeof(int32_t));
	int r;

	if (!writer || !stack_of)
		return -ENOMEM;
	writer->stack_of = stack_of;
	r = profile_tables_init(&writer->tables, &format, writer, &stacks->frames);
	if (r < 0)
		return r;
	numbering_init(&writer->attributes);
	numbering_init(&writer->links);
	r = print(writer, stacks, out);
	numbering_deinit(&writer->attributes);
	numbering_deinit(&writer->links);
	profile_tables_deinit(&writer->tables);
	return r;
}
