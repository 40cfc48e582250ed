/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address of a collector in the user's notation: tcp://HOST[:PORT], tls://HOST[:PORT] or unix:PATH.
 * Pure; any thread.
 */
#pragma once

#include <sys/un.h>

enum forward_transport {
	FORWARD_TRANSPORT_TCP = 0,
	FORWARD_TRANSPORT_TLS = 1,
	FORWARD_TRANSPORT_UNIX = 2,
};

enum {
	FORWARD_PORT_DEFAULT = 24224, /* Fluent Forward's registered port */
	FORWARD_HOST_BYTES = 256, /* a DNS name has at most 253 characters (RFC 1035, 2.3.4) */
	FORWARD_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path),
	FORWARD_NAME_BYTES = FORWARD_HOST_BYTES + 16,
};

struct forward_url {
	enum forward_transport transport;
	char host[FORWARD_HOST_BYTES]; /* without brackets; "" with unix */
	char port[8]; /* decimal */
	char path[FORWARD_PATH_BYTES]; /* "" except for unix */
	char name[FORWARD_NAME_BYTES]; /* the full URL with the port, for messages */
};

/* 0, or -EINVAL with the problem in *ret_problem, a phrase that does not repeat text. */
int forward_url_parse(const char *text, struct forward_url *ret_url, const char **ret_problem);
