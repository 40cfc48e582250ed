/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls by number: their two epochs. */
#include <correlator/syscall_counts.h>

#include "recorder/probe/open_session.h"

int syscalls_open(struct session *session)
{
	const struct correlator_bpf *skeleton = session->skeleton;

	return session->options.counts_syscalls
		       ? epochs_set(skeleton->maps.syscalls, skeleton->maps.syscalls_a,
				    skeleton->maps.syscalls_b)
		       : 0;
}

/* Receives the entries. */
struct receiver {
	session_syscall_fn on_syscall;
	void *context;
};

static int hand_over(void *user, const void *key, const void *sums)
{
	const struct receiver *receiver = user;

	return receiver->on_syscall(receiver->context, key, sums);
}

int session_drain_syscalls(struct session *session, uint64_t epoch, session_syscall_fn on_syscall,
			   void *context)
{
	struct receiver receiver = { on_syscall, context };
	const struct bpf_map *maps[] = { session->skeleton->maps.syscalls_a,
					 session->skeleton->maps.syscalls_b };
	int r;

	if (!session->options.counts_syscalls)
		return 0;
	r = epochs_drain(session, maps[epoch & 1], hand_over, &receiver);
	/* No program adds to it until the window after the open one. */
	session->skeleton->bss->syscalls_share[epoch & 1] = (struct share_table){ 0 };
	return r;
}
