#include "queue/backlog_source.h"

static int next(void *user, struct chunk *ret_chunk)
{
	return backlog_next(user, ret_chunk);
}

static void done(void *user)
{
	backlog_done(user);
}

/* What could not be kept is counted there. */
static void reject(void *user, const void *entry, size_t entry_bytes)
{
	(void)backlog_reject(user, entry, entry_bytes);
}

static int defer(void *user)
{
	return backlog_defer(user);
}

struct chunk_source backlog_source(struct backlog *backlog)
{
	return (struct chunk_source){
		.user = backlog,
		.next = next,
		.done = done,
		.reject = reject,
		.defer = defer,
		.event_fd = backlog_event_fd(backlog),
	};
}
