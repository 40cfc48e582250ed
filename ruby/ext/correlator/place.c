/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <stdatomic.h>
#include <string.h>

/* Atomic: a lender may be collected by another Ractor's thread. */
struct lease {
	atomic_uint holders;
	atomic_bool is_over;
};

struct frame {
	VALUE state; /* a State, or nil: no context */
	struct lease *lease; /* NULL as long as nobody has borrowed from it */
};

enum {
	FRAMES_AT_FIRST = 4
};

struct place {
	VALUE object;
	VALUE fiber;
	uint64_t number; /* of the fiber, from 1 on */
	struct frame loan; /* lease NULL: nothing is borrowed */
	bool keeps_loan; /* also when the lease is over */
	size_t depth; /* frames in use */
	size_t room;
	struct frame *frames;
};

/* Set once, when the extension is loaded. */
static VALUE place_class;

/* Of all Ractors. */
static _Atomic(uint64_t) last_number;

static void lease_release(struct lease *lease)
{
	if (lease && atomic_fetch_sub(&lease->holders, 1) == 1)
		ruby_xfree(lease);
}

static void frame_end(struct frame *frame)
{
	if (frame->lease)
		atomic_store(&frame->lease->is_over, true);
	lease_release(frame->lease);
	frame->lease = NULL;
}

static void end_from(struct place *place, size_t frames)
{
	while (place->depth > frames)
		frame_end(&place->frames[--place->depth]);
}

/*
 * Pinned, all of it, and the object itself: nothing is moved that a stack, a note (publication.h)
 * or the place names. The fiber is kept alive so that no other one can come to have its address and
 * be taken for it.
 */
static void place_mark(void *data)
{
	const struct place *place = data;

	rb_gc_mark(place->object);
	rb_gc_mark(place->fiber);
	rb_gc_mark(place->loan.state);
	for (size_t i = 0; i < place->depth; i++)
		rb_gc_mark(place->frames[i].state);
}

static void place_free(void *data)
{
	struct place *place = data;

	end_from(place, 0);
	lease_release(place->loan.lease);
	ruby_xfree(place->frames);
	ruby_xfree(place);
}

static size_t place_bytes(const void *data)
{
	const struct place *place = data;

	return sizeof(*place) + place->room * sizeof(struct frame);
}

static const rb_data_type_t place_type = {
	.wrap_struct_name = "Correlator::Place",
	.function = {
		.dmark = place_mark,
		.dfree = place_free,
		.dsize = place_bytes,
	},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE place_new(VALUE fiber)
{
	struct place *place;
	VALUE object = TypedData_Make_Struct(place_class, struct place, &place_type, place);

	place->object = object;
	place->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
	place->loan.state = Qnil;
	RB_OBJ_WRITE(object, &place->fiber, fiber);
	return object;
}

struct place *place_get(VALUE object, VALUE fiber)
{
	struct place *place;

	if (!rb_typeddata_is_kind_of(object, &place_type))
		return NULL;
	place = RTYPEDDATA_DATA(object);
	return place->fiber == fiber ? place : NULL;
}

VALUE place_object(const struct place *place)
{
	return place->object;
}

VALUE place_fiber(const struct place *place)
{
	return place->fiber;
}

uint64_t place_number(const struct place *place)
{
	return place ? place->number : 0;
}

static bool is_lent(const struct place *place)
{
	return place->loan.lease &&
	       (place->keeps_loan || !atomic_load(&place->loan.lease->is_over));
}

/* The frame whose State is in force; NULL if there is neither frame nor loan. */
static struct frame *frame_in_force(struct place *place)
{
	if (place->depth)
		return &place->frames[place->depth - 1];
	return is_lent(place) ? &place->loan : NULL;
}

VALUE place_in_force(struct place *place)
{
	const struct frame *frame = place ? frame_in_force(place) : NULL;

	return frame ? frame->state : Qnil;
}

static void make_room(struct place *place)
{
	size_t room = place->room ? 2 * place->room : FRAMES_AT_FIRST;
	struct frame *frames, *old = place->frames;

	if (place->depth < place->room)
		return;
	/* Not realloc(): the collector may look at them meanwhile. */
	frames = ruby_xmalloc2(room, sizeof(*frames));
	if (place->depth)
		memcpy(frames, old, place->depth * sizeof(*frames));
	place->frames = frames;
	place->room = room;
	ruby_xfree(old);
}

size_t place_enter(struct place *place, VALUE state)
{
	make_room(place);
	place->frames[place->depth].lease = NULL;
	RB_OBJ_WRITE(place->object, &place->frames[place->depth].state, state);
	return place->depth++;
}

void place_leave(struct place *place, size_t frames)
{
	end_from(place, frames);
}

void place_replace(struct place *place, VALUE state)
{
	if (place->depth)
		end_from(place, place->depth - 1);
	(void)place_enter(place, state);
}

void place_renew(struct place *place, VALUE state)
{
	struct frame *frame = frame_in_force(place);

	if (frame)
		RB_OBJ_WRITE(place->object, &frame->state, state);
}

/* What the frame is lent by, one holder more. */
static struct lease *lease_of(struct frame *frame)
{
	if (!frame->lease) {
		frame->lease = ruby_xcalloc(1, sizeof(*frame->lease));
		atomic_store(&frame->lease->holders, 1);
	}
	atomic_fetch_add(&frame->lease->holders, 1);
	return frame->lease;
}

void place_borrow(struct place *place, struct place *lender)
{
	struct frame *frame = frame_in_force(lender);

	if (!frame)
		return;
	lease_release(place->loan.lease);
	place->loan.lease = lease_of(frame);
	place->keeps_loan = false;
	RB_OBJ_WRITE(place->object, &place->loan.state, frame->state);
}

void place_keep_loan(struct place *place)
{
	place->keeps_loan = is_lent(place);
}

void place_define(VALUE correlator)
{
	place_class = rb_define_class_under(correlator, "Place", rb_cObject);
	rb_undef_alloc_func(place_class);
	rb_undef_method(CLASS_OF(place_class), "new");
	rb_funcall(correlator, rb_intern("private_constant"), 1, ID2SYM(rb_intern("Place")));
	rb_gc_register_mark_object(place_class);
}
