/* SPDX-License-Identifier: GPL-2.0-only */
/* One end of a connection over IP, as the kernel programs read it from a socket. */
#pragma once

#include <linux/types.h>

enum {
	SOCKET_ADDRESS_BYTES = 16,
	SOCKET_PATH_BYTES = 108, /* sun_path, linux/un.h */
};

struct socket_end {
	__u8 address[SOCKET_ADDRESS_BYTES]; /* in network byte order; of IPv4 the first four bytes
					     */
	__u16 port;
	__u8 is_ipv6;
	__u8 is_own; /* the socket's own end, as it has no peer: it listens, or is not connected */
};

_Static_assert(sizeof(struct socket_end) == 20, "layout");
