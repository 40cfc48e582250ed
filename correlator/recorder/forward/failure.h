/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a collector did not take what it was sent. A value, not a log line: the same failure recurs
 * with every try, and is logged once when it begins, and once when it is over; a collector that
 * comes and goes is not logged every second, but once it is gone for good. Pure; any thread, each
 * report by one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum failure_kind {
	FAILURE_NONE = 0,
	FAILURE_INTERNAL = 1, /* ours: no memory, no thread */
	FAILURE_CANCELLED = 2, /* we are stopping */
	FAILURE_RESOLVE = 3,
	FAILURE_CONNECT = 4,
	FAILURE_TLS = 5,
	FAILURE_NO_HELLO = 6, /* a key is configured, and the collector does not ask for it */
	FAILURE_KEY_WANTED = 7, /* no key is configured, and the collector asks for one */
	FAILURE_KEY_REFUSED = 8,
	FAILURE_IMPOSTOR = 9, /* it accepted our key and does not know the key itself */
	FAILURE_STALLED = 10, /* takes no bytes */
	FAILURE_SILENT = 11, /* took the chunk and does not answer */
	FAILURE_CLOSED = 12, /* closed or reset the connection instead of an ack */
	FAILURE_REFUSED = 13, /* a map without an ack: how Vector refuses */
	FAILURE_WRONG_ACK = 14,
	FAILURE_GARBAGE = 15,
	_FAILURE_KIND_MAX
};

enum {
	FAILURE_TEXT_BYTES = 400
};

struct failure {
	enum failure_kind kind;
	char text[FAILURE_TEXT_BYTES]; /* without the collector's name; printable */
};

/* Sets the failure unless it is set already: the first cause matters. */
__attribute__((format(printf, 3, 4))) void
failure_set(struct failure *failure, enum failure_kind kind, const char *format, ...);

/* One word, for metrics and records: "connect", "tls", ... */
const char *failure_kind_name(enum failure_kind kind);

/*
 * True if the failure is due to the chunk rather than the collector: a working connection was
 * closed, or the chunk was refused, because of its contents. Silence does not count: a paused
 * collector is silent, too.
 */
bool failure_is_refusal(const struct failure *failure);

/* Failures of one collector that were logged. All zero at first. */
struct failure_report {
	uint32_t said_kinds; /* logged since the last reset: bits of enum failure_kind */
	uint64_t said_ns; /* CLOCK_MONOTONIC of the first of said_kinds */
	uint64_t failing_ns; /* of the first failure since the last ack; 0 = none */
	bool has_failed; /* a failure was logged, and not yet its end */
	bool has_delivered; /* a delivery was logged */
};

/* Note a failure, or an ack, at now_ns; true if it is to be logged. */
bool failure_report_failed(struct failure_report *report, enum failure_kind kind, uint64_t now_ns);
bool failure_report_acked(struct failure_report *report, uint64_t now_ns);
