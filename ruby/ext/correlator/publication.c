/* SPDX-License-Identifier: MIT */
#include "publication.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The note of a native thread. Never freed: the collector may be reading it. */
struct publication {
	struct publication *next;
	atomic_bool is_taken;
	/* Atomic: emptied by a thread that ends, without the GVL, while another one marks. */
	_Atomic(VALUE) state;
	struct Ruby_Profiler_State *table;
};

/* All notes; they are only added. Of all Ractors, hence atomic. */
static _Atomic(struct publication *) publications;

/* NULL: nothing was published on this native thread yet. */
static _Thread_local struct publication *own;

/* Tells when a native thread ends. Set once, when the extension is loaded. */
static pthread_key_t end_key;

static void mark_published(void *unused)
{
	(void)unused;
	for (struct publication *one = atomic_load(&publications); one; one = one->next)
		rb_gc_mark(atomic_load(&one->state));
}

/* Not protected by write barriers: marked by each collection, also a minor one. */
static const rb_data_type_t root_type = {
	.wrap_struct_name = "Correlator: what is published",
	.function = { .dmark = mark_published },
};

static void release(struct publication *publication)
{
	publication->table = NULL;
	atomic_store(&publication->state, Qnil);
	atomic_store(&publication->is_taken, false);
}

/* Runs without the GVL. */
static void on_native_thread_end(void *publication)
{
	correlator_state_apply(NULL);
	own = NULL;
	release(publication);
}

/* The child of a fork has one thread, the one that forked. */
static void on_child(void)
{
	for (struct publication *one = atomic_load(&publications); one; one = one->next)
		if (one != own)
			release(one);
}

static struct publication *take_released(void)
{
	for (struct publication *one = atomic_load(&publications); one; one = one->next) {
		bool is_taken = false;

		if (atomic_compare_exchange_strong(&one->is_taken, &is_taken, true))
			return one;
	}
	return NULL;
}

static struct publication *add(void)
{
	struct publication *added = calloc(1, sizeof(*added));

	if (!added)
		return NULL;
	atomic_init(&added->is_taken, true);
	atomic_init(&added->state, Qnil);
	added->next = atomic_load(&publications);
	while (!atomic_compare_exchange_weak(&publications, &added->next, added))
		;
	return added;
}

/* A note for this native thread, which has none yet; NULL without memory. */
static __attribute__((noinline)) struct publication *take(void)
{
	struct publication *taken = take_released();

	if (!taken)
		taken = add();
	if (taken && pthread_setspecific(end_key, taken) != 0) {
		release(taken);
		return NULL;
	}
	own = taken;
	return taken;
}

VALUE publication_get(void)
{
	const struct publication *publication = own;

	return publication ? atomic_load_explicit(&publication->state, memory_order_relaxed) : Qnil;
}

static void store(struct publication *publication, VALUE state, struct Ruby_Profiler_State *table)
{
	publication->table = table;
	atomic_store_explicit(&publication->state, state, memory_order_relaxed);
	correlator_state_apply(table);
}

bool publication_set(VALUE state, struct Ruby_Profiler_State *table)
{
	struct publication *publication = own;

	if (!publication && table)
		publication = take();
	if (!publication || publication->table == table)
		return false;
	store(publication, state, table);
	return true;
}

void publication_renew(void)
{
	const struct publication *publication = own;

	correlator_state_apply(publication ? publication->table : NULL);
}

void publication_withdraw(const struct Ruby_Profiler_State *table)
{
	struct publication *publication = own;

	if (table && publication && publication->table == table)
		store(publication, Qnil, NULL);
}

void publication_define(void)
{
	VALUE root;

	if (pthread_key_create(&end_key, on_native_thread_end) != 0 ||
	    pthread_atfork(NULL, NULL, on_child) != 0)
		rb_memerror();
	/* Ruby does not look into it, nor does an application find it. */
	root = TypedData_Wrap_Struct(0, &root_type, &publications);
	rb_gc_register_mark_object(root);
}
