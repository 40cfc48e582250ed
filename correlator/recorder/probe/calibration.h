/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the way between the ring crossing and our boundaries takes, measured all the time by a
 * process of our own (calibrator.h) for each way, so that it follows the CPUs' speed. Made by
 * session_start_calibration(), owned by the session.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct calibration;
struct calibration_samples;
struct session;
struct session_ways;

/* Ends the process; what it used is still known. */
void calibration_end(struct calibration *calibration);
void calibration_free(struct calibration *calibration);
DEFINE_CLEANUP(struct calibration *, calibration_free);

/* Are the accounts of this process those of one of them, and nobody's business? */
bool calibrations_own(const struct session *session, uint64_t life);
/* After a window's accounts were drained: a process that has ended has no others. */
void calibration_forget(struct session *session, struct calibration *calibration);

/* What session_read_ways() gives at now_ns of what was measured. Pure. */
void calibration_choose(const struct calibration_samples *samples, uint64_t since_ns,
			uint64_t now_ns, struct session_ways *ret_ways);
