/* SPDX-License-Identifier: MIT */
/*
 * Onlooker: reads what threads publish (reading.h) at any instant.
 *
 *   Onlooker.open(path)           of this loaded extension
 *   Onlooker.watch(interval_us)   the calling native thread, from now on: a timer interrupts it
 *                                 wherever it is, that long after the last reading has ended, and a
 *                                 thread without the GVL reads it beside it
 *   Onlooker.unwatch              not any more
 *   Onlooker.prove(text)          the text with its check sum: what is published must end so
 *   Onlooker.counts               a Hash: how many readings came to what
 *   Onlooker.violations           what was seen that must not be seen, in words
 *   Onlooker.forget               them
 *   Onlooker.beside?              whether tables have serial numbers, without which a thread
 *                                 beside cannot tell a new table from an old one
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ruby.h>

#include "reading.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum onlooker_limits {
	WATCHED_MAX = 64,
	VIOLATIONS_MAX = 16,
	BESIDE_PAUSE_NS = 20000,
	NS_PER_US = 1000,
};

enum reader {
	READER_WITHIN, /* in a signal handler of the thread */
	READER_BESIDE, /* in another native thread */
	READER_MAX,
};

struct watched {
	_Atomic(const void *) variable; /* NULL: free, or not to be read any more */
	atomic_bool is_taken;
	timer_t timer; /* for one reading: armed again at its end */
	struct itimerspec interval;
};

struct violation {
	enum reader reader;
	struct reading reading;
};

/* All of the process: a signal handler has nothing else. */
static struct watched watched[WATCHED_MAX];
static struct violation violations[VIOLATIONS_MAX];
static atomic_uint violations_seen;
static atomic_ulong counts[READER_MAX][READING_WRONG + 1];
static void *extension;
static const struct reading_header_format *format;
static _Thread_local struct watched *own;

void Init_onlooker(void);

static void note(enum reader reader, const struct reading *reading)
{
	unsigned int index;

	atomic_fetch_add(&counts[reader][reading->verdict], 1);
	if (reading->verdict != READING_WRONG)
		return;
	index = atomic_fetch_add(&violations_seen, 1);
	if (index < VIOLATIONS_MAX)
		violations[index] = (struct violation){ .reader = reader, .reading = *reading };
}

static void on_timer(int signal, siginfo_t *info, void *context)
{
	const struct watched *one = info->si_value.sival_ptr;
	const void *variable = one ? atomic_load(&one->variable) : NULL;
	int saved_errno = errno;
	struct reading reading;

	(void)signal;
	(void)context;
	if (variable) {
		reading_take(variable, NULL, &reading);
		note(READER_WITHIN, &reading);
		/* However long that took here, the thread comes to something before the next. */
		timer_settime(one->timer, 0, &one->interval, NULL);
	}
	errno = saved_errno;
}

static void *read_beside(void *unused)
{
	const struct timespec pause = { .tv_nsec = BESIDE_PAUSE_NS };
	struct reading reading;

	(void)unused;
	for (size_t i = 0;; i = (i + 1) % WATCHED_MAX) {
		const void *variable = atomic_load(&watched[i].variable);

		if (variable) {
			reading_take(variable, format, &reading);
			/* Nobody may have waited for us: the thread may have gone meanwhile. */
			if (atomic_load(&watched[i].variable) == variable)
				note(READER_BESIDE, &reading);
		}
		if (i == WATCHED_MAX - 1)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start_beside(void)
{
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, read_beside, NULL) != 0)
		rb_sys_fail("pthread_create");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static VALUE onlooker_open(VALUE self, VALUE path)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
	bool is_first = !extension;

	extension = dlopen(StringValueCStr(path), RTLD_NOW | RTLD_NOLOAD);
	if (!extension)
		rb_raise(rb_eLoadError, "%s is not loaded", StringValueCStr(path));
	if (reading_open() != 0)
		rb_sys_fail("/proc/self/mem");
	format = dlsym(extension, "correlator_state_header");
	action.sa_sigaction = on_timer;
	sigaction(SIGRTMIN + 3, &action, NULL);
	if (is_first && format)
		start_beside();
	return self;
}

static struct watched *take(void)
{
	for (size_t i = 0; i < WATCHED_MAX; i++) {
		bool is_taken = false;

		if (atomic_compare_exchange_strong(&watched[i].is_taken, &is_taken, true))
			return &watched[i];
	}
	rb_raise(rb_eRuntimeError, "more than %d threads watched", WATCHED_MAX);
}

static VALUE onlooker_watch(VALUE self, VALUE interval_us)
{
	long interval_ns = NUM2LONG(interval_us) * NS_PER_US;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
	void *variable = extension ? dlsym(extension, "ruby_profiler_state") : NULL;

	if (!variable)
		rb_raise(rb_eRuntimeError, "no ruby_profiler_state: call Onlooker.open first");
	if (own)
		return self;
	own = take();
	own->interval = (struct itimerspec){ .it_value = { .tv_nsec = interval_ns } };
	event.sigev_value.sival_ptr = own;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &own->timer) != 0)
		rb_sys_fail("timer_create");
	atomic_store(&own->variable, variable);
	if (timer_settime(own->timer, 0, &own->interval, NULL) != 0)
		rb_sys_fail("timer_settime");
	return self;
}

static VALUE onlooker_unwatch(VALUE self)
{
	struct watched *one = own;

	if (!one)
		return self;
	atomic_store(&one->variable, NULL);
	timer_delete(one->timer);
	own = NULL;
	atomic_store(&one->is_taken, false);
	return self;
}

static VALUE onlooker_prove(VALUE self, VALUE text)
{
	char sum[16];

	(void)self;
	StringValue(text);
	snprintf(sum, sizeof(sum), "#%08" PRIx32,
		 reading_check_sum(RSTRING_PTR(text), (size_t)RSTRING_LEN(text)));
	return rb_str_cat_cstr(rb_str_dup(text), sum);
}

static VALUE onlooker_counts(VALUE self)
{
	static const char *const names[READER_MAX][READING_WRONG + 1] = {
		{ "within_none", "within_whole", "within_barred", "within_overtaken",
		  "within_wrong" },
		{ "beside_none", "beside_whole", "beside_barred", "beside_overtaken",
		  "beside_wrong" },
	};
	VALUE hash = rb_hash_new();

	(void)self;
	for (size_t i = 0; i < READER_MAX; i++)
		for (size_t j = 0; j <= READING_WRONG; j++)
			rb_hash_aset(hash, rb_id2sym(rb_intern(names[i][j])),
				     ULONG2NUM(atomic_load(&counts[i][j])));
	return hash;
}

static VALUE describe(const struct violation *one)
{
	const struct reading *reading = &one->reading;

	return rb_sprintf(
		"%s: table %p size %lu capacity %lu slot %lu value %p flags %p text %s (%s)",
		reading->what, (void *)(uintptr_t)reading->state, (unsigned long)reading->size,
		(unsigned long)reading->capacity, (unsigned long)reading->slot,
		(void *)(uintptr_t)reading->value, (void *)(uintptr_t)reading->flags, reading->text,
		one->reader == READER_WITHIN ? "interrupted" : "beside");
}

static VALUE onlooker_violations(VALUE self)
{
	unsigned int seen = atomic_load(&violations_seen);
	VALUE array = rb_ary_new();

	(void)self;
	for (unsigned int i = 0; i < seen && i < VIOLATIONS_MAX; i++)
		rb_ary_push(array, describe(&violations[i]));
	return array;
}

static VALUE onlooker_forget(VALUE self)
{
	atomic_store(&violations_seen, 0);
	return self;
}

static VALUE onlooker_is_beside(VALUE self)
{
	(void)self;
	return format ? Qtrue : Qfalse;
}

void Init_onlooker(void)
{
	VALUE onlooker = rb_define_module("Onlooker");

	rb_define_singleton_method(onlooker, "open", onlooker_open, 1);
	rb_define_singleton_method(onlooker, "watch", onlooker_watch, 1);
	rb_define_singleton_method(onlooker, "unwatch", onlooker_unwatch, 0);
	rb_define_singleton_method(onlooker, "prove", onlooker_prove, 1);
	rb_define_singleton_method(onlooker, "counts", onlooker_counts, 0);
	rb_define_singleton_method(onlooker, "violations", onlooker_violations, 0);
	rb_define_singleton_method(onlooker, "forget", onlooker_forget, 0);
	rb_define_singleton_method(onlooker, "beside?", onlooker_is_beside, 0);
}
