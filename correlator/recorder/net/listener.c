/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	PENDING_MAX = 8
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un unix_path;
};

static int parse_port(const char *text, in_port_t *ret_port)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (text[0] < '0' || *end || port > 65535)
		return -EINVAL;
	*ret_port = htons((in_port_t)port);
	return 0;
}

/* HOST:PORT, only on the loopback interface: anyone who can connect can read all the data. */
static int parse_tcp(const char *text, union address *ret_address, socklen_t *ret_size)
{
	static const char v4[] = "127.0.0.1:", v6[] = "[::1]:", name[] = "localhost:";

	*ret_address = (union address){ 0 };
	if (strncmp(text, v6, sizeof(v6) - 1) == 0) {
		ret_address->v6.sin6_family = AF_INET6;
		ret_address->v6.sin6_addr = in6addr_loopback;
		*ret_size = sizeof(ret_address->v6);
		return parse_port(text + sizeof(v6) - 1, &ret_address->v6.sin6_port);
	}
	ret_address->v4.sin_family = AF_INET;
	ret_address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*ret_size = sizeof(ret_address->v4);
	if (strncmp(text, v4, sizeof(v4) - 1) == 0)
		return parse_port(text + sizeof(v4) - 1, &ret_address->v4.sin_port);
	if (strncmp(text, name, sizeof(name) - 1) == 0)
		return parse_port(text + sizeof(name) - 1, &ret_address->v4.sin_port);
	return -EINVAL;
}

static int parse_unix(const char *path, union address *ret_address, socklen_t *ret_size)
{
	if (!path[0] || strlen(path) >= sizeof(ret_address->unix_path.sun_path))
		return -EINVAL;
	*ret_address = (union address){ .unix_path.sun_family = AF_UNIX };
	(void)strcpy(ret_address->unix_path.sun_path, path);
	*ret_size = sizeof(ret_address->unix_path);
	return 0;
}

static int parse(const char *text, union address *ret_address, socklen_t *ret_size)
{
	static const char tcp[] = "tcp://", local[] = "unix:";

	if (strncmp(text, tcp, sizeof(tcp) - 1) == 0)
		return parse_tcp(text + sizeof(tcp) - 1, ret_address, ret_size);
	if (strncmp(text, local, sizeof(local) - 1) == 0)
		return parse_unix(text + sizeof(local) - 1, ret_address, ret_size);
	return -EINVAL;
}

/* Removes a socket file that a killed process left behind: nobody listens on it. */
static void remove_stale(const union address *address, socklen_t size)
{
	const char *path = address->unix_path.sun_path;
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;

	if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    connect(fd, &address->any, size) < 0 && errno == ECONNREFUSED)
		(void)unlink(path);
}

static int bind_to(int fd, const union address *address, socklen_t size)
{
	const int on = 1;

	if (address->any.sa_family != AF_UNIX) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(fd, &address->any, size) < 0 ? -errno : 0;
	}
	remove_stale(address, size);
	/* bind(2) gives the file the socket's own mode, minus the bits of umask(2) (unix_bind_bsd()
	 * in net/unix/af_unix.c, Linux v5.15). A later chmod(2) would follow a name. */
	if (fchmod(fd, 0600) < 0 || bind(fd, &address->any, size) < 0)
		return -errno;
	return 0;
}

int listener_open(const char *address, struct listener *ret_listener)
{
	_cleanup_fd_ int fd = -1;
	union address parsed;
	socklen_t size;
	int r = parse(address, &parsed, &size);

	if (r < 0)
		return r;
	fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 ? -errno : bind_to(fd, &parsed, size);
	if (r == 0 && (listen(fd, PENDING_MAX) < 0 || getsockname(fd, &parsed.any, &size) < 0))
		r = -errno;
	if (r < 0)
		return r;
	*ret_listener = (struct listener){ .fd = TAKE_FD(fd) };
	if (parsed.any.sa_family == AF_UNIX)
		(void)strcpy(ret_listener->path, parsed.unix_path.sun_path);
	else
		/* sin6_port has the same offset. */
		ret_listener->port = ntohs(parsed.v4.sin_port);
	return 0;
}

void listener_close(struct listener *listener)
{
	if (listener->fd >= 0)
		(void)close(TAKE_FD(listener->fd));
	if (listener->path[0])
		(void)unlink(listener->path);
}
