/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a recording front to back in memory that does not grow with its size: a file, a pipe or
 * standard input. The bytes are untrusted: everything is bounded (entry_scan.h, record_view.h).
 * Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "record/record_view.h"

struct record_reader;

/* Opens path, or standard input for "-". 0 and *ret_reader, owned by the caller; -errno, logged. */
int record_reader_open(const char *path, struct record_reader **ret_reader);
/* The same of an open file, which stays the caller's and has to outlive the reader; name: of it,
 * for messages. 0, -errno, logged. */
int record_reader_open_fd(int fd, const char *name, struct record_reader **ret_reader);
void record_reader_free(struct record_reader *reader);
DEFINE_CLEANUP(struct record_reader *, record_reader_free);

/*
 * 1 and the next record in *ret_view, which is valid until the next call; 0 at the end; -errno,
 * logged: what read(2) gave (but -EAGAIN of a file that does not block, which is said to nobody and
 * is no end: call again when there is more), or, of a file without any record, what is wrong at its
 * beginning: -EBADMSG, -E2BIG, -ELOOP, -EPROTONOSUPPORT as entry_search and record_view_decode say.
 * What is damaged between records, or after them, is passed over up to the next one, with a warning
 * that gives its offset and size; so is what does not check, where there are checks (check.h). An
 * incomplete last entry is an end with a warning, and so is what no check covers there. After an
 * error, or the end, call no more.
 */
int record_reader_next(struct record_reader *reader, struct record_view *ret_view);

/* The record last read turns out to be damaged (what: static text): as if passed over. */
void record_reader_drop(struct record_reader *reader, const char *what);

const char *record_reader_name(const struct record_reader *reader);
/* Records read so far, and whether the end was an incomplete one, or was not checked. */
uint64_t record_reader_entry_count(const struct record_reader *reader);
/* Bytes of the file up to the end of the entry last returned. */
uint64_t record_reader_offset(const struct record_reader *reader);
bool record_reader_is_truncated(const struct record_reader *reader);
/* Checks that held so far. */
uint64_t record_reader_checks(const struct record_reader *reader);
/* Where nothing could be read, so far: in how many places, and how many bytes in all. */
void record_reader_get_damage(const struct record_reader *reader, uint64_t *ret_places,
			      uint64_t *ret_bytes);
