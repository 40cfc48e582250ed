/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies the value of a key while its object is alive: its kind, the start of its text, and, if the
 * text is longer, a digest of it.
 *
 * As static functions these would cost the verifier three times as much. VERIFIED_ONCE functions
 * must check their arguments for NULL, because the verifier does not look at their callers.
 */
#pragma once

#include "hold.bpf.h"

#include <linux/errno.h>

#include <correlator/late_key.h>
#include <correlator/table_probe.h>
#include <correlator/value_digest.h>
#include <correlator/value_object.h>

/* value_digest_add(), verified once instead of for each chunk. */
VERIFIED_ONCE int capture_digest_chunk(struct context_hash_state *state,
				       const struct value_chunk *chunk)
{
	if (!state || !chunk)
		return 0;
	value_digest_add(state, chunk);
	return 0;
}

/* False at a switch, where the run queue is locked, once the digest budget is used up. */
static __always_inline bool capture_may_digest(struct thread_state *thread, __u64 length_bytes)
{
	__u64 *paid_ns = &digests_paid_ns[thread->config.family % SHARE_SLOTS];
	__u64 before_ns = *paid_ns, after_ns;

	if (!thread->is_at_switch)
		return true;
	if (length_bytes > VALUE_DIGEST_BYTES_MAX)
		length_bytes = VALUE_DIGEST_BYTES_MAX;
	after_ns = digest_budget_take(before_ns, bpf_ktime_get_ns(), (__u32)length_bytes);
	if (!after_ns)
		return false;
	/* If another CPU pays at the same time, it pays for both: this is a bound, not a sum. */
	(void)__sync_val_compare_and_swap(paid_ns, before_ns, after_ns);
	return true;
}

/*
 * Reads chunk number `index` of a text into thread->chunk, padded with zeros. Returns its bytes; 0
 * = the text ends before it, < 0 = it cannot be read.
 */
VERIFIED_ONCE int capture_read_chunk(struct thread_state *thread, __u32 index, __u64 address,
				     __u64 length_bytes)
{
	__u64 offset = 0;
	__u32 part;

	if (!thread)
		return 0;
	part = value_chunk_locate(index, length_bytes, &offset);
	if (!part)
		return 0;
	__builtin_memset(&thread->chunk, 0, sizeof(thread->chunk));
	/* Keeps the bound visible to the verifier at the call. */
	barrier_var(part);
	if (part > sizeof(thread->chunk) ||
	    bpf_probe_read_user(&thread->chunk, part, (void *)(address + offset)))
		return -EFAULT;
	return (int)part;
}

/*
 * Returns the digest of a text of which value holds only the start. If a chunk cannot be read, sets
 * is_unread, which is counted later, and digests the chunks before it. If the text must not be read
 * now, sets is_put_off and returns 0.
 */
VERIFIED_ONCE __u64 capture_digest(struct thread_state *thread, const struct value_snapshot *value,
				   __u64 address, __u64 length_bytes)
{
	struct context_hash_state state;
	int part_bytes;

	if (!thread || !value)
		return 0;
	if (!capture_may_digest(thread, length_bytes)) {
		thread->is_put_off = 1;
		return 0;
	}
	value_digest_init(&state, length_bytes);
	capture_digest_chunk(&state, &value->start);
	for (__u32 i = 1; i < VALUE_CHUNKS_MAX; i++) {
		part_bytes = capture_read_chunk(thread, i, address, length_bytes);
		if (part_bytes < 0)
			thread->is_unread = 1;
		if (part_bytes <= 0)
			break;
		capture_digest_chunk(&state, &thread->chunk);
	}
	return context_hash_final(&state);
}

/* Copies at most VALUE_BYTES_MAX bytes of the value's text; the rest of its last word is zeroed. */
static __always_inline void capture_bytes(struct thread_state *thread, struct value_snapshot *value,
					  __u64 address, __u64 length_bytes)
{
	__u32 length = VALUE_BYTES_MAX;

	address = compat_untag(address);
	if (length_bytes <= VALUE_BYTES_MAX)
		length = (__u32)length_bytes;
	if (!length)
		return;
	if (length & 7)
		value->words[(length / 8) & (VALUE_BYTES_MAX / 8 - 1)] = 0;
	/* Keeps the bound visible to the verifier at the call. */
	barrier_var(length);
	if (length > VALUE_BYTES_MAX ||
	    bpf_probe_read_user(value->bytes, length, (void *)address)) {
		value->kind = VALUE_KIND_UNREADABLE;
		return;
	}
	value->length_bytes = (__u16)length;
	if (length_bytes > VALUE_BYTES_MAX) {
		value->flags |= VALUE_TRUNCATED;
		value->raw = capture_digest(thread, value, address, length_bytes);
	}
}

static __always_inline bool capture_read(__u64 *words, __u64 object)
{
	object = compat_untag(object);
	return table_pointer_is_sane(object) &&
	       !bpf_probe_read_user(words, VALUE_OBJECT_WORDS * sizeof(*words), (void *)object);
}

/*
 * Reads the words of an object. During GC.compact the object may have moved while the table still
 * has its old address; *object then becomes the new one.
 */
static __always_inline bool capture_words(__u64 *words, __u64 *object)
{
	__u64 second;

	if (!capture_read(words, *object))
		return false;
	if (!value_is_moved(words))
		return true;
	second = words[VALUE_MOVED_WORD_2_7];
	*object = words[VALUE_MOVED_WORD];
	if (capture_read(words, *object) && value_is_at_home(words))
		return true;
	*object = second;
	return capture_read(words, second) && value_is_at_home(words);
}

static __always_inline void capture_object(struct thread_state *thread,
					   struct value_snapshot *value, __u64 object,
					   const struct process_config *config)
{
	__u64 words[VALUE_OBJECT_WORDS];
	struct value_location location;

	value->kind = VALUE_KIND_UNREADABLE;
	value->raw = object;
	if (!capture_words(words, &object))
		return;
	value_locate(words, object, config, &location);
	value->type = (__u8)location.type;
	if (location.kind == VALUE_KIND_SYMBOL) {
		object = location.address;
		if (!capture_words(words, &object))
			return;
		value_locate(words, object, config, &location);
		if (location.kind != VALUE_KIND_STRING)
			return;
		location.kind = VALUE_KIND_SYMBOL;
	}
	value->kind = (__u8)location.kind;
	value->flags = (__u8)location.flags;
	value->encoding = (__u8)location.encoding;
	value->raw = location.raw;
	if (location.length_bytes)
		capture_bytes(thread, value, location.address, location.length_bytes);
}

static __always_inline void capture_value(struct thread_state *thread, struct value_snapshot *value,
					  __u64 raw, const struct process_config *config)
{
	value->kind = VALUE_KIND_IMMEDIATE;
	value->raw = raw;
	if (!value_is_immediate(raw))
		capture_object(thread, value, raw, config);
}

VERIFIED_ONCE int capture_find(struct thread_state *thread, __u64 id)
{
	if (!thread)
		return -1;
	return table_probe_find(thread->pairs, thread->header.capacity, id);
}

/* Captures the value of one key into the thread's snapshot. */
VERIFIED_ONCE int capture_key(struct thread_state *thread, const struct process_config *config,
			      __u32 key)
{
	struct value_snapshot *value;
	int slot;

	if (!thread || !config || key >= KEYS_MAX)
		return 0;
	value = &thread->snapshot.values[key];
	value->kind = VALUE_KIND_ABSENT;
	value->flags = 0;
	value->length_bytes = 0;
	value->type = 0;
	value->encoding = 0;
	value->raw = 0;
	slot = capture_find(thread, config->key_ids[key]);
	if (slot >= 0 && slot < STATE_CAPACITY_MAX)
		capture_value(thread, value, thread->pairs[slot].value, config);
	if (value->kind == VALUE_KIND_UNREADABLE)
		thread->is_unread = 1;
	return 0;
}

static __always_inline bool capture_is_late(__u32 key)
{
	return session.late_keys & 1U << key;
}

/* Adds a captured value to the hash, unless its key is late. */
VERIFIED_ONCE int capture_hash_key(const struct thread_state *thread, __u32 key,
				   struct context_hash_state *hash)
{
	if (!thread || !hash || key >= KEYS_MAX)
		return 0;
	if (!capture_is_late(key))
		context_hash_add_value(hash, &thread->snapshot.values[key]);
	return 0;
}

/*
 * Call after all keys. Late values get a hash of their own (late_hash) once one of them is known.
 * If the context names no request that they could belong to, they are part of the context's hash
 * instead.
 */
VERIFIED_ONCE int capture_late_keys(struct thread_state *thread, struct context_hash_state *hash)
{
	struct context_hash_key key = { { hash_key.words[0], hash_key.words[1] } };
	__u32 request_key = session.request_key - 1;
	struct context_hash_state late;
	bool completes = false;

	if (!thread || !hash || request_key >= KEYS_MAX)
		return 0;
	context_hash_init(&late, &key);
	for (__u32 i = 0; i < KEYS_MAX; i++) {
		if (!capture_is_late(i))
			continue;
		context_hash_add_value(&late, &thread->snapshot.values[i]);
		completes |= value_completes(&thread->snapshot.values[i]);
	}
	if (value_is_blank(&thread->snapshot.values[request_key])) {
		context_hash_add(hash, context_hash_final(&late));
	} else if (completes) {
		thread->snapshot.late_hash = context_hash_final(&late);
	}
	return 0;
}
