/*
 * Where scrapers connect: a Unix socket that only our user may use, or a port of the loopback
 * interface. Used by metrics_server.c alone. Logs.
 */
#pragma once

#include <stdbool.h>
#include <sys/un.h>

struct listener {
	int fd; /* -1 = none */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "" = not a Unix socket */
};

/* Non-blocking. 0; -EINVAL: not such an address; -EADDRINUSE: another process listens there; or
 * -errno. Logged. */
int listener_open(const char *address, struct listener *ret_listener);
/* Removes the socket file. */
void listener_close(struct listener *listener);
