/* SPDX-License-Identifier: GPL-2.0-only */
/* The name of an end of a connection in records. Pure. */
#pragma once

#include <correlator/socket_end.h>

enum {
	SOCKET_TEXT_BYTES = 64 /* the longest one is "[", an address of IPv6, "]:65535" */
};

/* Writes "10.0.0.5:5432" or "[::1]:5432". */
void socket_text(const struct socket_end *end, char ret_text[static SOCKET_TEXT_BYTES]);
