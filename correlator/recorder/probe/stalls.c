/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of stalls: polled, nothing is woken for it. */
#include <errno.h>

#include <correlator/stall.h>

#include "base/log.h"
#include "recorder/probe/open_session.h"

static int forward_stall(void *context, void *data, size_t size)
{
	struct session *session = context;
	const struct stall *stall = data;

	if (size == sizeof(*stall) && !calibrations_own(session, stall->life))
		session->on_stall(session->stall_context, stall);
	return 0;
}

int stalls_open(struct session *session)
{
	if (!session->options.stall_least_ns)
		return 0;
	session->stalls = ring_buffer__new(bpf_map__fd(session->skeleton->maps.stalls),
					   forward_stall, session, NULL);
	return session->stalls ? 0 : log_error_errno(errno, "cannot open the ring of stalls");
}

int session_read_stalls(struct session *session, session_stall_fn on_stall, void *context)
{
	if (!session->stalls)
		return 0;
	session->on_stall = on_stall;
	session->stall_context = context;
	return ring_buffer__consume(session->stalls);
}
