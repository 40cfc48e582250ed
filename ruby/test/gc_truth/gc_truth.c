/* SPDX-License-Identifier: MIT */
/*
 * How long all threads together were inside of garbage collections, told apart from the gem: hooks
 * of its own, and clocks of its own, that of the thread's CPU time among them.
 *
 * Ruby runs first the hook that was added last (vm_trace.c, 2.7 to 4.1): who loads this before the
 * gem, and calls surround behind its watch_vm!, has one hook on each side of the gem's at both ends
 * of a step. The gem's own count is then between two bounds.
 *
 *   GcTruth.surround  from now on tells of the other side, too
 *   GcTruth.bounds    [ns, ns, CPU ns, CPU ns, steps, runs]: at least, at most, each; how many
 *   GcTruth.watch     within the next step, notes what the gem then says of the calling thread
 *   GcTruth.watched   that: [gc_enters, gc_exits, gc_time, gc_runs]
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <ruby.h>
#include <ruby/debug.h>

void Init_gc_truth(void);

struct reading {
	uint64_t ns, cpu_ns;
};

/* All that collects has the GVL. */
static struct {
	struct reading enter_outside, enter_inside, exit_inside;
	struct reading least, most;
	uint64_t steps, runs;
	const uint64_t *watched; /* of struct correlator_thread, from gc_enters on */
	uint64_t seen[4];
} truth;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What is outside of the gem's reads the CPU's clock on the far side of its own reading. */
static struct reading read_before(void)
{
	struct reading now;

	now.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	now.ns = read_clock(CLOCK_MONOTONIC);
	return now;
}

static struct reading read_after(void)
{
	struct reading now;

	now.ns = read_clock(CLOCK_MONOTONIC);
	now.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	return now;
}

static void add(struct reading *into, struct reading from, struct reading to)
{
	into->ns += to.ns - from.ns;
	into->cpu_ns += to.cpu_ns - from.cpu_ns;
}

/* Before the gem's. */
static void on_first(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (event == RUBY_INTERNAL_EVENT_GC_ENTER)
		truth.enter_outside = read_before();
	else
		truth.exit_inside = read_before();
}

/* Behind it. */
static void on_last(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (event == RUBY_INTERNAL_EVENT_GC_START) {
		truth.runs++;
	} else if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
		truth.enter_inside = read_after();
		if (truth.watched)
			memcpy(truth.seen, truth.watched, sizeof(truth.seen));
		truth.watched = NULL;
	} else {
		struct reading now = read_after();

		add(&truth.most, truth.enter_outside, now);
		add(&truth.least, truth.enter_inside, truth.exit_inside);
		truth.steps++;
	}
}

static VALUE truth_surround(VALUE self)
{
	(void)self;
	rb_remove_event_hook(on_first);
	rb_add_event_hook(on_first, RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT,
			  Qnil);
	return Qnil;
}

static VALUE truth_watch(VALUE self)
{
	/* Ruby loads extensions where all symbols are found. */
	uint64_t **thread = dlsym(RTLD_DEFAULT, "correlator_thread");

	(void)self;
	truth.watched = *thread + 5;
	return Qnil;
}

static VALUE truth_watched(VALUE self)
{
	VALUE seen = rb_ary_new_capa(4);

	(void)self;
	for (int i = 0; i < 4; i++)
		rb_ary_push(seen, ULL2NUM(truth.seen[i]));
	return seen;
}

static VALUE truth_bounds(VALUE self)
{
	/* Making the answer may collect. */
	uint64_t now[] = { truth.least.ns,    truth.most.ns, truth.least.cpu_ns,
			   truth.most.cpu_ns, truth.steps,   truth.runs };
	VALUE bounds = rb_ary_new_capa(6);

	(void)self;
	for (int i = 0; i < 6; i++)
		rb_ary_push(bounds, ULL2NUM(now[i]));
	return bounds;
}

void Init_gc_truth(void)
{
	VALUE module = rb_define_module("GcTruth");

	rb_add_event_hook(on_last,
			  RUBY_INTERNAL_EVENT_GC_START | RUBY_INTERNAL_EVENT_GC_ENTER |
				  RUBY_INTERNAL_EVENT_GC_EXIT,
			  Qnil);
	rb_define_singleton_method(module, "surround", truth_surround, 0);
	rb_define_singleton_method(module, "bounds", truth_bounds, 0);
	rb_define_singleton_method(module, "watch", truth_watch, 0);
	rb_define_singleton_method(module, "watched", truth_watched, 0);
}
