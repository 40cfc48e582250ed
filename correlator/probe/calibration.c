/*
 * How much of a system call is on the user's side of our two boundaries: the way from the ring
 * crossing to the clock reading and back, our programs' own cost included. A child that does
 * nothing but cheap system calls is observed. It times each call itself, by the CPU's counter, from
 * just before to just after the instruction; what the kernel time of our boundaries lacks of that
 * is the way.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "probe/session_internal.h"

enum {
	CALLS_FEW = 2000,
	CALLS_MANY = 52000,
	CUT_COUNTS = 4000,
	CALLERS = 8
};

struct sample {
	uint32_t tgid;
	uint64_t kernel_ns; /* by our boundaries */
	uint64_t syscalls;
	double call_ns; /* by the child's stopwatch */
};

static int add_account(void *context, const struct account_key *key, const struct account *account)
{
	struct sample *sample = context;

	if (key->tgid != sample->tgid)
		return 0;
	sample->kernel_ns += account->totals.kernel_ns;
	sample->syscalls += account->totals.syscalls;
	return 0;
}

static inline uint64_t read_counter(void)
{
#if defined(__x86_64__)
	unsigned int cpu;

	return __rdtscp(&cpu);
#elif defined(__aarch64__)
	uint64_t counter;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(counter));
	return counter;
#else
#error "no counter is known here"
#endif
}

/* The instruction alone: what libc wraps around it is user time. */
static inline void call_getppid(void)
{
#if defined(__x86_64__)
	long result = SYS_getppid;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = SYS_getppid;
	register long result __asm__("x0");

	__asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
#endif
}

/* Counts between two readings with nothing in between. */
static uint64_t measure_pair(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < CALLS_FEW; i++) {
		uint64_t before = read_counter();
		uint64_t pair = read_counter() - before;

		if (pair < least)
			least = pair;
	}
	return least;
}

/*
 * A call from under some callers, as an interpreter's are. Each that returns takes an entry from
 * the CPU's return stack, which the kernel then mispredicts by: measured on an AMD EPYC under PVM,
 * traced, 255 ns in line, 325 ns from one function, 350 ns from eight, and 356 ns in Ruby.
 */
static __attribute__((noinline)) uint64_t time_call(unsigned int callers)
{
	uint64_t before;

	if (callers > 0) {
		uint64_t took = time_call(callers - 1);

		__asm__ volatile("" : "+r"(took)); /* not a tail call */
		return took;
	}
	before = read_counter();
	call_getppid();
	return read_counter() - before;
}

/*
 * Mean time of a call, in ns. Calls that something cut into (an interrupt, a preemption) are left
 * out: a call takes some hundred counts, whatever else happens takes thousands.
 */
static double time_calls(int calls)
{
	uint64_t pair = measure_pair(), counts = 0, counted = 0;
	uint64_t start_ns = clock_monotonic_ns();
	uint64_t start = read_counter();
	double ns_per_count;

	for (int i = 0; i < calls; i++) {
		uint64_t took = time_call(CALLERS);

		if (took >= CUT_COUNTS)
			continue;
		counts += took;
		counted++;
	}
	ns_per_count = (double)(clock_monotonic_ns() - start_ns) / (double)(read_counter() - start);
	return counted ? ((double)counts / (double)counted - (double)pair) * ns_per_count : 0;
}

static void run_child(int release_fd, int result_fd, int calls)
{
	double call_ns;
	char go;

	if (read(release_fd, &go, 1) != 1)
		_exit(1);
	call_ns = time_calls(calls);
	if (write(result_fd, &call_ns, sizeof(call_ns)) != sizeof(call_ns))
		_exit(1);
	_exit(0);
}

static int observe_child(struct session *session, pid_t pid, int *release_fd, struct sample *sample)
{
	const struct process_config nothing = { 0 };
	uint64_t end_ns, epoch;
	int result = session_set_process(session, pid, &nothing);

	if (!result)
		result = session_register_threads(session);
	if (!result && write(*release_fd, "g", 1) != 1)
		result = -errno;
	/* Without a byte the child ends as well. */
	(void)close(TAKE_FD(*release_fd));
	(void)waitpid(pid, NULL, 0);
	if (!result)
		result = session_flush(session, false, add_account, sample, &end_ns, &epoch);
	session_remove_process(session, pid);
	return result;
}

static int take_sample(struct session *session, int calls, struct sample *ret_sample)
{
	_cleanup_fd_ int release_read = -1;
	_cleanup_fd_ int release_write = -1;
	_cleanup_fd_ int result_read = -1;
	_cleanup_fd_ int result_write = -1;
	struct sample sample = { 0 };
	int release[2], results[2], result;
	pid_t pid;

	if (pipe2(release, O_CLOEXEC))
		return -errno;
	release_read = release[0];
	release_write = release[1];
	if (pipe2(results, O_CLOEXEC))
		return -errno;
	result_read = results[0];
	result_write = results[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)close(release_write);
		run_child(release_read, result_write, calls);
	}
	(void)close(TAKE_FD(result_write));
	sample.tgid = (uint32_t)pid;
	result = observe_child(session, pid, &release_write, &sample);
	if (!result &&
	    read(result_read, &sample.call_ns, sizeof(sample.call_ns)) != sizeof(sample.call_ns))
		result = -EIO;
	if (!result)
		*ret_sample = sample;
	return result;
}

int session_calibrate(struct session *session, uint64_t *ret_transition_ns)
{
	struct sample few = { 0 }, many = { 0 };
	int result = take_sample(session, CALLS_FEW, &few);
	double seen_ns;

	if (!result)
		result = take_sample(session, CALLS_MANY, &many);
	if (result)
		return log_error_errno(result, "cannot measure the cost of a system call");
	if (many.syscalls <= few.syscalls || many.kernel_ns <= few.kernel_ns)
		return log_error(ENODATA, "cannot measure the cost of a system call: the calls of "
					  "the child were not seen");
	seen_ns = (double)(many.kernel_ns - few.kernel_ns) / (double)(many.syscalls - few.syscalls);
	*ret_transition_ns = many.call_ns > seen_ns ? (uint64_t)(many.call_ns - seen_ns + 0.5) : 0;
	return 0;
}
