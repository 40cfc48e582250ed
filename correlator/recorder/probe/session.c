/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "recorder/probe/features.h"
#include "recorder/probe/load.h"
#include "recorder/probe/open_session.h"
#include "recorder/probe/uprobed_files.h"

DEFINE_CLEANUP(struct session *, session_free);

static int forward_event(void *context, void *data, size_t size)
{
	struct session *session = context;
	const struct event *event = data;

	if (size == sizeof(*event) && !calibrations_own(session, event->life))
		session->on_event(session->event_context, event);
	return 0;
}

/*
 * Registers the observer: the programs report ids of our pid namespace. Also checks that the clock
 * that they read is the one that we read.
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
	int r = epochs_set(skeleton->maps.accounts, skeleton->maps.accounts_a,
			   skeleton->maps.accounts_b);

	if (r < 0)
		return r;
	session->ring =
		ring_buffer__new(bpf_map__fd(skeleton->maps.events), forward_event, session, NULL);
	if (!session->ring)
		return log_error_errno(errno, "cannot open the event ring");
	if (session->options.strangers != STRANGERS_NONE &&
	    ring_buffer__add(session->ring, bpf_map__fd(skeleton->maps.strangers), forward_event,
			     session))
		return log_error_errno(errno, "cannot open the strangers' ring");
	session->iterator_program = bpf_program__autoload(skeleton->progs.collect_tasks)
					    ? skeleton->progs.collect_tasks
					    : skeleton->progs.collect_tasks_undisturbed;
	session->iterator = bpf_program__attach_iter(session->iterator_program, NULL);
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
	r = load_programs(options, &session->skeleton, &refusal);
	if (r < 0)
		return load_explain(r, &refusal);
	r = introduce_observer(session);
	if (r == 0)
		r = prepare_maps(session);
	if (r == 0)
		r = stints_open(session);
	if (r == 0)
		r = stalls_open(session);
	if (r == 0)
		r = samples_open(session);
	if (r == 0)
		r = syscalls_open(session);
	if (r == 0)
		r = io_open(session);
	if (r < 0)
		return r;
	r = uprobed_files_new(session->skeleton, &session->uprobed_files);
	if (r < 0)
		return log_error_errno(r, "cannot start a session");
	*ret_session = TAKE_PTR(session);
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	for (size_t way = 0; way < _SESSION_WAY_MAX; way++)
		calibration_free(session->calibrations[way]);
	uprobed_files_free(session->uprobed_files);
	if (session->stats_fd >= 0)
		(void)close(session->stats_fd);
	samples_close(session);
	(void)bpf_link__destroy(session->iterator);
	(void)bpf_link__destroy(session->sleepers);
	ring_buffer__free(session->ring);
	ring_buffer__free(session->stints);
	ring_buffer__free(session->stalls);
	correlator_bpf__destroy(session->skeleton);
	free(session->keys);
	free(session->accounts);
	free(session);
}

static int attach(struct bpf_program *program, struct bpf_link **ret_link)
{
	*ret_link = bpf_program__attach(program);
	return *ret_link ? 0
			 : log_error_errno(errno, "cannot attach to %s",
					   bpf_program__section_name(program));
}

static void detach(struct bpf_link **link)
{
	(void)bpf_link__destroy(*link);
	*link = NULL;
}

static int attach_split(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;
	int r = attach(skeleton->progs.on_sys_enter, &skeleton->links.on_sys_enter);

	skeleton->bss->sees_syscalls = 1;
	return r < 0 ? r : attach(skeleton->progs.on_sys_exit, &skeleton->links.on_sys_exit);
}

static void detach_split(struct session *session)
{
	detach(&session->skeleton->links.on_sys_enter);
	detach(&session->skeleton->links.on_sys_exit);
	session->skeleton->bss->sees_syscalls = 0;
	for (int way = 0; way < _SESSION_WAY_MAX; way++)
		session_end_calibration(session, (enum session_way)way);
	session->split = SESSION_SPLIT_OFF;
}

int session_attach(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;
	struct {
		struct bpf_program *program; /* attached if it is loaded */
		struct bpf_link **link;
	} hooks[] = {
		{ skeleton->progs.on_new_task, &skeleton->links.on_new_task },
		{ skeleton->progs.on_prepare_exec, &skeleton->links.on_prepare_exec },
		{ skeleton->progs.on_exec, &skeleton->links.on_exec },
		{ skeleton->progs.on_exit, &skeleton->links.on_exit },
		{ skeleton->progs.on_rename, &skeleton->links.on_rename },
		{ skeleton->progs.on_leaving_cpu, &skeleton->links.on_leaving_cpu },
		{ skeleton->progs.on_sched_switch, &skeleton->links.on_sched_switch },
		{ skeleton->progs.on_waking, &skeleton->links.on_waking },
		{ skeleton->progs.on_file_fault, &skeleton->links.on_file_fault },
		{ skeleton->progs.on_page_read, &skeleton->links.on_page_read },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]) && r == 0; i++)
		if (bpf_program__autoload(hooks[i].program))
			r = attach(hooks[i].program, hooks[i].link);
	if (r == 0)
		r = samples_attach(session);
	if (r < 0 || !session->options.has_kernel_split)
		return r;
	r = attach_split(session);
	if (r == 0)
		session->split = SESSION_SPLIT_ON;
	return r;
}

void session_set_probes(struct session *session, uint64_t life, struct session_probe *probes,
			size_t count)
{
	uprobed_files_set(session->uprobed_files, life, probes, count);
}

int session_identifier(const struct session *session)
{
	return bpf_program__fd(session->skeleton->progs.identify_file);
}

int session_identify_file(int identifier, int fd, uint64_t *ret_inode)
{
	return uprobed_file_identify(identifier, fd, ret_inode);
}

void session_drop_context_probes(struct session *session, uint64_t life)
{
	uprobed_files_drop(session->uprobed_files, life, SESSION_PROBE_CONTEXT);
}

void session_inherit_probes(struct session *session, uint64_t parent, uint64_t child)
{
	(void)uprobed_files_inherit(session->uprobed_files, parent, child);
}

int session_events_fd(const struct session *session)
{
	return ring_buffer__epoll_fd(session->ring);
}

int session_read_events(struct session *session, session_event_fn on_event, void *context)
{
	session->on_event = on_event;
	session->event_context = context;
	return ring_buffer__consume(session->ring);
}

bool session_has_lost_strangers(struct session *session)
{
	uint32_t lost = session->skeleton->bss->strangers_lost;
	bool has_lost = lost != session->strangers_lost;

	session->strangers_lost = lost;
	return has_lost;
}

bool session_is_lean(const struct session *session)
{
	return session->options.is_lean;
}

bool session_has_timeline(const struct session *session)
{
	return session->options.has_timeline;
}

bool session_has_kernel_split(const struct session *session)
{
	return session->split == SESSION_SPLIT_ON;
}

int session_set_kernel_split(struct session *session, bool is_wanted)
{
	int r;

	if (!is_wanted)
		detach_split(session);
	if (!is_wanted || session->split != SESSION_SPLIT_OFF)
		return 0;
	r = attach_split(session);
	if (r == 0)
		r = session_start_calibration(session, SESSION_WAY_SHORT);
	if (r < 0)
		detach_split(session);
	else
		session->split = SESSION_SPLIT_COMING;
	return r;
}

bool session_programs_are_timed(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

	return file && fgetc(file) == '1';
}

int session_time_programs(struct session *session, bool is_on)
{
	if (!is_on && session->stats_fd >= 0)
		(void)close(TAKE_FD(session->stats_fd));
	if (!is_on || session->stats_fd >= 0)
		return 0;
	session->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return session->stats_fd < 0 ? -errno : 0;
}

/* Reads the kernel's figures of our programs. */
size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX])
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, session->skeleton->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || count == SESSION_PROGRAMS_MAX ||
		    bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		ret_programs[count++] = (struct session_program){
			.name = bpf_program__name(program),
			.run_count = info.run_cnt,
			.run_ns = info.run_time_ns,
			.skipped_runs = info.recursion_misses,
		};
	}
	return count;
}
