/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/net/resolver.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

struct name {
	char host[NI_MAXHOST];
	char port[NI_MAXSERV];
};

/* Shared by the thread that looks up and the one that waits; the last to leave frees it. */
struct lookup {
	atomic_int owners;
	int done_fd; /* readable once is_done */
	atomic_bool is_done; /* result, system_error and addresses are set */
	struct name name;
	int result; /* returned by getaddrinfo(3) */
	int system_error; /* errno, where result is EAI_SYSTEM */
	struct addrinfo *addresses;
};

struct resolver {
	struct name name;
	struct lookup *pending;
};

struct resolver *resolver_new(const char *host, const char *port)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	/* A name that is too long gets truncated: it is not a valid host in any case. */
	(void)snprintf(resolver->name.host, sizeof(resolver->name.host), "%s", host);
	(void)snprintf(resolver->name.port, sizeof(resolver->name.port), "%s", port);
	return resolver;
}

static void lookup_release(struct lookup *lookup)
{
	if (atomic_fetch_sub(&lookup->owners, 1) > 1)
		return;
	if (lookup->addresses)
		freeaddrinfo(lookup->addresses);
	(void)close(lookup->done_fd);
	free(lookup);
}

void resolver_free(struct resolver *resolver)
{
	if (resolver && resolver->pending)
		lookup_release(resolver->pending);
	free(resolver);
}

static int resolve(const struct name *name, int flags, struct addrinfo **ret_addresses)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV | flags };

	return getaddrinfo(name->host, name->port, &hints, ret_addresses);
}

static void *run_lookup(void *user)
{
	struct lookup *lookup = user;

	lookup->result = resolve(&lookup->name, AI_ADDRCONFIG, &lookup->addresses);
	lookup->system_error = errno;
	lookup->is_done = true;
	/* Cannot fail: the counter is 0. */
	(void)eventfd_write(lookup->done_fd, 1);
	lookup_release(lookup);
	return NULL;
}

static int start_thread(struct lookup *lookup)
{
	pthread_t thread;
	int r = thread_start(&thread, run_lookup, lookup);

	if (r == 0)
		(void)pthread_detach(thread);
	return r;
}

static int start_lookup(const struct name *name, struct lookup **ret_lookup)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	int r;

	if (!lookup)
		return -ENOMEM;
	lookup->name = *name;
	atomic_init(&lookup->owners, 2);
	lookup->done_fd = eventfd(0, EFD_CLOEXEC);
	r = lookup->done_fd < 0 ? -errno : start_thread(lookup);
	if (r < 0) {
		atomic_init(&lookup->owners, 1);
		lookup_release(lookup);
		return r;
	}
	*ret_lookup = lookup;
	return 0;
}

static int take_result(struct resolver *resolver, struct addrinfo **ret_addresses,
		       const char **ret_reason)
{
	struct lookup *lookup = TAKE_PTR(resolver->pending);
	int r = lookup->result == 0 ? 0 : -EHOSTUNREACH;

	if (r == 0)
		*ret_addresses = TAKE_PTR(lookup->addresses);
	else
		*ret_reason = lookup->result == EAI_SYSTEM ? strerrordesc_np(lookup->system_error)
							   : gai_strerror(lookup->result);
	lookup_release(lookup);
	return r;
}

int resolver_lookup(struct resolver *resolver, const struct waiter *waiter, uint64_t deadline_ns,
		    struct addrinfo **ret_addresses, const char **ret_reason)
{
	int r = 0;

	/* An address needs no name server, and no thread. */
	if (resolve(&resolver->name, AI_NUMERICHOST, ret_addresses) == 0)
		return 0;
	if (!resolver->pending)
		r = start_lookup(&resolver->name, &resolver->pending);
	if (r == 0)
		r = waiter_wait(waiter, resolver->pending->done_fd, POLLIN, deadline_ns);
	/* Always true, but this read orders memory between the threads; poll(2) does not. */
	if (r == 0 && resolver->pending->is_done)
		r = take_result(resolver, ret_addresses, ret_reason);
	return r;
}
