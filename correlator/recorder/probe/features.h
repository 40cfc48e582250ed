/* SPDX-License-Identifier: GPL-2.0-only */
/* Features that this kernel and our privileges offer, for `doctor` and errors. Single thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/probe/refusal.h"
#include "recorder/probe/session.h"

struct btf;

#define FEATURE_BTF_PATH "/sys/kernel/btf/vmlinux"

/* enum bpf_attach_type BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h, since v6.6. */
enum {
	FEATURE_ATTACH_TYPE_UPROBE_MULTI = 48
};

enum feature_state {
	FEATURE_PRESENT = 1,
	FEATURE_ABSENT = 2,
	FEATURE_OPTIONAL_ABSENT = 3, /* there is an alternative */
};

struct feature {
	const char *name;
	const char *remedy; /* what to do or what follows, when it is absent */
	enum feature_state state;
	char detail[128];
};

enum {
	FEATURES_MAX = 32
};

/*
 * Checks each feature without loading one of our programs. Returns the number of features written.
 * Strings are static, except detail.
 */
size_t features_look(struct feature ret_features[static FEATURES_MAX]);

/* Properties of this kernel, from its own types, that decide how programs are loaded. */
struct kernel_offers {
	bool has_uprobe_multi; /* links of many uprobes, since v6.6 */
	bool can_read_tasks; /* another task's memory: bpf_copy_from_user_task(), since v5.18 */
	bool can_walk_stacks; /* long ones, as --stacks does: bpf_loop(), since v5.17 */
	/*
	 * The ids by which programs call bpf_preempt_disable() and bpf_preempt_enable(), since
	 * v6.10; 0 = not both exist.
	 */
	int preempt_disable_id, preempt_enable_id;
	int cast_id; /* likewise for bpf_rdonly_cast(), since v6.2 */
	bool tells_file_faults; /* mm_filemap_fault, since v6.12 */
	bool tells_execs; /* while the old program is there: sched_prepare_exec, since v6.10 */
	bool has_steal_time; /* steal_time.c */
	int64_t steal_time_offset;
	int64_t preempt_count_offset; /* percpu.c; 0 = not known */
	uint32_t interrupt_bits; /* of that count; percpu.c */
};

/*
 * Reads the types, 5 MB, which takes some tens of ms: call it once per recording. A kernel without
 * types offers nothing.
 */
void features_ask_kernel(struct kernel_offers *ret_offers);

/* True if programs may call a helper, by its name in enum bpf_func_id of a kernel's types. */
bool features_has_helper(const struct btf *types, const char *name);

/*
 * True if uprobes may be attached: by a uprobe_multi link with what a recording needs anyway;
 * before 6.6, by a perf event, only with CAP_SYS_ADMIN (perf_uprobe_event_init(),
 * kernel/events/core.c, v6.1).
 */
bool features_may_probe(const struct kernel_offers *offers);

/*
 * The effective capabilities that are missing to observe processes of other users: "CAP_BPF,
 * CAP_PERFMON". Returns their number (0: none, ret_names is ""). CAP_SYS_ADMIN includes CAP_BPF and
 * CAP_PERFMON.
 */
int features_missing_capabilities(char *ret_names, size_t names_bytes);
