/*
 * Records (attribution/record.h) as bytes: each is appended as one Fluent entry, the msgpack array
 * [EventTime, map], so that a file, a pipe and a Forward request carry the same bytes. Pure: no
 * I/O, no clock, never logs. Thread rule: one encoder per thread.
 *
 * Receivers differ in what they forgive, so every entry keeps to what all of them take: strings are
 * valid UTF-8 without control characters (what is not is escaped, text.h) and at most
 * RECORD_STRING_BYTES_MAX long, integers are 0..2^63-1 (larger ones become 2^63-1; only residual_ns
 * may be negative), EventTime is ext type 0 of 8 bytes, big-endian seconds and nanoseconds
 * (Fluent Forward protocol specification v1, "EventTime Ext Format").
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "record/record.h"

enum {
	RECORD_SCHEMA = 1,
	RECORD_STRING_BYTES_MAX = 4096, /* after escaping; longer text is cut at a character */
};

struct record_encoder;

/* An empty encoder, or NULL without memory. */
struct record_encoder *record_encoder_new(void);
void record_encoder_free(struct record_encoder *encoder);
DEFINE_CLEANUP(struct record_encoder *, record_encoder_free);

/*
 * Each appends one entry: 0, -ENOMEM, or -EINVAL when a required string is NULL (record_id and
 * host_name, and per kind the ones record.h does not call optional). On failure nothing was
 * appended. A key whose value is NULL, every field whose has_ flag is false, and what record.h
 * calls not known is left out.
 */
int record_encode_meta(struct record_encoder *encoder, const struct meta_record *record);
int record_encode_process(struct record_encoder *encoder, const struct process_record *record);
int record_encode_cpu(struct record_encoder *encoder, const struct cpu_record *record);
int record_encode_balance(struct record_encoder *encoder, const struct balance_record *record);
int record_encode_gap(struct record_encoder *encoder, const struct gap_record *record);
/* Also -EINVAL: more than SELF_PROGRAMS_MAX programs, or a name above SELF_PROGRAM_NAME_BYTES. */
int record_encode_self(struct record_encoder *encoder, const struct self_record *record);

/* Whole entries, in the order of the calls; valid until the next call on the encoder. NULL and
 * *ret_size_bytes 0 when nothing was encoded since the last reset. */
const void *record_encoder_bytes(const struct record_encoder *encoder, size_t *ret_size_bytes);
/* Entries among these bytes. */
size_t record_encoder_count(const struct record_encoder *encoder);
/* Forgets the bytes; keeps the memory for the next window. */
void record_encoder_reset(struct record_encoder *encoder);
