/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/forward_url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Checks host names and IPv4 addresses: letters, digits and other characters that occur in
 * practice. Anything else is a typo.
 */
static bool is_host_name(const char *host)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	return host[0] && host[0] != '-' && host[0] != '.' && host[strspn(host, allowed)] == '\0';
}

/* Accepts a zone (fe80::1%eth0), as getaddrinfo does. */
static bool is_ipv6(const char *host)
{
	char address_text[INET6_ADDRSTRLEN];
	size_t length = strcspn(host, "%");
	struct in6_addr address;

	if (length >= sizeof(address_text) || (host[length] && !host[length + 1]))
		return false;
	memcpy(address_text, host, length);
	address_text[length] = '\0';
	return inet_pton(AF_INET6, address_text, &address) == 1;
}

static int parse_port(const char *text, char ret_port[static 8])
{
	unsigned long port = 0;
	size_t digits = strspn(text, "0123456789");

	if (digits <= 5 && text[digits] == '\0')
		port = strtoul(text, NULL, 10);
	if (port < 1 || port > UINT16_MAX)
		return -EINVAL;
	(void)snprintf(ret_port, 8, "%lu", port);
	return 0;
}

static int parse_unix(const char *path, struct forward_url *url, const char **ret_problem)
{
	if (path[0] != '/')
		*ret_problem = "the path of the socket must begin with /";
	else if (strlen(path) >= sizeof(url->path))
		*ret_problem = "the path of a Unix socket has at most 107 characters";
	else {
		url->transport = FORWARD_TRANSPORT_UNIX;
		(void)strcpy(url->path, path);
		(void)snprintf(url->name, sizeof(url->name), "unix:%s", path);
		return 0;
	}
	return -EINVAL;
}

/* Splits "[host]:port", "host:port" or "host"; *ret_port NULL = none given. */
static int split_host(const char *text, struct forward_url *url, const char **ret_port,
		      const char **ret_problem)
{
	bool has_brackets = text[0] == '[';
	const char *start = text + has_brackets;
	size_t length = strcspn(start, has_brackets ? "]" : ":");
	const char *rest = start + length + has_brackets;

	if (has_brackets && start[length] == '\0')
		*ret_problem = "the closing ] of the IPv6 address is missing";
	else if (!has_brackets && strchr(rest + (*rest == ':'), ':'))
		*ret_problem = "an IPv6 address belongs in brackets: tcp://[::1]:24224";
	else if (length == 0)
		*ret_problem = "the host is missing";
	else if (length >= sizeof(url->host))
		*ret_problem = "the host is longer than 255 characters";
	else if (*rest && *rest != ':')
		*ret_problem = "nothing but :PORT can follow the host";
	else {
		memcpy(url->host, start, length);
		url->host[length] = '\0';
		*ret_port = *rest == ':' ? rest + 1 : NULL;
		if (has_brackets == is_ipv6(url->host))
			return 0;
		*ret_problem = "what is in brackets is not an IPv6 address";
	}
	return -EINVAL;
}

static int parse_host(const char *text, struct forward_url *url, const char **ret_problem)
{
	const char *scheme = url->transport == FORWARD_TRANSPORT_TLS ? "tls" : "tcp";
	const char *port;
	int r = split_host(text, url, &port, ret_problem);

	if (r < 0)
		return r;
	if (text[0] != '[' && !is_host_name(url->host)) {
		*ret_problem = "this is not a host name or an IP address";
		return -EINVAL;
	}
	(void)snprintf(url->port, sizeof(url->port), "%d", FORWARD_PORT_DEFAULT);
	if (port && parse_port(port, url->port) < 0) {
		*ret_problem = "the port is not a number from 1 to 65535";
		return -EINVAL;
	}
	(void)snprintf(url->name, sizeof(url->name), text[0] == '[' ? "%s://[%s]:%s" : "%s://%s:%s",
		       scheme, url->host, url->port);
	return 0;
}

int forward_url_parse(const char *text, struct forward_url *ret_url, const char **ret_problem)
{
	struct forward_url url = { .transport = FORWARD_TRANSPORT_TCP };
	int r;

	if (strncmp(text, "unix:", 5) == 0) {
		r = parse_unix(text + 5, &url, ret_problem);
	} else if (strncmp(text, "tcp://", 6) == 0) {
		r = parse_host(text + 6, &url, ret_problem);
	} else if (strncmp(text, "tls://", 6) == 0) {
		url.transport = FORWARD_TRANSPORT_TLS;
		r = parse_host(text + 6, &url, ret_problem);
	} else {
		*ret_problem = "a collector is tcp://HOST:PORT, tls://HOST:PORT or unix:PATH";
		r = -EINVAL;
	}
	if (r == 0)
		*ret_url = url;
	return r;
}
