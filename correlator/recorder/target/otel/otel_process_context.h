/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's process context: what a process publishes about itself in a mapping of its own,
 * and the names behind the attribute indexes of the thread context. Only parses bytes that the
 * target wrote: pure, allocates nothing, any thread. Texts point into the payload.
 *
 * Source: OTEP 4719 (header version 2, protobuf message ProcessContext) and OTEP 4947.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/otel_record.h>

enum {
	OTEL_HEADER_BYTES = 32,
	OTEL_HEADER_VERSION = 2,
	/* 256 names and a resource are some kilobytes; a larger payload is refused. */
	OTEL_PAYLOAD_BYTES_MAX = 128 * 1024,
};

struct otel_process_header {
	uint64_t published_ns; /* CLOCK_BOOTTIME; a new value means it was republished */
	uint64_t payload_address;
	uint32_t payload_bytes; /* 1..OTEL_PAYLOAD_BYTES_MAX */
};

/* Not NUL-terminated; bytes NULL = absent, or not a string. */
struct otel_text {
	const char *bytes;
	size_t size_bytes;
};

struct otel_process_context {
	struct otel_text schema_version; /* threadlocal.schema_version */
	struct otel_text service_name; /* resource attributes */
	struct otel_text service_instance_id;
	struct otel_text environment_name; /* deployment.environment.name */
	struct otel_text keys[OTEL_INDEXES]; /* threadlocal.attribute_key_map, by index */
	size_t key_count;
};

/*
 * 0; -ENODATA: not such a header; -EAGAIN: being changed; -EPROTONOSUPPORT: version is not
 * OTEL_HEADER_VERSION; -EMSGSIZE: payload empty or too large.
 */
int otel_process_header_parse(const uint8_t bytes[static OTEL_HEADER_BYTES],
			      struct otel_process_header *ret_header);

/* 0, or -EBADMSG: not protobuf. The last occurrence of a field counts. */
int otel_process_context_parse(const void *payload, size_t size_bytes,
			       struct otel_process_context *ret_context);

/* True if this program can read records of that schema of the thread context. */
bool otel_schema_is_known(const struct otel_text *version);

bool otel_text_is(const struct otel_text *text, const char *string);
