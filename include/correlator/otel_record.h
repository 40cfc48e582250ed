/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's thread context as a process publishes it: one pointer per native thread to a
 * record that its owner swaps, or changes in place. Layout, and the walk over its attributes.
 *
 *   extern _Thread_local struct otel_record *otel_thread_ctx_v1;    NULL = no context
 *
 * Source: OTEP 4947 of the OpenTelemetry specification. Pure: the same text runs in the kernel, in
 * the unit tests and under the fuzzer. The target controls every byte.
 */
#pragma once

#include <linux/types.h>

#include <correlator/limits.h>

#define OTEL_RECORD_SYMBOL "otel_thread_ctx_v1"

enum otel_record_layout {
	OTEL_TRACE_ID_BYTES = 16,
	OTEL_SPAN_ID_BYTES = 8,
	OTEL_VALID = 1, /* any other value of `valid`: being changed, or no context */
	OTEL_RECORD_BYTES_MAX = 640,
	OTEL_ATTRIBUTES_BYTES_MAX = 612,
	/* An attribute: u8 index into the key map, u8 length, then `length` bytes of UTF-8. */
	OTEL_ATTRIBUTE_HEADER_BYTES = 2,
	OTEL_ATTRIBUTES_MAX = 64, /* walked at most, for the verifier: 9 bytes each */
	OTEL_INDEXES = 256,
	/* Buffer size that offsets are masked to, for the verifier; whatever a header points at is
	 * in it. */
	OTEL_ATTRIBUTES_ROOM = 1024,
	OTEL_TEXT_BYTES_MAX = 255,
	/* Offsets by 1 + number of the key; slot 0 takes those of keys that are not wanted. */
	OTEL_OFFSET_SLOTS = 16,
};

/* At least 2-byte aligned. Followed by attributes_bytes of attributes. */
struct otel_record_header {
	__u8 trace_id[OTEL_TRACE_ID_BYTES]; /* as in W3C trace context; all zero = none */
	__u8 span_id[OTEL_SPAN_ID_BYTES];
	__u8 valid;
	__u8 trace_flags;
	__u16 attributes_bytes; /* host byte order */
};

_Static_assert(sizeof(struct otel_record_header) == 28, "ABI: header");
_Static_assert((int)sizeof(struct otel_record_header) + OTEL_ATTRIBUTES_BYTES_MAX ==
		       OTEL_RECORD_BYTES_MAX,
	       "ABI: size");

/* As table_pointer_is_sane() (table_probe.h), except for the alignment. */
static inline int otel_record_pointer_is_sane(__u64 pointer)
{
	return pointer >= 4096 && pointer < (1ULL << 56) && (pointer & 1) == 0;
}

/* Findings of a walk. */
enum otel_walk_flags {
	OTEL_WALK_CUT = 1 << 0, /* an entry did not fit, or too many entries or bytes: incomplete */
	OTEL_WALK_UNKNOWN = 1 << 1, /* an index that the key map, as last read, does not have */
};

/*
 * Finds the wanted attributes in attributes[0..size_bytes). key_of_index[index] is 1 + the number
 * of the wanted key, or 0. ret_offsets[1 + number] becomes 1 + the offset of the last entry of that
 * key, or 0 if there is none. Returns enum otel_walk_flags. attributes must have
 * OTEL_ATTRIBUTES_ROOM bytes, ret_offsets OTEL_OFFSET_SLOTS elements.
 *
 * Few branches: the verifier walks the loop to its end, and follows both outcomes of each branch.
 */
static inline __u32 otel_record_walk(const __u8 *attributes, __u32 size_bytes,
				     const __u8 *key_of_index, __u32 known_indexes,
				     __u16 *ret_offsets)
{
	const __u32 mask = OTEL_ATTRIBUTES_ROOM - 1;
	__u32 offset = 0, flags = 0;

	for (__u32 slot = 0; slot < OTEL_OFFSET_SLOTS; slot++)
		ret_offsets[slot] = 0;
	if (size_bytes > OTEL_ATTRIBUTES_BYTES_MAX) {
		size_bytes = OTEL_ATTRIBUTES_BYTES_MAX;
		flags = OTEL_WALK_CUT;
	}
	for (__u32 entry = 0; entry < OTEL_ATTRIBUTES_MAX; entry++) {
		__u32 index, next;

		if (offset >= size_bytes)
			break;
		index = attributes[offset & mask];
		next = offset + OTEL_ATTRIBUTE_HEADER_BYTES + attributes[(offset + 1) & mask];
		if (next > size_bytes)
			return flags | OTEL_WALK_CUT;
		ret_offsets[key_of_index[index] & (OTEL_OFFSET_SLOTS - 1)] = (__u16)(offset + 1);
		/* The sign bit of the difference is set unless index < known_indexes. */
		flags |= ((known_indexes - index - 1) >> 31) * OTEL_WALK_UNKNOWN;
		offset = next;
	}
	return offset < size_bytes ? flags | OTEL_WALK_CUT : flags;
}
