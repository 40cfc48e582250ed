/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of slices: polled, nothing is woken for it. */
#include <errno.h>

#include <correlator/timeline.h>

#include "base/log.h"
#include "recorder/probe/open_session.h"

static int forward_slice(void *context, void *data, size_t size)
{
	struct session *session = context;
	const struct slice *slice = data;

	if (size == sizeof(*slice) && !calibrations_own(session, slice->life))
		session->on_slice(session->slice_context, slice);
	return 0;
}

int slices_open(struct session *session)
{
	if (!session->options.has_timeline)
		return 0;
	session->slices = ring_buffer__new(bpf_map__fd(session->skeleton->maps.slices),
					   forward_slice, session, NULL);
	return session->slices ? 0 : log_error_errno(errno, "cannot open the ring of slices");
}

int session_read_slices(struct session *session, session_slice_fn on_slice, void *context)
{
	if (!session->slices)
		return 0;
	session->on_slice = on_slice;
	session->slice_context = context;
	return ring_buffer__consume(session->slices);
}
