/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own functions by address, from /proc/kallsyms of this boot, including KASLR offsets
 * and modules. One object for all processes; single thread; does not log.
 *
 * The list has no sizes: a function is assumed to extend to the next symbol. Where that is
 * uncertain there is no name: after the end of the kernel's text, and beyond the page of a module's
 * last symbol. BPF and ftrace programs come and go between two readings: they only get a generic
 * name. Facts: proc_pid_kallsyms(5), s_show() of kernel/kallsyms.c, v6.18.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"

struct kernel_symbols;

enum {
	/* More than any kernel has; further symbols are dropped. */
	KERNEL_SYMBOLS_MAX = 1024 * 1024,
	KERNEL_NAME_BYTES = 256, /* with the NUL; longer ones are cut */
};

/* Allocates an empty table. NULL: out of memory. */
struct kernel_symbols *kernel_symbols_new(void);
void kernel_symbols_free(struct kernel_symbols *symbols);
DEFINE_CLEANUP(struct kernel_symbols *, kernel_symbols_free);

/*
 * Reads a list and replaces the previous one; the kernel's takes some 50 ms of CPU. 0; -EPERM: it
 * has no addresses (kernel.kptr_restrict, or CAP_SYSLOG is missing); -ENOMEM; -errno. After an
 * error the table is empty.
 */
int kernel_symbols_read(struct kernel_symbols *symbols, FILE *list);
/* Reads the running kernel's list, /proc/kallsyms. */
int kernel_symbols_read_running(struct kernel_symbols *symbols);

/*
 * Names the code at an address: "vfs_read", "xfs_file_read [xfs]", "[bpf]". 0; -ENOENT: not known,
 * and ret_name is empty.
 */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			char ret_name[static KERNEL_NAME_BYTES]);

/* True if code at the address may come and go: it is not in the kernel's own text. */
bool kernel_symbols_is_movable(const struct kernel_symbols *symbols, uint64_t address);

/*
 * A hash of the loaded modules, from a list as in /proc/modules: changes when a module comes or
 * goes. Ignores use counts. 0 = no modules, or not readable.
 */
uint64_t kernel_symbols_modules(FILE *list);
uint64_t kernel_symbols_running_modules(void);
