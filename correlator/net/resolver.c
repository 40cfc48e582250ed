#include "net/resolver.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

/* Shared by the thread that looks up and the one that waits; the last to leave frees it. */
struct lookup {
	atomic_int owners;
	int done_fd; /* readable once is_done */
	atomic_bool is_done; /* what follows is set */
	struct forward_url url;
	int result; /* of getaddrinfo */
	int system_error; /* errno, where result is EAI_SYSTEM */
	struct addrinfo *addresses;
};

struct resolver {
	struct lookup *pending;
};

static void lookup_release(struct lookup *lookup)
{
	if (atomic_fetch_sub(&lookup->owners, 1) > 1)
		return;
	if (lookup->addresses)
		freeaddrinfo(lookup->addresses);
	(void)close(lookup->done_fd);
	free(lookup);
}

static int resolve(const struct forward_url *url, struct addrinfo **ret_addresses)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (url->is_address ? AI_NUMERICHOST : AI_ADDRCONFIG),
	};

	return getaddrinfo(url->host, url->port, &hints, ret_addresses);
}

static void *run_lookup(void *user)
{
	struct lookup *lookup = user;
	const uint64_t one = 1;

	lookup->result = resolve(&lookup->url, &lookup->addresses);
	lookup->system_error = errno;
	lookup->is_done = true;
	/* Cannot fail: the counter is 0. */
	(void)!write(lookup->done_fd, &one, sizeof(one));
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

static int start_lookup(const struct forward_url *url, struct lookup **ret_lookup)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	int r;

	if (!lookup)
		return -ENOMEM;
	lookup->url = *url;
	atomic_init(&lookup->owners, 2);
	lookup->done_fd = eventfd(0, EFD_CLOEXEC);
	r = lookup->done_fd < 0 ? -errno : start_thread(lookup);
	if (r < 0) {
		if (lookup->done_fd >= 0)
			(void)close(lookup->done_fd);
		free(lookup);
		return r;
	}
	*ret_lookup = lookup;
	return 0;
}

struct resolver *resolver_new(void)
{
	return calloc(1, sizeof(struct resolver));
}

void resolver_free(struct resolver *resolver)
{
	if (resolver && resolver->pending)
		lookup_release(resolver->pending);
	free(resolver);
}

static int fail(const struct forward_url *url, int result, int system_error,
		struct failure *ret_failure)
{
	failure_set(ret_failure, FAILURE_RESOLVE, "the name %s cannot be resolved: %s", url->host,
		    result == EAI_SYSTEM ? strerror(system_error) : gai_strerror(result));
	return -EHOSTUNREACH;
}

static int take_result(struct resolver *resolver, struct addrinfo **ret_addresses,
		       struct failure *ret_failure)
{
	struct lookup *lookup = TAKE_PTR(resolver->pending);
	int r = 0;

	if (lookup->result)
		r = fail(&lookup->url, lookup->result, lookup->system_error, ret_failure);
	else
		*ret_addresses = TAKE_PTR(lookup->addresses);
	lookup_release(lookup);
	return r;
}

int resolver_lookup(struct resolver *resolver, const struct forward_url *url,
		    const struct waiter *waiter, uint64_t deadline_ns,
		    struct addrinfo **ret_addresses, struct failure *ret_failure)
{
	int r = 0;

	if (url->is_address) {
		r = resolve(url, ret_addresses);
		return r ? fail(url, r, errno, ret_failure) : 0;
	}
	if (!resolver->pending)
		r = start_lookup(url, &resolver->pending);
	if (r < 0) {
		failure_set(ret_failure, FAILURE_INTERNAL,
			    "cannot start a thread to look up %s: %s", url->host, strerror(-r));
		return r;
	}
	r = waiter_wait(waiter, resolver->pending->done_fd, POLLIN, deadline_ns);
	/* Always true, but what orders memory between threads is this, not poll(2). */
	if (r == 0 && resolver->pending->is_done)
		return take_result(resolver, ret_addresses, ret_failure);
	if (r == -ECANCELED)
		failure_set(ret_failure, FAILURE_CANCELLED, "stopped while looking up %s",
			    url->host);
	else
		failure_set(ret_failure, FAILURE_RESOLVE,
			    "the name %s cannot be resolved: no name server answers", url->host);
	return r;
}
