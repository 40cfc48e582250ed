/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A listening socket for this machine: a Unix socket that only our user may use, or a port of the
 * loopback interface. Never logs.
 */
#pragma once

#include <stdint.h>
#include <sys/un.h>

struct listener {
	int fd; /* -1 = none */
	uint16_t port; /* 0 = a Unix socket */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "" = not a Unix socket */
};

/*
 * address: unix:PATH (mode 0600), or tcp://HOST:PORT with 127.0.0.1, localhost or [::1] (port 0:
 * any). Non-blocking. A socket file without a listener is replaced. 0; -EINVAL: not such an
 * address; -EADDRINUSE: another process listens there; or another -errno.
 */
int listener_open(const char *address, struct listener *ret_listener);
/* Removes the socket file. */
void listener_close(struct listener *listener);
