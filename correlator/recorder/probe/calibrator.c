/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each call is timed by the CPU's counter, from just before to just after the instruction; the way
 * is that time minus the kernel time of our boundaries. Kernel time is read where the programs keep
 * it, by a system call that is timed as well: its own time is in the next reading.
 *
 *   read, 8 cheap calls, read     hot: the mean way of nine calls
 *   read, read                    lone: the way of one call, the first after a sleep
 *   sleep, read                   slept: user time between them beyond our own, which is the way
 *                                 out of a call that slept and into the next call
 *
 * It runs on the targets' CPUs: how long their calls take depends on the CPU, its speed and its
 * sibling.
 */
#include "recorder/probe/calibrator.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <correlator/edge_slot.h>

#include "base/clock.h"
#include "recorder/probe/stopwatch.h"

enum {
	CALLS = 8, /* between two readings */
	RUNS = 5, /* of calls, in a burst */
	FIRST_BURSTS = 16, /* close together, so that the first figure is there soon */
	LOOKS_REMEMBERED = 20 /* about two seconds */
};

#define BURST_PERIOD_NS	      (100 * 1000 * 1000)
#define FIRST_BURST_PERIOD_NS (1000 * 1000)

/* Our figures in the programs' books when the call that reads them entered the kernel. */
struct reading {
	struct call call;
	uint64_t user_ns;
	uint64_t kernel_ns;
	uint64_t syscalls;
	uint64_t life; /* if equal in two readings, only system calls were in between */
};

struct calibrator {
	const struct calibrator_config *config;
	struct edge_slot *slots;
	struct thread_front *thread; /* allocated with all that follows it */
	uint64_t *seen_at; /* by CPU: the last look that met a target there */
	uint64_t looks;
	int pid_fd;
	int cpu;
	bool is_armed; /* system calls take the short way: their times are in the CPU's slot */
	struct stopwatch stopwatch;
	uint32_t random;
	double hot_ns; /* the last way measured */
	struct calibration_sample burst[RUNS + 2];
	size_t burst_count;
};

static bool look_up(struct reading *reading, int map_fd, const void *key, void *value)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_fd = (uint32_t)map_fd;
	attributes.key = (uint64_t)(uintptr_t)key;
	attributes.value = (uint64_t)(uintptr_t)value;
	reading->call = (struct call){
		.number = SYS_bpf,
		.arguments = { BPF_MAP_LOOKUP_ELEM, (long)(uintptr_t)&attributes,
			       sizeof(attributes) },
	};
	return !stopwatch_call(&reading->call);
}

static bool read_slot(struct calibrator *calibrator, struct reading *reading)
{
	const struct edge_slot *slot = &calibrator->slots[calibrator->cpu];
	static const uint32_t first;

	if (!look_up(reading, calibrator->config->slots_fd, &first, calibrator->slots))
		return false;
	reading->user_ns = slot->times.user_ns;
	reading->kernel_ns = slot->times.kernel_ns;
	reading->syscalls = slot->times.syscalls;
	reading->life = slot->registers ? slot->serial : 0;
	return true;
}

static bool read_thread(struct calibrator *calibrator, struct reading *reading)
{
	const struct thread_front *front = calibrator->thread;

	if (!look_up(reading, calibrator->config->threads_fd, &calibrator->pid_fd,
		     calibrator->thread))
		return false;
	reading->user_ns = front->pending.user_ns;
	reading->kernel_ns = front->pending.kernel_ns;
	reading->syscalls = front->pending.syscalls;
	reading->life = front->pending.slices;
	return true;
}

static bool read_books(struct calibrator *calibrator, struct reading *reading)
{
	return calibrator->is_armed ? read_slot(calibrator, reading)
				    : read_thread(calibrator, reading);
}

/* Adds to this burst, without the time: a clock reading may be a system call, which disturbs it. */
static void note_way(struct calibrator *calibrator, enum calibration_kind kind, double way_ns)
{
	calibrator->burst[calibrator->burst_count++] = (struct calibration_sample){
		.way_ns = way_ns > 0 ? way_ns : 0,
		.kind = kind,
		.cpu = (uint32_t)calibrator->cpu,
	};
}

static void publish_burst(struct calibrator *calibrator)
{
	struct calibration_samples *samples = calibrator->config->samples;
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < calibrator->burst_count; i++) {
		uint64_t place = samples->written % CALIBRATION_SAMPLES_MAX;

		calibrator->burst[i].ktime_ns = now_ns;
		samples->ring[place] = calibrator->burst[i];
		__atomic_store_n(&samples->written, samples->written + 1, __ATOMIC_RELEASE);
	}
	calibrator->burst_count = 0;
}

/* Measures cheap calls between a reading and another one. */
static bool measure_calls(struct calibrator *calibrator, uint32_t calls, enum calibration_kind kind,
			  struct reading *reading)
{
	struct reading before = *reading;
	double counts = stopwatch_counts(&calibrator->stopwatch, &before.call);

	for (uint32_t i = 0; i < calls; i++) {
		struct call call = { .number = SYS_getppid };

		(void)stopwatch_call(&call);
		counts += stopwatch_counts(&calibrator->stopwatch, &call);
	}
	if (!read_books(calibrator, reading))
		return false;
	if (reading->life != before.life || reading->syscalls - before.syscalls != calls + 1)
		return true;
	calibrator->hot_ns = (counts * calibrator->stopwatch.ns_per_count -
			      (double)(reading->kernel_ns - before.kernel_ns)) /
			     (calls + 1);
	note_way(calibrator, kind, calibrator->hot_ns);
	return true;
}

/*
 * The way of a call that slept: user time by the books that is not user time by the counter. The
 * slot counts it from the wakeup, the thread's books from the reading before the sleep.
 */
static void measure_sleep(struct calibrator *calibrator, const struct call *sleep,
			  const struct reading *before, const struct reading *reading)
{
	double counts =
		(double)(reading->call.before - sleep->after) + calibrator->stopwatch.pair_counts;
	uint64_t user_ns = reading->user_ns;
	double hot_ns = 0;

	if (calibrator->is_armed ? reading->syscalls != 1
				 : reading->syscalls - before->syscalls != 2)
		return;
	if (!calibrator->is_armed) {
		if (calibrator->hot_ns <= 0)
			return;
		counts += (double)(sleep->before - before->call.after) +
			  calibrator->stopwatch.pair_counts;
		user_ns -= before->user_ns;
		hot_ns = calibrator->hot_ns;
	}
	note_way(calibrator, CALIBRATION_SLEPT,
		 (double)user_ns - counts * calibrator->stopwatch.ns_per_count - hot_ns);
}

/* The next CPU that targets were met on recently; without any, all CPUs in turn. */
static int choose_cpu(struct calibrator *calibrator)
{
	int count = calibrator->config->cpu_count;

	calibrator->looks++;
	for (int cpu = 0; cpu < count; cpu++)
		if (cpu != calibrator->cpu && calibrator->slots[cpu].registers)
			calibrator->seen_at[cpu] = calibrator->looks;
	for (int step = 1; step <= count; step++) {
		int cpu = (calibrator->cpu + step) % count;

		if (calibrator->seen_at[cpu] &&
		    calibrator->looks - calibrator->seen_at[cpu] < LOOKS_REMEMBERED)
			return cpu;
	}
	return (int)(calibrator->looks % (uint64_t)count);
}

static bool go_to_cpu(struct calibrator *calibrator, int cpu)
{
	size_t bytes = CPU_ALLOC_SIZE((size_t)calibrator->config->cpu_count);
	cpu_set_t *set = CPU_ALLOC((size_t)calibrator->config->cpu_count);
	bool has_gone;

	if (!set)
		return false;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)cpu, bytes, set);
	has_gone = !sched_setaffinity(0, bytes, set);
	CPU_FREE(set);
	if (has_gone)
		calibrator->cpu = cpu;
	return has_gone;
}

/* Between 0.5 and 1.5 periods, to stay out of step with the targets. */
static struct timespec pause_time(struct calibrator *calibrator)
{
	uint64_t period_ns =
		calibrator->looks < FIRST_BURSTS ? FIRST_BURST_PERIOD_NS : BURST_PERIOD_NS;

	calibrator->random = calibrator->random * 1664525 + 1013904223;
	return (struct timespec){
		.tv_nsec = (long)(period_ns / 2 + period_ns * (calibrator->random >> 16) / 65536),
	};
}

/* Finds out which way our calls take; goes to a CPU of the targets; the new reading fits both. */
static bool look_around(struct calibrator *calibrator, struct reading *reading)
{
	bool was_armed = calibrator->is_armed;
	int was_on = calibrator->cpu;
	struct reading slot = *reading;
	int cpu;

	if (!was_armed && !read_slot(calibrator, &slot))
		return false;
	calibrator->is_armed = slot.life != 0;
	cpu = choose_cpu(calibrator);
	if (cpu != was_on)
		(void)go_to_cpu(calibrator, cpu);
	return read_books(calibrator, reading);
}

static bool run_burst(struct calibrator *calibrator, struct reading *reading)
{
	struct timespec pause = pause_time(calibrator);
	struct call sleep = {
		.number = SYS_clock_nanosleep,
		.arguments = { CLOCK_MONOTONIC, 0, (long)(uintptr_t)&pause, 0 },
	};
	struct reading before = *reading;

	(void)stopwatch_call(&sleep);
	if (!read_books(calibrator, reading))
		return false;
	measure_sleep(calibrator, &sleep, &before, reading);
	if (!measure_calls(calibrator, 0, CALIBRATION_LONE, reading))
		return false;
	if (!look_around(calibrator, reading))
		return false;
	for (int i = 0; i < RUNS; i++)
		if (!measure_calls(calibrator, CALLS, CALIBRATION_HOT, reading))
			return false;
	publish_burst(calibrator);
	stopwatch_set(&calibrator->stopwatch);
	return true;
}

static bool prepare(struct calibrator *calibrator)
{
	size_t count = (size_t)calibrator->config->cpu_count;

	calibrator->slots = calloc(count, sizeof(*calibrator->slots));
	calibrator->seen_at = calloc(count, sizeof(*calibrator->seen_at));
	calibrator->thread = calloc(1, calibrator->config->thread_bytes);
	calibrator->pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	calibrator->random = (uint32_t)getpid();
	stopwatch_set(&calibrator->stopwatch);
	return calibrator->slots && calibrator->seen_at && calibrator->thread &&
	       calibrator->pid_fd >= 0 && go_to_cpu(calibrator, sched_getcpu());
}

/* Closes all that the process does not need of ours: files, locks, sockets, the programs. */
static void close_others(const struct calibrator_config *config)
{
	int kept[] = { config->release_fd, config->slots_fd, config->threads_fd };
	unsigned int from = 0;

	for (;;) {
		unsigned int next = ~0U;

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			if ((unsigned int)kept[i] >= from && (unsigned int)kept[i] < next)
				next = (unsigned int)kept[i];
		if (next == ~0U)
			break;
		if (next > from)
			(void)close_range(from, next - 1, 0);
		from = next + 1;
	}
	(void)close_range(from, ~0U, 0);
}

_Noreturn void calibrator_run(const struct calibrator_config *config)
{
	struct calibrator calibrator = { .config = config };
	struct reading reading = { 0 };
	char go;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != config->parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "correlator-way");
	close_others(config);
	if (!prepare(&calibrator) || read(config->release_fd, &go, 1) != 1)
		_exit(1);
	stopwatch_set(&calibrator.stopwatch);
	while (run_burst(&calibrator, &reading))
		;
	_exit(1);
}
