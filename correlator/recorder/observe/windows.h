/* SPDX-License-Identifier: GPL-2.0-only */
/* The windows of a recording: how the first one begins, and how each ends. */
#pragma once

#include "recorder/observe/recorder_state.h"

/* The first one begins now. */
void windows_begin(struct recorder *recorder);

/*
 * Ends the open window, writes its records, and begins the next one. Only what the kernel side
 * cannot do any more is a failure: -errno (logged), and -EPIPE as output_write.
 */
int windows_end(struct recorder *recorder, bool is_last);
