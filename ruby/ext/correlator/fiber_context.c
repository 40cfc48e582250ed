/* SPDX-License-Identifier: MIT */
#include "fiber_context.h"

#include <ruby/debug.h>
#include <ruby/version.h>
#ifdef HAVE_RB_EXT_RACTOR_SAFE
#include <ruby/ractor.h>
#endif

#include "collections.h"
#include "other_publisher.h"
#include "place.h"
#include "publication.h"
#include "state_object.h"

/* Set once, when the extension is loaded. */
static ID place_name;

/* Most fibers have neither an instance variable nor, unless they are frozen, a Place elsewhere. */
static inline bool can_have_place(VALUE fiber)
{
#if RUBY_API_VERSION_MAJOR < 4
	return RB_FL_TEST_RAW(fiber, RUBY_FL_EXIVAR | RUBY_FL_FREEZE);
#else
	(void)fiber;
	return true;
#endif
}

static struct place *find_place(VALUE fiber)
{
	/* It is found sooner there; that it is not, or another fiber's, says nothing. */
	VALUE object = rb_thread_local_aref(rb_thread_current(), place_name);
	struct place *place = place_get(object, fiber);

	return place ? place : place_get(rb_attr_get(fiber, place_name), fiber);
}

/*
 * NULL: the fiber, which is the running one, has none. last: the Place that was last known on this
 * thread, most often its own.
 */
static struct place *place_of(VALUE fiber, struct place *last)
{
	if (!can_have_place(fiber))
		return NULL;
	return last && place_fiber(last) == fiber ? last : find_place(fiber);
}

/* As need_place(). */
static struct place *add_place(VALUE fiber)
{
	VALUE thread = rb_thread_current();
	VALUE object = place_new(fiber);

	if (!RB_OBJ_FROZEN(fiber))
		rb_ivar_set(fiber, place_name, object);
	if (!RB_OBJ_FROZEN(thread) || RB_OBJ_FROZEN(fiber))
		rb_thread_local_aset(thread, place_name, object);
	return place_get(object, fiber);
}

/*
 * What is in force in place, which may be NULL; if that is nothing of ours, what another publisher
 * has is. Returns whether that is a change.
 */
static bool publish(struct place *place, VALUE state)
{
	if (!publication_set(state, state_object_table(state), place))
		return false;
	if (RB_NIL_P(state) && other_publisher_is_there())
		other_publisher_restore();
	return true;
}

/* What is known of the running fiber. */
struct now {
	VALUE fiber;
	struct place *place; /* its own, NULL if it has none */
	/*
	 * Of the fiber that resumed it, where that is what is published and nothing is in force
	 * here: Ruby announces no switches to a fiber that was made in a TracePoint block. Else
	 * NULL.
	 */
	struct place *left;
};

static struct now look(void)
{
	struct now now = { .fiber = rb_fiber_current() };
	bool is_published;
	struct place *last = publication_place(&is_published);

	now.place = place_of(now.fiber, last);
	if (is_published && last != now.place && RB_NIL_P(place_in_force(now.place)))
		now.left = last;
	return now;
}

/* Raises FrozenError where neither fiber nor thread can be written to. */
static void need_place(struct now *now)
{
	VALUE thread = rb_thread_current();

	if (!now->place)
		now->place = add_place(now->fiber);
	/* Only there does a frozen one have it, and it may have been wiped. */
	else if (RB_OBJ_FROZEN(now->fiber) && !RB_OBJ_FROZEN(thread))
		rb_thread_local_aset(thread, place_name, place_object(now->place));
}

VALUE fiber_context_get(void)
{
	struct now now = look();
	VALUE state = place_in_force(now.place);

	return RB_NIL_P(state) ? place_in_force(now.left) : state;
}

/*
 * An enumerator's fiber, or a task's, works for whoever runs it. When it starts, the note still
 * names the Place of the fiber that resumed it (lender); and no other fiber has an empty stack.
 * Returns its Place, NULL if it has none.
 */
static struct place *borrow(VALUE fiber, struct place *lender)
{
	struct place *place;
	VALUE frame;
	int line;

	if (RB_NIL_P(place_in_force(lender)) || rb_profile_frames(0, 1, &frame, &line) != 0 ||
	    (RB_OBJ_FROZEN(fiber) && RB_OBJ_FROZEN(rb_thread_current())))
		return NULL;
	place = add_place(fiber);
	place_borrow(place, lender);
	return place;
}

static void on_fiber_switch(void)
{
	bool is_published;
	struct place *last = publication_place(&is_published);
	struct place *place;
	VALUE fiber, state;

	/* No fiber of this thread has had a context yet. */
	if (!last)
		return;
	fiber = rb_fiber_current();
	place = place_of(fiber, last);
	state = place_in_force(place);
	if (!is_published && RB_NIL_P(state))
		return;
	if (!place) {
		place = borrow(fiber, last);
		state = place_in_force(place);
	}
	/* The other one has just stored what this fiber has of it. */
	if (!publish(place, state) && !RB_NIL_P(state) && other_publisher_is_there())
		publication_renew();
}

/*
 * An exception that comes with a switch is raised before the switch is announced: until Ruby 3.0
 * any (cont.c, fiber_store), later those of Thread#raise (RUBY_VM_CHECK_INTS in fiber_switch).
 */
static void on_raise(void)
{
	struct place *place = look().place;

	(void)publish(place, place_in_force(place));
}

/* Native threads are used again (Ruby up to 3.2 caches them): none may keep a dead thread's state.
 */
static void on_thread_edge(void)
{
	struct place *place;
	bool is_published;

	/* Ruby 3.3 keeps some ended threads for good. */
	if (publication_place(&is_published) && (place = look().place))
		place_leave(place, 0);
	publication_end();
	if (other_publisher_is_there())
		publication_renew();
}

/* One hook for all: Ruby goes through the list of them at each event. */
static void on_event(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	if (event == RUBY_EVENT_FIBER_SWITCH)
		on_fiber_switch();
	else if (event == RUBY_EVENT_RAISE)
		on_raise();
	else
		on_thread_edge();
}

static void add_event_hooks(void)
{
	rb_add_event_hook(on_event,
			  RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_RAISE | RUBY_EVENT_THREAD_BEGIN |
				  RUBY_EVENT_THREAD_END,
			  Qnil);
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

void fiber_context_enter(VALUE state, struct fiber_context *ret_previous)
{
	struct now now = look();
	VALUE left = now.left ? place_object(now.left) : Qnil;

	hook_this_ractor();
	collections_follow_ractor();
	need_place(&now);
	*ret_previous = (struct fiber_context){ .object = place_object(now.place),
						.place = now.place,
						.frames = place_enter(now.place, state),
						.left_object = left,
						.left = now.left };
}

void fiber_context_show(const struct fiber_context *previous)
{
	(void)publish(previous->place, place_in_force(previous->place));
}

/* A frozen fiber whose fiber-locals were wiped may have got another Place meanwhile. */
static void return_to(const struct fiber_context *previous)
{
	VALUE thread = rb_thread_current();
	struct place *other = find_place(place_fiber(previous->place));

	if (other && other != previous->place)
		place_leave(other, 0);
	if (!RB_OBJ_FROZEN(thread))
		rb_thread_local_aset(thread, place_name, previous->object);
}

void fiber_context_leave(const struct fiber_context *previous)
{
	struct place *place = previous->place;

	if (RB_OBJ_FROZEN(place_fiber(place)))
		return_to(previous);
	place_leave(place, previous->frames);
	if (RB_NIL_P(place_in_force(place)) && !RB_NIL_P(place_in_force(previous->left)))
		place = previous->left;
	(void)publish(place, place_in_force(place));
}

void fiber_context_replace(VALUE state)
{
	struct now now = look();

	hook_this_ractor();
	collections_follow_ractor();
	need_place(&now);
	place_replace(now.place, state);
	(void)publish(now.place, state);
}

void fiber_context_renew(VALUE state)
{
	struct now now = look();
	struct place *place = now.left ? now.left : now.place;

	if (RB_NIL_P(place_in_force(place)))
		return;
	place_renew(place, state);
	(void)publish(place, state);
}

void fiber_context_define(VALUE correlator)
{
	place_name = rb_intern("__correlator_place__");
	place_define(correlator);
	publication_define();
	other_publisher_define();
	define_ractor_hooks();
	hook_this_ractor();
}
