/* SPDX-License-Identifier: MIT */
/*
 * What the gem ruby-profiler leaves out where Ruby's threads share native ones (Ruby 3.3+ with
 * RUBY_MN_THREADS=1): a native thread changes its Ruby thread without any switch of fibers, and
 * goes on with what the last one published. For each Ruby thread it is noted here what is in force,
 * and that is published anew when the thread goes on.
 *
 * The variable that correlator_state.c defines is that gem's here, which is loaded before; its
 * function is where an observer has its probe.
 */
#include "correlator_state.c"

#include <ruby/debug.h>
#include <ruby/thread.h>

CORRELATOR_EXPORT void Init_upstream_threads(void);

#if defined(HAVE_RB_INTERNAL_THREAD_EVENT_DATA_T_THREAD) && \
	defined(HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE)

#include <ruby/ractor.h>

/* Set once, when the extension is loaded. */
static rb_internal_thread_specific_key_t table_key; /* of what is in force in a Ruby thread */
static ID fiber_state;
static const rb_data_type_t *state_type; /* Ruby::Profiler::State's */

static void note(VALUE state)
{
	struct Ruby_Profiler_State *table = NULL;

	/* The application can store anything in a Fiber's variable. */
	if (rb_typeddata_is_kind_of(state, state_type))
		table = RTYPEDDATA_GET_DATA(state);
	rb_internal_thread_specific_set(rb_thread_current(), table_key, table);
}

/* In front of the gem's own: a thread that stops in the middle goes on with the new one. */
static VALUE apply(VALUE self)
{
	note(self);
	return rb_call_super(0, NULL);
}

static void on_fiber_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	note(rb_attr_get(rb_fiber_current(), fiber_state));
}

/* With the GVL, on the native thread that will run the thread. Nothing here allocates. */
static void on_resumed(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
		       void *unused)
{
	struct Ruby_Profiler_State *table =
		rb_internal_thread_specific_get(data->thread, table_key);

	(void)event;
	(void)unused;
	if (ruby_profiler_state != table)
		correlator_state_apply(table, 0, 0);
}

void Init_upstream_threads(void)
{
	VALUE module = rb_define_module_under(rb_define_module("Correlator"), "UpstreamThreads");
	VALUE state = rb_path2class("Ruby::Profiler::State");

	rb_ext_ractor_safe(true);
	table_key = rb_internal_thread_specific_key_create();
	fiber_state = rb_intern("@ruby_profiler_state");
	state_type = RTYPEDDATA_TYPE(rb_class_new_instance(0, NULL, state));
	note(rb_attr_get(rb_fiber_current(), fiber_state));
	rb_define_method(module, "apply!", apply, 0);
	rb_prepend_module(state, module);
	rb_add_event_hook(on_fiber_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
	rb_internal_thread_add_event_hook(on_resumed, RUBY_INTERNAL_THREAD_EVENT_RESUMED, NULL);
}

#else

/* No Ruby threads share native ones. */
void Init_upstream_threads(void)
{
}

#endif
