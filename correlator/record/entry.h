/*
 * Fluent entries under construction: the array [EventTime, map], field by field, in the form that
 * record_encode.h promises. Used by record_encode.c alone. Never logs: the first failure of an
 * entry is kept, and taken back with the entry by entry_end. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

struct entry_buffer {
	msgpack_sbuffer bytes;
	msgpack_packer packer;
	size_t entry_count;
	/* Of the entry being built: */
	size_t entry_offset;
	size_t map_offset;
	uint16_t field_count;
	int error; /* 0 or -errno */
};

void entry_buffer_init(struct entry_buffer *buffer);
void entry_buffer_deinit(struct entry_buffer *buffer);

/* Starts an entry, of that EventTime. */
void entry_begin(struct entry_buffer *buffer, uint64_t wall_ns);
/* Ends it: 0; -ENOMEM or -EINVAL (a required text was NULL), and the entry is gone again. */
int entry_end(struct entry_buffer *buffer);

/* Each adds one field; of a value above 2^63-1 entry_u64 writes 2^63-1. */
void entry_u64(struct entry_buffer *buffer, const char *name, uint64_t value);
void entry_i64(struct entry_buffer *buffer, const char *name, int64_t value);
void entry_bool(struct entry_buffer *buffer, const char *name, bool value);
void entry_text(struct entry_buffer *buffer, const char *name, const char *text);
void entry_texts(struct entry_buffer *buffer, const char *name, const char *const *texts,
		 size_t count);
/* The same, but a NULL text is left out. */
void entry_optional_text(struct entry_buffer *buffer, const char *name, const char *text);
