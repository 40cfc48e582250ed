/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/machine/turns.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define HAS_FIBERS 1
#endif
#endif

enum {
	STACK_BYTES = 512 * 1024,
	TIMER_FD = 2000000,
};

/* One of the two. */
struct turn {
	ucontext_t context;
	const pthread_cond_t *awaits; /* NULL = nothing */
	bool is_signalled;
	uint64_t until_ns; /* or until then; UINT64_MAX = for ever */
#ifdef HAS_FIBERS
	void *fake_stack;
	const void *stack;
	size_t stack_bytes;
#endif
};

static struct {
	uint64_t now_ns;
	struct turn story, keeper;
	struct turn *current;
	bool has_keeper, has_ended, is_stuck;
	void *(*run)(void *user);
	void *user;
	char stack[STACK_BYTES];
} turns;

void turns_begin(uint64_t now_ns)
{
	turns.now_ns = now_ns;
	turns.current = &turns.story;
	turns.has_keeper = turns.is_stuck = false;
}

uint64_t turns_now_ns(void)
{
	return turns.now_ns;
}

void turns_advance(uint64_t ns)
{
	turns.now_ns += ns;
}

bool turns_are_stuck(void)
{
	return turns.is_stuck;
}

static void switch_to(struct turn *next)
{
	struct turn *self = turns.current;

	turns.current = next;
#ifdef HAS_FIBERS
	__sanitizer_start_switch_fiber(turns.has_ended ? NULL : &self->fake_stack, next->stack,
				       next->stack_bytes);
#endif
	(void)swapcontext(&self->context, &next->context);
#ifdef HAS_FIBERS
	__sanitizer_finish_switch_fiber(self->fake_stack, NULL, NULL);
#endif
}

static void begin_keeper(void)
{
#ifdef HAS_FIBERS
	__sanitizer_finish_switch_fiber(NULL, &turns.story.stack, &turns.story.stack_bytes);
#endif
	(void)turns.run(turns.user);
	turns.has_ended = true;
	turns.has_keeper = false;
	switch_to(&turns.story);
}

/* Instead of libc's, and ours, all below. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *user), void *user)
{
	*ret_thread = pthread_self();
	turns.run = run;
	turns.user = user;
	turns.has_keeper = true;
	turns.has_ended = false;
	turns.keeper = (struct turn){ .until_ns = 0 };
#ifdef HAS_FIBERS
	turns.keeper.stack = turns.stack;
	turns.keeper.stack_bytes = sizeof(turns.stack);
#endif
	(void)getcontext(&turns.keeper.context);
	turns.keeper.context.uc_stack.ss_sp = turns.stack;
	turns.keeper.context.uc_stack.ss_size = sizeof(turns.stack);
	turns.keeper.context.uc_link = NULL;
	makecontext(&turns.keeper.context, begin_keeper, 0);
	return 0;
}

static bool may_go_on(const struct turn *turn)
{
	return turn->is_signalled || turns.now_ns >= turn->until_ns;
}

bool turns_run_keeper(void)
{
	if (turns.current != &turns.story || !turns.has_keeper || !may_go_on(&turns.keeper))
		return false;
	switch_to(&turns.keeper);
	return true;
}

/* The story waits: the keeper goes on, or else time does. */
static void wait_as_story(void)
{
	struct turn *story = &turns.story, *keeper = &turns.keeper;

	while (!may_go_on(story)) {
		uint64_t next_ns = story->until_ns;

		if (turns_run_keeper())
			continue;
		if (turns.has_keeper && keeper->until_ns < next_ns)
			next_ns = keeper->until_ns;
		if (next_ns == UINT64_MAX) {
			turns.is_stuck = true;
			return;
		}
		turns.now_ns = next_ns;
	}
}

static void wait_until(const pthread_cond_t *condition, uint64_t until_ns)
{
	struct turn *self = turns.current;

	self->awaits = condition;
	self->is_signalled = false;
	self->until_ns = until_ns;
	if (self == &turns.story)
		wait_as_story();
	else
		switch_to(&turns.story);
	self->awaits = NULL;
}

void turns_pause(uint64_t ns)
{
	wait_until(NULL, turns.now_ns + ns);
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = clock_timespec(turns.now_ns);
	return 0;
}

static uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
			   const struct timespec *until)
{
	struct turn *self = turns.current;

	(void)pthread_mutex_unlock(mutex);
	wait_until(condition, timespec_ns(until));
	(void)pthread_mutex_lock(mutex);
	return self->is_signalled ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	(void)pthread_mutex_unlock(mutex);
	wait_until(condition, UINT64_MAX);
	(void)pthread_mutex_lock(mutex);
	return 0;
}

static int signal_all(const pthread_cond_t *condition)
{
	if (turns.story.awaits == condition)
		turns.story.is_signalled = true;
	if (turns.has_keeper && turns.keeper.awaits == condition)
		turns.keeper.is_signalled = true;
	return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
	return signal_all(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
	return signal_all(condition);
}

/* Nobody polls: the story asks whether there is something. */
int timerfd_create(clockid_t clock, int flags)
{
	(void)clock;
	(void)flags;
	return TIMER_FD;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *due, struct itimerspec *ret_before)
{
	(void)fd;
	(void)flags;
	(void)due;
	(void)ret_before;
	return 0;
}

ssize_t read(int fd, void *ret_bytes, size_t size_bytes)
{
	if (fd != TIMER_FD)
		return syscall(SYS_read, fd, ret_bytes, size_bytes);
	errno = EAGAIN;
	return -1;
}

/* The keeper, which was told to end. */
int pthread_join(pthread_t thread, void **ret_value)
{
	(void)thread;
	(void)ret_value;
	while (turns.has_keeper) {
		if (turns_run_keeper())
			continue;
		if (turns.keeper.until_ns == UINT64_MAX) {
			turns.is_stuck = true;
			return 0;
		}
		turns.now_ns = turns.keeper.until_ns;
	}
	return 0;
}
