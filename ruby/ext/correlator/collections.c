/* SPDX-License-Identifier: MIT */
#include "collections.h"

#include <stdatomic.h>
#include <time.h>

#include <ruby.h>
#include <ruby/debug.h>
#ifdef HAVE_RB_EXT_RACTOR_SAFE
#include <ruby/ractor.h>
#endif

#include "publication.h"

static atomic_bool is_counting;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* From the time inside to what the clock is ahead of it, or back. */
static uint64_t turned(uint64_t gc_time, uint64_t is_inside)
{
	return (now_ns() - (gc_time >> 1)) << 1 | is_inside;
}

static void store(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

/*
 * Steps do not nest, and neither the thread nor its fiber changes within one. Runs in the middle of
 * a collection: nothing of Ruby's is touched.
 */
static void on_collection(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	struct correlator_thread *shown = publication_shown();

	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (!shown)
		return;
	if (event == RUBY_INTERNAL_EVENT_GC_START) {
		store(&shown->gc_runs, shown->gc_runs + 1);
	} else if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
		/* Odd: Ruby has not told of the end of the last one. */
		if (!(shown->gc_time & 1))
			store(&shown->gc_time, turned(shown->gc_time, 1));
		store(&shown->gc_enters, shown->gc_enters + 1);
	} else {
		if (shown->gc_time & 1)
			store(&shown->gc_time, turned(shown->gc_time, 0));
		store(&shown->gc_exits, shown->gc_exits + 1);
	}
}

static void add_hook(void)
{
	rb_add_event_hook(on_collection,
			  RUBY_INTERNAL_EVENT_GC_START | RUBY_INTERNAL_EVENT_GC_ENTER |
				  RUBY_INTERNAL_EVENT_GC_EXIT,
			  Qnil);
}

#ifdef HAVE_RB_EXT_RACTOR_SAFE

static rb_ractor_local_key_t hooked_key;

static void hook_this_ractor(void)
{
	if (RB_TEST(rb_ractor_local_storage_value(hooked_key)))
		return;
	rb_ractor_local_storage_value_set(hooked_key, Qtrue);
	add_hook();
}

void collections_define(void)
{
	hooked_key = rb_ractor_local_storage_value_newkey();
}

void collections_count(void)
{
	hook_this_ractor();
	atomic_store(&is_counting, true);
	publication_count(CORRELATOR_THREAD_COUNTS_GC | CORRELATOR_THREAD_TIMES_GC);
}

void collections_follow_ractor(void)
{
	if (atomic_load_explicit(&is_counting, memory_order_relaxed))
		hook_this_ractor();
}

#else

void collections_define(void)
{
}

void collections_count(void)
{
	bool is_on = false;

	if (!atomic_compare_exchange_strong(&is_counting, &is_on, true))
		return;
	add_hook();
	publication_count(CORRELATOR_THREAD_COUNTS_GC | CORRELATOR_THREAD_TIMES_GC);
}

void collections_follow_ractor(void)
{
}

#endif
