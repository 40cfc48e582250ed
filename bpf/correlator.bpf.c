/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel programs, one object: each file has the hooks of one concern. See README.md. */
#include "collect.bpf.h"
#include "lifecycle.bpf.h"
#include "observer.bpf.h"
#include "sched.bpf.h"
#include "sleepers.bpf.h"
#include "stacks.bpf.h"
#include "syscall.bpf.h"
#include "uprobe.bpf.h"
#include "waking.bpf.h"

char LICENSE[] SEC("license") = "GPL";
