/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes an OpenTelemetry record that was read: digests its bytes, captures the values of the
 * wanted keys, and hashes them. Values are captured like Ruby Strings (snapshot.h), so later stages
 * see no difference.
 *
 * VERIFIED_ONCE: see kernel_compat.bpf.h.
 */
#pragma once

#include "capture.bpf.h"
#include "hold.bpf.h"

/* Not secure against a hostile target: it only detects a change of that target's own record. */
VERIFIED_ONCE __u64 otel_digest(struct otel_thread *otel)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL;
	__u64 digest = odd;
	__u32 count;

	if (!otel)
		return 0;
	count = (otel->record_bytes + 7) / 8;
	for (__u32 i = 0; i < OTEL_RECORD_BYTES_MAX / 8; i++) {
		if (i >= count)
			break;
		digest = (digest ^ otel->words[i]) * odd;
		digest ^= digest >> 29;
	}
	return digest | 1;
}

/* Captures an ID as hex, as W3C trace context writes it. All zeros: there is no ID. */
static __always_inline void otel_capture_id(struct value_snapshot *value, const __u8 *id,
					    __u32 size_bytes)
{
	__u8 bits = 0;

	for (__u32 i = 0; i < size_bytes; i++) {
		__u8 high = id[i] >> 4, low = id[i] & 0xf;

		value->bytes[2 * i] = high + (high < 10 ? '0' : 'a' - 10);
		value->bytes[2 * i + 1] = low + (low < 10 ? '0' : 'a' - 10);
		bits |= id[i];
	}
	if (!bits)
		return;
	value->kind = VALUE_KIND_STRING;
	value->length_bytes = (__u16)(2 * size_bytes);
	value->raw = 2 * size_bytes;
}

/* Digests a text of which value holds only the start; pads it with zeros. */
static __always_inline void otel_digest_text(struct otel_thread *otel, struct value_snapshot *value,
					     __u32 offset, __u32 length)
{
	struct context_hash_state state;
	__u32 rest = length - VALUE_BYTES_MAX;

	__builtin_memset(&otel->chunk, 0, sizeof(otel->chunk));
	barrier_var(rest);
	if (rest > sizeof(otel->chunk) ||
	    bpf_probe_read_kernel(
		    &otel->chunk, rest,
		    &otel->attributes[(offset + VALUE_BYTES_MAX) & (OTEL_ATTRIBUTES_ROOM - 1)]))
		return;
	value_digest_init(&state, length);
	capture_digest_chunk(&state, &value->start);
	capture_digest_chunk(&state, &otel->chunk);
	value->flags = VALUE_TRUNCATED;
	value->raw = context_hash_final(&state);
}

/* offset: where the text starts in the attributes. */
static __always_inline void otel_capture_text(struct otel_thread *otel,
					      struct value_snapshot *value, __u32 offset,
					      __u32 length)
{
	__u32 captured = length < VALUE_BYTES_MAX ? length : VALUE_BYTES_MAX;

	if (captured & 7)
		value->words[(captured / 8) & (VALUE_BYTES_MAX / 8 - 1)] = 0;
	barrier_var(captured);
	if (captured > VALUE_BYTES_MAX ||
	    bpf_probe_read_kernel(value->bytes, captured,
				  &otel->attributes[offset & (OTEL_ATTRIBUTES_ROOM - 1)]))
		return;
	value->kind = VALUE_KIND_STRING;
	value->length_bytes = (__u16)captured;
	value->raw = length;
	if (length > VALUE_BYTES_MAX)
		otel_digest_text(otel, value, offset, length);
}

/* Captures the value of one key like a Ruby String, and adds it to the hash. 0: the record that
 * was read has none. */
VERIFIED_ONCE int otel_capture_key(struct otel_thread *otel, __u32 key,
				   struct context_hash_state *hash)
{
	struct value_snapshot *value;
	__u32 offset;

	if (!otel || !hash || key >= KEYS_MAX)
		return 0;
	value = &otel->values[key];
	value->kind = VALUE_KIND_ABSENT;
	value->flags = 0;
	value->length_bytes = 0;
	value->encoding = VALUE_ENCODING_UTF_8;
	value->raw = 0;
	if (otel->config.trace_key == key + 1)
		otel_capture_id(value, otel->header.trace_id, OTEL_TRACE_ID_BYTES);
	else if (otel->config.span_key == key + 1)
		otel_capture_id(value, otel->header.span_id, OTEL_SPAN_ID_BYTES);
	offset = otel->offsets[key + 1];
	/* 1 + offset of the entry: its length is there, its text follows. */
	if (offset)
		otel_capture_text(otel, value, offset + 1,
				  otel->attributes[offset & (OTEL_ATTRIBUTES_ROOM - 1)]);
	if (value->kind == VALUE_KIND_ABSENT)
		return 0;
	context_hash_add(hash, key);
	context_hash_add_value(hash, value);
	return 1;
}

/* Captures all wanted values of the record that was read, and returns their hash.
 * CONTEXT_HASH_NONE: it has none. */
VERIFIED_ONCE __u64 otel_hash(struct otel_thread *otel)
{
	struct context_hash_key key = { { hash_key.words[0], hash_key.words[1] } };
	struct context_hash_state hash;
	int found = 0;

	if (!otel)
		return CONTEXT_HASH_NONE;
	context_hash_init(&hash, &key);
	for (__u32 i = 0; i < KEYS_MAX; i++)
		found |= otel_capture_key(otel, i, &hash);
	return found ? context_hash_final(&hash) : CONTEXT_HASH_NONE;
}
