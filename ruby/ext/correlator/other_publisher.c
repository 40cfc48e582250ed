/* SPDX-License-Identifier: MIT */
#include "other_publisher.h"

#include <stdatomic.h>

#include <ruby.h>

/* Set once, when the extension is loaded. */
static VALUE loaded_features;
static ID state_names[3]; /* Ruby::Profiler::State */
static ID fiber_state;
static ID apply;

/* How many features were loaded when it was last looked for, and what was found: of all Ractors. */
static atomic_long features_seen;
static atomic_bool is_there;

/* Without loading anything: a constant that is yet to be loaded is none. */
static bool state_is_defined(void)
{
	VALUE outer = rb_cObject;

	for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++) {
		if (!(RB_TYPE_P(outer, T_MODULE) || RB_TYPE_P(outer, T_CLASS)) ||
		    !rb_const_defined_at(outer, state_names[i]) ||
		    !RB_NIL_P(rb_autoload_p(outer, state_names[i])))
			return false;
		outer = rb_const_get_at(outer, state_names[i]);
	}
	return true;
}

bool other_publisher_is_there(void)
{
	long features = RARRAY_LEN(loaded_features);

	if (features != atomic_load_explicit(&features_seen, memory_order_relaxed)) {
		atomic_store(&is_there, state_is_defined());
		atomic_store(&features_seen, features);
	}
	return atomic_load_explicit(&is_there, memory_order_relaxed);
}

static VALUE apply_state(VALUE state)
{
	return rb_check_funcall(state, apply, 0, NULL);
}

void other_publisher_restore(void)
{
	VALUE state = rb_attr_get(rb_fiber_current(), fiber_state);
	int error = 0;

	if (!RB_NIL_P(state))
		rb_protect(apply_state, state, &error);
	if (!error)
		return;
	/* Of a frozen Fiber: the state is in force, it was only not noted down a second time. */
	if (!RTEST(rb_obj_is_kind_of(rb_errinfo(), rb_eFrozenError)))
		rb_jump_tag(error);
	rb_set_errinfo(Qnil);
}

void other_publisher_define(void)
{
	loaded_features = rb_gv_get("$LOADED_FEATURES");
	rb_gc_register_mark_object(loaded_features);
	state_names[0] = rb_intern("Ruby");
	state_names[1] = rb_intern("Profiler");
	state_names[2] = rb_intern("State");
	fiber_state = rb_intern("@ruby_profiler_state");
	apply = rb_intern("apply!");
}
