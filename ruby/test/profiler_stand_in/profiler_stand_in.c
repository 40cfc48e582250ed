/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the gem ruby-profiler (socketry/ruby-profiler, ext/ruby/profiler at 945c8ae) in
 * tests. What other code can notice is as there: the names and linkage of the variable and of the
 * functions that an observer looks for, so that the dynamic linker makes the variable one with that
 * of an extension loaded before; memory of plain malloc(), freed with its State; in which order
 * what is stored, at apply!, at switches of fibers, when a State is freed and when it is loaded;
 * tables as full as can be, and no write barriers.
 */
#include <stdlib.h>

#include <ruby.h>
#include <ruby/debug.h>

struct Ruby_Profiler_Pair {
	ID key;
	VALUE value;
};

struct Ruby_Profiler_State {
	size_t size;
	size_t capacity;
	struct Ruby_Profiler_Pair pairs[];
};

/* Exported, of no particular TLS model, and initialized, as everything that is not static here. */
_Thread_local struct Ruby_Profiler_State *ruby_profiler_state = NULL;
ID id_ruby_profiler_state;

extern const rb_data_type_t Ruby_Profiler_State_Type;
struct Ruby_Profiler_State *Ruby_Profiler_State_get(VALUE self);
struct Ruby_Profiler_State *Ruby_Profiler_State_for(VALUE fiber);
void Init_profiler_stand_in(void);

static void state_mark(void *data)
{
	struct Ruby_Profiler_State *state = data;

	for (size_t i = 0; state && i < state->capacity; i++)
		if (state->pairs[i].key)
			rb_gc_mark_movable(state->pairs[i].value);
}

static void state_compact(void *data)
{
	struct Ruby_Profiler_State *state = data;

	for (size_t i = 0; state && i < state->capacity; i++)
		if (state->pairs[i].key)
			state->pairs[i].value = rb_gc_location(state->pairs[i].value);
}

static void state_free(void *data)
{
	if (!data)
		return;
	if (ruby_profiler_state == data)
		ruby_profiler_state = NULL;
	free(data);
}

const rb_data_type_t Ruby_Profiler_State_Type = {
	.wrap_struct_name = "Ruby::Profiler::State",
	.function = {
		.dmark = state_mark,
		.dfree = state_free,
		.dcompact = state_compact,
	},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

struct Ruby_Profiler_State *Ruby_Profiler_State_get(VALUE self)
{
	return rb_check_typeddata(self, &Ruby_Profiler_State_Type);
}

static VALUE state_allocate(VALUE class)
{
	return TypedData_Wrap_Struct(class, &Ruby_Profiler_State_Type, NULL);
}

static struct Ruby_Profiler_State *table_for(size_t keys)
{
	size_t capacity = 1;
	struct Ruby_Profiler_State *table;

	while (capacity < keys)
		capacity *= 2;
	table = calloc(1, sizeof(*table) + capacity * sizeof(struct Ruby_Profiler_Pair));
	if (!table)
		rb_memerror();
	table->capacity = capacity;
	return table;
}

/* The slot of key, or the empty one where it belongs; NULL in a full table. */
static struct Ruby_Profiler_Pair *slot_of(struct Ruby_Profiler_State *table, ID key)
{
	for (size_t probe = 0; probe < table->capacity; probe++) {
		struct Ruby_Profiler_Pair *pair =
			&table->pairs[(key + probe) & (table->capacity - 1)];

		if (!pair->key || pair->key == key)
			return pair;
	}
	return NULL;
}

static int put(VALUE key, VALUE value, VALUE argument)
{
	struct Ruby_Profiler_State *table = (struct Ruby_Profiler_State *)argument;
	ID id = rb_sym2id(key);
	struct Ruby_Profiler_Pair *pair = slot_of(table, id);

	table->size += !pair->key;
	*pair = (struct Ruby_Profiler_Pair){ .key = id, .value = value };
	return ST_CONTINUE;
}

static VALUE state_initialize(int argc, VALUE *argv, VALUE self)
{
	VALUE pairs;

	(rb_scan_args)(argc, argv, ":", &pairs);
	if (RB_NIL_P(pairs))
		return self;
	RTYPEDDATA_DATA(self) = table_for(RHASH_SIZE(pairs));
	rb_hash_foreach(pairs, put, (VALUE)RTYPEDDATA_DATA(self));
	return self;
}

struct count {
	struct Ruby_Profiler_State *table;
	size_t keys;
};

static int count_new(VALUE key, VALUE value, VALUE argument)
{
	struct count *count = (struct count *)argument;
	const struct Ruby_Profiler_Pair *pair =
		count->table ? slot_of(count->table, rb_sym2id(key)) : NULL;

	(void)value;
	count->keys += !pair || !pair->key;
	return ST_CONTINUE;
}

static VALUE state_with(int argc, VALUE *argv, VALUE self)
{
	struct Ruby_Profiler_State *base = Ruby_Profiler_State_get(self);
	struct count count = { .table = base, .keys = base ? base->size : 0 };
	struct Ruby_Profiler_State *table;
	VALUE pairs;
	VALUE state;

	(rb_scan_args)(argc, argv, ":", &pairs);
	if (RB_NIL_P(pairs))
		return self;
	rb_hash_foreach(pairs, count_new, (VALUE)&count);
	state = state_allocate(rb_obj_class(self));
	table = table_for(count.keys);
	RTYPEDDATA_DATA(state) = table;
	for (size_t i = 0; base && i < base->capacity; i++)
		if (base->pairs[i].key)
			put(rb_id2sym(base->pairs[i].key), base->pairs[i].value, (VALUE)table);
	rb_hash_foreach(pairs, put, (VALUE)table);
	return state;
}

/* Stores before it is sure that the fiber takes it. */
static VALUE Ruby_Profiler_State_apply(VALUE self)
{
	ruby_profiler_state = Ruby_Profiler_State_get(self);
	rb_ivar_set(rb_fiber_current(), id_ruby_profiler_state, self);
	return self;
}

static VALUE state_size(VALUE self)
{
	const struct Ruby_Profiler_State *state = Ruby_Profiler_State_get(self);

	return SIZET2NUM(state ? state->size : 0);
}

struct Ruby_Profiler_State *Ruby_Profiler_State_for(VALUE fiber)
{
	VALUE state = rb_attr_get(fiber, id_ruby_profiler_state);

	if (!rb_typeddata_is_kind_of(state, &Ruby_Profiler_State_Type))
		return NULL;
	return Ruby_Profiler_State_get(state);
}

static void Ruby_Profiler_fiber_switch_callback(rb_event_flag_t event, VALUE data, VALUE self,
						ID method, VALUE class)
{
	(void)event;
	(void)data;
	(void)self;
	(void)method;
	(void)class;
	ruby_profiler_state = Ruby_Profiler_State_for(rb_fiber_current());
}

void Init_profiler_stand_in(void)
{
	VALUE profiler;
	VALUE state;

#ifdef HAVE_RB_EXT_RACTOR_SAFE
	rb_ext_ractor_safe(true);
#endif
	profiler = rb_define_module_under(rb_define_module("Ruby"), "Profiler");
	state = rb_define_class_under(profiler, "State", rb_cObject);
	id_ruby_profiler_state = rb_intern("@ruby_profiler_state");
	rb_define_alloc_func(state, state_allocate);
	rb_define_method(state, "initialize", state_initialize, -1);
	rb_define_method(state, "with", state_with, -1);
	rb_define_method(state, "apply!", Ruby_Profiler_State_apply, 0);
	rb_define_method(state, "size", state_size, 0);
	rb_add_event_hook(Ruby_Profiler_fiber_switch_callback, RUBY_EVENT_FIBER_SWITCH, Qnil);
	ruby_profiler_state = Ruby_Profiler_State_for(rb_fiber_current());
}
