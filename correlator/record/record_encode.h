/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encodes records (record.h): each is appended as one Fluent entry, the msgpack array [EventTime,
 * map], so that a file, a pipe and a Forward request carry the same bytes. Pure: no I/O, no clock,
 * never logs. Thread rule: one encoder per thread.
 *
 * Receivers differ in what they tolerate, so every entry uses only what all of them accept:
 *   - Strings are valid UTF-8 without control characters (anything else is escaped, text.h) and at
 *     most RECORD_STRING_BYTES_MAX long.
 *   - Integers are 0..2^63-1; larger ones become 2^63-1, only residual_ns may be negative.
 *   - EventTime is ext type 0 of 8 bytes, big-endian seconds and nanoseconds (Fluent Forward
 *     protocol specification v1, "EventTime Ext Format").
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "record/record.h"

enum {
	RECORD_STRING_BYTES_MAX = 4096, /* after escaping; longer text is cut at a character */
};

struct record_encoder;

/* Returns an empty encoder, or NULL if memory runs out. */
struct record_encoder *record_encoder_new(void);
void record_encoder_free(struct record_encoder *encoder);
DEFINE_CLEANUP(struct record_encoder *, record_encoder_free);

/*
 * Appends a record (a struct NAME_record of record.h) as one entry. Returns 0, -ENOMEM, or -EINVAL:
 * a text of presence ALWAYS is NULL, there are more than SELF_PROGRAMS_MAX programs, or the name of
 * one is longer than SELF_PROGRAM_NAME_BYTES. On failure nothing is appended.
 */
#define record_encode(encoder, record) \
	record_encode_kind(encoder, RECORD_KIND_OF(*(record)), record)
#define RECORD_KIND_OF(record)                               \
	_Generic((record), struct meta_record                \
		 : RECORD_KIND_META, struct process_record   \
		 : RECORD_KIND_PROCESS, struct cpu_record    \
		 : RECORD_KIND_CPU, struct slice_record      \
		 : RECORD_KIND_SLICE, struct stack_record    \
		 : RECORD_KIND_STACK, struct sample_record   \
		 : RECORD_KIND_SAMPLE, struct syscall_record \
		 : RECORD_KIND_SYSCALL, struct io_record     \
		 : RECORD_KIND_IO, struct stall_record       \
		 : RECORD_KIND_STALL, struct balance_record  \
		 : RECORD_KIND_BALANCE, struct gap_record    \
		 : RECORD_KIND_GAP, struct self_record       \
		 : RECORD_KIND_SELF, struct alert_record     \
		 : RECORD_KIND_ALERT)
int record_encode_kind(struct record_encoder *encoder, enum record_kind kind, const void *record);

/* Appends a check (check.h) for the entries that have none yet, if there are any. After
 * CHECK_SPAN_BYTES the encoder adds one by itself. */
void record_encoder_add_check(struct record_encoder *encoder);

/* Returns the entries, in the order of the calls, and their checks; valid until the next call on
 * the encoder. Returns NULL and *ret_size_bytes 0 if nothing was encoded since the last reset. */
const void *record_encoder_bytes(const struct record_encoder *encoder, size_t *ret_size_bytes);
/* Number of records in these bytes. */
size_t record_encoder_count(const struct record_encoder *encoder);
/* Drops the entries after the first size_bytes, which was the total size at some earlier time. */
void record_encoder_cut(struct record_encoder *encoder, size_t size_bytes);
/* Drops all bytes; keeps the memory for the next window. */
void record_encoder_reset(struct record_encoder *encoder);
