/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy of a context that the kernel programs make while it is alive: the raw object bytes of
 * each wanted key, enough for userspace to decode the value later, when the object may be freed or
 * moved. A context is identified by the 64-bit keyed hash of these bytes (context_hash.h).
 */
#pragma once

#include <linux/types.h>

#include <correlator/limits.h>

/* The kind of a value: meaning of its raw and bytes. Append-only. */
enum value_kind {
	VALUE_KIND_ABSENT = 0, /* the table has no such key */
	VALUE_KIND_IMMEDIATE =
		1, /* raw = the VALUE: fixnum, flonum, static symbol, true/false/nil */
	VALUE_KIND_STRING = 2, /* bytes = text; raw = length_bytes */
	VALUE_KIND_SYMBOL = 3, /* heap symbol: bytes = text of its name; raw = length_bytes */
	VALUE_KIND_FLOAT = 4, /* raw = the bits of the double */
	VALUE_KIND_BIGNUM = 5, /* bytes = BDIGITs (u32, low first); raw = number of BDIGITs */
	VALUE_KIND_OBJECT = 6, /* any other object: raw = its class VALUE */
	/* The object could not be read: raw = the VALUE; or its bytes: raw as if they were read. */
	VALUE_KIND_UNREADABLE = 7,
	_VALUE_KIND_MAX,
};

enum value_snapshot_flags {
	/* More bytes exist than were captured: raw = the value's digest (value_digest.h). */
	VALUE_TRUNCATED = 1 << 0,
	VALUE_NEGATIVE = 1 << 1, /* bignum sign */
};

/* In value_snapshot.encoding: the same index in every Ruby (encindex.h). */
enum {
	VALUE_ENCODING_UTF_8 = 1
};

/* A piece of a value's bytes, padded with zeros. */
struct value_chunk {
	__u64 words[VALUE_BYTES_MAX / 8];
};

struct value_snapshot {
	__u8 kind; /* enum value_kind */
	__u8 flags; /* enum value_snapshot_flags */
	__u16 length_bytes; /* captured bytes, <= VALUE_BYTES_MAX; the rest of bytes[] is zero */
	__u8 type; /* RUBY_T_xxx of a heap object (flags & 0x1f), else 0 */
	__u8 encoding; /* encoding index of a string (flags bits 22..28), else 0 */
	__u8 reserved[2];
	__u64 raw;
	union {
		__u8 bytes[VALUE_BYTES_MAX];
		__u64 words[VALUE_BYTES_MAX / 8]; /* for hashing: zero up to the next word */
		struct value_chunk start; /* the first chunk of a longer text */
	};
};

_Static_assert(sizeof(struct value_snapshot) == 16 + VALUE_BYTES_MAX, "layout");
_Static_assert(__builtin_offsetof(struct value_snapshot, bytes) == 16, "layout");

struct context_snapshot {
	__u32 family; /* family whose share it uses (share.h) */
	__u32 key_count; /* values in use, in the order of the configured keys */
	__u64 late_hash; /* of the late values, apart from the context's (late_key.h); 0 = none */
	struct value_snapshot values[KEYS_MAX];
};

_Static_assert(sizeof(struct context_snapshot) == 16 + KEYS_MAX * sizeof(struct value_snapshot),
	       "layout");

enum {
	/* Drains of both maps of accounts, after which userspace forgets a context whose snapshot
	 * it has removed (recorder/observe/window/contexts.h). */
	CONTEXT_RETIRED_DRAINS = 2,
	/* Windows after the last one with an account, through which it still has the texts. */
	CONTEXT_KEPT_WINDOWS = 1 + CONTEXT_RETIRED_DRAINS,
};

/* Context hashes with a fixed meaning; a computed hash is never below CONTEXT_HASH_FIRST. */
enum context_hash_value {
	CONTEXT_HASH_NONE = 0, /* the pointer is NULL: no context is in force */
	CONTEXT_HASH_UNKNOWN = 1, /* a context may be in force, but it could not be read */
	CONTEXT_HASH_OVERFLOW = 2, /* a context is in force, but a map was full */
	CONTEXT_HASH_FIRST = 16,
};
