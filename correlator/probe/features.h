/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel and these privileges offer, for `doctor` and for error messages. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "probe/refusal.h"
#include "probe/session.h"

#define FEATURE_BTF_PATH "/sys/kernel/btf/vmlinux"

/* enum bpf_attach_type BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h, since v6.6. */
enum {
	FEATURE_ATTACH_TYPE_UPROBE_MULTI = 48
};

enum feature_state {
	FEATURE_PRESENT = 1,
	FEATURE_ABSENT = 2,
	FEATURE_OPTIONAL_ABSENT = 3, /* there is a way without it */
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
 * Looks at each feature without loading one of our programs. Returns the number of features
 * written. Strings are static but for detail.
 */
size_t features_look(struct feature ret_features[static FEATURES_MAX]);

/* Whether a program may read another task's memory: bpf_copy_from_user_task(), since v5.18. */
bool features_can_read_tasks(void);

/* Whether a program may walk long stacks, as --stacks does: bpf_loop(), since v5.17. */
bool features_can_walk_stacks(void);

/*
 * The numbers by which programs call functions of the kernel's that are made for them: count names
 * and numbers. False: it lacks one of them; then the numbers are not to be used.
 */
bool features_find_functions(const char *const names[], size_t count, int ret_ids[]);

/*
 * Whether uprobes may be attached: by a uprobe_multi link with what a recording needs anyway, by a
 * perf event, before 6.6, with CAP_SYS_ADMIN only (perf_uprobe_event_init(),
 * kernel/events/core.c, v6.1).
 */
bool features_may_probe(void);

/*
 * The effective capabilities that are missing to observe processes of other users:
 * "CAP_BPF, CAP_PERFMON". Returns their number (0: none, ret_names is ""). CAP_SYS_ADMIN stands for
 * CAP_BPF and CAP_PERFMON.
 */
int features_missing_capabilities(char *ret_names, size_t names_bytes);
