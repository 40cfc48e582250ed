/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that measures ways, with a stopwatch, a kernel and CPUs of our own: each call takes
 * what is written here, and the ways must come out of that to the nanosecond.
 */
#include "recorder/probe/calibrator.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"
#include <linux/bpf.h>

#include <correlator/edge_slot.h>

#include "base/clock.h"
#include "recorder/probe/stopwatch.h"

UNIT_TEST_ALONE;

enum {
	CPUS = 6,
	FIRST_CPU = 2,
	RELEASE_FD = 0, /* with nothing before it */
	THREADS_FD = 30,
	SLOTS_FD = 31, /* with nothing in between */
	FDS = 64,
	BURSTS = 60,
	FIRST_BURSTS = 16,
	STRETCHES = 5,
	CHEAP_CALLS = 8, /* in each */
	BURST_SAMPLES = 2 + STRETCHES,
	LOOKUPS = 9, /* of a first burst */
	/* By the counter, of which two are a nanosecond. */
	PAIR_COUNTS = 10,
	READ_COUNTS = PAIR_COUNTS + 2000,
	WAKING_COUNTS = 400, /* more, of the first one after a sleep */
	CHEAP_COUNTS = PAIR_COUNTS + 200,
	GAP_COUNTS = 60,
	WAKING_GAP_COUNTS = 100,
	/* As the programs book it. */
	READ_KERNEL_NS = 700,
	CHEAP_KERNEL_NS = 25,
	SLEEP_KERNEL_NS = 3333,
	SLEEP_USER_NS = 1190,
	SLOT_USER_NS = 555,
	/* And what is left for the ways. */
	HOT_NS = 100,
	LONE_NS = 500,
	SLEPT_NS = 1000,
	SLOT_SLEPT_NS = 500,
};

struct books {
	uint64_t user_ns, kernel_ns, syscalls, life;
};

/* Shared with the process that is tested. */
static struct machine {
	struct calibration_samples samples;
	/* What the test wants. */
	int bursts; /* so many */
	int failing_lookup; /* counted from 1; 0 = none */
	int disturbed_sleep; /* another call is booked with it */
	int changing_lookup; /* another life begins after it */
	int armed_from; /* the burst */
	int targets_until; /* the burst; they are on the CPUs 0 and 4 */
	uint64_t read_kernel_ns;
	bool keeps_cpu, has_no_memory;
	/* What came to be. */
	uint64_t counter;
	struct books thread, slot;
	bool is_waking;
	int cpu;
	int sleeps, lookups, settings, sets_held;
	bool has_asked_wrongly;
	long pauses_ns[BURSTS];
	bool fds[FDS];
	char name[16];
	int parent_death_signal;
} * machine;

int sched_getcpu(void)
{
	return FIRST_CPU;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	if (pid || CPU_COUNT_S(bytes, set) != 1 || (machine->keeps_cpu && machine->sleeps)) {
		errno = EINVAL;
		return -1;
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		if (CPU_ISSET_S((size_t)cpu, bytes, set))
			machine->cpu = cpu;
	return 0;
}

/* As the C library's, behind CPU_ALLOC() and CPU_FREE(). */
cpu_set_t *__sched_cpualloc(size_t count)
{
	if (machine->has_no_memory)
		return NULL;
	machine->sets_held++;
	return calloc(1, CPU_ALLOC_SIZE(count));
}

void __sched_cpufree(cpu_set_t *set)
{
	machine->sets_held--;
	free(set);
}

void stopwatch_set(struct stopwatch *stopwatch)
{
	stopwatch->ns_per_count = 0.5;
	stopwatch->pair_counts = PAIR_COUNTS;
	machine->settings++;
}

double stopwatch_counts(const struct stopwatch *stopwatch, const struct call *call)
{
	return (double)(call->after - call->before) - stopwatch->pair_counts;
}

static void book(uint64_t kernel_ns)
{
	machine->thread.kernel_ns += kernel_ns;
	machine->thread.syscalls++;
	machine->slot.kernel_ns += kernel_ns;
	machine->slot.syscalls++;
}

static bool is_armed(void)
{
	return machine->armed_from && machine->sleeps >= machine->armed_from;
}

static void fill_slots(struct edge_slot *slots)
{
	memset(slots, 0, CPUS * sizeof(*slots));
	if (machine->sleeps <= machine->targets_until)
		slots[0].registers = slots[4].registers = 77;
	/* Where it runs itself nobody else does, though the books there may be another's. */
	slots[machine->cpu].registers = 0;
	slots[machine->cpu].serial = (uint32_t)machine->slot.life;
	if (!is_armed())
		return;
	slots[machine->cpu].registers = 99;
	slots[machine->cpu].times = (struct edge_times){
		.user_ns = machine->slot.user_ns,
		.kernel_ns = machine->slot.kernel_ns,
		.syscalls = machine->slot.syscalls,
	};
}

static void fill_front(struct thread_front *front)
{
	memset(front, 0, sizeof(*front));
	front->pending.user_ns = machine->thread.user_ns;
	front->pending.kernel_ns = machine->thread.kernel_ns;
	front->pending.syscalls = machine->thread.syscalls;
	front->pending.slices = machine->thread.life;
}

static long look_up(const struct call *call)
{
	const union bpf_attr *attributes = (const void *)(uintptr_t)call->arguments[1];
	int key = *(const int *)(uintptr_t)attributes->key;

	machine->lookups++;
	if (machine->lookups == machine->failing_lookup || machine->sleeps > machine->bursts)
		return -EBADF;
	/* As the kernel, which takes a flag that it does not know for an error. */
	if (call->arguments[0] != BPF_MAP_LOOKUP_ELEM || call->arguments[2] < 32 ||
	    attributes->flags)
		machine->has_asked_wrongly = true;
	if (attributes->map_fd == SLOTS_FD && key == 0)
		fill_slots((void *)(uintptr_t)attributes->value);
	else if (attributes->map_fd == THREADS_FD && fcntl(key, F_GETFD) >= 0)
		fill_front((void *)(uintptr_t)attributes->value);
	else
		machine->has_asked_wrongly = true;
	if (machine->lookups == machine->changing_lookup) {
		machine->thread.life++;
		machine->slot.life++;
	}
	machine->counter += READ_COUNTS + (machine->is_waking ? WAKING_COUNTS : 0);
	machine->is_waking = false;
	book(machine->read_kernel_ns);
	return 0;
}

static void look_at_process(void)
{
	for (int fd = 0; fd < FDS; fd++)
		machine->fds[fd] = fcntl(fd, F_GETFD) >= 0;
	(void)prctl(PR_GET_NAME, machine->name);
	(void)prctl(PR_GET_PDEATHSIG, &machine->parent_death_signal);
}

static long sleep_a_while(const struct call *call)
{
	const struct timespec *pause = (const void *)(uintptr_t)call->arguments[2];

	if (call->arguments[0] != CLOCK_MONOTONIC || call->arguments[1] || pause->tv_sec ||
	    call->arguments[3])
		machine->has_asked_wrongly = true;
	if (!machine->sleeps)
		look_at_process();
	if (machine->sleeps < BURSTS)
		machine->pauses_ns[machine->sleeps] = pause->tv_nsec;
	machine->sleeps++;
	machine->counter += (uint64_t)pause->tv_nsec * 2;
	machine->thread.user_ns += SLEEP_USER_NS;
	book(SLEEP_KERNEL_NS);
	/* A slot knows what was since it woke. */
	machine->slot.user_ns = SLOT_USER_NS;
	machine->slot.syscalls = 1;
	if (machine->sleeps == machine->disturbed_sleep) {
		machine->thread.syscalls++;
		machine->slot.syscalls++;
	}
	machine->is_waking = true;
	return 0;
}

long stopwatch_call(struct call *call)
{
	long result = 0;

	machine->counter += machine->is_waking ? WAKING_GAP_COUNTS : GAP_COUNTS;
	call->before = machine->counter;
	if (call->number == SYS_bpf) {
		result = look_up(call);
	} else if (call->number == SYS_clock_nanosleep) {
		result = sleep_a_while(call);
	} else {
		machine->counter += CHEAP_COUNTS;
		book(CHEAP_KERNEL_NS);
	}
	call->after = machine->counter;
	return result;
}

static int set_up(void **state)
{
	(void)state;
	machine = mmap(NULL, sizeof(*machine), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (machine == MAP_FAILED)
		return -1;
	machine->bursts = 2;
	machine->read_kernel_ns = READ_KERNEL_NS;
	machine->thread.life = machine->slot.life = 7;
	/* The first reading could be taken for one behind another. */
	machine->thread.syscalls = 1;
	machine->counter = 1000000;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(machine, sizeof(*machine));
}

/* Its life, to the end. */
static void run(pid_t parent, bool is_released)
{
	int release[2], status;
	pid_t pid;

	assert_int_equal(pipe(release), 0);
	if (is_released)
		assert_int_equal(write(release[1], "g", 1), 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct calibrator_config config = {
			.parent = parent,
			.release_fd = dup2(release[0], RELEASE_FD),
			.slots_fd = dup2(release[0], SLOTS_FD),
			.threads_fd = dup2(release[0], THREADS_FD),
			.thread_bytes = sizeof(struct thread_front),
			.cpu_count = CPUS,
			.samples = &machine->samples,
		};

		for (int fd = RELEASE_FD + 5; fd < FDS; fd += 10)
			(void)dup2(release[1], fd);
		calibrator_run(&config);
	}
	assert_int_equal(close(release[0]), 0);
	assert_int_equal(close(release[1]), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_false(machine->has_asked_wrongly);
}

static void measure(void)
{
	run(getpid(), true);
}

static void assert_sample(uint64_t number, enum calibration_kind kind, double way_ns)
{
	const struct calibration_sample *sample = &machine->samples.ring[number];

	assert_true(number < machine->samples.written);
	assert_int_equal(sample->kind, kind);
	assert_true(sample->way_ns > way_ns - 0.001 && sample->way_ns < way_ns + 0.001);
}

static void assert_hot(uint64_t first)
{
	for (uint64_t i = 0; i < STRETCHES; i++)
		assert_sample(first + i, CALIBRATION_HOT, HOT_NS);
}

#define MEASURING(test) TEST_WITH(test, set_up, tear_down)

MEASURING(calibrator_sample_is_counter_time_missing_from_accounts)
{
	uint64_t before_ns = clock_monotonic_ns();

	measure();
	/* How long one that slept took is not known before a hot one is. */
	assert_int_equal(machine->samples.written, 2 * BURST_SAMPLES - 1);
	assert_sample(0, CALIBRATION_LONE, LONE_NS);
	assert_hot(1);
	assert_sample(BURST_SAMPLES - 1, CALIBRATION_SLEPT, SLEPT_NS);
	assert_sample(BURST_SAMPLES, CALIBRATION_LONE, LONE_NS);
	assert_hot(BURST_SAMPLES + 1);
	for (uint64_t i = 0; i < machine->samples.written; i++)
		assert_in_range(machine->samples.ring[i].ktime_ns, before_ns, clock_monotonic_ns());
	/* Twice before it begins, and at the end of each burst. */
	assert_int_equal(machine->settings, 2 + 2);
}

MEASURING(calibrator_detects_short_way_in_first_burst)
{
	machine->armed_from = 1;
	measure();
	/* That it is so is seen in the middle of the first burst. */
	assert_int_equal(machine->samples.written, 2 * BURST_SAMPLES - 1);
	assert_sample(0, CALIBRATION_LONE, LONE_NS);
	assert_hot(1);
	assert_sample(BURST_SAMPLES - 1, CALIBRATION_SLEPT, SLOT_SLEPT_NS);
	assert_sample(BURST_SAMPLES, CALIBRATION_LONE, LONE_NS);
	assert_hot(BURST_SAMPLES + 1);
}

MEASURING(calibrator_clamps_negative_sample_to_zero)
{
	machine->read_kernel_ns = 5000;
	measure();
	/* And of such a hot one none that slept can be told. */
	assert_int_equal(machine->samples.written, 2 * (BURST_SAMPLES - 1));
	assert_sample(0, CALIBRATION_LONE, 0);
	assert_sample(1, CALIBRATION_HOT, 0);
}

MEASURING(calibrator_keeps_sample_of_one_nanosecond)
{
	machine->read_kernel_ns = READ_KERNEL_NS + LONE_NS - 1;
	measure();
	assert_sample(0, CALIBRATION_LONE, 1);
}

MEASURING(calibrator_derives_slept_sample_from_smallest_hot_sample)
{
	machine->read_kernel_ns = READ_KERNEL_NS + (HOT_NS - 1) * (CHEAP_CALLS + 1);
	measure();
	assert_sample(1, CALIBRATION_HOT, 1);
	assert_sample(BURST_SAMPLES - 1, CALIBRATION_SLEPT, SLEPT_NS + HOT_NS - 1);
}

MEASURING(calibrator_discards_calls_disturbed_by_other_calls)
{
	for (int is_short = 0; is_short <= 1; is_short++) {
		machine->samples.written = 0;
		machine->sleeps = machine->lookups = 0;
		machine->armed_from = is_short;
		machine->bursts = 1;
		machine->thread.syscalls = 1;
		/* In the second stretch of five. */
		machine->changing_lookup = LOOKUPS - STRETCHES + 1;
		measure();
		assert_int_equal(machine->samples.written, BURST_SAMPLES - 1 - 1);
		assert_sample(0, CALIBRATION_LONE, LONE_NS);
		assert_sample(1, CALIBRATION_HOT, HOT_NS);
	}
}

MEASURING(calibrator_discards_sleep_disturbed_by_another_call)
{
	for (int is_short = 0; is_short <= 1; is_short++) {
		machine->samples.written = 0;
		machine->sleeps = 0;
		machine->armed_from = is_short;
		machine->disturbed_sleep = 2;
		machine->thread.syscalls = 1;
		measure();
		assert_int_equal(machine->samples.written, 2 * (BURST_SAMPLES - 1));
		assert_sample(BURST_SAMPLES - 1, CALIBRATION_LONE, LONE_NS);
	}
}

MEASURING(calibrator_discards_unfinished_burst)
{
	for (int lookup = 1; lookup <= LOOKUPS; lookup++) {
		machine->sleeps = machine->lookups = 0;
		machine->failing_lookup = lookup;
		measure();
		assert_int_equal(machine->samples.written, 0);
		assert_int_equal(machine->lookups, lookup);
	}
}

static uint32_t cpu_of(int burst)
{
	/* Of its last call; the first burst has a sample less. */
	return machine->samples.ring[burst * BURST_SAMPLES - 2].cpu;
}

MEASURING(calibrator_visits_each_cpu_in_turn_without_targets)
{
	machine->bursts = CPUS + 1;
	measure();
	assert_int_equal(machine->samples.ring[0].cpu, FIRST_CPU);
	for (int burst = 1; burst <= machine->bursts; burst++)
		assert_int_equal(cpu_of(burst), burst % CPUS);
}

MEASURING(calibrator_visits_cpus_of_recent_targets)
{
	enum {
		SEEN = 5, /* bursts; their next 19 go by it */
		REMEMBERED = 20
	};

	machine->bursts = SEEN + REMEMBERED + 2;
	machine->targets_until = SEEN;
	measure();
	for (int burst = 1; burst < SEEN + REMEMBERED - 1; burst++)
		assert_int_equal(cpu_of(burst), burst % 2 ? 4 : 0);
	/* On the one it was itself when they were seen for the last time. */
	assert_int_equal(cpu_of(SEEN + REMEMBERED - 1), 4);
	for (int burst = SEEN + REMEMBERED; burst <= machine->bursts; burst++)
		assert_int_equal(cpu_of(burst), burst % CPUS);
}

MEASURING(calibrator_stays_if_affinity_cannot_be_set)
{
	machine->keeps_cpu = true;
	machine->bursts = 3;
	measure();
	for (int burst = 1; burst <= machine->bursts; burst++)
		assert_int_equal(cpu_of(burst), FIRST_CPU);
}

MEASURING(calibrator_frees_cpu_set_and_needs_memory_to_start)
{
	machine->bursts = 2 * CPUS;
	measure();
	assert_int_equal(machine->sets_held, 0);
	machine->has_no_memory = true;
	machine->sleeps = 0;
	measure();
	assert_int_equal(machine->sleeps, 0);
}

MEASURING(calibrator_varies_pauses_and_starts_with_short_ones)
{
	const long period_ns = 1000 * 1000;
	long first_ns;
	int shorter = 0;

	machine->bursts = BURSTS - 1;
	measure();
	for (int i = 0; i < BURSTS; i++) {
		long mean_ns = i < FIRST_BURSTS ? period_ns : 100 * period_ns;

		assert_in_range(machine->pauses_ns[i], mean_ns / 2, mean_ns * 3 / 2);
		shorter += machine->pauses_ns[i] < mean_ns;
		assert_true(i == 0 || machine->pauses_ns[i] != machine->pauses_ns[i - 1]);
	}
	assert_in_range(shorter, BURSTS / 6, BURSTS * 5 / 6);
	/* Nor are two processes in step. */
	first_ns = machine->pauses_ns[0];
	machine->sleeps = 0;
	machine->bursts = 1;
	measure();
	assert_int_not_equal(machine->pauses_ns[0], first_ns);
}

MEASURING(calibrator_closes_inherited_descriptors_and_dies_with_parent)
{
	size_t count = 0;

	measure();
	for (int fd = 0; fd < FDS; fd++)
		count += machine->fds[fd];
	assert_true(machine->fds[RELEASE_FD] && machine->fds[SLOTS_FD] && machine->fds[THREADS_FD]);
	/* And one of its own, to name itself by. */
	assert_int_equal(count, 4);
	assert_string_equal(machine->name, "correlator-way");
	assert_int_equal(machine->parent_death_signal, SIGKILL);
}

MEASURING(calibrator_needs_release_and_its_own_parent)
{
	run(getpid(), false);
	assert_int_equal(machine->sleeps, 0);
	run(getppid(), true);
	assert_int_equal(machine->sleeps, 0);
}
