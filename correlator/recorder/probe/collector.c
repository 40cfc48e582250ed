/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <correlator/edge_slot.h>
#include <correlator/life.h>

#include "base/cleanup.h"
#include "recorder/probe/open_session.h"

enum {
	/*
	 * To set up a walk takes as long as to visit this many tasks. Processes are walked one by
	 * one if that visits fewer.
	 */
	TASKS_PER_WALK = 100,
	WALKED_PROCESSES_MAX = 1024,
	WALKS_MAX = 8, /* of one process, until one is whole */
};

/* Walks all that an iterator visits. */
static int run_iterator(int link_fd)
{
	_cleanup_fd_ int fd = bpf_iter_create(link_fd);
	char unused[64];
	ssize_t got;

	if (fd < 0)
		return -errno;
	/* The program prints nothing: one read walks all tasks; the kernel asks for more reads
	 * with EAGAIN when it has walked a million of them (bpf_iter.c, v6.18). */
	do {
		got = read(fd, unused, sizeof(unused));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	return got < 0 ? -errno : 0;
}

/* The machine's tasks; 0: not known. */
static unsigned long count_tasks(void)
{
	_cleanup_fd_ int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];
	unsigned long tasks;
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got <= 0)
		return 0;
	text[got] = '\0';
	return sscanf(text, "%*s %*s %*s %*u/%lu", &tasks) == 1 ? tasks : 0;
}

/* Sets the pids of the observed processes. Returns their number; 0: walking all tasks costs less,
 * or they cannot be listed. */
static __u32 list_processes(const struct session *session,
			    __u32 ret_pids[static WALKED_PROCESSES_MAX])
{
	struct process_life lives[WALKED_PROCESSES_MAX];
	__u32 position, count = WALKED_PROCESSES_MAX;
	unsigned long most = count_tasks() / TASKS_PER_WALK;

	/* ENOENT: these were all. */
	if (most == 0 ||
	    !bpf_map_lookup_batch(bpf_map__fd(session->skeleton->maps.lives), NULL, &position,
				  ret_pids, lives, &count, NULL) ||
	    errno != ENOENT)
		return 0;
	return count <= most ? count : 0;
}

/* Walks the threads of a process. 0: it has walked all of them. */
static int walk_process(struct session *session, __u32 pid)
{
	union bpf_iter_link_info info = { .task.pid = pid };
	LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &info,
		    .iter_info_len = sizeof(info));
	_cleanup_fd_ int link = bpf_link_create(bpf_program__fd(session->iterator_program), 0,
						BPF_TRACE_ITER, &options);
	int r = link < 0 ? -errno : 0;

	/* Before 6.1: the kernel knows only walks of all tasks. */
	session->walks_all = session->walks_all || r < 0;
	for (int i = 0; r == 0 && i < WALKS_MAX; i++) {
		session->skeleton->bss->walk_is_whole = 1;
		r = run_iterator(link);
		if (r == 0 && session->skeleton->bss->walk_is_whole)
			return 0;
	}
	return r < 0 ? r : -EAGAIN;
}

/* Walks the threads of each observed process. False: not of all. */
static bool walk_processes(struct session *session)
{
	__u32 pids[WALKED_PROCESSES_MAX];
	__u32 count = session->walks_all ? 0 : list_processes(session, pids);

	for (__u32 i = 0; i < count; i++)
		if (walk_process(session, pids[i]) < 0)
			return false;
	return count > 0;
}

int collector_run_tasks(struct session *session, enum collect_phase phase)
{
	session->skeleton->bss->collect_phase = phase;
	return walk_processes(session) ? 0 : run_iterator(bpf_link__fd(session->iterator));
}

int collector_read_sleepers(struct session *session)
{
	if (!session->sleepers || !session->has_new_sleepers)
		return 0;
	session->has_new_sleepers = false;
	return run_iterator(bpf_link__fd(session->sleepers));
}

/* slots: by CPU, to interrupt those alone that run an observed thread; NULL = all. */
static int interrupt_cpus(const struct session *session, int cpus, const struct edge_slot *slots)
{
	int fd = bpf_program__fd(session->skeleton->progs.collect_current);

	for (int cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU,
			    .cpu = (__u32)cpu);

		if (slots && !slots[cpu].runs_observed)
			continue;
		/* -ENXIO: possible, but not online. */
		if (bpf_prog_test_run_opts(fd, &options) && errno != ENXIO)
			return -errno;
	}
	return 0;
}

int collector_interrupt_cpus(struct session *session)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus < 0 ? cpus : interrupt_cpus(session, cpus, NULL);
}

int collector_interrupt_observing_cpus(struct session *session)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct edge_slot *slots = NULL;
	__u32 key = 0;

	if (cpus < 0)
		return cpus;
	slots = calloc((size_t)cpus, sizeof(*slots));
	if (slots &&
	    bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.edge_slots), &key, slots))
		return -errno;
	return interrupt_cpus(session, cpus, slots);
}
