/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorded file as the sender's source of chunks, read once, front to back, in bounded memory. Of
 * a stream (a pipe, a socket) each chunk is given when it is full, or a second old, as of a
 * recording. Where it is damaged, or does not check (check.h), the next record after it is looked
 * for; a file without any is an error. Thread rule: the source's calls are the sender's;
 * file_source_end and the status from any.
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
	uint64_t size_bytes; /* of the file; 0 = not known (a pipe) */
	uint64_t rejected_records;
	uint64_t damaged_places; /* where no record could be read: passed over, not sent */
	uint64_t damaged_bytes; /* in all of them */
	uint64_t unchecked_bytes; /* sent, but no check follows them, where there are checks */
	uint64_t torn_bytes; /* of an incomplete record at its end: not sent */
	uint64_t missing_records; /* that were to be skipped, and are not there */
	bool is_exhausted; /* every whole record of it is done */
};

/* Opens path, or standard input for "-". Its first skip_records are not sent. 0, or -errno
 * (logged). */
int file_source_open(const char *path, uint64_t skip_records, struct file_source **ret_source);
void file_source_free(struct file_source *source);
DEFINE_CLEANUP(struct file_source *, file_source_free);

struct chunk_source file_source_chunks(struct file_source *source);

/* Standard input or a named pipe, which may have nothing to read for a while. */
bool file_source_is_stream(const struct file_source *source);

/* No more chunks after the one that is being sent; of a stream, after what was read of it. */
void file_source_end(struct file_source *source);
void file_source_get_status(const struct file_source *source,
			    struct file_source_status *ret_status);
