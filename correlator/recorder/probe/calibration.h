/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The length of the way between the ring crossing and our boundaries, measured continuously by a
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

/* Ends the process; its CPU time is still available. */
void calibration_end(struct calibration *calibration);
void calibration_free(struct calibration *calibration);
DEFINE_CLEANUP(struct calibration *, calibration_free);

/* True if the process is one of the calibrators, whose accounts are dropped. */
bool calibrations_own(const struct session *session, uint64_t life);
/* Call after a window's accounts were drained: a process that has ended has no others. */
void calibration_forget(struct session *session, struct calibration *calibration);

/* Selects the samples that session_read_ways() returns at now_ns. Pure. */
void calibration_choose(const struct calibration_samples *samples, uint64_t since_ns,
			uint64_t now_ns, struct session_ways *ret_ways);
