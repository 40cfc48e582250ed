/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of a recording, constants of loaded programs, as a variable that a test sets. */
#pragma once

#include <correlator/config.h>

static struct session_config native_session;
#define session native_session
