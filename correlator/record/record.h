/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records as plain data, as defined by schema.h: recorder/observe/ fills them, record_encode.h
 * encodes them. Texts are borrowed for the duration of the call that they are passed to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/counters.h>
#include <correlator/limits.h>

#include "record/process_event.h"
#include "record/schema.h"
#include "record/watch_mode.h"

/* One configured key: value NULL = the context has no such key (left out of the record). */
struct record_key {
	const char *name;
	const char *value; /* valid UTF-8, NUL-terminated */
};

/* Map entries in use at the end of the window; limit 0 = not known. */
struct self_fill {
	uint64_t used;
	uint64_t limit;
};

/* Growth of bpf_prog_info.run_cnt and run_time_ns in the window (linux/bpf.h, since v5.1). */
struct self_program {
	const char *name; /* unique */
	uint64_t run_count;
	uint64_t run_ns;
};

enum {
	RECORD_SCHEMA = 1, /* in each record; incremented when a field changes its meaning */
	SELF_PROGRAMS_MAX = 32,
	SELF_PROGRAM_NAME_BYTES = 64, /* longest name, excluding the NUL */
};

/* Before the names of keys in stall_record.woken_by_keys. */
#define RECORD_WAKER_PREFIX "woken_by_"

enum cpu_record_flags {
	CPU_RECORD_TRUNCATED = 1 << 0, /* a key's value was longer than VALUE_BYTES_MAX */
	CPU_RECORD_INHERITED = 1 << 1, /* the context may be a leftover of an earlier thread */
	CPU_RECORD_OVERFLOW = 1 << 2, /* contexts merged because a map was full */
	CPU_RECORD_UNKNOWN = 1 << 3, /* a context was in force but could not be read */
	/* Ruby threads share native ones, which the gem does not follow: the context may be
	 * another's. */
	CPU_RECORD_MIXED_THREADS = 1 << 4,
	/* The process was started in the context, by an exec, and has none of its own. */
	CPU_RECORD_INHERITED_BY_EXEC = 1 << 5,
};

#define RECORD_DECLARE_U32(member)    uint32_t member;
#define RECORD_DECLARE_U64(member)    uint64_t member;
#define RECORD_DECLARE_S64(member)    int64_t member;
#define RECORD_DECLARE_WALL(member)   uint64_t member;
#define RECORD_DECLARE_BOOL(member)   bool member;
#define RECORD_DECLARE_SWITCH(member) bool member;
#define RECORD_DECLARE_TEXT(member)   const char *member;
#define RECORD_DECLARE_EVENT(member)  enum process_event member;
#define RECORD_DECLARE_MODE(member)   enum watch_mode member;
#define RECORD_DECLARE_TEXTS(member) \
	const char *const *member;   \
	size_t member##_count;
#define RECORD_DECLARE_KEYS(member)      \
	const struct record_key *member; \
	size_t member##_count;
#define RECORD_DECLARE_FLAGS(member)	uint32_t member;
#define RECORD_DECLARE_COUNTERS(member) uint64_t member[_COUNTER_MAX];
#define RECORD_DECLARE_FILL(member)	struct self_fill member;
#define RECORD_DECLARE_PROGRAMS(member)    \
	const struct self_program *member; \
	size_t member##_count;
#define RECORD_DECLARE_DELIVERY(member)				     struct delivery_figures member;
#define RECORD_DECLARE(type, member, field, presence, unit, meaning) RECORD_DECLARE_##type(member)

/* Fields of every record. */
struct record_common {
	uint64_t wall_ns; /* the entry's EventTime: end of the window, or time of the event */
	RECORD_COMMON_FIELDS(RECORD_DECLARE)
};

struct delivery_figures {
	RECORD_DELIVERY_FIELDS(RECORD_DECLARE)
};

#define RECORD_DECLARE_KIND(KIND, kind, meaning)       \
	struct kind##_record {                         \
		struct record_common common;           \
		RECORD_##KIND##_FIELDS(RECORD_DECLARE) \
	};
RECORD_KINDS(RECORD_DECLARE_KIND)

enum record_kind {
	RECORD_KIND_OTHER, /* from a later version: skip */
#define RECORD_KIND_NUMBER(KIND, kind, meaning) RECORD_KIND_##KIND,
	RECORD_KINDS(RECORD_KIND_NUMBER)
#undef RECORD_KIND_NUMBER
	_RECORD_KIND_MAX,
};

/*
 * The field names for readers, RECORD_FIELD(cpu, user_ns): a name that is not in the schema does
 * not compile.
 */
#define RECORD_FIELD(kind, member)				  record_field_names_##kind.member
#define RECORD_NAME(type, member, field, presence, unit, meaning) char member[sizeof(field)];
#define RECORD_NAMES(KIND, kind, meaning)               \
	extern const struct record_field_names_##kind { \
		RECORD_##KIND##_FIELDS(RECORD_NAME)     \
	} record_field_names_##kind;
RECORD_KINDS(RECORD_NAMES)
RECORD_NAMES(COMMON, common, "")

/* One byte per field of the schema, in its order, kind by kind: RECORD_PLACE(cpu, user_ns) is a
 * field's number. */
#define RECORD_BYTE(type, member, field, presence, unit, meaning) uint8_t member;
#define RECORD_BYTES(KIND, kind, meaning)           \
	struct {                                    \
		RECORD_##KIND##_FIELDS(RECORD_BYTE) \
	} kind;
struct record_places {
	RECORD_BYTES(COMMON, common, "")
	RECORD_KINDS(RECORD_BYTES)
};
#define RECORD_PLACE(kind, member) offsetof(struct record_places, kind.member)
