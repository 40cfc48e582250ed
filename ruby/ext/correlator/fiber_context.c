/* SPDX-License-Identifier: MIT */
#include "fiber_context.h"

#include <ruby/debug.h>
#include <ruby/thread.h>
#ifdef HAVE_RB_EXT_RACTOR_SAFE
#include <ruby/ractor.h>
#endif

#include "other_publisher.h"
#include "publication.h"
#include "state_object.h"

/* Set once, when the extension is loaded. */
static ID set_local;
static ID lent_local;

/*
 * state: a State, or nil for none of ours; then what another publisher has is in force. Returns
 * whether that is a change.
 */
static bool publish(VALUE state)
{
	if (!publication_set(state, state_object_table(state)))
		return false;
	if (RB_NIL_P(state) && other_publisher_is_there())
		other_publisher_restore();
	return true;
}

/* What the running fiber of thread has set: a State, false for none, nil for nothing. */
static VALUE set_in(VALUE thread)
{
	VALUE set = rb_thread_local_aref(thread, set_local);

	/* The application can store anything there. */
	return state_object_is(set) || set == Qfalse ? set : Qnil;
}

static VALUE in_force_in(VALUE thread)
{
	VALUE state = set_in(thread);

	if (!RB_NIL_P(state))
		return state == Qfalse ? Qnil : state;
	state = rb_thread_local_aref(thread, lent_local);
	return state_object_in_force(state) ? state : Qnil;
}

/*
 * What was in force in the fiber that resumed a fiber that knows of no context: Ruby announces no
 * switches to a fiber that was made in a TracePoint block, so the variable still names it.
 */
static VALUE left_published(VALUE thread)
{
	VALUE state = publication_get();

	return RB_NIL_P(set_in(thread)) && state_object_in_force(state) ? state : Qnil;
}

VALUE fiber_context_get(void)
{
	VALUE thread = rb_thread_current();
	VALUE state = in_force_in(thread);

	return RB_NIL_P(state) ? left_published(thread) : state;
}

/*
 * An enumerator's fiber, or a task's, works for whoever runs it. When it starts, the variable
 * still names the State of the fiber that resumed it; and no other fiber has an empty stack.
 */
static void borrow(VALUE thread)
{
	VALUE state = publication_get();
	VALUE frame;
	int line;

	if (state_object_in_force(state) && !RB_OBJ_FROZEN(thread) &&
	    rb_profile_frames(0, 1, &frame, &line) == 0)
		rb_thread_local_aset(thread, lent_local, state);
}

static void on_fiber_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	VALUE thread = rb_thread_current();
	VALUE state = in_force_in(thread);

	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (RB_NIL_P(state) && !RB_NIL_P(publication_get())) {
		borrow(thread);
		state = in_force_in(thread);
	}
	/* The other one has just stored what this fiber has of it. */
	if (!publish(state) && !RB_NIL_P(state) && other_publisher_is_there())
		publication_renew();
}

/*
 * An exception that comes with a switch is raised before the switch is announced: until Ruby 3.0
 * any (cont.c, fiber_store), later those of Thread#raise (RUBY_VM_CHECK_INTS in fiber_switch).
 */
static void on_raise(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	(void)publish(in_force_in(rb_thread_current()));
}

/* Native threads are used again (Ruby up to 3.2 caches them): none may keep a dead thread's state.
 */
static void on_thread_edge(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (!publication_set(Qnil, NULL) && other_publisher_is_there())
		publication_renew();
}

static void add_event_hooks(void)
{
	rb_add_event_hook(on_fiber_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
	rb_add_event_hook(on_raise, RUBY_EVENT_RAISE, Qnil);
	rb_add_event_hook(on_thread_edge, RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END, Qnil);
}

#ifdef HAVE_RB_EXT_RACTOR_SAFE

static rb_ractor_local_key_t hooked_key;

/* Event hooks belong to one Ractor. */
static void hook_this_ractor(void)
{
	if (RB_TEST(rb_ractor_local_storage_value(hooked_key)))
		return;
	rb_ractor_local_storage_value_set(hooked_key, Qtrue);
	add_event_hooks();
}

static void define_ractor_hooks(void)
{
	hooked_key = rb_ractor_local_storage_value_newkey();
}

#else

static void hook_this_ractor(void)
{
}

static void define_ractor_hooks(void)
{
	add_event_hooks();
}

#endif

#ifdef HAVE_RB_INTERNAL_THREAD_EVENT_DATA_T_THREAD

/*
 * With M:N scheduling (RUBY_MN_THREADS=1, and threads of other Ractors) a native thread changes its
 * Ruby thread without any fiber switch. RESUMED is the one event that runs with the GVL on the
 * native thread that will run the thread. Saving at SUSPENDED instead would be wrong: since Ruby
 * 3.4 it may come without a RESUMED.
 */
static void on_thread_resumed(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
			      void *unused)
{
	VALUE state = in_force_in(data->thread);

	(void)event;
	(void)unused;
	/* Nothing that allocates: another publisher, who does not follow such moves, is not asked.
	 */
	(void)publication_set(state, state_object_table(state));
}

static void hook_thread_moves(void)
{
	rb_internal_thread_add_event_hook(on_thread_resumed, RUBY_INTERNAL_THREAD_EVENT_RESUMED,
					  NULL);
}

#else

/* Until Ruby 3.2 a Ruby thread stays on its native thread. */
static void hook_thread_moves(void)
{
}

#endif

static void set_and_publish(VALUE thread, VALUE set, VALUE otherwise)
{
	VALUE state;

	if (set != set_in(thread))
		rb_thread_local_aset(thread, set_local, set);
	state = in_force_in(thread);
	(void)publish(RB_NIL_P(state) ? otherwise : state);
}

void fiber_context_enter(VALUE state, struct fiber_context *ret_previous)
{
	VALUE thread = rb_thread_current();
	struct fiber_context previous = { .set = set_in(thread), .left = left_published(thread) };

	hook_this_ractor();
	set_and_publish(thread, RB_NIL_P(state) ? Qfalse : state, Qnil);
	state_object_enter(state);
	*ret_previous = previous;
}

void fiber_context_leave(const struct fiber_context *previous)
{
	VALUE thread = rb_thread_current();

	state_object_leave(set_in(thread));
	set_and_publish(thread, previous->set,
			state_object_in_force(previous->left) ? previous->left : Qnil);
}

void fiber_context_replace(VALUE state)
{
	struct fiber_context previous;

	fiber_context_enter(state, &previous);
	state_object_leave(previous.set);
}

void fiber_context_define(void)
{
	set_local = rb_intern("__correlator_state__");
	lent_local = rb_intern("__correlator_lent__");
	publication_define();
	other_publisher_define();
	define_ractor_hooks();
	hook_this_ractor();
	hook_thread_moves();
}
