/* SPDX-License-Identifier: MIT */
#include "state_object.h"

#include <stdatomic.h>

#include "publication.h"

/* What a new State is made of: those of another one, and these over them. */
struct merge {
	const struct Ruby_Profiler_State *base; /* NULL: none */
	struct Ruby_Profiler_Pair pairs[CORRELATOR_STATE_KEYS_MAX];
	size_t size;
	size_t keys; /* of both */
};

/* Set once, when the extension is loaded. */
static VALUE state_class;

/* IDs that Symbols have got by becoming keys, of all Ractors. */
static atomic_uint names_made;

/* Pinned: an observer may come at any instant, also while the collector moves what it may move. */
static void object_mark(void *data)
{
	const struct Ruby_Profiler_State *state = data;

	for (size_t i = 0; state && i < state->capacity; i++) {
		VALUE value = state->pairs[i].value;

		if (!state->pairs[i].key)
			continue;
		rb_gc_mark(value);
		/* The text of a Symbol that is an object is a String of its own. */
		if (!RB_SPECIAL_CONST_P(value) && RB_BUILTIN_TYPE(value) == T_SYMBOL)
			rb_gc_mark(rb_sym2str(value));
	}
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

static void check_key(VALUE key)
{
	if (!RB_SYMBOL_P(key))
		rb_raise(rb_eTypeError, "a key is a Symbol, not %" PRIsVALUE, rb_obj_class(key));
}

static int note_pair(VALUE key, VALUE value, VALUE argument)
{
	struct merge *merge = (struct merge *)argument;
	ID id;

	check_key(key);
	id = key_id(key);
	if (!merge->base || !correlator_state_find(merge->base, id))
		merge->keys++;
	if (merge->keys > CORRELATOR_STATE_KEYS_MAX || merge->size == CORRELATOR_STATE_KEYS_MAX)
		rb_raise(rb_eArgError, "more than %d keys in a context", CORRELATOR_STATE_KEYS_MAX);
	merge->pairs[merge->size++] = (struct Ruby_Profiler_Pair){ .key = id, .value = value };
	return ST_CONTINUE;
}

static void put(VALUE object, struct Ruby_Profiler_State *table, struct Ruby_Profiler_Pair pair)
{
	correlator_state_insert(table, pair.key, pair.value);
	RB_OBJ_WRITTEN(object, Qundef, pair.value);
}

/* The pairs are on the stack, where the collector sees their values. */
static VALUE new_from(const struct merge *merge)
{
	VALUE object = TypedData_Wrap_Struct(state_class, &state_object_type, NULL);
	struct Ruby_Profiler_State *table = correlator_state_new(merge->keys);

	RTYPEDDATA_DATA(object) = table;
	for (size_t i = 0; merge->base && i < merge->base->capacity; i++)
		if (merge->base->pairs[i].key)
			put(object, table, merge->base->pairs[i]);
	for (size_t i = 0; i < merge->size; i++)
		put(object, table, merge->pairs[i]);
	return rb_obj_freeze(object);
}

VALUE state_object_new(VALUE base, VALUE pairs)
{
	struct merge merge;
	VALUE object;

	merge.base = state_object_table(base);
	merge.size = 0;
	merge.keys = merge.base ? merge.base->size : 0;
	rb_hash_foreach(pairs, note_pair, (VALUE)&merge);
	for (size_t i = 0; i < merge.size; i++)
		if (RB_TYPE_P(merge.pairs[i].value, T_STRING))
			merge.pairs[i].value = rb_str_new_frozen(merge.pairs[i].value);
	object = new_from(&merge);
	RB_GC_GUARD(base);
	RB_GC_GUARD(pairs);
	return object;
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

VALUE state_object_fetch(VALUE state, VALUE key)
{
	const struct Ruby_Profiler_State *table = state_object_table(state);
	const struct Ruby_Profiler_Pair *pair;
	VALUE name = key;
	ID id;

	check_key(key);
	id = rb_check_id(&name);
	pair = table && id ? correlator_state_find(table, id) : NULL;
	RB_GC_GUARD(state);
	return pair ? pair->value : Qnil;
}

static VALUE state_object_inspect(VALUE state)
{
	const struct Ruby_Profiler_State *table = state_object_table(state);
	VALUE text = rb_sprintf("#<%" PRIsVALUE, rb_obj_class(state));
	const char *separator = "";

	for (size_t i = 0; table && i < table->capacity; i++) {
		if (!table->pairs[i].key)
			continue;
		rb_str_catf(text, "%s %" PRIsVALUE ": %+" PRIsVALUE, separator,
			    rb_id2str(table->pairs[i].key), table->pairs[i].value);
		separator = ",";
	}
	RB_GC_GUARD(state);
	return rb_str_cat_cstr(text, ">");
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
	rb_define_method(state_class, "[]", state_object_fetch, 1);
	rb_define_method(state_class, "inspect", state_object_inspect, 0);
	rb_gc_register_mark_object(state_class);
}
