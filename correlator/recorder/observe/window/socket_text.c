/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/socket_text.h"

#include <arpa/inet.h>
#include <stdio.h>

void socket_text(const struct socket_end *end, char ret_text[static SOCKET_TEXT_BYTES])
{
	char address[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(end->is_ipv6 ? AF_INET6 : AF_INET, end->address, address, sizeof(address));
	(void)snprintf(ret_text, SOCKET_TEXT_BYTES, end->is_ipv6 ? "[%s]:%u" : "%s:%u", address,
		       end->port);
}
