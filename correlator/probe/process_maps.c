/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel side knows of processes and contexts, by map. */
#include <errno.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "probe/open_session.h"

int session_set_process(struct session *session, pid_t tgid, const struct process_config *config)
{
	static const struct process_books empty;
	__u32 key = (__u32)tgid;
	int books = bpf_map__fd(session->skeleton->maps.books);
	int processes = bpf_map__fd(session->skeleton->maps.processes);

	if (bpf_map_update_elem(books, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
		return log_error_errno(errno, "cannot open the books of process %d", tgid);
	/* What ran so far ran without what is known from now on. */
	(void)collector_interrupt_cpus(session);
	if (bpf_map_update_elem(processes, &key, config, BPF_ANY))
		return log_error_errno(errno, "cannot configure process %d", tgid);
	session->has_new_sleepers = true;
	__atomic_add_fetch(&session->skeleton->bss->generation, 1, __ATOMIC_SEQ_CST);
	/* Who runs now must not pass its system calls' edges the short way any more. */
	if (config->flags & PROCESS_HAS_OTEL)
		(void)collector_interrupt_cpus(session);
	return 0;
}

int session_set_otel(struct session *session, pid_t tgid, const struct otel_config *config)
{
	__u32 key = (__u32)tgid;
	int r = 0;

	if (bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.otel_processes), &key, config,
				BPF_ANY))
		return log_error_errno(errno, "cannot configure OpenTelemetry in process %d", tgid);
	/* Twice, as session_register_threads(). */
	for (int pass = 0; r == 0 && pass < 2; pass++)
		r = collector_run_tasks(session, COLLECT_PHASE_OTEL);
	return r < 0 ? log_error_errno(r, "cannot walk the machine's tasks") : 0;
}

void session_remove_process(struct session *session, pid_t tgid)
{
	__u32 key = (__u32)tgid;

	uprobe_detach(session, tgid);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.processes), &key);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.books), &key);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.otel_processes), &key);
}

int session_take_context(struct session *session, uint64_t hash,
			 struct context_snapshot *ret_snapshot)
{
	__u64 key = hash;
	int fd = bpf_map__fd(session->skeleton->maps.contexts);

	if (bpf_map_lookup_and_delete_elem(fd, &key, ret_snapshot))
		return -errno;
	share_remove(&session->skeleton->bss->contexts_share, ret_snapshot->tgid);
	return 0;
}

int session_get_books(struct session *session, pid_t tgid, struct process_books *ret_books)
{
	__u32 key = (__u32)tgid;
	int fd = bpf_map__fd(session->skeleton->maps.books);

	return bpf_map_lookup_elem(fd, &key, ret_books) ? -errno : 0;
}

int session_register_threads(struct session *session)
{
	int r = 0;

	session->has_new_sleepers = true;
	/* Twice: a thread that an unknown one made meanwhile may have got a tid behind the walk. */
	for (int pass = 0; r == 0 && pass < 2; pass++)
		r = collector_run_tasks(session, COLLECT_PHASE_REGISTER);
	if (r < 0)
		return log_error_errno(r, "cannot walk the machine's tasks");
	return 0;
}
