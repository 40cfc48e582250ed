/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A getaddrinfo(3) that stands before libc's, which still reads addresses. What becomes of names
 * says the one test that includes this.
 */
#pragma once

#include <dlfcn.h>
#include <netdb.h>

static int answer_name(const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret_addresses);

static inline int read_address(const char *host, const char *port, const struct addrinfo *hints,
			       struct addrinfo **ret_addresses)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		(int (*)(const char *, const char *, const struct addrinfo *,
			 struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");

	return real(host, port, hints, ret_addresses);
}

int getaddrinfo(const char *restrict host, const char *restrict port,
		const struct addrinfo *restrict hints, struct addrinfo **restrict ret_addresses)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return read_address(host, port, hints, ret_addresses);
	return answer_name(port, hints, ret_addresses);
}
