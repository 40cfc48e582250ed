/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorded file as the sender's source of chunks, read once, front to back, in bounded memory.
 * From a stream (a pipe, a socket) a chunk is ready when it is full or a second old, as in a
 * recording. Where the file is damaged or a check fails (check.h), searches for the next record; a
 * file without any record is an error. Thread rule: the source's calls belong to the sender's
 * thread; file_source_end and the status from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/queue/chunk.h"

struct file_source;

struct file_source_status {
	uint64_t done_records; /* acked or refused, skipped ones included */
	uint64_t done_bytes;
	uint64_t size_bytes; /* file size; 0 = not known (a pipe) */
	uint64_t rejected_records;
	uint64_t damaged_places; /* places without a readable record: skipped, not sent */
	uint64_t damaged_bytes; /* in all damaged places */
	uint64_t unchecked_bytes; /* sent, but not covered by a check in a file with checks */
	uint64_t torn_bytes; /* of an incomplete last record: not sent */
	uint64_t missing_records; /* of skip_records, not in the file */
	bool is_exhausted; /* every whole record in the file is done */
};

/* Opens path, or standard input for "-". The first skip_records records are not sent. 0, or -errno
 * (logged). */
int file_source_open(const char *path, uint64_t skip_records, struct file_source **ret_source);
void file_source_free(struct file_source *source);
DEFINE_CLEANUP(struct file_source *, file_source_free);

struct chunk_source file_source_chunks(struct file_source *source);

/* True for a pipe, socket or terminal, which may have nothing to read for a while. */
bool file_source_is_stream(const struct file_source *source);

/* Ends after the chunk that is being sent; a stream ends after the bytes that were already read. */
void file_source_end(struct file_source *source);
void file_source_get_status(const struct file_source *source,
			    struct file_source_status *ret_status);
