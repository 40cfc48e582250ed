/* SPDX-License-Identifier: GPL-2.0-only */
#include "probe/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "probe/features.h"
#include "probe/load.h"
#include "probe/session_internal.h"

DEFINE_CLEANUP(struct session *, session_free);

static int forward_event(void *context, void *data, size_t size)
{
	struct session *session = context;

	if (size == sizeof(struct event) && session->on_event)
		session->on_event(session->event_context, data);
	return 0;
}

/*
 * Who we are to the programs: the ids that they tell are those of our pid namespace. And the clock
 * that they read must be the one that we read.
 */
static int introduce_observer(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;
	int fd = bpf_program__fd(skeleton->progs.identify_observer);
	uint64_t before_ns = clock_monotonic_ns();
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (bpf_prog_test_run_opts(fd, &options))
		return log_error_errno(errno, "cannot find our own pid namespace");
	if (skeleton->bss->observer_ktime_ns < before_ns ||
	    skeleton->bss->observer_ktime_ns > clock_monotonic_ns())
		return log_error(ENOTSUP,
				 "CLOCK_MONOTONIC is shifted here by a time namespace: start "
				 "Correlator in the machine's (nsenter --time=/proc/1/ns/time)");
	return 0;
}

static int prepare_maps(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;
	const int epochs[] = { bpf_map__fd(skeleton->maps.accounts_a),
			       bpf_map__fd(skeleton->maps.accounts_b) };

	for (__u32 slot = 0; slot < 2; slot++)
		if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.accounts), &slot, &epochs[slot],
					BPF_ANY))
			return log_error_errno(errno, "cannot set the epochs of accounts");
	session->ring =
		ring_buffer__new(bpf_map__fd(skeleton->maps.events), forward_event, session, NULL);
	if (!session->ring)
		return log_error_errno(errno, "cannot open the event ring");
	session->iterator = bpf_program__attach_iter(skeleton->progs.collect_tasks, NULL);
	if (!session->iterator)
		return log_error_errno(errno, "cannot make the task iterator");
	if (!bpf_program__autoload(skeleton->progs.read_sleepers))
		return 0;
	session->sleepers = bpf_program__attach_iter(skeleton->progs.read_sleepers, NULL);
	if (!session->sleepers)
		return log_error_errno(errno, "cannot make the iterator of sleeping tasks");
	return 0;
}

int session_open(const struct session_options *options, struct session **ret_session)
{
	_cleanup_(session_freep) struct session *session = calloc(1, sizeof(*session));
	struct refusal refusal;
	int result;

	if (!session)
		return log_error_errno(ENOMEM, "cannot start a session");
	session->options = *options;
	session->stats_fd = -1;
	session->mode = options->is_lean ? SESSION_MODE_LEAN : SESSION_MODE_EXACT;
	result = load_programs(options, &session->skeleton, &refusal);
	if (result)
		return load_explain(result, &refusal);
	session->has_uprobe_multi =
		bpf_program__expected_attach_type(session->skeleton->progs.on_load) ==
		(enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI;
	result = introduce_observer(session);
	if (!result)
		result = prepare_maps(session);
	if (result)
		return result;
	if (options->measures_programs)
		session->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	*ret_session = TAKE_PTR(session);
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	if (session->calibration)
		calibration_free(session->calibration);
	uprobe_detach_all(session);
	if (session->stats_fd >= 0)
		(void)close(session->stats_fd);
	(void)bpf_link__destroy(session->iterator);
	(void)bpf_link__destroy(session->sleepers);
	ring_buffer__free(session->ring);
	correlator_bpf__destroy(session->skeleton);
	free(session->keys);
	free(session->accounts);
	free(session);
}

int session_attach(struct session *session)
{
	struct correlator_bpf_progs {
		struct bpf_program *program;
		struct bpf_link **link;
		bool is_wanted;
	} hooks[] = {
		{ session->skeleton->progs.on_fork, &session->skeleton->links.on_fork, true },
		{ session->skeleton->progs.on_exec, &session->skeleton->links.on_exec, true },
		{ session->skeleton->progs.on_exit, &session->skeleton->links.on_exit, true },
		{ session->skeleton->progs.on_rename, &session->skeleton->links.on_rename, true },
		{ session->skeleton->progs.on_sched_switch,
		  &session->skeleton->links.on_sched_switch, true },
		{ session->skeleton->progs.on_sys_enter, &session->skeleton->links.on_sys_enter,
		  session->options.has_kernel_split && !session->options.is_lean },
		{ session->skeleton->progs.on_sys_enter_lean,
		  &session->skeleton->links.on_sys_enter_lean,
		  session->options.has_kernel_split && session->options.is_lean },
		{ session->skeleton->progs.on_sys_exit, &session->skeleton->links.on_sys_exit,
		  session->options.has_kernel_split },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (!hooks[i].is_wanted)
			continue;
		*hooks[i].link = bpf_program__attach(hooks[i].program);
		if (!*hooks[i].link)
			return log_error_errno(errno, "cannot attach to %s",
					       bpf_program__section_name(hooks[i].program));
	}
	return 0;
}

int session_register_threads(struct session *session)
{
	int result = 0;

	session->has_new_sleepers = true;
	/* Twice: a thread that an unknown one made meanwhile may have got a tid behind the walk. */
	for (int pass = 0; !result && pass < 2; pass++)
		result = collector_run_tasks(session, COLLECT_PHASE_REGISTER);
	if (result)
		return log_error_errno(result, "cannot walk the machine's tasks");
	return 0;
}

static bool is_uprobed(const struct session *session, const struct stat *file)
{
	for (size_t i = 0; i < session->file_count; i++)
		if (session->files[i].device == file->st_dev &&
		    session->files[i].inode == file->st_ino)
			return true;
	return false;
}

int session_attach_uprobes(struct session *session, int fd, const uint64_t *file_offsets,
			   size_t count)
{
	struct stat file;
	int result;

	if (session->mode != SESSION_MODE_EXACT)
		return 0;
	if (fstat(fd, &file))
		return log_error_errno(errno, "cannot look at the object to probe");
	if (is_uprobed(session, &file))
		return 0;
	if (session->file_count == UPROBED_FILES_MAX)
		return log_error_errno(ENOSPC, "too many objects to probe");
	result = uprobe_attach(session, session->skeleton->progs.on_context_change, 0, fd,
			       file_offsets, count);
	if (result)
		return log_error_errno(result, "cannot attach uprobes");
	session->files[session->file_count].device = file.st_dev;
	session->files[session->file_count++].inode = file.st_ino;
	return 0;
}

int session_attach_loader(struct session *session, pid_t pid, int fd, uint64_t file_offset)
{
	struct stat file;
	int result;

	if (fstat(fd, &file))
		return -errno;
	for (size_t i = 0; i < session->link_count; i++)
		if (session->links[i].pid == pid && session->links[i].inode == file.st_ino)
			return 0;
	uprobe_detach(session, pid);
	result = uprobe_attach(session, session->skeleton->progs.on_load, pid, fd, &file_offset, 1);
	if (!result)
		session->links[session->link_count - 1].inode = file.st_ino;
	return result;
}

int session_events_fd(const struct session *session)
{
	return ring_buffer__epoll_fd(session->ring);
}

int session_read_events(struct session *session, session_event_fn on_event, void *context)
{
	int count;

	session->on_event = on_event;
	session->event_context = context;
	count = ring_buffer__consume(session->ring);
	session->on_event = NULL;
	return count;
}
