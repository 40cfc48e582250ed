/*
 * Host names to addresses by getaddrinfo(3), which cannot be interrupted: each lookup has a thread
 * of its own, and who waits for it can stop waiting. A lookup that was left behind ends by itself;
 * the next call waits for it instead of starting another. One caller at a time.
 */
#pragma once

#include <netdb.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "net/failure.h"
#include "net/forward_url.h"
#include "net/waiter.h"

struct resolver;

/* NULL without memory. */
struct resolver *resolver_new(void);
void resolver_free(struct resolver *resolver);
DEFINE_CLEANUP(struct resolver *, resolver_free);
DEFINE_CLEANUP(struct addrinfo *, freeaddrinfo);

/*
 * The addresses of url, which is not a Unix socket's, in the order to try them. 0 and
 * *ret_addresses the caller's to free by freeaddrinfo; -errno, and ret_failure says why.
 */
int resolver_lookup(struct resolver *resolver, const struct forward_url *url,
		    const struct waiter *waiter, uint64_t deadline_ns,
		    struct addrinfo **ret_addresses, struct failure *ret_failure);
