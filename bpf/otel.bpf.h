/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's context of the current thread, in addition to Ruby's: the record behind its
 * pointer, the wanted values in it, and their hash. A record changes in place without a function to
 * probe, so it is read at every boundary, and an interval that ends in another context than it
 * began in is ambiguous.
 *
 * Runs only on the thread itself while it is in the kernel. To the writer it is like a signal
 * handler (OTEP 4947, "Concurrency model"): nothing changes while it reads.
 */
#pragma once

#include "emit.bpf.h"
#include "hold.bpf.h"
#include "otel_capture.bpf.h"
#include "tls.bpf.h"

enum otel_look_result {
	OTEL_LOOK_SAME = 0,
	OTEL_LOOK_FIRST = 1, /* nothing was known before */
	OTEL_LOOK_CHANGED = 2, /* the values in force differ from those at the last boundary */
};

enum otel_reading {
	OTEL_READING_KEPT = 0, /* not readable now: what was known stays */
	OTEL_READING_NONE = 1, /* no context is in force */
	OTEL_READING_BROKEN = 2, /* one may be in force, but it cannot be read */
	OTEL_READING_RECORD = 3,
};

/*
 * Allocates the OpenTelemetry state of a thread, if its process has the variable. is_new: the
 * thread has not run yet and its thread-local is NULL. Not under a scheduler lock, because it
 * allocates.
 */
static __always_inline void otel_register(struct task_struct *task, __u64 life, bool is_new)
{
	struct otel_config *config = bpf_map_lookup_elem(&otel_processes, &life);
	struct process_config *process = bpf_map_lookup_elem(&processes, &life);
	struct otel_thread *otel;

	if (!config)
		return;
	otel = bpf_task_storage_get(&otel_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!otel) {
		count_loss(life, COUNTER_STORAGE_FAILED);
		return;
	}
	if (otel->is_registered)
		return;
	otel->is_registered = 1;
	otel->config = *config;
	otel->reading = process ? process->reading : 0;
	otel->is_known = is_new;
	otel->is_first_inherited = !is_new;
}

static __always_inline struct otel_thread *otel_find(void)
{
	return bpf_task_storage_get(&otel_threads, bpf_get_current_task_btf(), NULL, 0);
}

static __always_inline void otel_take_config(struct otel_thread *otel,
					     const struct thread_state *thread)
{
	/* Before 6.2 a key that is a field of a global function's argument is refused. */
	__u64 life = thread->life;
	const struct otel_config *config = bpf_map_lookup_elem(&otel_processes, &life);

	otel->reading = thread->config.reading;
	if (config)
		otel->config = *config;
	else
		otel->config.tls.model = TLS_MODEL_NONE;
	otel->tls_resolution = TLS_UNRESOLVED;
	otel->is_known = 0;
	otel->has_asked = 0;
}

static __always_inline __u32 otel_read_record(struct thread_state *thread, struct otel_thread *otel,
					      __u64 pointer)
{
	__u32 size;

	otel->record_bytes = sizeof(otel->header);
	/* Zeroes the end of the last word, for the digest. */
	otel->words[sizeof(otel->header) / 8] = 0;
	if (bpf_probe_read_user(&otel->header, sizeof(otel->header), (void *)pointer)) {
		count_loss(thread->life, COUNTER_OTEL_UNREADABLE);
		return OTEL_READING_BROKEN;
	}
	if (otel->header.valid != OTEL_VALID)
		return OTEL_READING_NONE;
	size = otel->header.attributes_bytes;
	if (!otel->config.reads_attributes || !size)
		return OTEL_READING_RECORD;
	if (size > OTEL_ATTRIBUTES_BYTES_MAX)
		size = OTEL_ATTRIBUTES_BYTES_MAX;
	for (__u32 i = 0; i < 8; i++)
		otel->attributes[(size + i) & (OTEL_ATTRIBUTES_ROOM - 1)] = 0;
	/* Keeps the bound visible to the verifier at the call. */
	barrier_var(size);
	if (size > OTEL_ATTRIBUTES_BYTES_MAX ||
	    bpf_probe_read_user(otel->attributes, size, (void *)(pointer + sizeof(otel->header)))) {
		count_loss(thread->life, COUNTER_OTEL_UNREADABLE);
		return OTEL_READING_BROKEN;
	}
	otel->record_bytes += size;
	return OTEL_READING_RECORD;
}

static __always_inline __u32 otel_read(struct thread_state *thread, struct otel_thread *otel)
{
	__u64 pointer;

	if (thread->is_exiting)
		return OTEL_READING_KEPT;
	if (otel->tls_resolution != TLS_RESOLVED && !thread->is_pointer_old)
		otel->tls_resolution = tls_locate(&otel->config.tls, bpf_get_current_task_btf(),
						  &otel->tls_address);
	if (otel->tls_resolution == TLS_UNALLOCATED)
		return OTEL_READING_NONE;
	if (otel->tls_resolution != TLS_RESOLVED)
		return OTEL_READING_KEPT;
	if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)otel->tls_address)) {
		count_loss(thread->life, COUNTER_POINTER_UNREADABLE);
		return OTEL_READING_KEPT;
	}
	pointer = compat_untag(pointer);
	if (!pointer)
		return OTEL_READING_NONE;
	if (!otel_record_pointer_is_sane(pointer)) {
		count_loss(thread->life, COUNTER_OTEL_MALFORMED);
		return OTEL_READING_BROKEN;
	}
	return otel_read_record(thread, otel, pointer);
}

static __always_inline void otel_note_walk(struct thread_state *thread, struct otel_thread *otel,
					   __u32 flags)
{
	if (flags & OTEL_WALK_CUT)
		count_loss(thread->life, COUNTER_OTEL_MALFORMED);
	if (!(flags & OTEL_WALK_UNKNOWN))
		return;
	count_loss(thread->life, COUNTER_OTEL_KEY_UNKNOWN);
	if (otel->has_asked)
		return;
	/* Once for each configuration, however many indexes are new. */
	otel->has_asked = 1;
	/* Asks userspace to read the key map again. */
	emit_event(EVENT_KIND_OTEL_KEYS, thread, bpf_get_current_task_btf(), 0);
}

VERIFIED_ONCE int otel_walk(struct thread_state *thread, struct otel_thread *otel)
{
	if (!thread || !otel)
		return 0;
	otel_note_walk(
		thread, otel,
		otel_record_walk(otel->attributes,
				 otel->config.reads_attributes ? otel->header.attributes_bytes : 0,
				 otel->config.key_of_index, otel->config.known_indexes,
				 otel->offsets));
	return 0;
}

static __always_inline void otel_settle_inherited(struct otel_thread *otel)
{
	if (!otel->is_first_inherited)
		return;
	otel->is_first_inherited = 0;
	otel->inherited_digest = otel->digest;
}

/* Reads what is in force now. The caller holds the thread. Returns enum otel_look_result. */
VERIFIED_ONCE int otel_look(struct thread_state *thread)
{
	struct otel_thread *otel = otel_find();
	__u64 before, digest = 0;
	__u32 reading, was_known;

	if (!thread || !otel)
		return OTEL_LOOK_SAME;
	if (otel->reading != thread->config.reading)
		otel_take_config(otel, thread);
	before = otel->hash;
	was_known = otel->is_known;
	reading = otel_read(thread, otel);
	if (reading == OTEL_READING_KEPT)
		return OTEL_LOOK_SAME;
	if (reading == OTEL_READING_RECORD) {
		digest = otel_digest(otel);
		if (was_known && digest == otel->digest)
			return OTEL_LOOK_SAME;
		otel_walk(thread, otel);
		otel->hash = otel_hash(otel);
	} else {
		otel->hash =
			reading == OTEL_READING_NONE ? CONTEXT_HASH_NONE : CONTEXT_HASH_UNKNOWN;
	}
	otel->digest = digest;
	otel->is_known = 1;
	otel_settle_inherited(otel);
	if (!was_known)
		return OTEL_LOOK_FIRST;
	return otel->hash == before ? OTEL_LOOK_SAME : OTEL_LOOK_CHANGED;
}

/*
 * Adds the OpenTelemetry values that were last read to the thread's snapshot. state_hash: hash of
 * Ruby's context, whose values the snapshot holds. Returns the hash of both.
 */
VERIFIED_ONCE __u64 otel_add_context(struct thread_state *thread, __u64 state_hash)
{
	struct context_hash_key key = { { hash_key.words[0], hash_key.words[1] } };
	struct otel_thread *otel = otel_find();
	struct context_hash_state hash;

	if (!thread || !otel)
		return state_hash;
	thread->is_otel_inherited =
		otel->hash >= CONTEXT_HASH_FIRST && otel->digest == otel->inherited_digest;
	if (state_hash == CONTEXT_HASH_UNKNOWN || otel->hash == CONTEXT_HASH_UNKNOWN ||
	    !otel->is_known)
		return CONTEXT_HASH_UNKNOWN;
	if (otel->hash == CONTEXT_HASH_NONE)
		return state_hash;
	for (__u32 i = 0; i < KEYS_MAX; i++)
		if (state_hash == CONTEXT_HASH_NONE || otel->values[i].kind != VALUE_KIND_ABSENT)
			thread->snapshot.values[i] = otel->values[i];
	context_hash_init(&hash, &key);
	context_hash_add(&hash, thread->image);
	context_hash_add(&hash, state_hash);
	context_hash_add(&hash, otel->hash);
	thread->snapshot.key_count = thread->config.key_count;
	thread->snapshot_hash = context_hash_final(&hash);
	return thread->snapshot_hash;
}

/* From here on the record in force counts as inherited from the thread under its last name. */
static __always_inline void otel_begin_name(void)
{
	struct otel_thread *otel = otel_find();

	if (otel)
		otel->inherited_digest = otel->digest;
}
