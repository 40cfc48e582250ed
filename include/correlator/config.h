/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration that userspace gives the kernel programs: per session, before load; and per
 * process, whenever something new is found out about it. Written by recorder/probe/, read by bpf/.
 */
#pragma once

#include <linux/types.h>

#include <correlator/limits.h>
#include <correlator/otel_record.h>

/* How to get the address of the thread-local from the thread pointer (facts: tls_symbol.h). */
enum tls_model {
	TLS_MODEL_NONE = 0, /* not found (yet): no context can be read */
	TLS_MODEL_STATIC = 1, /* thread pointer + offset */
	TLS_MODEL_DYNAMIC = 2, /* dtv[module] + offset */
};

struct tls_location {
	__u32 model; /* enum tls_model */
	__s32 dtv_pointer_offset; /* of the DTV pointer from the thread pointer (glibc x86-64: 8) */
	__u32 dtv_entry_bytes; /* 16 for glibc, 8 for musl */
	__u32 dtv_has_length; /* 1: dtv[-1] holds the number of entries (glibc), 0: dtv[0] (musl) */
	__u64 module; /* module ID, TLS_MODEL_DYNAMIC only */
	__s64 offset; /* in the module's block, or from the thread pointer */
};

_Static_assert(sizeof(struct tls_location) == 32, "layout");

/* Where RString keeps its length (ruby-vm: 2.7 to 3.1 in the flags word, since 3.2 as a long). */
enum string_layout {
	STRING_LAYOUT_FLAGS = 0, /* embedded: length in flags bits 14..18, text at +16 */
	STRING_LAYOUT_LONG = 1, /* embedded: length at +16, text at +24 */
};

enum process_config_flags {
	PROCESS_READY = 1 << 0, /* tls is valid: contexts can be read */
	PROCESS_HAS_OTEL = 1 << 1, /* it also has an otel_config */
	PROCESS_IS_LEAN = 1 << 2, /* no probe is relied on: every boundary reads the context */
	/* Its publisher is our gem: argument 2 of the probed function is the fiber's number, and
	 * the pointer is set to NULL when a Ruby thread ends. */
	PROCESS_TELLS_FIBERS = 1 << 3,
	PROCESS_TELLS_SERIALS = 1 << 5, /* argument 3 is the serial of the state, argument 1 */
	PROCESS_HAS_THREADS = 1 << 4, /* thread_offset is valid: our gem's correlator_thread */
	PROCESS_SHOWS_GVL =
		1 << 6, /* its waits for the GVL are told by their futex (gvl_futex.h) */
};

/* Value of the map `processes`, by life. A forked child starts with its parent's. */
struct process_config {
	struct tls_location tls;
	__u64 key_ids[KEYS_MAX]; /* ID of each wanted key; 0 = not in the symbol table yet */
	__u32 key_count;
	__u32 flags; /* enum process_config_flags */
	__u32 string_layout; /* enum string_layout */
	__u32 bignum_embed_mask; /* for (flags >> 15): 7, or 0x1ff since Ruby 4.0 */
	/* Code range of the object in which tls was found: a probe elsewhere changes another
	 * variable. */
	__u64 publisher_start;
	__u64 publisher_end;
	__u64 symbol_count_address; /* of Ruby's u32 symbol count while a key has no ID; 0 = not
				       read */
	__u32 symbol_count; /* the count when the keys were last looked up */
	/* Set by session_set_process() and session_set_lean(): */
	__u32 generation; /* unique to this configuration in the session; 0 = none */
	__u32 reading; /* generation at the last change of what is read, or where */
	__u32 family; /* family whose share of the maps it uses (share.h) */
	/* Bytes from the thread-local found through tls to GEM_THREAD_SYMBOL (gem_abi.h). */
	__s64 thread_offset;
	/* Words from that thread-local to GEM_CHANGES_SYMBOL; 0 = no count of changes. */
	__s32 changes_words;
	__u32 reserved;
	__u64 image; /* image that all this was found in (life.h); applies to no other */
};

_Static_assert(sizeof(struct process_config) == 32 + 8 * KEYS_MAX + 80, "layout");

/* Whether a and b both read the gem's counters, at the same place: then what is known about the
 * counters stays known. */
static inline int config_has_same_counters(const struct process_config *a,
					   const struct process_config *b)
{
	return (a->flags & b->flags & PROCESS_HAS_THREADS) &&
	       a->thread_offset == b->thread_offset && a->tls.model == b->tls.model &&
	       a->tls.module == b->tls.module && a->tls.offset == b->tls.offset;
}

/*
 * Value of the map `otel_processes`, by life: where OpenTelemetry's thread context is, and which
 * wanted keys are found in it. A forked child starts with its parent's.
 */
struct otel_config {
	struct tls_location tls;
	__u16 known_indexes; /* names in the key map; userspace rereads it for an index beyond */
	__u8 trace_key; /* 1 + number of the key that is the trace ID; 0 = not wanted */
	__u8 span_key;
	__u8 reads_attributes; /* 0: no attribute is wanted */
	__u8 reserved[3];
	__u8 key_of_index[OTEL_INDEXES]; /* 1 + number of the key; 0 = not wanted */
};

_Static_assert(sizeof(struct otel_config) == 32 + 8 + OTEL_INDEXES, "layout");

/* Which unobserved processes are reported. */
enum strangers {
	STRANGERS_NONE = 0,
	STRANGERS_ANY = 1,
	STRANGERS_BY_NAME = 2, /* as ANY, plus renames */
};

/* Constants of a session, set before load: the verifier removes code that they disable. */
struct session_config {
	__u32 follow_forks; /* 1: forked children are observed */
	__u32 has_steal_time;
	__u32 watches_otel; /* 1: an OpenTelemetry key is wanted */
	__u32 contexts_max; /* capacity of the map; likewise accounts_max */
	__u32 accounts_max;
	__u32 is_lean; /* 1: every process is lean, there are no uprobes */
	__u32 tells_strangers; /* enum strangers */
	__u32 late_keys; /* bit N: key N is late (late_key.h); 0 = none */
	__u32 request_key; /* 1 + number of the key that identifies requests; 0 = not wanted */
	__u32 has_timeline; /* 1: slices are sent (timeline.h) */
	__u32 has_stacks; /* 1: samples are taken (stacks.h) */
	__u32 has_native; /* 1: samples include the pc in native code */
	__u32 has_callers; /* 1: they include the top of the native stack (with has_native) */
	__u32 has_wait_stacks; /* 1: stacks are also taken where threads wait (with has_stacks) */
	__u32 has_children; /* 1: after an exec, a request's children belong to it (origin.h) */
	__u32 has_syscalls; /* 1: system calls are counted by number (syscall_counts.h) */
	__u32 has_io; /* 1: what is read and written is counted (io_counts.h) */
	__u32 can_cast; /* 1: CALL_CAST is put in */
	__u32 reads_at_exec_calls; /* 1: no hook runs early enough in an exec */
	__u32 interrupt_bits; /* of the preempt count: in a hardware interrupt, or an NMI */
	__u64 stall_least_ns; /* waits this long are told (stall.h); 0 = none */
	/* From the per-CPU runqueues to KVM's per-CPU steal_time, both by the kernel's own BTF. */
	__s64 steal_time_offset;
	__s64 preempt_count_offset; /* from the runqueues to x86's preempt count; 0 = not known */
};

/* Immediates that mark instructions; userspace replaces these with calls to kernel functions. */
enum marked_call {
	CALL_PREEMPT_DISABLE = 0x43a1100d,
	CALL_PREEMPT_ENABLE = 0x43a1100e,
	CALL_CAST = 0x43a1100f,
};

/* The purpose of one run of the task iterator. */
enum collect_phase {
	COLLECT_PHASE_REGISTER = 0, /* give each thread of a known process its storage */
	COLLECT_PHASE_FLUSH = 1, /* write up threads that are off the CPU */
	COLLECT_PHASE_OTEL = 2, /* allocate storage for OpenTelemetry's contexts */
	COLLECT_PHASE_FLUSH_LATE = 3, /* FLUSH for the last time: count the threads that are late */
};
