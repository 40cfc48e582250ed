/* SPDX-License-Identifier: MIT */
#include "publication.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ruby/thread.h>

#include "place.h"

/*
 * A note. Never freed: the collector, or an observer, may be reading it. There is one for a Ruby
 * thread and one for its native thread, which say the same as long as neither is shared.
 */
struct publication {
	struct publication *next;
	atomic_bool is_taken;
	/* Atomic: emptied by a thread that ends, without the GVL, while another one marks. */
	_Atomic(VALUE) state;
	_Atomic(VALUE) place;
	_Atomic(VALUE) thread;
	struct place *in_place;
	struct Ruby_Profiler_State *table;
	uint64_t serial; /* of the table, 0 for none */
	uint64_t fiber; /* number of the Place; 0: none */
	struct correlator_thread shown;
};

enum {
	THREAD_VERSION = 1
};

/* All notes; they are only added. Of all Ractors, hence atomic. */
static _Atomic(struct publication *) publications;
static _Atomic(uint64_t) last_serial;

/* What the variable of this native thread holds, which must live. NULL: nothing yet. */
static _Thread_local struct publication *held;

/* What the Ruby thread that runs on this native thread publishes. NULL: nothing yet. */
static _Thread_local struct publication *own;

/* Tells when a native thread ends. Set once, when the extension is loaded. */
static pthread_key_t end_key;

/* Exported for observers, so anybody may write to it: the flags are set, and read by nobody here.
 */
struct correlator_watch correlator_watch = { .version = 1 };

/* enum correlator_thread_flags, of all threads. */
static _Atomic(uint32_t) counted;

static void mark_published(void *unused)
{
	(void)unused;
	for (struct publication *one = atomic_load(&publications); one; one = one->next) {
		rb_gc_mark(atomic_load(&one->state));
		rb_gc_mark(atomic_load(&one->place));
		rb_gc_mark(atomic_load(&one->thread));
	}
}

/* Not protected by write barriers: marked by each collection, also a minor one. */
static const rb_data_type_t root_type = {
	.wrap_struct_name = "Correlator: what is published",
	.function = { .dmark = mark_published },
};

static void release(struct publication *publication)
{
	publication->in_place = NULL;
	publication->table = NULL;
	publication->serial = 0;
	publication->fiber = 0;
	memset(&publication->shown, 0, sizeof(publication->shown));
	atomic_store(&publication->state, Qnil);
	atomic_store(&publication->place, Qnil);
	atomic_store(&publication->thread, 0);
	atomic_store(&publication->is_taken, false);
}

static struct publication *take_released(void)
{
	for (struct publication *one = atomic_load(&publications); one; one = one->next) {
		bool is_taken = false;

		if (atomic_compare_exchange_strong(&one->is_taken, &is_taken, true))
			return one;
	}
	return NULL;
}

/* An empty note; NULL without memory. */
static struct publication *take(void)
{
	struct publication *taken = take_released();

	if (taken)
		return taken;
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return NULL;
	atomic_init(&taken->is_taken, true);
	atomic_init(&taken->state, Qnil);
	atomic_init(&taken->place, Qnil);
	taken->next = atomic_load(&publications);
	while (!atomic_compare_exchange_weak(&publications, &taken->next, taken))
		;
	return taken;
}

static bool take_held(void)
{
	held = take();
	if (held && pthread_setspecific(end_key, held) != 0) {
		release(held);
		held = NULL;
	}
	return held != NULL;
}

/* The variable's new content, from a note or NULL for none. Without memory for a note, none. */
static void show(const struct publication *from)
{
	struct Ruby_Profiler_State *table = from ? from->table : NULL;

	if (!held && (!table || !take_held()))
		return;
	held->table = table;
	held->serial = table ? from->serial : 0;
	held->fiber = table ? from->fiber : 0;
	atomic_store_explicit(&held->state, table ? atomic_load(&from->state) : Qnil,
			      memory_order_relaxed);
	correlator_state_apply(table, held->fiber, held->serial);
}

/* This native thread runs the Ruby thread of the note, or one that has none (NULL), from now on. */
static void switch_to(struct publication *publication)
{
	own = publication;
	correlator_thread = publication ? &publication->shown : NULL;
}

/* The end of the Ruby thread that runs on this native thread. May run without the GVL. */
static void end_own(void)
{
	struct publication *ended = own;

	switch_to(NULL);
	if (held && held->table)
		show(NULL);
	if (ended)
		release(ended);
}

/* Runs without the GVL. */
static void on_native_thread_end(void *unused)
{
	(void)unused;
	end_own();
	if (held)
		release(held);
	held = NULL;
}

/* The child of a fork has one thread, the one that forked, and that one fiber. */
static void on_child(void)
{
	if (own && own->in_place)
		place_keep_loan(own->in_place);
	for (struct publication *one = atomic_load(&publications); one; one = one->next)
		if (one != own && one != held)
			release(one);
}

struct correlator_thread *publication_shown(void)
{
	return own ? &own->shown : NULL;
}

void publication_count(uint32_t flags)
{
	correlator_watch.flags = atomic_fetch_or(&counted, flags) | flags;
	for (struct publication *one = atomic_load(&publications); one; one = one->next)
		if (one->shown.version)
			__atomic_or_fetch(&one->shown.flags, flags, __ATOMIC_RELAXED);
}

#if defined(HAVE_RB_INTERNAL_THREAD_EVENT_DATA_T_THREAD) && \
	defined(HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE)

/* Ruby 3.3+: notes belong to Ruby threads, and each has a pointer to its own. */
static rb_internal_thread_specific_key_t note_key;

/* False: other extensions have used up all keys (8 in Ruby 3.3, thread.h). */
static bool has_key;

static struct publication *note_of(VALUE thread)
{
	if (has_key)
		return rb_internal_thread_specific_get(thread, note_key);
	for (struct publication *one = atomic_load(&publications); one; one = one->next)
		if (atomic_load(&one->thread) == thread)
			return one;
	return NULL;
}

/* NULL: no note. */
static void assign(VALUE thread, struct publication *publication)
{
	if (publication)
		atomic_store(&publication->thread, thread);
	if (has_key)
		rb_internal_thread_specific_set(thread, note_key, publication);
}

/* Of the VM, once. */
static atomic_bool is_watching;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The thread wants the GVL. Runs on whichever native thread found that it does, without the GVL,
 * and maybe a second time for the same wait.
 */
static void on_ready(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		     void *unused)
{
	struct publication *publication = note_of(data->thread);
	uint64_t is_none = 0;

	(void)event;
	(void)unused;
	if (publication)
		__atomic_compare_exchange_n(&publication->shown.ready_ns, &is_none, now_ns(), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The thread has the GVL. Only it adds to its counters; an observer may read them at any instant.
 */
static void end_wait(struct correlator_thread *shown)
{
	uint64_t ready_ns = __atomic_exchange_n(&shown->ready_ns, 0, __ATOMIC_RELAXED);

	if (!ready_ns)
		return;
	__atomic_store_n(&shown->wait_ns, shown->wait_ns + (now_ns() - ready_ns), __ATOMIC_RELAXED);
	__atomic_store_n(&shown->waits, shown->waits + 1, __ATOMIC_RELAXED);
}

/*
 * The one event that runs with the GVL on the native thread that will run the thread. Saving at
 * SUSPENDED instead would be wrong: since Ruby 3.4 it may come without a RESUMED. Since 4.1 it runs
 * under the scheduler's lock: it calls nothing of Ruby that allocates or waits.
 */
static void on_resumed(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		       void *unused)
{
	struct publication *publication = note_of(data->thread);

	(void)event;
	(void)unused;
	if (publication)
		end_wait(&publication->shown);
	if (publication != own)
		switch_to(publication);
	/* By serial: a table's address may be a later one's. */
	if ((publication ? publication->serial : 0) != (held ? held->serial : 0) ||
	    (held && held->table && publication->fiber != held->fiber))
		show(publication);
}

static void on_exited(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		      void *unused)
{
	struct publication *ended = note_of(data->thread);

	(void)event;
	(void)unused;
	if (!ended)
		return;
	assign(data->thread, NULL);
	if (ended == own)
		end_own();
	else
		release(ended);
}

static VALUE create_key(VALUE unused)
{
	(void)unused;
	note_key = rb_internal_thread_specific_key_create();
	return Qtrue;
}

static void hook_threads(void)
{
	int error = 0;

	has_key = RB_TEST(rb_protect(create_key, Qnil, &error));
	if (error)
		rb_set_errinfo(Qnil);
	rb_internal_thread_add_event_hook(on_resumed, RUBY_INTERNAL_THREAD_EVENT_RESUMED, NULL);
	rb_internal_thread_add_event_hook(on_exited, RUBY_INTERNAL_THREAD_EVENT_EXITED, NULL);
}

bool publication_count_gvl(void)
{
	bool is_on = false;

	if (!atomic_compare_exchange_strong(&is_watching, &is_on, true))
		return true;
	rb_internal_thread_add_event_hook(on_ready, RUBY_INTERNAL_THREAD_EVENT_READY, NULL);
	publication_count(CORRELATOR_THREAD_COUNTS_GVL);
	return true;
}

#else

/* A Ruby thread stays on its native thread: own is enough. */
static void assign(VALUE thread, struct publication *publication)
{
	(void)thread;
	(void)publication;
}

static void hook_threads(void)
{
}

bool publication_count_gvl(void)
{
	return false;
}

#endif

/* A note for this Ruby thread, which has none yet; NULL without memory. */
static __attribute__((noinline)) struct publication *take_own(void)
{
	struct publication *taken = NULL;

	/* First what tells of the end. */
	if (held || take_held())
		taken = take();
	if (!taken)
		return NULL;
	assign(rb_thread_current(), taken);
	taken->shown.serial = atomic_fetch_add(&last_serial, 1) + 1;
	taken->shown.flags = atomic_load(&counted);
	taken->shown.version = THREAD_VERSION;
	switch_to(taken);
	return taken;
}

struct place *publication_place(bool *ret_is_published)
{
	const struct publication *publication = own;

	*ret_is_published = publication && publication->table;
	return publication ? publication->in_place : NULL;
}

bool publication_set(VALUE state, struct Ruby_Profiler_State *table, struct place *place)
{
	struct publication *publication = own;
	bool is_other_fiber;

	if (!publication && table)
		publication = take_own();
	if (!publication)
		return false;
	is_other_fiber = place && place != publication->in_place;
	if (is_other_fiber) {
		publication->fiber = place_number(place);
		publication->in_place = place;
		atomic_store_explicit(&publication->place, place_object(place),
				      memory_order_relaxed);
	}
	if (publication->table == table) {
		if (is_other_fiber && table && held) {
			held->fiber = publication->fiber;
			correlator_fiber_apply(table, publication->fiber, publication->serial);
		}
		return false;
	}
	publication->table = table;
	publication->serial = table ? correlator_state_serial(table) : 0;
	atomic_store_explicit(&publication->state, state, memory_order_relaxed);
	show(publication);
	return true;
}

void publication_end(void)
{
	if (!own)
		return;
	assign(rb_thread_current(), NULL);
	end_own();
}

void publication_renew(void)
{
	const struct publication *publication = own;

	correlator_state_apply(publication ? publication->table : NULL,
			       publication ? publication->fiber : 0,
			       publication ? publication->serial : 0);
}

void publication_withdraw(const struct Ruby_Profiler_State *table)
{
	if (!table)
		return;
	if (own && own->table == table) {
		own->table = NULL;
		own->serial = 0;
		atomic_store(&own->state, Qnil);
	}
	if (held && held->table == table)
		show(NULL);
}

void publication_define(void)
{
	VALUE root;

	if (pthread_key_create(&end_key, on_native_thread_end) != 0 ||
	    pthread_atfork(NULL, NULL, on_child) != 0)
		rb_memerror();
	/* Ruby does not look into it, nor does an application find it. */
	root = TypedData_Wrap_Struct(0, &root_type, &publications);
	rb_gc_register_mark_object(root);
	hook_threads();
}
