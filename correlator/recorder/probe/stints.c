/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of stints: polled, nothing is woken for it. */
#include <errno.h>

#include <correlator/timeline.h>

#include "base/log.h"
#include "recorder/probe/open_session.h"

static int forward_stint(void *context, void *data, size_t size)
{
	struct session *session = context;
	const struct stint *stint = data;

	if (size == sizeof(*stint) && !calibrations_own(session, stint->life))
		session->on_stint(session->stint_context, stint);
	return 0;
}

int stints_open(struct session *session)
{
	if (!session->options.has_timeline)
		return 0;
	session->stints = ring_buffer__new(bpf_map__fd(session->skeleton->maps.stints),
					   forward_stint, session, NULL);
	return session->stints ? 0 : log_error_errno(errno, "cannot open the ring of stints");
}

int session_read_stints(struct session *session, session_stint_fn on_stint, void *context)
{
	if (!session->stints)
		return 0;
	session->on_stint = on_stint;
	session->stint_context = context;
	return ring_buffer__consume(session->stints);
}
