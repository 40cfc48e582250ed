/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the context in force on the current thread: the thread-local's address, the pointer in it,
 * the state table it points to, the values of the wanted keys, and their hash.
 *
 * Runs only on the thread itself while it is in the kernel, so the state that is read is alive.
 */
#pragma once

#include "capture.bpf.h"
#include "charge.bpf.h"
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "hold.bpf.h"
#include "origin.bpf.h"
#include "otel.bpf.h"
#include "tls.bpf.h"

#include <correlator/table_probe.h>

enum {
	/* With probes in place, reading the pointer only proves that no probe was missed: it need
	 * not be done more often. */
	CONFIRM_PERIOD_NS = 1000 * 1000,
	STATE_PAIRS_READ_FIRST = 8,
	ASK_PAUSE_NS = 1000 * 1000
};

/* Reads and validates the table at thread->state_pointer into thread->header and ->pairs. */
static __always_inline bool context_read_table(struct thread_state *thread)
{
	__u64 pointer = thread->state_pointer;
	__u32 pairs_read = STATE_PAIRS_READ_FIRST;
	__u64 capacity;

	if (!table_pointer_is_sane(pointer)) {
		count_loss(thread->life, COUNTER_STATE_MALFORMED);
		return false;
	}
	/* Header and first pairs in one read, the common case; memory behind the table may be
	 * unmapped. */
	if (bpf_probe_read_user(&thread->header,
				sizeof(thread->header) +
					STATE_PAIRS_READ_FIRST * sizeof(struct state_pair),
				(void *)pointer)) {
		pairs_read = 0;
		if (bpf_probe_read_user(&thread->header, sizeof(thread->header), (void *)pointer)) {
			count_loss(thread->life, COUNTER_STATE_UNREADABLE);
			return false;
		}
	}
	if (!table_header_is_sane(&thread->header)) {
		count_loss(thread->life, COUNTER_STATE_MALFORMED);
		return false;
	}
	capacity = thread->header.capacity;
	if (capacity <= pairs_read)
		return true;
	barrier_var(capacity);
	if (capacity > STATE_CAPACITY_MAX)
		return false;
	if (bpf_probe_read_user(thread->pairs, capacity * sizeof(struct state_pair),
				(void *)(pointer + sizeof(struct state_header)))) {
		count_loss(thread->life, COUNTER_STATE_UNREADABLE);
		return false;
	}
	return true;
}

/* Shows which keys the table that was read has. If two threads do so at once, the sum of their
 * lives matches no process. */
VERIFIED_ONCE int context_show_keys(const struct thread_state *thread)
{
	if (!thread)
		return 0;
	seen_keys_capacity = thread->header.capacity;
	/* One copy of all slots costs the verifier less than a loop over them. */
	(void)bpf_probe_read_kernel(seen_keys_pairs, sizeof(seen_keys_pairs), thread->pairs);
	(void)__sync_fetch_and_add(&seen_keys_life, thread->life);
	return 0;
}

/* The hash of Ruby's context, which thread->state_pointer points to. */
VERIFIED_ONCE __u64 context_resolve_state(struct thread_state *thread)
{
	const struct process_config *config;
	struct context_hash_state hash;
	struct context_hash_key key;
	__u32 key_count;

	if (!thread)
		return CONTEXT_HASH_UNKNOWN;
	thread->is_unread = 0;
	thread->is_put_off = 0;
	thread->is_recalled = thread->wants_snapshot = 0;
	thread->snapshot.late_hash = 0;
	if (!thread->state_pointer)
		return CONTEXT_HASH_NONE;
	config = &thread->config;
	if (!context_read_table(thread))
		return CONTEXT_HASH_UNKNOWN;
	if (!seen_keys_life)
		(void)context_show_keys(thread);
	key.words[0] = hash_key.words[0];
	key.words[1] = hash_key.words[1];
	context_hash_init(&hash, &key);
	context_hash_add(&hash, thread->image);
	key_count = config->key_count;
	for (__u32 i = 0; i < KEYS_MAX; i++) {
		if (i >= key_count)
			break;
		capture_key(thread, config, i);
		capture_hash_key(thread, i, &hash);
	}
	if (session.late_keys)
		capture_late_keys(thread, &hash);
	thread->snapshot.key_count = key_count;
	thread->snapshot_hash = context_hash_final(&hash);
	if (thread->is_put_off) {
		thread->snapshot_hash = CONTEXT_HASH_UNKNOWN;
		thread->snapshot.late_hash = 0;
	}
	return thread->snapshot_hash;
}

static __always_inline bool context_has_otel(const struct thread_state *thread)
{
	return session.watches_otel && (thread->config.flags & PROCESS_HAS_OTEL);
}

/* Whether the context may change without a probe. */
static __always_inline bool context_changes_unprobed(const struct thread_state *thread)
{
	return thread_is_lean(thread) || context_has_otel(thread);
}

/*
 * Whether the edges of the thread's system calls may take the fast path: changes of its context are
 * reported, or can be seen there (struct edge_watch). Counters are read on the slow path.
 */
static __always_inline bool context_lets_edges_pass(const struct thread_state *thread)
{
	if (!context_changes_unprobed(thread))
		return true;
	return !context_has_otel(thread) && thread->config.changes_words &&
	       thread->tls_resolution == TLS_RESOLVED && thread->tls_address &&
	       thread->knowledge == CONTEXT_KNOWN && !counters_are_known(thread);
}

/* The hash of what is in force: Ruby's context, and OpenTelemetry's as it was last read. */
static __always_inline __u64 context_resolve(struct thread_state *thread)
{
	__u64 hash = context_resolve_state(thread);

	return context_has_otel(thread) ? otel_add_context(thread, hash) : hash;
}

/* See context_has_new_config(). */
VERIFIED_ONCE int context_compare_config(struct thread_state *thread)
{
	const struct process_config *config;
	__u64 life;
	__u32 seen;

	if (!thread)
		return 0;
	/* Before 6.2 a key that is a field of a global function's argument is refused. */
	life = thread->life;
	/* A read with a full barrier: the configuration found is at least as new. */
	seen = __sync_fetch_and_add(&generation, 0);
	config = bpf_map_lookup_elem(&processes, &life);
	if ((config ? config->generation : 0) != thread->config.generation)
		return 1;
	/* The configuration of another process was changed. */
	thread->generation = seen;
	return 0;
}

/* Whether its process was configured anew since the thread took its configuration. The caller
 * holds the thread. */
static __always_inline bool context_has_new_config(struct thread_state *thread)
{
	return thread->generation != generation && context_compare_config(thread);
}

/*
 * The hash of the context at pointer, which a probe announced, if the thread was charged to it in
 * this window: nothing of it is read, and no snapshot made. 0: it must be read.
 */
static __always_inline __u64 context_recall_here(struct thread_state *thread, __u64 pointer)
{
	__u64 hash;
	__u32 epoch;

	if (pointer != thread->state_pointer)
		thread->state_serial = 0;
	/* Before the store the past may be what is read, which is valid only until it runs on. */
	if (!pointer || pointer != thread->next_pointer || !thread->next_serial ||
	    thread->is_change_open)
		return 0;
	thread->state_serial = thread->next_serial;
	thread->next_serial = 0;
	epoch = charge_epoch(thread);
	hash = known_context_find(thread->known_contexts, thread->state_serial, epoch,
				  thread->reading);
	if (!hash)
		return 0;
	thread->secured_epoch = epoch;
	thread->is_recalled = 1;
	thread->wants_snapshot = 0;
	thread->is_unread = 0;
	thread->is_put_off = 0;
	return hash;
}

VERIFIED_ONCE __u64 context_recall(struct thread_state *thread, __u64 pointer)
{
	return thread ? context_recall_here(thread, pointer) : 0;
}

/*
 * Whether the context must be read before an account is opened for it: it was recalled, and had no
 * account in this window or the one before, so that userspace may soon know it no more.
 */
static __always_inline bool context_lacks_snapshot(const struct thread_state *thread)
{
	return thread->is_recalled &&
	       (thread->wants_snapshot || charge_epoch(thread) - thread->secured_epoch > 1);
}

/* The next boundary that reads, reads the context itself: later ones cannot, or its snapshot may
 * become an origin. */
static __always_inline void context_want_snapshot(struct thread_state *thread)
{
	thread->next_serial = 0;
	thread->wants_snapshot = 1;
}

/* Only the mode has changed: what is known stays known. */
static __always_inline void context_take_mode(struct thread_state *thread, bool was_lean)
{
	/* While it is lean no probe tells of switches between fibers. */
	thread->hog.since_ns = 0;
	if (thread_is_lean(thread)) {
		/* There is no digest of the table yet: compare in full next. */
		thread->compared_ns = 0;
		thread->is_change_open = 0;
		if (session.has_timeline)
			thread->timeline.stint.fiber = 0;
	} else {
		/* It may have passed a probe while probes did not count. */
		thread->is_change_open |= was_lean;
		if (thread->knowledge == CONTEXT_KNOWN && thread->state_pointer &&
		    !thread->is_inherited)
			thread->has_passed_probe = 1;
	}
}

enum {
	CONFIG_OF_MODE = 0, /* only the mode has changed */
	CONFIG_OF_CONTEXT = 1, /* the context must be read again */
	CONFIG_OF_PLACE = 2, /* the counters of waits and collections are elsewhere, too */
};

/* Takes the configuration: keys or the location became known, or the thread is new. Returns what
 * has changed, CONFIG_OF_*. */
VERIFIED_ONCE int context_take_config(struct thread_state *thread)
{
	const struct process_config *config;
	int news = CONFIG_OF_PLACE;
	bool was_lean;
	__u64 life;
	__u32 reading;

	if (!thread)
		return 0;
	life = thread->life;
	was_lean = thread_is_lean(thread);
	reading = thread->config.reading;
	thread->generation = __sync_fetch_and_add(&generation, 0);
	config = bpf_map_lookup_elem(&processes, &life);
	/* A configuration of another image does not apply. */
	if (config && config->image == thread->image) {
		if (config_has_same_counters(&thread->config, config))
			news = CONFIG_OF_CONTEXT;
		thread->config = *config;
		/* A worker has no thread-local of its own. */
		if (thread->is_worker)
			thread->config.flags = 0;
	} else {
		thread->config.flags = 0;
		thread->config.generation = config ? config->generation : 0;
		thread->config.reading = 0;
	}
	/* An announcement may be out of date: changes may have gone unnoticed. */
	thread->next_serial = 0;
	if (thread->config.reading == reading) {
		context_take_mode(thread, was_lean);
		return CONFIG_OF_MODE;
	}
	thread->reading++;
	thread->tls_resolution = TLS_UNRESOLVED;
	return news;
}

/* After a new configuration: the last values of counters elsewhere are not known. */
VERIFIED_ONCE int context_forget_counters(struct thread_state *thread, int news)
{
	if (thread && news == CONFIG_OF_PLACE) {
		gvl_wait_forget(&thread->gvl, &thread->pending);
		gc_time_forget(&thread->gc);
	}
	return 0;
}

/*
 * Finds the current thread's thread-local. If the last look found that it is not allocated yet, the
 * next look is after a probe was hit, else once per window: the thread may have been between the
 * entry of the probed function and its store when the probe was placed, or may set the variable
 * where no probe is. For a lean thread each call looks. Returns enum tls_resolution.
 */
VERIFIED_ONCE int context_locate(struct thread_state *thread)
{
	__u64 former;

	if (!thread)
		return TLS_UNRESOLVED;
	former = thread->tls_address;
	if (thread->tls_resolution == TLS_UNALLOCATED && !thread_is_lean(thread) &&
	    !thread->has_passed_probe && thread->tls_epoch == current_epoch)
		return TLS_UNALLOCATED;
	thread->tls_epoch = current_epoch;
	/* The variable is not published (yet), so no context can be in force. */
	thread->tls_resolution = TLS_UNALLOCATED;
	if (thread->config.flags & PROCESS_READY)
		thread->tls_resolution =
			thread->is_pointer_old
				? TLS_UNRESOLVED
				: tls_locate(&thread->config.tls, bpf_get_current_task_btf(),
					     &thread->tls_address);
	/* Another variable has a count of its own. */
	if (thread->tls_address != former)
		thread->changes = 0;
	if (thread->tls_resolution == TLS_UNRESOLVED)
		count_loss(thread->life, COUNTER_POINTER_UNREADABLE);
	return thread->tls_resolution;
}

/* Reads the thread-local, whose address is known. If probes report each change, the count of
 * changes is not needed. False: a fault. */
static __always_inline bool context_read_variable(struct thread_state *thread)
{
	struct variable_words both;
	__u64 pointer;

	if (thread->reads_changes) {
		if (!variable_read(thread->tls_address, thread->config.changes_words, &both))
			return false;
		thread->pointer_read = both.pointer;
		thread->changes_read = both.changes;
		return true;
	}
	if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)thread->tls_address))
		return false;
	thread->pointer_read = compat_untag(pointer);
	return true;
}

/*
 * Reads the thread-local of the current thread into pointer_read (0 = no context), and, if
 * reads_changes is set, the count of changes into changes_read. 1, or 0: it could not be read now.
 * The caller holds the thread.
 */
VERIFIED_ONCE int context_read_pointer(struct thread_state *thread)
{
	int resolution;

	if (!thread || thread->is_exiting)
		return 0;
	/* In the middle of an exec: its time belongs to the context that was read before. */
	if (!thread_has_memory(thread))
		return 0;
	resolution = thread->tls_resolution;
	if (resolution != TLS_RESOLVED)
		resolution = context_locate(thread);
	if (resolution == TLS_UNRESOLVED)
		return 0;
	if (resolution == TLS_RESOLVED && !context_read_variable(thread)) {
		count_loss(thread->life, COUNTER_POINTER_UNREADABLE);
		return 0;
	}
	if (resolution != TLS_RESOLVED)
		thread->pointer_read = thread->changes_read = 0;
	return 1;
}

/* Returns 1 if the pointer was stored since the count of changes was last read, else 0. */
static __always_inline __u64 context_note_changes(struct thread_state *thread)
{
	__u64 differs = thread->changes ^ thread->changes_read;
	__u64 moved = (differs | -differs) >> 63;

	thread->changes = thread->changes_read;
	/* Keeps the compiler from seeing the comparison, and branching (account_growth()). */
	__asm__("" : "+r"(moved));
	return moved;
}

/* Not secure against a hostile target: it only detects a change of that target's own table. */
VERIFIED_ONCE __u64 context_table_digest(struct thread_state *thread)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL;
	__u64 digest = 0, capacity;

	if (!thread)
		return 0;
	capacity = thread->header.capacity;
	for (__u32 i = 0; i < STATE_CAPACITY_MAX; i++) {
		if (i >= capacity)
			break;
		digest = (digest ^ thread->pairs[i].key) * odd;
		digest = (digest ^ thread->pairs[i].value) * odd;
		digest ^= digest >> 29;
	}
	return digest;
}

/*
 * Whether a lean thread's unchanged pointer still leads to the same context. Without probes an
 * unchanged pointer proves nothing: the state may have been freed, and the next request's made at
 * the same address. If our gem counts the changes and there was none, it is the same. Otherwise the
 * cheap check compares the table's words (the same objects), if they were compared in full since
 * the thread became lean; the full check compares their values.
 */
static __always_inline bool context_is_same(struct thread_state *thread, struct task_struct *task,
					    __u64 now_ns, bool is_cheap, __u64 moved)
{
	__u64 hash = thread->context_hash;

	if (!thread->state_pointer)
		return true;
	if (thread->config.changes_words && !moved && hash != CONTEXT_HASH_UNKNOWN)
		return true;
	if (is_cheap && !moved && thread->compared_ns)
		return context_read_table(thread) &&
		       context_table_digest(thread) == thread->table_digest;
	thread->compared_ns = now_ns;
	charge_secure_pending(thread, task);
	if (context_resolve(thread) != hash)
		return false;
	thread->table_digest = context_table_digest(thread);
	return true;
}

/* Makes the context at pointer the thread's; hash: as context_recall() said. False: it is the same
 * context, maybe in another table, with a late value. */
static __always_inline bool context_adopt(struct thread_state *thread, __u64 pointer, __u64 hash)
{
	bool is_other;

	thread->state_pointer = pointer;
	if (!hash)
		hash = origin_resolve(thread, context_resolve(thread));
	is_other = hash != thread->context_hash;
	thread->context_hash = hash;
	if (thread->is_unread || thread->is_put_off || hash < CONTEXT_HASH_FIRST)
		thread->state_serial = 0;
	/* The next boundary that reads still attributes everything pending to it. */
	if (thread->is_put_off) {
		thread->knowledge = CONTEXT_UNKNOWN;
		count_loss(thread->life, COUNTER_VALUE_LATE);
		return is_other;
	}
	thread->knowledge = CONTEXT_KNOWN;
	if (thread_is_lean(thread))
		thread->table_digest = pointer ? context_table_digest(thread) : 0;
	/* Left by another thread, or by the parent before a fork, or set before we were started. */
	if (thread->inherited_pointer == INHERITED_FIRST_READ)
		thread->inherited_pointer = pointer;
	/* If this address recurs later, another table is there. */
	else if (thread->inherited_pointer != pointer)
		thread->inherited_pointer = 0;
	thread->is_inherited = pointer && !thread->has_passed_probe &&
			       (!thread_is_lean(thread) || pointer == thread->inherited_pointer);
	if (context_has_otel(thread) && thread->is_otel_inherited)
		thread->is_inherited = 1;
	if (session.has_children && thread->is_of_origin)
		thread->is_inherited = 0;
	if (thread->is_inherited)
		count_loss(thread->life, COUNTER_CONTEXT_INHERITED);
	return is_other;
}

/*
 * At a probe of an exact process: if the last probe announced the state whose time ends here, its
 * store has happened, and the pointer is not read. Returns 1: done, the context is known; 0: it
 * must be confirmed.
 */
static __always_inline bool context_confirm_announced(struct thread_state *thread, __u64 now_ns)
{
	__u64 pointer = thread->next_pointer;

	if (thread->knowledge != CONTEXT_UNKNOWN || !thread->next_serial ||
	    thread->generation != generation || now_ns - thread->confirmed_ns > CONFIRM_PERIOD_NS)
		return false;
	counters_find(thread, now_ns);
	thread->is_change_open = 0;
	(void)context_adopt(thread, pointer, context_recall_here(thread, pointer));
	return true;
}

/*
 * Reads the context that a new process starts in, while its parent runs: their memory and
 * thread-locals are the same, and the child may exec before its first boundary. The child itself
 * reads what cannot be read now. With OpenTelemetry nothing is read: otel_find() would find the
 * parent's state.
 */
static __noinline int context_read_at_birth(struct thread_state *thread)
{
	__u64 memory = thread->memory;

	thread->memory = (__u64)bpf_get_current_task_btf()->mm;
	(void)context_take_config(thread);
	thread->reads_changes = thread_is_lean(thread);
	if (!context_has_otel(thread) && context_read_pointer(thread)) {
		thread->changes = thread->changes_read;
		(void)context_adopt(thread, thread->pointer_read,
				    context_recall(thread, thread->pointer_read));
	}
	if (thread->knowledge == CONTEXT_UNKNOWN) {
		thread->generation = generation - 1;
		thread->config.generation = thread->config.reading = 0;
	}
	thread->memory = memory;
	/* The child's thread-local may be elsewhere (CLONE_SETTLS). */
	thread->tls_resolution = TLS_UNRESOLVED;
	return 0;
}

/*
 * The rule of attribution at a boundary that reads: the interval that ends belongs to the context
 * in force now. If the pending time belongs to another context, it is charged first. Returns 1 if
 * the context changed inside the open interval without a probe, or, for a lean thread, may have:
 * the count has moved or could not be read; else 0.
 */
static __always_inline __u64 context_confirm(struct thread_state *thread, struct task_struct *task,
					     __u64 now_ns, bool is_cheap)
{
	bool is_lean = thread_is_lean(thread);
	int otel = OTEL_LOOK_SAME, news = CONFIG_OF_MODE;
	bool is_same, is_change;
	__u64 pointer, moved;

	if (context_has_new_config(thread))
		news = context_take_config(thread);
	if (news != CONFIG_OF_MODE) {
		charge_doubt(thread, is_lean | thread_is_lean(thread));
		if (thread->knowledge == CONTEXT_KNOWN)
			charge_pending(thread, task, now_ns);
		(void)context_forget_counters(thread, news);
		thread->knowledge = CONTEXT_UNKNOWN;
	}
	/* If the mode changes here, the time up to here counts as lean if either mode is. */
	is_lean |= thread_is_lean(thread);
	thread->reads_changes = is_lean;
	if (!context_read_pointer(thread)) {
		charge_doubt(thread, is_lean);
		return is_lean;
	}
	pointer = thread->pointer_read;
	moved = 0;
	if (is_lean) {
		moved = context_note_changes(thread);
		charge_doubt(thread, moved);
	}
	thread->confirmed_ns = now_ns;
	counters_find(thread, now_ns);
	if (context_has_otel(thread))
		otel = otel_look(thread);
	is_change = otel == OTEL_LOOK_CHANGED;
	/*
	 * GC.compact protects the pages that it has emptied until it has updated all references. A
	 * context that was unreadable then is still in force and can mostly be read later: all that
	 * is pending belongs to it. The same holds for one that was recalled.
	 */
	if (thread->knowledge == CONTEXT_KNOWN &&
	    !((thread->is_unread || context_lacks_snapshot(thread)) && !otel && !moved &&
	      pointer == thread->state_pointer)) {
		is_same = pointer == thread->state_pointer &&
			  (!is_lean || otel ||
			   context_is_same(thread, task, now_ns, is_cheap, moved));
		if (is_same && !otel)
			return moved;
		is_change |= !is_same;
		if (is_cheap && thread->gc.serial)
			counters_look(thread, now_ns, true);
		/* Without probes such changes are expected: ambiguous_ns accounts for them. */
		if (is_lean || otel)
			account_settle_stolen(&thread->clock, &thread->pending,
					      stolen_from_cpu(now_ns));
		if (!is_lean && !is_same)
			count_loss(thread->life, COUNTER_CHANGE_UNSEEN);
		if (is_change && thread->pending_first_ns)
			thread->pending.slices++;
		charge_pending(thread, task, now_ns);
	} else {
		/* All that is pending goes to the context found now, whatever it ran in. */
		thread->pending.ambiguous_ns +=
			account_growth(thread->sure_ns, thread->pending.ambiguous_ns) & -moved;
	}
	return moved | (context_adopt(thread, thread->pointer_read,
				      context_recall(thread, thread->pointer_read)) &
			is_change);
}

/* Whether a wanted key has no ID and there are symbols that userspace has not seen. */
static __always_inline bool context_lacks_key(const struct thread_state *thread)
{
	const struct process_config *config = &thread->config;
	__u32 symbol_count;

	return config->symbol_count_address &&
	       !bpf_probe_read_user(&symbol_count, sizeof(symbol_count),
				    (void *)config->symbol_count_address) &&
	       symbol_count != config->symbol_count;
}

/* Asks userspace to inspect the process: a context begins that cannot be read. address: of the
 * probe; 0 = no probe. */
static __always_inline void context_ask(struct thread_state *thread, __u64 address, __u64 now_ns)
{
	if (now_ns - thread->asked_ns < ASK_PAUSE_NS)
		return;
	thread->asked_ns = now_ns;
	emit_event(EVENT_KIND_ASK, thread, bpf_get_current_task_btf(), address);
}

/* context_ask() where only a changed pointer shows that a context began. Not at a switch: it
 * wakes userspace. */
VERIFIED_ONCE int context_ask_unprobed(struct thread_state *thread, __u64 now_ns)
{
	if (thread && context_lacks_key(thread))
		context_ask(thread, 0, now_ns);
	return 0;
}
