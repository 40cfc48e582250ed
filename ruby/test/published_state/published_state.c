/* SPDX-License-Identifier: MIT */
/*
 * What an observer would read of the calling thread: the thread-local of a loaded extension, its
 * table, and the pairs by the ABI (key & (capacity - 1), then linear probing). In C because it is
 * also called in Ractors, where Fiddle is not allowed.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ruby.h>
#include <ruby/thread.h>

/* CORRELATOR_STATE_CAPACITY_MAX. */
enum {
	CAPACITY_MAX = 64
};

struct pair {
	ID key;
	VALUE value;
};

struct state {
	size_t size;
	size_t capacity;
	struct pair pairs[];
};

/* What is known of a thread: struct correlator_thread. */
struct thread {
	uint32_t version;
	uint32_t flags;
	uint64_t serial;
	uint64_t ready_ns;
	uint64_t wait_ns;
	uint64_t waits;
	uint64_t gc_enters;
	uint64_t gc_exits;
	uint64_t gc_time;
	uint64_t gc_runs;
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

/*
 * All pairs, nil without a context. They are copied first: what makes an object may collect
 * garbage, run a finalizer or switch to another thread, and the table be gone after that.
 */
static VALUE published_to_h(VALUE self)
{
	const struct state *table = state();
	volatile struct pair copy[CAPACITY_MAX];
	size_t capacity;
	VALUE pairs;

	(void)self;
	if (!table)
		return Qnil;
	capacity = table->capacity;
	if (capacity > CAPACITY_MAX)
		rb_raise(rb_eRuntimeError, "a table of %lu pairs", (unsigned long)capacity);
	for (size_t i = 0; i < capacity; i++)
		copy[i] = table->pairs[i];
	pairs = rb_hash_new();
	for (size_t i = 0; i < capacity; i++)
		if (copy[i].key)
			rb_hash_aset(pairs, rb_id2sym(copy[i].key), copy[i].value);
	return pairs;
}

/* Of the calling thread, nil if nothing is known of it: [flags, serial, ready_ns, wait_ns, waits].
 */
static VALUE published_thread(VALUE self)
{
	struct thread **variable = extension ? dlsym(extension, "correlator_thread") : NULL;
	const volatile struct thread *thread = variable ? *variable : NULL;

	(void)self;
	if (!thread)
		return Qnil;
	return rb_ary_new_from_args(5, UINT2NUM(thread->flags), ULL2NUM(thread->serial),
				    ULL2NUM(thread->ready_ns), ULL2NUM(thread->wait_ns),
				    ULL2NUM(thread->waits));
}

/* [gc_enters, gc_exits, gc_time, gc_runs] of the calling thread, as one instant has them. */
static VALUE published_collections(VALUE self)
{
	struct thread **variable = extension ? dlsym(extension, "correlator_thread") : NULL;
	const volatile struct thread *thread = variable ? *variable : NULL;
	uint64_t now[4] = { 0 };
	VALUE collections;

	(void)self;
	if (!thread)
		return Qnil;
	now[0] = thread->gc_enters;
	now[1] = thread->gc_exits;
	now[2] = thread->gc_time;
	now[3] = thread->gc_runs;
	collections = rb_ary_new_capa(4);
	for (int i = 0; i < 4; i++)
		rb_ary_push(collections, ULL2NUM(now[i]));
	return collections;
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
	rb_define_singleton_method(published, "thread", published_thread, 0);
	rb_define_singleton_method(published, "collections", published_collections, 0);
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE
	rb_define_singleton_method(published, "use_up_thread_keys", published_use_up_thread_keys,
				   0);
#endif
}
