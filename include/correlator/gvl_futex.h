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
 * rb_thread_struct, vm_core.h). The futex is one of two words at the end of glibc's pthread_cond_t
 * (__g_signals; sysdeps/nptl/bits/thread-shared-types.h, glibc 2.25 to 2.40).
 *
 * Since 3.2 the waiting thread is in a list of another structure, and since 3.3 a sleeping thread
 * becomes one that waits for the GVL without being woken: see gvl_wait.h for these.
 */
#pragma once

#include <linux/types.h>

enum gvl_futex_facts {
	GVL_FUTEX_BYTES = 56, /* from the list node to the two words */
	/*
	 * A pthread_t is the address of glibc's struct pthread: the thread pointer on x86-64, and
	 * on arm64 the thread pointer minus that structure, which is smaller than this.
	 */
	GVL_THREAD_BYTES_MAX = 4096,
};

/* The memory before the condition variable. The target controls it. */
struct gvl_node {
	__u64 thread_id; /* pthread_t, in 3.1 */
	__u64 former_thread_id; /* the same in 2.6 to 3.0 */
	__u64 others;
	__u64 next; /* of the list node: the address of the next one's `next` */
	__u64 previous;
};

_Static_assert(sizeof(struct gvl_node) == 5 * 8, "layout");

/* Returns the address of the list node that would be before the condition variable of a futex. */
static inline __u64 gvl_futex_node(__u64 futex)
{
	return (futex & ~7ULL) - GVL_FUTEX_BYTES;
}

/* Returns the address of the struct gvl_node around that list node. */
static inline __u64 gvl_futex_around(__u64 futex)
{
	return gvl_futex_node(futex) - __builtin_offsetof(struct gvl_node, next);
}

static inline int gvl_futex_is_thread(__u64 id, __u64 thread_pointer)
{
	return thread_pointer - id < GVL_THREAD_BYTES_MAX;
}

/*
 * Whether the thread with that thread pointer, which sleeps on that futex, waits for the GVL.
 * previous_of_next: the `previous` of the node that around->next points to.
 */
static inline int gvl_futex_is_wait(const struct gvl_node *around, __u64 previous_of_next,
				    __u64 futex, __u64 thread_pointer)
{
	return around->next != gvl_futex_node(futex) && previous_of_next == gvl_futex_node(futex) &&
	       (gvl_futex_is_thread(around->thread_id, thread_pointer) ||
		gvl_futex_is_thread(around->former_thread_id, thread_pointer));
}
