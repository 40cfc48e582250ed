/* SPDX-License-Identifier: GPL-2.0-only */
/* Who observes: run once, by a test run in the observer's own process. */
#pragma once

#include "identity.bpf.h"

#include <bpf/bpf_tracing.h>

SEC("raw_tp")
int identify_observer(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	observer_level = BPF_CORE_READ(pid, level);
	observer_ktime_ns = bpf_ktime_get_ns();
	observer_namespace = (__u64)identity_at(pid, observer_level).ns;
	return 0;
}
