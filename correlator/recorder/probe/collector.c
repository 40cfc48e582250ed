/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "recorder/probe/open_session.h"

static int run_iterator(const struct bpf_link *iterator)
{
	_cleanup_fd_ int fd = bpf_iter_create(bpf_link__fd(iterator));
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

int collector_run_tasks(struct session *session, enum collect_phase phase)
{
	session->skeleton->bss->collect_phase = phase;
	return run_iterator(session->iterator);
}

int collector_read_sleepers(struct session *session)
{
	if (!session->sleepers || !session->has_new_sleepers)
		return 0;
	session->has_new_sleepers = false;
	return run_iterator(session->sleepers);
}

int collector_interrupt_cpus(struct session *session)
{
	int fd = bpf_program__fd(session->skeleton->progs.collect_current);
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return cpus;
	for (int cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU,
			    .cpu = (__u32)cpu);

		/* -ENXIO: possible, but not online. */
		if (bpf_prog_test_run_opts(fd, &options) && errno != ENXIO)
			return -errno;
	}
	return 0;
}
