/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own functions by their addresses, as /proc/kallsyms has them: of this boot, with
 * what KASLR moved and modules brought. One object for all processes; single thread; does not log.
 *
 * The list has no sizes: a function is taken to reach to the next symbol. Where that is not sure
 * there is no name: behind the kernel's text, and beyond the page in which a module's last symbol
 * is. Programs of BPF and ftrace come and go between two readings: of them only that is said.
 * Facts: proc_pid_kallsyms(5), s_show() of kernel/kallsyms.c, v6.18.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"

struct kernel_symbols;

enum {
	/* More than any kernel has; what comes after is left out. */
	KERNEL_SYMBOLS_MAX = 1024 * 1024,
	KERNEL_NAME_BYTES = 256, /* with the NUL; longer ones are cut */
};

/* One that has no names. NULL: no memory. */
struct kernel_symbols *kernel_symbols_new(void);
void kernel_symbols_free(struct kernel_symbols *symbols);
DEFINE_CLEANUP(struct kernel_symbols *, kernel_symbols_free);

/*
 * Reads a list, some 50 ms of CPU for the kernel's; what was read before is forgotten. 0; -EPERM:
 * it has no addresses (kernel.kptr_restrict, or CAP_SYSLOG is missing); -ENOMEM; -errno. After an
 * error there are no names.
 */
int kernel_symbols_read(struct kernel_symbols *symbols, FILE *list);
/* The same of the running kernel, /proc/kallsyms. */
int kernel_symbols_read_running(struct kernel_symbols *symbols);

/*
 * What has the code at an address: "vfs_read", "xfs_file_read [xfs]", "[bpf]". 0; -ENOENT: that is
 * not known, and ret_name is empty.
 */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			char ret_name[static KERNEL_NAME_BYTES]);

/* Whether an address is of what may come and go: not of the kernel's own text. */
bool kernel_symbols_is_movable(const struct kernel_symbols *symbols, uint64_t address);

/*
 * A number for the modules that are loaded, by a list as /proc/modules has it: another one when one
 * comes or goes. Use counts are not looked at. 0: there are none, or they are not told.
 */
uint64_t kernel_symbols_modules(FILE *list);
uint64_t kernel_symbols_running_modules(void);
