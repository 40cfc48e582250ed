/* SPDX-License-Identifier: MIT */
/*
 * What an observer would read of the calling thread: the thread-local of a loaded extension, its
 * table, and the pairs by the ABI (key & (capacity - 1), then linear probing). In C because it is
 * also called in Ractors, where Fiddle is not allowed.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include <ruby.h>
#include <ruby/thread.h>

struct pair {
	ID key;
	VALUE value;
};

struct state {
	size_t size;
	size_t capacity;
	struct pair pairs[];
};

/* Set once, by Published.open. */
static void *extension;

void Init_published_state(void);

/* dlsym() gives the address of the calling thread's variable. */
static const struct state *state(void)
{
	struct state **variable = extension ? dlsym(extension, "ruby_profiler_state") : NULL;

	if (!variable)
		rb_raise(rb_eRuntimeError, "no ruby_profiler_state: call Published.open first");
	return *variable;
}

static VALUE published_open(VALUE self, VALUE path)
{
	extension = dlopen(StringValueCStr(path), RTLD_NOW | RTLD_NOLOAD);
	if (!extension)
		rb_raise(rb_eLoadError, "%s is not loaded", StringValueCStr(path));
	return self;
}

static VALUE published_address(VALUE self)
{
	(void)self;
	return ULL2NUM((uintptr_t)state());
}

static VALUE published_size(VALUE self)
{
	(void)self;
	return state() ? SIZET2NUM(state()->size) : Qnil;
}

static VALUE published_capacity(VALUE self)
{
	(void)self;
	return state() ? SIZET2NUM(state()->capacity) : Qnil;
}

/* nil without a context or key. */
static VALUE published_value(VALUE self, VALUE symbol)
{
	const struct state *table = state();
	ID key = rb_sym2id(symbol);

	(void)self;
	for (size_t probe = 0; table && probe < table->capacity; probe++) {
		const struct pair *pair = &table->pairs[(key + probe) & (table->capacity - 1)];

		if (!pair->key)
			return Qnil;
		if (pair->key == key)
			return pair->value;
	}
	return Qnil;
}

/* All pairs, nil without a context. */
static VALUE published_to_h(VALUE self)
{
	const struct state *table = state();
	VALUE pairs;

	(void)self;
	if (!table)
		return Qnil;
	pairs = rb_hash_new();
	for (size_t i = 0; i < table->capacity; i++)
		if (table->pairs[i].key)
			rb_hash_aset(pairs, rb_id2sym(table->pairs[i].key), table->pairs[i].value);
	return pairs;
}

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE

static VALUE create_key(VALUE unused)
{
	(void)unused;
	return INT2FIX(rb_internal_thread_specific_key_create());
}

/* All the keys that a process has for what extensions keep with a thread. Returns how many. */
static VALUE published_use_up_thread_keys(VALUE self)
{
	int count = -1, error = 0;

	(void)self;
	do {
		rb_protect(create_key, Qnil, &error);
		count++;
	} while (!error);
	rb_set_errinfo(Qnil);
	return INT2FIX(count);
}

#endif

void Init_published_state(void)
{
	VALUE published;

#ifdef HAVE_RB_EXT_RACTOR_SAFE
	rb_ext_ractor_safe(true);
#endif
	published = rb_define_module("Published");
	rb_define_singleton_method(published, "open", published_open, 1);
	rb_define_singleton_method(published, "address", published_address, 0);
	rb_define_singleton_method(published, "size", published_size, 0);
	rb_define_singleton_method(published, "capacity", published_capacity, 0);
	rb_define_singleton_method(published, "[]", published_value, 1);
	rb_define_singleton_method(published, "to_h", published_to_h, 0);
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE
	rb_define_singleton_method(published, "use_up_thread_keys", published_use_up_thread_keys,
				   0);
#endif
}
