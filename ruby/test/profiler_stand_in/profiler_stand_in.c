/*
 * Stands in for the gem ruby-profiler in tests: the interface that other code relies on (the class
 * Ruby::Profiler::State, the fiber's @ruby_profiler_state, the thread-local), none of its inside.
 * States are never freed.
 */
#include <stdlib.h>

#include <ruby.h>
#include <ruby/debug.h>

struct pair {
	ID key;
	VALUE value;
};

struct state {
	size_t size;
	size_t capacity;
	struct pair pairs[];
};

enum {
	CAPACITY = 64
};

_Thread_local struct state *ruby_profiler_state;

void Init_profiler_stand_in(void);

static void state_mark(void *data)
{
	const struct state *state = data;

	for (size_t i = 0; state && i < state->capacity; i++)
		if (state->pairs[i].key)
			rb_gc_mark(state->pairs[i].value);
}

static const rb_data_type_t state_type = {
	.wrap_struct_name = "stand-in state",
	.function = { .dmark = state_mark },
};

static VALUE state_allocate(VALUE class)
{
	return TypedData_Wrap_Struct(class, &state_type, NULL);
}

static int put(VALUE key, VALUE value, VALUE argument)
{
	struct state *state = (struct state *)argument;
	ID id = rb_sym2id(key);
	size_t slot = id & (CAPACITY - 1);

	while (state->pairs[slot].key && state->pairs[slot].key != id)
		slot = (slot + 1) & (CAPACITY - 1);
	state->size += !state->pairs[slot].key;
	state->pairs[slot] = (struct pair){ .key = id, .value = value };
	return ST_CONTINUE;
}

static VALUE fill(VALUE object, const struct state *base, VALUE pairs)
{
	struct state *state = calloc(1, sizeof(*state) + CAPACITY * sizeof(struct pair));

	state->capacity = CAPACITY;
	for (size_t i = 0; base && i < CAPACITY; i++)
		state->pairs[i] = base->pairs[i];
	state->size = base ? base->size : 0;
	RTYPEDDATA_DATA(object) = state;
	rb_hash_foreach(pairs, put, (VALUE)state);
	return object;
}

static VALUE state_initialize(int argc, VALUE *argv, VALUE self)
{
	VALUE pairs;

	(rb_scan_args)(argc, argv, ":", &pairs);
	return RB_NIL_P(pairs) ? self : fill(self, NULL, pairs);
}

static VALUE state_with(int argc, VALUE *argv, VALUE self)
{
	VALUE pairs;

	(rb_scan_args)(argc, argv, ":", &pairs);
	if (RB_NIL_P(pairs))
		return self;
	return fill(state_allocate(rb_obj_class(self)), RTYPEDDATA_DATA(self), pairs);
}

static VALUE state_apply(VALUE self)
{
	rb_ivar_set(rb_fiber_current(), rb_intern("@ruby_profiler_state"), self);
	ruby_profiler_state = RTYPEDDATA_DATA(self);
	return self;
}

static VALUE state_size(VALUE self)
{
	const struct state *state = RTYPEDDATA_DATA(self);

	return SIZET2NUM(state ? state->size : 0);
}

static void on_fiber_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE class)
{
	VALUE state = rb_ivar_get(rb_fiber_current(), rb_intern("@ruby_profiler_state"));

	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	ruby_profiler_state = RB_NIL_P(state) ? NULL : RTYPEDDATA_DATA(state);
}

void Init_profiler_stand_in(void)
{
	VALUE profiler = rb_define_module_under(rb_define_module("Ruby"), "Profiler");
	VALUE state = rb_define_class_under(profiler, "State", rb_cObject);

	rb_define_alloc_func(state, state_allocate);
	rb_define_method(state, "initialize", state_initialize, -1);
	rb_define_method(state, "with", state_with, -1);
	rb_define_method(state, "apply!", state_apply, 0);
	rb_define_method(state, "size", state_size, 0);
	rb_add_event_hook(on_fiber_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
}
