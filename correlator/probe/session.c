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
#include "probe/open_session.h"

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
	int r;

	if (!session)
		return log_error_errno(ENOMEM, "cannot start a session");
	session->options = *options;
	session->stats_fd = -1;
	session->mode = options->is_lean ? SESSION_MODE_LEAN : SESSION_MODE_EXACT;
	r = load_programs(options, &session->skeleton, &refusal);
	if (r < 0)
		return load_explain(r, &refusal);
	session->has_uprobe_multi =
		bpf_program__expected_attach_type(session->skeleton->progs.on_load) ==
		(enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI;
	r = introduce_observer(session);
	if (r == 0)
		r = prepare_maps(session);
	if (r < 0)
		return r;
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
	int r;

	if (session->mode != SESSION_MODE_EXACT)
		return 0;
	if (fstat(fd, &file))
		return log_error_errno(errno, "cannot look at the object to probe");
	if (is_uprobed(session, &file))
		return 0;
	if (session->file_count == UPROBED_FILES_MAX)
		return log_error_errno(ENOSPC, "too many objects to probe");
	r = uprobe_attach(session, session->skeleton->progs.on_context_change, 0, fd, file_offsets,
			  count);
	if (r < 0)
		return log_error_errno(r, "cannot attach uprobes");
	session->files[session->file_count].device = file.st_dev;
	session->files[session->file_count++].inode = file.st_ino;
	return 0;
}

int session_attach_loader(struct session *session, pid_t pid, int fd, uint64_t file_offset)
{
	struct stat file;
	int r;

	if (fstat(fd, &file))
		return -errno;
	for (size_t i = 0; i < session->link_count; i++)
		if (session->links[i].pid == pid && session->links[i].inode == file.st_ino)
			return 0;
	uprobe_detach(session, pid);
	r = uprobe_attach(session, session->skeleton->progs.on_load, pid, fd, &file_offset, 1);
	if (r == 0)
		session->links[session->link_count - 1].inode = file.st_ino;
	return r;
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

enum session_mode session_get_mode(const struct session *session)
{
	return session->mode;
}

bool session_has_kernel_split(const struct session *session)
{
	return session->options.has_kernel_split && session->mode != SESSION_MODE_SWITCH_ONLY;
}

static void detach(struct bpf_link **link)
{
	(void)bpf_link__destroy(*link);
	*link = NULL;
}

static int step_to_lean(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;

	/* First every boundary reads, then the probes go: no change of context is missed between.
	 */
	__atomic_store_n(&skeleton->bss->is_lean, 1, __ATOMIC_SEQ_CST);
	if (session->options.has_kernel_split) {
		skeleton->links.on_sys_enter_lean =
			bpf_program__attach(skeleton->progs.on_sys_enter_lean);
		if (!skeleton->links.on_sys_enter_lean)
			return log_error_errno(errno, "cannot attach to sys_enter");
		detach(&skeleton->links.on_sys_enter);
	}
	uprobe_detach(session, 0);
	if (session->calibration)
		calibration_renew(session->calibration);
	return 0;
}

int session_step_down(struct session *session, enum session_mode mode)
{
	struct correlator_bpf *skeleton = session->skeleton;
	int r = 0;

	if (session->mode == SESSION_MODE_EXACT && mode >= SESSION_MODE_LEAN)
		r = step_to_lean(session);
	if (r == 0 && mode == SESSION_MODE_SWITCH_ONLY) {
		detach(&skeleton->links.on_sys_enter);
		detach(&skeleton->links.on_sys_enter_lean);
		detach(&skeleton->links.on_sys_exit);
		if (session->calibration)
			calibration_end(session->calibration);
	}
	if (r == 0)
		session->mode = mode;
	return r;
}

/* What the kernel measured of our programs. */
size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX])
{
	struct bpf_program *program;
	uint64_t runs = 0;
	size_t count = 0;

	bpf_object__for_each_program(program, session->skeleton->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || count == SESSION_PROGRAMS_MAX ||
		    bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		ret_programs[count].name = bpf_program__name(program);
		ret_programs[count].run_count = info.run_cnt;
		ret_programs[count++].run_ns = info.run_time_ns;
		runs += info.run_cnt;
	}
	/* The scheduler's runs all the time: no runs at all means that none are counted. */
	return runs ? count : 0;
}
