/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Metadata of a recording: version and mode (meta records), the processes (process records), the
 * keys of its cpu records, and the time it spans. Bounded: entries beyond a limit are dropped;
 * dropped modes are counted. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	RECORDING_KEYS_MAX = 64,
	RECORDING_MODULES_MAX = 16,
	RECORDING_PROCESSES_MAX = 65536,
	RECORDING_MODES_MAX = 16,
	RECORDING_TEXT_BYTES = 128, /* per text, escaped and cut */
};

struct recording_process;

/* How time was measured, since wall_ns. Texts are escaped. */
struct recording_mode {
	uint64_t wall_ns;
	bool has_kernel_split;
	char mode[RECORDING_TEXT_BYTES];
	char reason[RECORDING_TEXT_BYTES]; /* why it changed to this mode; "" = none given */
};

struct recording {
	uint64_t meta_count;
	bool has_children; /* all meta records: what requests start belongs to them */
	char tool_version[RECORDING_TEXT_BYTES]; /* these three: of the first meta record */
	char kernel_release[RECORDING_TEXT_BYTES];
	int64_t interval_ns;
	int64_t stall_ns; /* long waits are recorded from this on; 0 = none; the last one */
	int64_t stall_percentile; /* if above that of their endpoint; 0 = all; the last one */
	int64_t cpu_count; /* 0 = not known, or differs between meta records */
	struct recording_mode modes[RECORDING_MODES_MAX]; /* the first mode, and the changes */
	size_t mode_count;
	struct recording_mode last_mode;
	bool lacks_bound; /* true if it holds for one of its processes */
	uint64_t modes_left_out;
	char keys[RECORDING_KEYS_MAX][RECORDING_TEXT_BYTES]; /* in order of appearance */
	size_t key_count;
	char modules[RECORDING_MODULES_MAX][RECORDING_TEXT_BYTES]; /* likewise */
	size_t module_count;
	bool are_keys_untold; /* some meta record does not list its keys */
	/* Wall clock of the first window's start and the last window's end, as if it had never been
	 * set; both 0 = no window. */
	uint64_t start_ns;
	uint64_t end_ns;
	int64_t clock_set_ns; /* how far the wall clock was set forward, at last (< 0: back) */
	uint64_t clock_set_at_ns; /* when that was first seen, as if the clock had not been set */
	uint64_t record_count;
	uint64_t cpu_record_count;
	struct recording_process *processes; /* uthash */
	bool is_borrower; /* processes belong to another recording */
	size_t process_count;
	uint64_t seed; /* of the hash table */
	char first_host[RECORDING_TEXT_BYTES];
	bool has_several_hosts;
	/* Process of the last record: most records have the same one as the record before. */
	char last_host[RECORDING_TEXT_BYTES];
	size_t last_host_bytes;
	int64_t last_pid;
	const struct recording_process *last_process; /* NULL: not known */
};

/* One process, by host name and pid. Texts are escaped; "" = not known. */
struct recording_process_info {
	char host_name[RECORDING_TEXT_BYTES];
	int64_t pid;
	char comm[RECORDING_TEXT_BYTES];
	char server[RECORDING_TEXT_BYTES];
	char ruby_version[RECORDING_TEXT_BYTES];
	char mode[RECORDING_TEXT_BYTES]; /* the last one known */
	bool lacks_bound; /* it once was not exact, and ambiguous time did not bound the error */
	int64_t ppid; /* these three: 0 = not known */
	int64_t start_ns; /* wall clock */
	int64_t end_ns; /* if it ended while it was observed */
};

void recording_init(struct recording *recording);
void recording_deinit(struct recording *recording);

/* Copies machine, keys, mode and processes from known; recording has no window yet. The processes
 * are borrowed: known must outlive recording, and no process or meta record may be added. */
void recording_borrow(struct recording *recording, const struct recording *known);

/* From the start of the first window to the end of the last one; 0 = no window. */
uint64_t recording_duration_ns(const struct recording *recording);

/* Adds a record of any kind. Returns 0, -ENOMEM. */
int recording_add(struct recording *recording, const struct record_view *record);

bool recording_has_key(const struct recording *recording, const char *name);
/* Whether a module was on (meta's modules). */
bool recording_had_module(const struct recording *recording, const char *name);
/* The key to group by if none is named: endpoint, or, if it is not recorded but requests are,
 * request_id. */
const char *recording_usual_key(const struct recording *recording);
/* False only if the meta records list all keys and this is none of them: waiting for it is
 * pointless. */
bool recording_may_have_key(const struct recording *recording, const char *name);

/* Returns comm of the record's process if known so far, else { NULL, 0 }. Valid until the next add.
 */
struct record_text recording_comm(const struct recording *recording,
				  const struct record_view *record);

/* Iterates over the processes in order of appearance. *cursor starts at NULL. False at the end. */
bool recording_next_process(const struct recording *recording, const void **cursor,
			    struct recording_process_info *ret_info);
