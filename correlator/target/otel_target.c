#include "target/otel_target.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/otel_record.h>

#include "base/log.h"
#include "base/text.h"
#include "target/elf_image.h"
#include "target/memory_map.h"
#include "target/memory_reader.h"
#include "target/otel_process_context.h"
#include "target/process.h"

/* Readings of a context that is published anew at each of them. */
enum {
	READ_ATTEMPTS = 3
};

static uint64_t digest_objects(const struct memory_map *map)
{
	/* FNV-1a's, on words. */
	const uint64_t prime = 0x100000001b3;
	uint64_t digest = 0xcbf29ce484222325;
	const struct memory_map_entry *entry;
	size_t cursor = 0;

	while ((entry = memory_map_next_object(map, &cursor))) {
		digest = (digest ^ entry->start) * prime;
		digest = (digest ^ entry->inode) * prime;
		digest = (digest ^ entry->device_minor) * prime;
	}
	return digest;
}

static bool is_musl(const struct memory_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		if (strstr(map->entries[i].path, "/ld-musl-"))
			return true;
	return false;
}

/* 1: this object defines the variable, and it is located; 0; -EAGAIN: not relocated yet; -errno. */
static int look_at_object(struct otel_target *target, const struct memory_map *map,
			  const struct memory_map_entry *entry, const struct memory_reader *reader)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_symbol symbol;
	uint64_t bias;
	int r;

	if (!entry->is_readable || entry->path[0] != '/' ||
	    elf_image_open_mapping(target->pid, entry, &image) ||
	    elf_image_find_symbol(image, OTEL_RECORD_SYMBOL, &symbol) || !symbol.is_defined ||
	    symbol.type != STT_TLS || elf_image_load_bias(image, entry, &bias))
		return 0;
	r = tls_symbol_resolve(image, bias, reader, OTEL_RECORD_SYMBOL, is_musl(map), &target->tls);
	if (r < 0)
		return r;
	(void)snprintf(target->publisher_path, sizeof(target->publisher_path), "%s", entry->path);
	target->is_publishing = true;
	return 1;
}

/* Walks the loaded objects, unless they are those that were walked in vain. 1, 0, -ESRCH, -ENOMEM.
 */
static int look_for_variable(struct otel_target *target, const struct memory_map *map,
			     const struct memory_reader *reader)
{
	uint64_t digest = digest_objects(map);
	const struct memory_map_entry *entry;
	bool is_late = false;
	size_t cursor = 0;
	int r = 0;

	if (target->is_publishing || digest == target->objects_digest)
		return 0;
	while (!target->is_publishing && (entry = memory_map_next_object(map, &cursor))) {
		r = look_at_object(target, map, entry, reader);
		if (r == -ESRCH || r == -ENOMEM)
			return r;
		/* Any other failure is logged, and stays until other objects are loaded. */
		is_late |= r == -EAGAIN;
	}
	target->objects_digest = is_late ? 0 : digest;
	return target->is_publishing;
}

static uint64_t find_header(const struct memory_map *map)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < map->count; i++)
		for (size_t name = 0; name < sizeof(names) / sizeof(names[0]); name++)
			if (!strncmp(map->entries[i].path, names[name], strlen(names[name])))
				return map->entries[i].start;
	return 0;
}

static int read_header(const struct otel_target *target, const struct memory_reader *reader,
		       struct otel_process_header *ret_header)
{
	uint8_t bytes[OTEL_HEADER_BYTES];
	int r = memory_read(reader, target->header_address, bytes, sizeof(bytes));

	return r < 0 ? r : otel_process_header_parse(bytes, ret_header);
}

static void keep_text(const struct otel_text *text, char ret_text[static OTEL_DISPLAY_BYTES])
{
	(void)text_escape(text->bytes ? text->bytes : "", text->size_bytes, 0, ret_text,
			  OTEL_DISPLAY_BYTES);
}

static bool is_id(const char *name)
{
	return !strcmp(name, "trace_id") || !strcmp(name, "span_id");
}

static void keep_indexes(struct otel_target *target, const struct otel_process_context *context)
{
	memset(target->key_of_index, 0, sizeof(target->key_of_index));
	target->index_count = context->key_count;
	target->names_missing = 0;
	for (size_t key = 0; key < target->key_count; key++) {
		bool is_found = false;

		if (!target->names[key] || is_id(target->names[key]))
			continue;
		for (size_t i = 0; i < context->key_count; i++) {
			if (!otel_text_is(&context->keys[i], target->names[key]))
				continue;
			target->key_of_index[i] = (uint8_t)(key + 1);
			is_found = true;
		}
		target->names_missing += !is_found;
	}
}

/* Records of another layout would be misread. */
static void refuse(struct otel_target *target, const char *what)
{
	log_warning("process %d: OpenTelemetry's context there is %s, which this version does not "
		    "know: it is not read; a newer correlator may",
		    target->pid, what);
	target->state = OTEL_CONTEXT_REFUSED;
}

static void keep(struct otel_target *target, const struct otel_process_context *context)
{
	char what[OTEL_DISPLAY_BYTES + 32];

	keep_text(&context->schema_version, target->schema_version);
	keep_text(&context->service_name, target->service_name);
	keep_text(&context->service_instance_id, target->service_instance_id);
	keep_text(&context->environment_name, target->environment_name);
	keep_indexes(target, context);
	target->state = OTEL_CONTEXT_READ;
	/* A context without one says nothing of threads. */
	if (!context->schema_version.bytes || otel_schema_is_known(&context->schema_version))
		return;
	(void)snprintf(what, sizeof(what), "of the schema `%s`", target->schema_version);
	refuse(target, what);
}

/* -EAGAIN: it was published anew meanwhile. */
static int read_payload(struct otel_target *target, const struct memory_reader *reader,
			const struct otel_process_header *header)
{
	_cleanup_free_ struct otel_process_context *context = malloc(sizeof(*context));
	_cleanup_free_ uint8_t *payload = malloc(header->payload_bytes);
	struct otel_process_header after;
	int r;

	if (!payload || !context)
		return -ENOMEM;
	r = memory_read(reader, header->payload_address, payload, header->payload_bytes);
	if (r < 0 && r != -EFAULT)
		return r;
	if (read_header(target, reader, &after) || after.published_ns != header->published_ns)
		return -EAGAIN;
	target->published_ns = header->published_ns;
	if (!r)
		r = otel_process_context_parse(payload, header->payload_bytes, context);
	if (r < 0) {
		log_warning("process %d: its OpenTelemetry process context is damaged: no names of "
			    "attributes",
			    target->pid);
		return 0;
	}
	keep(target, context);
	return 1;
}

/* 1: it is there and new; 0: nothing new; -ESRCH, -ENOMEM. */
static int look_at_context(struct otel_target *target, const struct memory_reader *reader)
{
	struct otel_process_header header;
	int r = -EAGAIN;

	for (unsigned int i = 0; i < READ_ATTEMPTS && r == -EAGAIN; i++) {
		r = read_header(target, reader, &header);
		if (!r && header.published_ns == target->published_ns)
			return 0;
		if (!r)
			r = read_payload(target, reader, &header);
	}
	if (r == -EPROTONOSUPPORT && target->state != OTEL_CONTEXT_REFUSED) {
		refuse(target, "behind a header of another version");
		return 1;
	}
	if (r == -ENODATA || r == -EFAULT)
		target->header_address = 0;
	return r == -ESRCH || r == -ENOMEM || r == -EPERM ? r : r > 0;
}

/* What is known of a living process is good until it publishes anew. */
static int look(struct otel_target *target)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct memory_reader reader = memory_reader_of_process(target->pid);
	int found = 0, r = 0;

	if (!target->is_publishing || !target->header_address) {
		r = memory_map_of_process(target->pid, &map);
		if (!r)
			found = look_for_variable(target, &map, &reader);
		if (r < 0 || found < 0)
			return r < 0 ? r : found;
		if (!target->header_address)
			target->header_address = find_header(&map);
	}
	if (target->header_address)
		r = look_at_context(target, &reader);
	return r < 0 ? r : found || r > 0;
}

int otel_target_refresh(struct otel_target *target)
{
	struct process_info info;
	int r = process_read_info(target->pid, &info);

	if (r)
		return r;
	return info.start_ticks == target->start_ticks ? look(target) : -ESRCH;
}

int otel_target_open(pid_t pid, const char *const *names, size_t key_count,
		     struct otel_target **ret_target)
{
	_cleanup_(otel_target_freep) struct otel_target *target = calloc(1, sizeof(*target));
	struct process_info info;
	int r;

	if (!target)
		return -ENOMEM;
	r = process_read_info(pid, &info);
	if (r)
		return r;
	target->pid = pid;
	target->start_ticks = info.start_ticks;
	target->names = names;
	target->key_count = key_count;
	for (size_t i = 0; i < key_count; i++)
		target->names_missing += names[i] && !is_id(names[i]);
	r = look(target);
	if (r < 0)
		return r;
	*ret_target = TAKE_PTR(target);
	return 0;
}

void otel_target_free(struct otel_target *target)
{
	free(target);
}

void otel_target_inherit(struct otel_target *target, const struct otel_target *parent)
{
	if (target->state != OTEL_CONTEXT_MISSING || parent->state != OTEL_CONTEXT_READ)
		return;
	target->index_count = parent->index_count;
	target->names_missing = parent->names_missing;
	memcpy(target->key_of_index, parent->key_of_index, sizeof(target->key_of_index));
}

bool otel_target_is_readable(const struct otel_target *target)
{
	return target->is_publishing && target->state != OTEL_CONTEXT_REFUSED;
}

bool otel_target_is_complete(const struct otel_target *target)
{
	return otel_target_is_readable(target) && !target->names_missing;
}

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config)
{
	struct otel_config config = { .tls = target->tls.location };

	if (!otel_target_is_readable(target)) {
		config.tls.model = TLS_MODEL_NONE;
		*ret_config = config;
		return;
	}
	for (size_t key = 0; key < target->key_count; key++) {
		const char *name = target->names[key];

		if (!name)
			continue;
		if (!strcmp(name, "trace_id"))
			config.trace_key = (uint8_t)(key + 1);
		else if (!strcmp(name, "span_id"))
			config.span_key = (uint8_t)(key + 1);
		else
			config.reads_attributes = 1;
	}
	config.known_indexes = (uint16_t)target->index_count;
	memcpy(config.key_of_index, target->key_of_index, sizeof(config.key_of_index));
	*ret_config = config;
}
