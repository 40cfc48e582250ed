/* SPDX-License-Identifier: GPL-2.0-only */
/* The flush: two epochs of accounts, the idle one drained in batches and cleared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/probe/open_session.h"

enum {
	DRAIN_BATCH = 4096
};

/*
 * Waits until all programs that are running at the call have ended: the update of a map in map does
 * that (maybe_wait_bpf_programs(), kernel/bpf/syscall.c, v6.18).
 */
static int wait_for_programs(struct session *session)
{
	int fd = bpf_map__fd(session->skeleton->maps.accounts_a);
	__u32 slot = 0;

	if (bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.accounts), &slot, &fd, BPF_ANY))
		return -errno;
	return 0;
}

/* Stops the programs: the iterator closes what is still running. */
static int stop_programs(struct session *session)
{
	__atomic_store_n(&session->skeleton->bss->is_stopped, 1, __ATOMIC_SEQ_CST);
	/* No edge takes the short path any more. */
	__atomic_add_fetch(&session->skeleton->data_registrations->registrations, 1,
			   __ATOMIC_SEQ_CST);
	return wait_for_programs(session);
}

/*
 * One round: meets running threads by an interrupt, others by the iterator. The first one leaves
 * out the CPUs that are not known to run one; a thread that runs there is left. 1: some are left.
 */
static int meet_threads(struct session *session, bool is_last, bool is_first,
			enum collect_phase phase)
{
	struct correlator_bpf__bss *shared = session->skeleton->bss;
	int r = 0;

	if (!is_last)
		r = is_first ? collector_interrupt_observing_cpus(session)
			     : collector_interrupt_cpus(session);
	__atomic_store_n(&shared->stragglers, 0, __ATOMIC_SEQ_CST);
	if (r == 0)
		r = collector_run_tasks(session, phase);
	return r < 0 ? r : __atomic_load_n(&shared->stragglers, __ATOMIC_SEQ_CST) > 0;
}

/*
 * Ends the open window for every thread, until no thread charges to it any more. A thread met in
 * the middle of a boundary, or on its way between running and not running, is met in the next
 * round. A thread whose program was preempted there may be stuck for long: if it still is after all
 * programs that ran were waited for, it goes over to the next window.
 */
static int end_window(struct session *session, bool is_last)
{
	enum {
		ROUNDS_BUSY = 16, /* without a pause */
		ROUNDS_MAX = 128,
		ROUNDS_LAST_MAX = 1024, /* there is no next window */
		PAUSE_NS = 1000 * 1000
	};
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct correlator_bpf__bss *shared = session->skeleton->bss;
	int rounds_max = is_last ? ROUNDS_LAST_MAX : ROUNDS_MAX, r = 0;

	/* Only until then can the context of a running thread be read. */
	if (is_last)
		r = collector_interrupt_cpus(session);
	if (is_last && r == 0)
		r = stop_programs(session);
	if (r < 0)
		return r;
	__atomic_add_fetch(&shared->current_epoch, 1, __ATOMIC_SEQ_CST);
	r = 1;
	for (int round = 0; round < rounds_max && r > 0; round++) {
		r = round == rounds_max / 2 ? wait_for_programs(session) : 0;
		if (r == 0)
			r = meet_threads(session, is_last, round == 0, COLLECT_PHASE_FLUSH);
		/*
		 * A thread that holds its books may have lost its CPU, for as long as its quota
		 * dictates.
		 */
		if (r > 0 && round >= ROUNDS_BUSY)
			(void)nanosleep(&pause, NULL);
	}
	if (r > 0)
		r = meet_threads(session, is_last, false, COLLECT_PHASE_FLUSH_LATE);
	if (r < 0)
		return r;
	__atomic_store_n(&shared->open_epoch, shared->current_epoch, __ATOMIC_SEQ_CST);
	/* An exiting thread that no round meets may just be charging to the ended window. */
	if (!is_last && __atomic_load_n(&shared->leaving_threads, __ATOMIC_SEQ_CST) > 0)
		return wait_for_programs(session);
	return 0;
}

static int drain_epoch(struct session *session, int fd, session_account_fn on_account,
		       void *context)
{
	__u32 position, count;
	void *in = NULL;
	int failed, r;

	do {
		count = DRAIN_BATCH;
		failed = bpf_map_lookup_and_delete_batch(fd, in, &position, session->keys,
							 session->accounts, &count, NULL);
		if (failed && errno != ENOENT)
			return -errno;
		for (__u32 i = 0; i < count; i++) {
			if (calibrations_own(session, session->keys[i].life))
				continue;
			r = on_account(context, &session->keys[i], &session->accounts[i]);
			if (r < 0)
				return r;
		}
		in = &position;
	} while (!failed);
	return 0;
}

static int allocate_batch(struct session *session)
{
	if (!session->keys)
		session->keys = calloc(DRAIN_BATCH, sizeof(*session->keys));
	if (!session->accounts)
		session->accounts = calloc(DRAIN_BATCH, sizeof(*session->accounts));
	return session->keys && session->accounts ? 0 : -ENOMEM;
}

int session_flush(struct session *session, bool is_last, session_account_fn on_account,
		  void *context, uint64_t *ret_end_ktime_ns, uint64_t *ret_epoch)
{
	struct bpf_map *maps[] = { session->skeleton->maps.accounts_a,
				   session->skeleton->maps.accounts_b };
	uint32_t epoch = session->skeleton->bss->current_epoch;
	int r = allocate_batch(session);

	session->skeleton->bss->seeks_mode = session->split == SESSION_SPLIT_COMING;
	if (r == 0)
		r = collector_read_sleepers(session);
	if (r == 0)
		r = end_window(session, is_last);
	session->skeleton->bss->seeks_mode = 0;
	if (session->split == SESSION_SPLIT_COMING)
		session->split = SESSION_SPLIT_ON;
	if (r < 0)
		return log_error_errno(r, "cannot write up the open intervals");
	*ret_end_ktime_ns = clock_monotonic_ns();
	*ret_epoch = epoch;
	r = drain_epoch(session, bpf_map__fd(maps[epoch & 1]), on_account, context);
	if (r < 0)
		return log_error_errno(r, "cannot drain the accounts");
	for (size_t way = 0; way < _SESSION_WAY_MAX; way++)
		if (session->calibrations[way])
			calibration_forget(session, session->calibrations[way]);
	/* No program adds to it until the window after the open one. */
	memset(&session->skeleton->bss->accounts_share[epoch & 1], 0,
	       sizeof(session->skeleton->bss->accounts_share[0]));
	return 0;
}
