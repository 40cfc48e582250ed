/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells a thread's wait for Ruby's GVL from its other waits, from outside, by the memory around the
 * futex that it sleeps on. Pure: the kernel programs and the unit tests compile this same text.
 *
 * Ruby 2.6 to 3.1 keeps one native thread for each Ruby thread. That sleeps on a condition variable
 * in its own rb_thread_t, for the GVL and for anything else, because for glibc the two condition
 * variables there are a union. While it waits for the GVL, and only then, the list node before the
 * variable is in the list of those waiting; otherwise the node is a list of its own (struct
 * native_thread_data_struct, thread_pthread.h; gvl_acquire_common(), native_cond_sleep(),
 * thread_pthread.c; v2_7_4, v3_0_4, v3_1_2). Its pthread_t stands shortly before that (struct
 * rb_thread_struct, vm_core.h). The futex is one of two words in glibc's pthread_cond_t
 * (__g_signals; sysdeps/nptl/bits/thread-shared-types.h, glibc 2.25 to 2.42), which are 8 bytes
 * nearer since 2.41.
 *
 * Since 3.2 the waiting thread is in a list of another structure, and since 3.3 a sleeping thread
 * becomes one that waits for the GVL without being woken: see gvl_wait.h for these.
 */
#pragma once

#include <linux/types.h>

enum gvl_futex_facts {
	GVL_FUTEX_BYTES = 56, /* from the list node to the two words, until glibc 2.40 */
	GVL_FUTEX_PLACES = 2, /* where the node can be: there, or a word later */
	/*
	 * A pthread_t is the address of glibc's struct pthread: the thread pointer on x86-64, and
	 * on arm64 the thread pointer minus that structure, which is smaller than this.
	 */
	GVL_THREAD_BYTES_MAX = 4096,
	/* From the node at place 0, in words: */
	GVL_THREAD_ID = -3, /* pthread_t, in 3.1 */
	GVL_FORMER_THREAD_ID = -2, /* in 2.7 and 3.0 */
};

/* The memory around a node, which the target controls: from the pthread_t of the one at place 0 to
 * the `next` of the one at place 1. A node's `previous` is the word after `next`. */
struct gvl_around {
	__u64 words[-GVL_THREAD_ID + GVL_FUTEX_PLACES];
};

/* Returns the address of the list node that is at that place if it is one. */
static inline __u64 gvl_futex_node(__u64 futex, __u32 place)
{
	return (futex & ~7ULL) - GVL_FUTEX_BYTES + place * sizeof(__u64);
}

/* Returns the address of the struct gvl_around of a futex. */
static inline __u64 gvl_futex_around(__u64 futex)
{
	return gvl_futex_node(futex, 0) + (__u64)(GVL_THREAD_ID * (int)sizeof(__u64));
}

static inline __u64 gvl_futex_next(const struct gvl_around *around, __u32 place)
{
	return around->words[-GVL_THREAD_ID + place];
}

static inline int gvl_futex_is_thread(const struct gvl_around *around, __u32 word,
				      __u64 thread_pointer)
{
	return thread_pointer - around->words[word] < GVL_THREAD_BYTES_MAX;
}

/*
 * Whether the node at that place is in a list, and of the thread with that thread pointer, which
 * sleeps on that futex. If the `previous` of the next node is this node, it waits for the GVL.
 */
static inline int gvl_futex_is_linked(const struct gvl_around *around, __u32 place, __u64 futex,
				      __u64 thread_pointer)
{
	return gvl_futex_next(around, place) != gvl_futex_node(futex, place) &&
	       (gvl_futex_is_thread(around, place, thread_pointer) ||
		gvl_futex_is_thread(around, place + GVL_FORMER_THREAD_ID - GVL_THREAD_ID,
				    thread_pointer));
}
