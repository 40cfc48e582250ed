/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_announcement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "recorder/target/otel/otel_process_context.h"

enum {
	READ_ATTEMPTS = 3, /* if the context is republished during each read */
	COMPLAINTS_MAX = 3,
};

static uint64_t find_header(const struct memory_map *map)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < map->count; i++)
		for (size_t name = 0; name < sizeof(names) / sizeof(names[0]); name++)
			if (strncmp(map->entries[i].path, names[name], strlen(names[name])) == 0)
				return map->entries[i].start;
	return 0;
}

static int read_header(const struct otel_announcement *announcement,
		       const struct memory_reader *reader, struct otel_process_header *ret_header)
{
	uint8_t bytes[OTEL_HEADER_BYTES];
	int r = memory_read(reader, announcement->header_address, bytes, sizeof(bytes));

	return r < 0 ? r : otel_process_header_parse(bytes, ret_header);
}

static void keep_text(const struct otel_text *text, char ret_text[static OTEL_DISPLAY_BYTES])
{
	(void)text_escape(text->bytes ? text->bytes : "", text->size_bytes, 0, ret_text,
			  OTEL_DISPLAY_BYTES);
}

/* Every record holds these two; all other names are attributes. */
static bool is_id(const char *name)
{
	return strcmp(name, "trace_id") == 0 || strcmp(name, "span_id") == 0;
}

static void keep_indexes(struct otel_announcement *announcement,
			 const struct otel_process_context *context)
{
	memset(announcement->key_of_index, 0, sizeof(announcement->key_of_index));
	announcement->index_count = context->key_count;
	announcement->names_missing = 0;
	for (size_t key = 0; key < announcement->key_count; key++) {
		bool is_found = false;

		if (!announcement->names[key] || is_id(announcement->names[key]))
			continue;
		for (size_t i = 0; i < context->key_count; i++) {
			if (!otel_text_is(&context->keys[i], announcement->names[key]))
				continue;
			announcement->key_of_index[i] = (uint8_t)(key + 1);
			is_found = true;
		}
		announcement->names_missing += !is_found;
	}
}

/* A process that publishes nonsense over and over must not flood the log. */
static bool may_complain(struct otel_announcement *announcement)
{
	return announcement->complaints++ < COMPLAINTS_MAX;
}

/* Records of another layout would be misread. */
static void refuse(struct otel_announcement *announcement, pid_t pid, const char *what)
{
	announcement->state = OTEL_ANNOUNCEMENT_REFUSED;
	if (may_complain(announcement))
		log_warning("process %d: OpenTelemetry's context there is %s, which this version "
			    "does not know: it is not read; a newer correlator may",
			    pid, what);
}

static void keep(struct otel_announcement *announcement, pid_t pid,
		 const struct otel_process_context *context)
{
	char what[OTEL_DISPLAY_BYTES + 32];

	keep_text(&context->schema_version, announcement->schema_version);
	keep_text(&context->service_name, announcement->service_name);
	keep_text(&context->service_instance_id, announcement->service_instance_id);
	keep_text(&context->environment_name, announcement->environment_name);
	keep_indexes(announcement, context);
	announcement->state = OTEL_ANNOUNCEMENT_READ;
	/* A context without a schema does not describe threads. */
	if (!context->schema_version.bytes || otel_schema_is_known(&context->schema_version))
		return;
	(void)snprintf(what, sizeof(what), "of the schema `%s`", announcement->schema_version);
	refuse(announcement, pid, what);
}

/* -EAGAIN: it was republished during the read. */
static int read_payload(struct otel_announcement *announcement, const struct memory_reader *reader,
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
	if (read_header(announcement, reader, &after) < 0 ||
	    after.published_ns != header->published_ns)
		return -EAGAIN;
	announcement->published_ns = header->published_ns;
	if (r == 0)
		r = otel_process_context_parse(payload, header->payload_bytes, context);
	if (r < 0) {
		if (may_complain(announcement))
			log_warning(
				"process %d: its OpenTelemetry process context is damaged: it is "
				"not read",
				reader->pid);
		return 0;
	}
	keep(announcement, reader->pid, context);
	return 1;
}

void otel_announcement_init(struct otel_announcement *announcement, const char *const *names,
			    size_t key_count)
{
	memset(announcement, 0, sizeof(*announcement));
	announcement->names = names;
	announcement->key_count = key_count;
	for (size_t i = 0; i < key_count; i++)
		announcement->names_missing += names[i] && !is_id(names[i]);
}

bool otel_announcement_has_changed(const struct otel_announcement *announcement,
				   const struct memory_reader *reader)
{
	struct otel_process_header header;

	return announcement->header_address && (read_header(announcement, reader, &header) < 0 ||
						header.published_ns != announcement->published_ns);
}

int otel_announcement_look(struct otel_announcement *announcement, const struct memory_map *map,
			   const struct memory_reader *reader)
{
	struct otel_process_header header;
	int r = -EAGAIN;

	announcement->header_address = find_header(map);
	if (!announcement->header_address)
		return 0;
	for (unsigned int i = 0; i < READ_ATTEMPTS && r == -EAGAIN; i++) {
		r = read_header(announcement, reader, &header);
		if (r == 0 && header.published_ns == announcement->published_ns)
			return 0;
		if (r == 0)
			r = read_payload(announcement, reader, &header);
	}
	if (r == -EPROTONOSUPPORT && announcement->state != OTEL_ANNOUNCEMENT_REFUSED) {
		refuse(announcement, reader->pid, "behind a header of another version");
		return 1;
	}
	return r == -ESRCH || r == -ENOMEM || r == -EPERM ? r : r > 0;
}
