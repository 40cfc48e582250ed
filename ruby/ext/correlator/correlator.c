/* SPDX-License-Identifier: MIT */
#include "collections.h"
#include "fiber_context.h"
#include "publication.h"
#include "state_object.h"

CORRELATOR_EXPORT void Init_correlator(void);

/*
 * The Hash of keyword arguments, taken from the end of the others; nil without any. Not
 * rb_scan_args(), which copies it.
 */
static VALUE take_pairs(int *argc, const VALUE *argv)
{
	VALUE pairs = rb_keyword_given_p() ? argv[--*argc] : Qnil;

	return RB_NIL_P(pairs) || RHASH_EMPTY_P(pairs) ? Qnil : pairs;
}

/*
 * The State that the arguments ([state or nil,] **pairs) ask for: the pairs over the given state,
 * or over the current one where none is given; nil for no context.
 */
static VALUE state_from_arguments(int argc, const VALUE *argv)
{
	VALUE pairs = take_pairs(&argc, argv);
	VALUE base;

	rb_check_arity(argc, 0, 1);
	base = argc ? argv[0] : fiber_context_get();
	if (!RB_NIL_P(base) && !state_object_is(base))
		rb_raise(rb_eTypeError, "a context is a Correlator::State or nil, not %" PRIsVALUE,
			 rb_obj_class(base));
	return RB_NIL_P(pairs) ? base : state_object_new(base, pairs);
}

/* Where another publisher is, that may be Ruby code, and raise. */
static VALUE show_and_yield(VALUE argument)
{
	fiber_context_show((const struct fiber_context *)argument);
	return rb_yield_values(0);
}

static VALUE restore(VALUE argument)
{
	fiber_context_leave((const struct fiber_context *)argument);
	return Qnil;
}

static VALUE correlator_with(int argc, VALUE *argv, VALUE self)
{
	struct fiber_context previous;

	(void)self;
	rb_need_block();
	fiber_context_enter(state_from_arguments(argc, argv), &previous);
	return rb_ensure(show_and_yield, (VALUE)&previous, restore, (VALUE)&previous);
}

static VALUE correlator_set(int argc, VALUE *argv, VALUE self)
{
	if (rb_block_given_p())
		return correlator_with(argc, argv, self);
	fiber_context_replace(state_from_arguments(argc, argv));
	return Qnil;
}

static VALUE correlator_update(int argc, VALUE *argv, VALUE self)
{
	VALUE pairs = take_pairs(&argc, argv);
	VALUE state = fiber_context_get();

	(void)self;
	rb_check_arity(argc, 0, 0);
	if (!RB_NIL_P(state) && !RB_NIL_P(pairs))
		fiber_context_renew(state_object_new(state, pairs));
	return Qnil;
}

static VALUE correlator_clear(VALUE self)
{
	(void)self;
	fiber_context_replace(Qnil);
	return Qnil;
}

static VALUE correlator_capture(VALUE self)
{
	(void)self;
	return fiber_context_get();
}

static VALUE correlator_current(VALUE self)
{
	VALUE state = fiber_context_get();

	(void)self;
	return RB_NIL_P(state) ? Qnil : state_object_to_h(state);
}

static VALUE correlator_fetch(VALUE self, VALUE key)
{
	(void)self;
	return state_object_fetch(fiber_context_get(), key);
}

static VALUE correlator_count_gvl(VALUE self)
{
	(void)self;
	return publication_count_gvl() ? Qtrue : Qfalse;
}

static VALUE correlator_count_gc(VALUE self)
{
	(void)self;
	collections_count();
	return Qtrue;
}

void Init_correlator(void)
{
	VALUE correlator;

#ifdef HAVE_RB_EXT_RACTOR_SAFE
	rb_ext_ractor_safe(true);
#endif
	correlator = rb_define_module("Correlator");
	state_object_define(correlator);
	fiber_context_define(correlator);
	collections_define();
	rb_define_module_function(correlator, "with", correlator_with, -1);
	rb_define_module_function(correlator, "set", correlator_set, -1);
	rb_define_singleton_method(correlator, "update", correlator_update, -1);
	rb_define_singleton_method(correlator, "[]", correlator_fetch, 1);
	rb_define_module_function(correlator, "clear", correlator_clear, 0);
	rb_define_module_function(correlator, "capture", correlator_capture, 0);
	rb_define_module_function(correlator, "current", correlator_current, 0);
	rb_define_private_method(rb_singleton_class(correlator), "count_gvl", correlator_count_gvl,
				 0);
	rb_define_private_method(rb_singleton_class(correlator), "count_gc", correlator_count_gc,
				 0);
}
