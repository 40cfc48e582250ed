/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolves a host name by getaddrinfo(3), which cannot be interrupted: each lookup has a thread of
 * its own, and the caller can stop waiting for it. An abandoned lookup ends by itself; the next
 * call waits for it instead of starting another. An IP address is resolved at once. A resolver is
 * for one host; one caller at a time. Never logs.
 */
#pragma once

#include <netdb.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/net/waiter.h"

struct resolver;

/* host: a name, or an IP address without brackets; port: decimal. Copied. NULL without memory. */
struct resolver *resolver_new(const char *host, const char *port);
void resolver_free(struct resolver *resolver);
DEFINE_CLEANUP(struct resolver *, resolver_free);
DEFINE_CLEANUP(struct addrinfo *, freeaddrinfo);

/*
 * Returns the host's stream addresses in the order to try them. 0 and *ret_addresses, which the
 * caller frees by freeaddrinfo. -EHOSTUNREACH: it has none, *ret_reason says why (static);
 * -ETIMEDOUT: no name server has answered by then; -ECANCELED: the waiter stops; another -errno: no
 * thread could be started.
 */
int resolver_lookup(struct resolver *resolver, const struct waiter *waiter, uint64_t deadline_ns,
		    struct addrinfo **ret_addresses, const char **ret_reason);
