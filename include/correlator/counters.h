/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One list of everything that can be missed. The C enum, the kernel counters, the names in
 * `balance` records and the table in record/README.md are generated from it; the table in
 * reader/report/README.md is kept by hand. A counter without a text does not compile.
 */
#pragma once

/*
 * NORMAL counters come with forks, execs and new threads: all figures are right, or the record has
 * a flag. All others count losses, which may have changed a figure. For the last three kinds the
 * books bound the error: the CPU time concerned is in overflow, or unattributed, or ambiguous.
 */
enum counter_kind {
	COUNTER_KIND_NORMAL,
	COUNTER_KIND_LOSS,
	COUNTER_KIND_OVERFLOW,
	COUNTER_KIND_UNATTRIBUTED,
	COUNTER_KIND_AMBIGUOUS,
};

/* X(NAME, "field name in balance records", kind, "what it means") */
#define COUNTER_LIST(X)                                                                         \
	X(BOUNDARY_BUSY, "boundaries_busy", LOSS,                                               \
	  "boundaries skipped because another program held the thread's books")                 \
	X(SWITCH_UNSEEN, "switches_unseen", NORMAL,                                             \
	  "switches that the kernel did not report; made up from the scheduler's own figures")  \
	X(STORAGE_FAILED, "storage_failed", LOSS,                                               \
	  "threads that got no task storage: not observed")                                     \
	X(POINTER_UNREADABLE, "pointers_unreadable", NORMAL,                                    \
	  "reads of the thread-local that faulted; the last known context was kept")            \
	X(STATE_UNREADABLE, "states_unreadable", UNATTRIBUTED,                                  \
	  "state tables that faulted; the time went to unattributed")                           \
	X(STATE_MALFORMED, "states_malformed", UNATTRIBUTED,                                    \
	  "state tables that break the ABI (size, capacity, alignment)")                        \
	X(VALUE_UNREADABLE, "values_unreadable", LOSS, "values whose object or text faulted")   \
	X(VALUE_LATE, "values_late", UNATTRIBUTED,                                              \
	  "contexts not read at a switch: the family's long values had taken too long")         \
	X(CHANGE_UNSEEN, "changes_unseen", AMBIGUOUS, "context changes that no probe saw")      \
	X(CONTEXT_INHERITED, "contexts_inherited", NORMAL,                                      \
	  "contexts found on a thread that had passed no probe yet: flagged inherited")         \
	X(OTEL_UNREADABLE, "otel_unreadable", UNATTRIBUTED,                                     \
	  "OpenTelemetry records that faulted; the time went to unattributed")                  \
	X(OTEL_MALFORMED, "otel_malformed", LOSS,                                               \
	  "OpenTelemetry records at no possible address, longer than 640 bytes, or cut")        \
	X(OTEL_KEY_UNKNOWN, "otel_keys_unknown", LOSS,                                          \
	  "OpenTelemetry records with an attribute that the key map did not name yet")          \
	X(CONTEXTS_FULL, "contexts_full", OVERFLOW,                                             \
	  "contexts not recorded: the map was full, or the family's share; in overflow")        \
	X(CONTEXT_LOST, "contexts_lost", UNATTRIBUTED,                                          \
	  "accounts of a context whose values were gone: unattributed, flagged unknown")        \
	X(ACCOUNTS_FULL, "accounts_full", OVERFLOW,                                             \
	  "charges with no account: the map was full, or the family's share; in overflow")      \
	X(PROCESSES_FULL, "processes_full", LOSS,                                               \
	  "forked processes with no room in the process table")                                 \
	X(EVENTS_LOST, "events_lost", LOSS, "events that found the ring full")                  \
	X(THREAD_LATE, "threads_late", LOSS,                                                    \
	  "threads whose books were held when the window ended: its time is in the next one")   \
	X(SLICE_LOST, "slices_lost", LOSS,                                                      \
	  "slices that found no room; the accounts have their time")                            \
	X(SAMPLE_LOST, "samples_lost", LOSS,                                                    \
	  "samples that met a boundary being written up, or a full map")                        \
	X(STACKS_FULL, "stacks_full", LOSS, "samples whose frames found no room: [unknown]")    \
	X(FRAMES_UNREADABLE, "frames_unreadable", LOSS,                                         \
	  "frames that could not be read or named: once for each time their stack is told")     \
	X(FRAMES_EARLY, "frames_early", NORMAL,                                                 \
	  "of frames_unreadable: samples before it was found where a Ruby keeps its frames")    \
	X(FRAMES_COLLECTED, "frames_collected", NORMAL,                                         \
	  "of frames_unreadable: methods that were collected before they were named")           \
	X(FRAMES_REPLACED, "frames_replaced", NORMAL,                                           \
	  "of frames_unreadable: the process ran another program before they were named")       \
	X(NATIVE_UNNAMED, "native_unnamed", NORMAL,                                             \
	  "of frames_unreadable: native code that was not mapped any more when it was named")   \
	X(STACKS_CUT, "stacks_cut", LOSS,                                                       \
	  "samples of more than 1,024 frames: the outermost are missing")                       \
	X(STALL_LOST, "stalls_lost", LOSS,                                                      \
	  "stalls of no record: more than 1,000 a second, or the thread's books were held")     \
	X(GVL_IMPLAUSIBLE, "gvl_implausible", LOSS,                                             \
	  "readings of GVL waits that cannot be true: charged up to the time off the CPU")      \
	X(GC_IMPLAUSIBLE, "gc_implausible", LOSS,                                               \
	  "readings of collections that cannot be true: charged up to the CPU time")            \
	X(SYSCALL_LOST, "syscalls_lost", LOSS,                                                  \
	  "system calls of no syscall record: the map was full, or the family's share, or the " \
	  "thread's books were held for more than four")                                        \
	X(IO_LOST, "io_lost", LOSS,                                                             \
	  "calls of no io record: a map was full, or the family's share, or the books were held")

enum counter {
#define COUNTER_ENUM(name, field, kind, text) COUNTER_##name,
	COUNTER_LIST(COUNTER_ENUM)
#undef COUNTER_ENUM
	_COUNTER_MAX,
};

static inline enum counter_kind counter_kind(enum counter counter)
{
	static const enum counter_kind kinds[_COUNTER_MAX] = {
#define COUNTER_KIND(name, field, kind, text) [COUNTER_##name] = COUNTER_KIND_##kind,
		COUNTER_LIST(COUNTER_KIND)
#undef COUNTER_KIND
	};

	return kinds[counter];
}

static inline int counter_is_loss(enum counter counter)
{
	return counter_kind(counter) != COUNTER_KIND_NORMAL;
}
