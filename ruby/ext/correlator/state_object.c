/* SPDX-License-Identifier: MIT */
#include "state_object.h"

#include <stdatomic.h>

#include "publication.h"

struct merge {
	VALUE object;
	struct Ruby_Profiler_State *base; /* NULL: none */
	struct Ruby_Profiler_State *table;
	size_t keys;
};

/* Set once, when the extension is loaded. */
static VALUE state_class;

/* IDs that Symbols have got by becoming keys, of all Ractors. */
static atomic_uint names_made;

static void object_mark(void *data)
{
	const struct Ruby_Profiler_State *state = data;

	for (size_t i = 0; state && i < state->capacity; i++)
		if (state->pairs[i].key)
			rb_gc_mark_movable(state->pairs[i].value);
}

static void object_compact(void *data)
{
	struct Ruby_Profiler_State *state = data;

	for (size_t i = 0; state && i < state->capacity; i++)
		if (state->pairs[i].key)
			state->pairs[i].value = rb_gc_location(state->pairs[i].value);
}

static void object_free(void *data)
{
	/* Only what ends with Ruby itself is freed while it is published. */
	publication_withdraw(data);
	correlator_state_free(data);
}

static size_t object_bytes(const void *data)
{
	return data ? correlator_state_bytes(data) : 0;
}

static const rb_data_type_t state_object_type = {
	.wrap_struct_name = "Correlator::State",
	.function = {
		.dmark = object_mark,
		.dfree = object_free,
		.dsize = object_bytes,
		.dcompact = object_compact,
	},
	/* Freeing calls neither Ruby nor anything that blocks. */
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

bool state_object_is(VALUE object)
{
	return rb_typeddata_is_kind_of(object, &state_object_type);
}

struct Ruby_Profiler_State *state_object_table(VALUE object)
{
	return state_object_is(object) ? RTYPEDDATA_DATA(object) : NULL;
}

/* In how many places object is set; NULL if it is no State, or one that was never filled. */
static size_t *places_of(VALUE object)
{
	struct Ruby_Profiler_State *table = state_object_table(object);

	return table ? correlator_state_places(table) : NULL;
}

void state_object_enter(VALUE object)
{
	size_t *places = places_of(object);

	if (places)
		++*places;
}

bool state_object_in_force(VALUE object)
{
	const size_t *places = places_of(object);

	return places && *places > 0;
}

void state_object_leave(VALUE object)
{
	size_t *places = places_of(object);

	/* The application may have moved States around itself. */
	if (places && *places > 0)
		--*places;
}

/*
 * Ruby never forgets a Symbol that has an ID. An application that makes keys of what its users send
 * would grow without end, so only so many Symbols get their ID here.
 */
static ID key_id(VALUE symbol)
{
	VALUE name = symbol;
	ID id = rb_check_id(&name);

	if (id)
		return id;
	if (atomic_fetch_add(&names_made, 1) >= CORRELATOR_STATE_NAMES_MAX)
		rb_raise(
			rb_eArgError,
			"more than %d keys made from text: keys are few and fixed, put text in values",
			CORRELATOR_STATE_NAMES_MAX);
	return rb_sym2id(symbol);
}

static int count_pair(VALUE key, VALUE value, VALUE argument)
{
	struct merge *merge = (struct merge *)argument;
	ID id;

	(void)value;
	if (!RB_SYMBOL_P(key))
		rb_raise(rb_eTypeError, "a key is a Symbol, not %" PRIsVALUE, rb_obj_class(key));
	id = key_id(key);
	if (!merge->base || !correlator_state_find(merge->base, id))
		merge->keys++;
	return ST_CONTINUE;
}

static void put(const struct merge *merge, ID key, VALUE value)
{
	correlator_state_insert(merge->table, key, value);
	RB_OBJ_WRITTEN(merge->object, Qundef, value);
}

static int put_pair(VALUE key, VALUE value, VALUE argument)
{
	const struct merge *merge = (const struct merge *)argument;

	/* The copy may start the garbage collector; the object has a whole table at any time. */
	put(merge, rb_sym2id(key), RB_TYPE_P(value, T_STRING) ? rb_str_new_frozen(value) : value);
	return ST_CONTINUE;
}

VALUE state_object_new(VALUE base, VALUE pairs)
{
	struct merge merge = { .base = state_object_table(base) };

	merge.keys = merge.base ? merge.base->size : 0;
	rb_hash_foreach(pairs, count_pair, (VALUE)&merge);
	if (merge.keys > CORRELATOR_STATE_KEYS_MAX)
		rb_raise(rb_eArgError, "more than %d keys in a context", CORRELATOR_STATE_KEYS_MAX);
	merge.object = TypedData_Wrap_Struct(state_class, &state_object_type, NULL);
	merge.table = correlator_state_new(merge.keys);
	if (!merge.table)
		rb_memerror();
	RTYPEDDATA_DATA(merge.object) = merge.table;
	for (size_t i = 0; merge.base && i < merge.base->capacity; i++)
		if (merge.base->pairs[i].key)
			put(&merge, merge.base->pairs[i].key, merge.base->pairs[i].value);
	rb_hash_foreach(pairs, put_pair, (VALUE)&merge);
	RB_GC_GUARD(base);
	RB_GC_GUARD(pairs);
	rb_obj_freeze(merge.object);
	return merge.object;
}

VALUE state_object_to_h(VALUE state)
{
	const struct Ruby_Profiler_State *table = state_object_table(state);
	VALUE hash = rb_hash_new();

	for (size_t i = 0; table && i < table->capacity; i++)
		if (table->pairs[i].key)
			rb_hash_aset(hash, rb_id2sym(table->pairs[i].key), table->pairs[i].value);
	RB_GC_GUARD(state);
	return rb_obj_freeze(hash);
}

static VALUE state_object_size(VALUE state)
{
	const struct Ruby_Profiler_State *table = state_object_table(state);

	return SIZET2NUM(table ? table->size : 0);
}

void state_object_define(VALUE correlator)
{
	state_class = rb_define_class_under(correlator, "State", rb_cObject);
	rb_undef_alloc_func(state_class);
	rb_undef_method(CLASS_OF(state_class), "new");
	rb_define_method(state_class, "size", state_object_size, 0);
	rb_define_method(state_class, "to_h", state_object_to_h, 0);
	rb_gc_register_mark_object(state_class);
}
