/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a recording (a file, a pipe or standard input) front to back, in memory that does not grow
 * with its size. The bytes are untrusted: everything is bounded (entry_scan.h, record_view.h).
 * Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "record/record_view.h"

struct record_reader;

/* Opens path, or standard input for "-". Returns 0 and *ret_reader, owned by the caller; -errno,
 * logged. */
int record_reader_open(const char *path, struct record_reader **ret_reader);
/* Does the same for an open file, owned by the caller, which must outlive the reader; name: its
 * name, for messages. Returns 0; -errno, logged. */
int record_reader_open_fd(int fd, const char *name, struct record_reader **ret_reader);
void record_reader_free(struct record_reader *reader);
DEFINE_CLEANUP(struct record_reader *, record_reader_free);

/*
 * Returns
 *   - 1: the next record is in *ret_view, valid until the next call.
 *   - 0: the end.
 *   - -EAGAIN, not logged: a non-blocking file has nothing to read yet; call again when it has.
 *   - -ENOMEM or -errno of read(2), logged.
 *   - -EBADMSG, -E2BIG, -ELOOP, -EILSEQ, -EPROTONOSUPPORT, logged: the file has no record; the
 *     error at its beginning, as returned by checked_search and record_view_decode.
 * Damaged bytes between or after records are skipped up to the next record, with a warning that
 * gives their offset and size; so are bytes that do not match their check, where there are checks
 * (check.h). An incomplete last entry ends the recording with a warning, and so do bytes there that
 * no check covers. Do not call again after an error or the end.
 */
int record_reader_next(struct record_reader *reader, struct record_view *ret_view);

/* The record last read turned out to be damaged (what: static text): counts it as skipped. */
void record_reader_drop(struct record_reader *reader, const char *what);

const char *record_reader_name(const struct record_reader *reader);
/* Records read so far; record_reader_is_truncated: whether the end was incomplete, or not checked.
 */
uint64_t record_reader_entry_count(const struct record_reader *reader);
/* Bytes of the file up to the end of the entry last returned. */
uint64_t record_reader_offset(const struct record_reader *reader);
bool record_reader_is_truncated(const struct record_reader *reader);
/* Number of checks that held so far. */
uint64_t record_reader_checks(const struct record_reader *reader);
/* The skipped ranges so far: their number, and the total of their bytes. */
void record_reader_get_damage(const struct record_reader *reader, uint64_t *ret_places,
			      uint64_t *ret_bytes);
