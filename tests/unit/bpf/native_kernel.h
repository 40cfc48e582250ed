/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel programs' own text, compiled natively for unit tests and the fuzzer: what they call of
 * the kernel's helpers is redirected. Include it first; who does defines the two functions below.
 */
#pragma once

/* The programs are written for the BPF compiler, and most of them is not used here. */
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wtype-limits"

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* A test has the programs that it calls, and no others: they take long to build. */
#define PROGRAM(section) static
#define VERIFIED_ONCE	 static

/* As bpf_probe_read_user(): 0, or not, and then the buffer is zeroed. */
long native_read_user(void *buffer, __u32 size_bytes, const void *address);
/* As bpf_map_lookup_elem(): NULL = the map has no such key. */
void *native_find(const void *map, const void *key);

/* The task that a program runs on, as kernel_views.h has it: one without memory at first. */
static __u64 native_task[64];
/* And the registers that it entered the kernel with. */
static inline void *native_registers(void)
{
	static __u64 registers[64];

	return registers;
}

/* Of a program's own memory. */
static inline long native_read_kernel(void *buffer, __u32 size_bytes, const void *address)
{
	__builtin_memcpy(buffer, address, size_bytes);
	return 0;
}

#define bpf_probe_read_user	   native_read_user
#define bpf_probe_read_kernel	   native_read_kernel
#define bpf_map_lookup_elem	   native_find
#define bpf_ringbuf_reserve(...)   NULL
#define bpf_get_current_task_btf() ((struct task_struct *)native_task)
#define bpf_task_pt_regs(task)	   native_registers()
/* Relocations by the kernel's BTF: not of concern to what is fuzzed. */
#undef bpf_core_field_exists
#define bpf_core_field_exists(...) 0
#undef bpf_core_field_offset
#define bpf_core_field_offset(...) 0
#undef bpf_core_enum_value_exists
#define bpf_core_enum_value_exists(...) 0
#undef BPF_CORE_READ
#define BPF_CORE_READ(source, ...) 0
