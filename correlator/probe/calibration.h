/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the way between the ring crossing and our boundaries takes, measured all the time by a
 * process of our own (calibrator.h), so that it follows the CPUs' speed. Made by
 * session_start_calibration(), owned by the session.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct calibration;
struct session;

/* What was measured so far is of another mode. */
void calibration_renew(struct calibration *calibration);
/* Ends the process; what it used is still known. */
void calibration_end(struct calibration *calibration);
void calibration_free(struct calibration *calibration);
DEFINE_CLEANUP(struct calibration *, calibration_free);

/* Are the accounts of this process its own, and nobody's business? NULL: there is none. */
bool calibration_owns(const struct calibration *calibration, uint32_t tgid);
/* After a window's accounts were drained: a process that has ended has no others. */
void calibration_forget(struct session *session, struct calibration *calibration);
