/*
 * What the sender says of its collectors, each thing once: a failure when it begins, and that it is
 * over; not again with every try, and not every second for a collector that comes and goes.
 * Thread rule: the sender's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/failure.h"

/* Of one collector. All zero at first. */
struct sender_report {
	uint32_t said_kinds; /* bits of enum failure_kind, since the last calm */
	uint64_t said_ns; /* CLOCK_MONOTONIC of the first of them */
	bool has_failed; /* a failure was said, and not yet that it is over */
	bool has_delivered; /* and that was said */
};

/* A failure, or an ack, at now_ns: true if there is something to say. */
bool sender_report_failure(struct sender_report *report, enum failure_kind kind, uint64_t now_ns);
bool sender_report_success(struct sender_report *report, uint64_t now_ns);
