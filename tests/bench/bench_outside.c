/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the Ruby frames of one thread from outside, so often a second, as profilers that attach
 * without the kernel's help do: by process_vm_readv(2), without stopping it, without naming
 * anything.
 *
 *   bench_outside PID THREAD_POINTER HZ SECONDS
 *
 * THREAD_POINTER: of the thread, as x86-64's pthread_self() returns it. Prints how often it read,
 * how many frames a time, how many of all were unreadable, and our CPU for one reading, in ns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/symbolize/stack_reader.h"
#include "recorder/target/target.h"

struct outside {
	struct memory_reader reader;
	struct ruby_stack_layout layout;
	uint64_t context_address; /* where the thread keeps its execution context */
	struct ruby_frames frames;
	uint64_t readings, read_frames, unreadable;
};

static int read_directly(const struct memory_reader *reader, uint64_t address, void *buffer,
			 size_t size_bytes)
{
	struct iovec here = { buffer, size_bytes };
	struct iovec there = { (void *)(uintptr_t)address, size_bytes };
	ssize_t size = process_vm_readv(reader->pid, &here, 1, &there, 1, 0);

	if (size < 0)
		return -errno;
	return (size_t)size == size_bytes ? 0 : -EFAULT;
}

/* As bpf/tls.bpf.h does. 0: it is not there. */
static uint64_t locate(const struct memory_reader *reader, const struct tls_location *tls,
		       uint64_t thread_pointer)
{
	uint64_t dtv, block;

	if (tls->model == TLS_MODEL_STATIC)
		return thread_pointer + (uint64_t)tls->offset;
	if (tls->model != TLS_MODEL_DYNAMIC ||
	    read_directly(reader, thread_pointer + (uint64_t)tls->dtv_pointer_offset, &dtv,
			  sizeof(dtv)) ||
	    read_directly(reader, dtv + tls->module * tls->dtv_entry_bytes, &block, sizeof(block)))
		return 0;
	return block + (uint64_t)tls->offset;
}

static int find(struct outside *outside, uint64_t thread_pointer)
{
	struct target_keys keys = { .wants_ruby = true };
	struct ruby_stack_report report = { 0 };
	struct target *target;
	int r = target_open(outside->reader.pid, NULL, &keys, NULL, &target);

	if (r < 0)
		return log_error_errno(r, "cannot look at process %d", outside->reader.pid);
	r = ruby_target_find_stack(&target->ruby, outside->reader.pid, target->link_map.is_musl,
				   &outside->layout, &report);
	target_free(target);
	if (r == 0 && report.state == RUBY_STACK_AGREED)
		outside->context_address =
			locate(&outside->reader, &outside->layout.execution_tls, thread_pointer);
	return outside->context_address
		       ? 0
		       : log_error(ENOTSUP, "not found where the thread keeps its frames");
}

static void read_once(struct outside *outside)
{
	uint64_t context = 0;

	outside->readings++;
	outside->frames.count = 0;
	if (read_directly(&outside->reader, outside->context_address, &context, sizeof(context)) ||
	    !context)
		return;
	stack_reader_walk(&outside->reader, &outside->layout, context, 0, &outside->frames);
	outside->read_frames += outside->frames.count;
	outside->unreadable += outside->frames.unreadable;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
	static struct outside outside;
	uint64_t next_ns, end_ns, period_ns, start_cpu_ns;

	if (argc != 5)
		return log_error(EINVAL, "usage: bench_outside PID THREAD_POINTER HZ SECONDS") != 0;
	outside.reader = (struct memory_reader){ .read = read_directly,
						 .pid = (pid_t)strtol(argv[1], NULL, 10) };
	if (find(&outside, strtoull(argv[2], NULL, 10)) < 0)
		return 1;
	period_ns = NS_PER_S / strtoull(argv[3], NULL, 10);
	next_ns = clock_monotonic_ns();
	end_ns = next_ns + NS_PER_S * strtoull(argv[4], NULL, 10);
	start_cpu_ns = own_cpu_ns();
	while (next_ns < end_ns) {
		struct timespec until = { (time_t)((next_ns += period_ns) / NS_PER_S),
					  (long)(next_ns % NS_PER_S) };

		read_once(&outside);
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", outside.readings,
	       outside.read_frames / outside.readings, outside.unreadable,
	       (own_cpu_ns() - start_cpu_ns) / outside.readings);
	return 0;
}
