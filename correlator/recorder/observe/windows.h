/* SPDX-License-Identifier: GPL-2.0-only */
/* The windows of a recording: how the first one begins, and how each ends. */
#pragma once

#include "recorder/observe/recorder_state.h"

/* Begins the first window now. */
void windows_begin(struct recorder *recorder);

/*
 * Ends the open window, writes its records, and begins the next one. Fails only if the kernel side
 * can no longer do its part: -errno (logged); or -EPIPE as output_write().
 */
int windows_end(struct recorder *recorder, bool is_last);
