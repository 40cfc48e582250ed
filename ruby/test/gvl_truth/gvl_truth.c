/* SPDX-License-Identifier: MIT */
/*
 * How long a thread has waited for the GVL, told apart from the gem: hooks of its own, a clock of
 * its own, and where it keeps the sums.
 *
 * What comes between two hooks of one event, such as another thread on this CPU, takes time. So
 * there may be two of each: Ruby runs first what was added last (thread.c, 3.3 to 4.1), and who
 * loads this before the gem, and calls surround behind its watch_vm!, has one hook on each side of
 * the gem's. The gem's own count is then between two bounds, whatever else the machine does.
 *
 * An older Ruby has no such hooks. There it counts what comes after calls of its own.
 *
 *   GvlTruth::KNOWN     whether this Ruby tells
 *   GvlTruth.watch      from now on counts the waits of the calling thread
 *   GvlTruth.waited     [ns, waits] of the calling thread since then
 *   GvlTruth.surround   from now on tells of the other side, too
 *   GvlTruth.bounds     [ns, ns, waits] of the calling thread: at least, at most, how many
 *   GvlTruth.sleep      sleeps in C, for a number of ns, without the GVL; counts on an older Ruby
 *   GvlTruth.slept      ns that the calling thread slept in these calls, on an older Ruby
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <ruby.h>
#include <ruby/thread.h>

void Init_gvl_truth(void);

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct sleep {
	uint64_t ns;
	uint64_t asleep_ns, awake_ns; /* when */
};

static void *sleep_without_gvl(void *argument)
{
	struct sleep *sleep = argument;
	struct timespec length = { .tv_sec = (time_t)(sleep->ns / 1000000000),
				   .tv_nsec = (long)(sleep->ns % 1000000000) };

	sleep->asleep_ns = now_ns();
	(void)nanosleep(&length, NULL);
	sleep->awake_ns = now_ns();
	return NULL;
}

static struct sleep sleep_for(VALUE ns)
{
	struct sleep sleep = { .ns = NUM2ULL(ns) };

	(void)rb_thread_call_without_gvl(sleep_without_gvl, &sleep, NULL, NULL);
	return sleep;
}

#if defined(HAVE_RB_INTERNAL_THREAD_EVENT_DATA_T_THREAD) && \
	defined(HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE)

/* Of a thread; never freed, as a test is short. Ready may be told by another native thread. */
struct waiting {
	uint64_t early_ready_ns; /* 0: it wants it not */
	uint64_t ready_ns;
	uint64_t early_resumed_ns;
	uint64_t ns;
	uint64_t count;
	uint64_t least_ns;
	uint64_t most_ns;
};

static rb_internal_thread_specific_key_t key;
static bool is_surrounded;

static struct waiting *waiting_of(const rb_internal_thread_event_data_t *data)
{
	return rb_internal_thread_specific_get(data->thread, key);
}

/* It may be told twice of one wait. */
static void note_once(uint64_t *into_ns)
{
	uint64_t is_none = 0;

	(void)__atomic_compare_exchange_n(into_ns, &is_none, now_ns(), false, __ATOMIC_SEQ_CST,
					  __ATOMIC_SEQ_CST);
}

static void on_ready_early(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
			   void *unused)
{
	struct waiting *waiting = waiting_of(data);

	(void)event;
	(void)unused;
	if (waiting)
		note_once(&waiting->early_ready_ns);
}

static void on_ready(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		     void *unused)
{
	struct waiting *waiting = waiting_of(data);

	(void)event;
	(void)unused;
	if (waiting)
		note_once(&waiting->ready_ns);
}

static void on_resumed_early(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
			     void *unused)
{
	struct waiting *waiting = waiting_of(data);

	(void)event;
	(void)unused;
	if (waiting)
		waiting->early_resumed_ns = now_ns();
}

static void on_resumed(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		       void *unused)
{
	struct waiting *waiting = waiting_of(data);
	uint64_t early_ready_ns, ready_ns;

	(void)event;
	(void)unused;
	if (!waiting)
		return;
	early_ready_ns = __atomic_exchange_n(&waiting->early_ready_ns, 0, __ATOMIC_SEQ_CST);
	ready_ns = __atomic_exchange_n(&waiting->ready_ns, 0, __ATOMIC_SEQ_CST);
	if (!ready_ns)
		return;
	waiting->ns += now_ns() - ready_ns;
	waiting->count++;
	/* One that began before they were surrounded may be any part of what it was. */
	waiting->most_ns += now_ns() - (early_ready_ns ? early_ready_ns : ready_ns);
	if (early_ready_ns && waiting->early_resumed_ns > ready_ns)
		waiting->least_ns += waiting->early_resumed_ns - ready_ns;
}

static VALUE truth_watch(VALUE self)
{
	(void)self;
	if (!rb_internal_thread_specific_get(rb_thread_current(), key))
		rb_internal_thread_specific_set(rb_thread_current(), key,
						calloc(1, sizeof(struct waiting)));
	return Qnil;
}

static const struct waiting *watched(void)
{
	const struct waiting *waiting = rb_internal_thread_specific_get(rb_thread_current(), key);

	if (!waiting)
		rb_raise(rb_eRuntimeError, "GvlTruth.watch was not called in this thread");
	return waiting;
}

static VALUE truth_waited(VALUE self)
{
	const struct waiting *waiting = watched();

	(void)self;
	return rb_ary_new_from_args(2, ULL2NUM(waiting->ns), ULL2NUM(waiting->count));
}

static VALUE truth_surround(VALUE self)
{
	(void)self;
	if (is_surrounded)
		return Qnil;
	is_surrounded = true;
	rb_internal_thread_add_event_hook(on_ready_early, RUBY_INTERNAL_THREAD_EVENT_READY, NULL);
	rb_internal_thread_add_event_hook(on_resumed_early, RUBY_INTERNAL_THREAD_EVENT_RESUMED,
					  NULL);
	return Qnil;
}

static VALUE truth_bounds(VALUE self)
{
	const struct waiting *waiting = watched();

	(void)self;
	return rb_ary_new_from_args(3, ULL2NUM(waiting->least_ns), ULL2NUM(waiting->most_ns),
				    ULL2NUM(waiting->count));
}

static VALUE truth_sleep(VALUE self, VALUE ns)
{
	(void)self;
	(void)sleep_for(ns);
	return Qnil;
}

void Init_gvl_truth(void)
{
	VALUE truth = rb_define_module("GvlTruth");

	key = rb_internal_thread_specific_key_create();
	rb_internal_thread_add_event_hook(on_ready, RUBY_INTERNAL_THREAD_EVENT_READY, NULL);
	rb_internal_thread_add_event_hook(on_resumed, RUBY_INTERNAL_THREAD_EVENT_RESUMED, NULL);
	rb_define_singleton_method(truth, "watch", truth_watch, 0);
	rb_define_singleton_method(truth, "waited", truth_waited, 0);
	rb_define_singleton_method(truth, "surround", truth_surround, 0);
	rb_define_singleton_method(truth, "bounds", truth_bounds, 0);
	rb_define_singleton_method(truth, "sleep", truth_sleep, 1);
	rb_define_const(truth, "KNOWN", Qtrue);
}

#else

static _Thread_local uint64_t waited_ns, waits, slept_ns;

static VALUE truth_sleep(VALUE self, VALUE ns)
{
	struct sleep sleep = sleep_for(ns);

	(void)self;
	waited_ns += now_ns() - sleep.awake_ns;
	waits++;
	slept_ns += sleep.awake_ns - sleep.asleep_ns;
	return Qnil;
}

static VALUE truth_watch(VALUE self)
{
	(void)self;
	waited_ns = waits = slept_ns = 0;
	return Qnil;
}

static VALUE truth_waited(VALUE self)
{
	(void)self;
	return rb_ary_new_from_args(2, ULL2NUM(waited_ns), ULL2NUM(waits));
}

static VALUE truth_slept(VALUE self)
{
	(void)self;
	return ULL2NUM(slept_ns);
}

void Init_gvl_truth(void)
{
	VALUE truth = rb_define_module("GvlTruth");

	rb_define_singleton_method(truth, "watch", truth_watch, 0);
	rb_define_singleton_method(truth, "waited", truth_waited, 0);
	rb_define_singleton_method(truth, "sleep", truth_sleep, 1);
	rb_define_singleton_method(truth, "slept", truth_slept, 0);
	rb_define_const(truth, "KNOWN", Qfalse);
}

#endif
