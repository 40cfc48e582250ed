/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's process context: what a process says of itself in a mapping of its own, and the
 * names behind the indexes of the thread context's attributes. Parsing alone, of bytes that the
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
	/* 256 names and a resource are some kilobytes; more is not taken. */
	OTEL_PAYLOAD_BYTES_MAX = 128 * 1024,
};

struct otel_process_header {
	uint64_t published_ns; /* CLOCK_BOOTTIME; another value: published anew */
	uint64_t payload_address;
	uint32_t payload_bytes; /* 1..OTEL_PAYLOAD_BYTES_MAX */
};

/* Not NUL-terminated; bytes NULL = it is not there, or not a string. */
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
 * 0; -ENODATA: not such a header; -EAGAIN: it is being changed; -EPROTONOSUPPORT: of another
 * version than OTEL_HEADER_VERSION; -EMSGSIZE: a payload of no or too many bytes.
 */
int otel_process_header_parse(const uint8_t bytes[static OTEL_HEADER_BYTES],
			      struct otel_process_header *ret_header);

/* 0, or -EBADMSG: not protobuf. Of what is there twice the last one counts. */
int otel_process_context_parse(const void *payload, size_t size_bytes,
			       struct otel_process_context *ret_context);

/* True if a schema of the thread context is one whose records this program can read. */
bool otel_schema_is_known(const struct otel_text *version);

bool otel_text_is(const struct otel_text *text, const char *string);
