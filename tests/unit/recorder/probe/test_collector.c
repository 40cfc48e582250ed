/* SPDX-License-Identifier: GPL-2.0-only */
/* How tasks are walked and CPUs are interrupted, with a kernel that the test plays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"
#include <bpf/bpf.h>

#include "recorder/probe/open_session.h"

UNIT_TEST_ALONE;

enum {
	CPUS = 4,
	OFFLINE = 2,
	WALKER = 41,
	READER = 42,
	INTERRUPT = 43
};

static struct fake {
	struct session session;
	struct correlator_bpf skeleton;
	struct correlator_bpf__bss shared;
	int fd; /* of the walk that goes on; -1 = none does */
	int made_of; /* the link that it is of */
	int create_error;
	/* What each read says, bytes or -errno; the walk is over at 0. */
	int reads[4];
	size_t read_count;
	uint32_t phase; /* at the first read */
	int cpus, failing_cpu, cpu_error;
	unsigned int interrupted; /* a bit a CPU */
} fake;

static char links[2];

/* libbpf's */
int bpf_link__fd(const struct bpf_link *link)
{
	return (const char *)link == &links[0] ? WALKER : READER;
}

int bpf_iter_create(int link_fd)
{
	fake.made_of = link_fd;
	errno = -fake.create_error;
	if (fake.create_error)
		return -1;
	fake.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fake.fd;
}

ssize_t read(int fd, void *bytes, size_t size_bytes)
{
	int said;

	if (fd != fake.fd || fd < 0)
		return syscall(SYS_read, fd, bytes, size_bytes);
	if (fake.read_count == 0)
		fake.phase = fake.shared.collect_phase;
	assert_true(fake.read_count < sizeof(fake.reads) / sizeof(fake.reads[0]));
	said = fake.reads[fake.read_count++];
	errno = said < 0 ? -said : 0;
	return said < 0 ? -1 : said;
}

int bpf_program__fd(const struct bpf_program *program)
{
	(void)program;
	return INTERRUPT;
}

int libbpf_num_possible_cpus(void)
{
	return fake.cpus;
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *options)
{
	assert_int_equal(fd, INTERRUPT);
	assert_int_equal(options->flags, BPF_F_TEST_RUN_ON_CPU);
	assert_in_range(options->cpu, 0, CPUS - 1);
	assert_false(fake.interrupted & 1U << options->cpu);
	fake.interrupted |= 1U << options->cpu;
	errno = options->cpu == (uint32_t)fake.failing_cpu ? -fake.cpu_error : ENXIO;
	return options->cpu == OFFLINE || options->cpu == (uint32_t)fake.failing_cpu ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	fake = (struct fake){ .fd = -1, .cpus = CPUS, .failing_cpu = -1 };
	fake.session.skeleton = &fake.skeleton;
	fake.skeleton.bss = &fake.shared;
	fake.session.iterator = (struct bpf_link *)&links[0];
	fake.session.sleepers = (struct bpf_link *)&links[1];
	return 0;
}

/* And is not open any more. */
static void expect_walked(int link, size_t reads)
{
	assert_int_equal(fake.made_of, link);
	assert_int_equal(fake.read_count, reads);
	if (fake.fd >= 0)
		assert_int_equal(fcntl(fake.fd, F_GETFD), -1);
	fake.made_of = fake.fd = -1;
	fake.read_count = 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(collector_reads_walk_to_end_despite_eagain_and_eintr)
{
	const int reads[] = { 3, -EAGAIN, -EINTR, 0 };

	memcpy(fake.reads, reads, sizeof(reads));
	assert_int_equal(collector_run_tasks(&fake.session, COLLECT_PHASE_FLUSH_LATE), 0);
	assert_int_equal(fake.phase, COLLECT_PHASE_FLUSH_LATE);
	expect_walked(WALKER, 4);
}

FIXTURE_TEST(collector_returns_error_of_failed_walk)
{
	fake.reads[0] = -EIO;
	assert_int_equal(collector_run_tasks(&fake.session, COLLECT_PHASE_FLUSH), -EIO);
	expect_walked(WALKER, 1);
	fake.create_error = -EMFILE;
	assert_int_equal(collector_run_tasks(&fake.session, COLLECT_PHASE_FLUSH), -EMFILE);
	expect_walked(WALKER, 0);
}

FIXTURE_TEST(collector_reads_sleepers_once_if_there_are_new_ones)
{
	assert_int_equal(collector_read_sleepers(&fake.session), 0);
	assert_int_equal(fake.made_of, 0);
	fake.session.has_new_sleepers = true;
	assert_int_equal(collector_read_sleepers(&fake.session), 0);
	expect_walked(READER, 1);
	assert_int_equal(collector_read_sleepers(&fake.session), 0);
	expect_walked(-1, 0);
	/* And never where they cannot be. */
	fake.session.has_new_sleepers = true;
	fake.session.sleepers = NULL;
	assert_int_equal(collector_read_sleepers(&fake.session), 0);
	expect_walked(-1, 0);
}

FIXTURE_TEST(collector_interrupts_each_online_cpu)
{
	assert_int_equal(collector_interrupt_cpus(&fake.session), 0);
	assert_int_equal(fake.interrupted, (1U << CPUS) - 1);
	fake.interrupted = 0;
	fake.failing_cpu = 1;
	fake.cpu_error = -EPERM;
	assert_int_equal(collector_interrupt_cpus(&fake.session), -EPERM);
	assert_int_equal(fake.interrupted, 3);
	fake.cpus = -ENOENT;
	fake.interrupted = 0;
	assert_int_equal(collector_interrupt_cpus(&fake.session), -ENOENT);
	assert_int_equal(fake.interrupted, 0);
}
