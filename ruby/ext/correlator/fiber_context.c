#include "fiber_context.h"

#include <ruby/debug.h>
#include <ruby/thread.h>

#include "state_object.h"

/* Set once, when the extension is loaded. */
static ID state_local;

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_SET

static rb_internal_thread_specific_key_t thread_key;

/*
 * With M:N scheduling (RUBY_MN_THREADS=1, and threads of other Ractors) a native thread changes its
 * Ruby thread without any fiber switch, so each Ruby thread keeps its table, with a reference.
 */
static void thread_table_set(struct Ruby_Profiler_State *state)
{
	VALUE thread = rb_thread_current();
	struct Ruby_Profiler_State *previous = rb_internal_thread_specific_get(thread, thread_key);

	if (previous == state)
		return;
	correlator_state_ref(state);
	rb_internal_thread_specific_set(thread, thread_key, state);
	correlator_state_unref(previous);
}

/*
 * RESUMED is the one event that runs with the GVL on the native thread that will run the thread.
 * Saving at SUSPENDED instead would be wrong: since Ruby 3.4 it may come without a RESUMED.
 */
static void on_thread_resumed(rb_event_flag_t event, const rb_internal_thread_event_data_t *data,
			      void *unused)
{
	struct Ruby_Profiler_State *state =
		rb_internal_thread_specific_get(data->thread, thread_key);

	(void)event;
	(void)unused;
	if (state != ruby_profiler_state)
		correlator_state_apply(state);
}

static void thread_table_define(void)
{
	thread_key = rb_internal_thread_specific_key_create();
	/* Ruby 3.3 and 3.4 hand out one key too many, which is out of range. */
	if ((int)thread_key >= RB_INTERNAL_THREAD_SPECIFIC_KEY_MAX)
		rb_raise(rb_eThreadError, "no thread-specific key left for Correlator");
	rb_internal_thread_add_event_hook(on_thread_resumed, RUBY_INTERNAL_THREAD_EVENT_RESUMED,
					  NULL);
}

#else

/* Until Ruby 3.2 a Ruby thread stays on its native thread. */
static void thread_table_set(struct Ruby_Profiler_State *state)
{
	(void)state;
}

static void thread_table_define(void)
{
}

#endif

static void publish(struct Ruby_Profiler_State *state)
{
	thread_table_set(state);
	if (state != ruby_profiler_state)
		correlator_state_apply(state);
}

VALUE fiber_context_get(void)
{
	VALUE state = rb_thread_local_aref(rb_thread_current(), state_local);

	/* The application can store anything there. */
	return state_object_is(state) ? state : Qnil;
}

void fiber_context_set(VALUE state)
{
	if (state != rb_thread_local_aref(rb_thread_current(), state_local))
		rb_thread_local_aset(rb_thread_current(), state_local, state);
	publish(state_object_table(state));
}

/*
 * Until Ruby 3.0 an exception that comes with a switch is raised before the switch is announced
 * (cont.c, fiber_store), so RAISE counts as a switch too. Where nothing changed it does nothing.
 */
static void on_fiber_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	publish(state_object_table(fiber_context_get()));
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
	publish(NULL);
}

void fiber_context_define(void)
{
	state_local = rb_intern("__correlator_state__");
	thread_table_define();
	rb_add_event_hook(on_fiber_switch, RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_RAISE, Qnil);
	rb_add_event_hook(on_thread_edge, RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END, Qnil);
}
