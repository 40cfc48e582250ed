/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a uprobe sits: at an instruction that the kernel emulates, at or just after the entry of a
 * function that changes the thread-local, before the change. A single-stepped site costs about
 * 14 times as much, on arm64 a third more. Facts: arch/x86/kernel/uprobes.c (v6.18):
 * branch_setup_xol_ops, push_setup_xol_ops; arm64_code.h; costs measured. Keeps nothing; single
 * thread (libelf); does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"

enum probe_site_cost {
	PROBE_SITE_EMULATED = 1, /* one of the instructions below; on x86-64 about 0.7 us */
	PROBE_SITE_SINGLE_STEPPED = 2, /* any other; on x86-64 about 10 us */
};

enum {
	PROBE_SITES_MAX = 16,
	PROBE_SITE_BYTES = 16
};

struct probe_site {
	const char *function; /* static text: name of the symbol; NULL = no name */
	/* Static text: "push", "nop", "jmp", "call", "jcc"; "adr", "branch", "bl"; "other". */
	const char *instruction;
	uint64_t file_offset; /* where the uprobe goes */
	uint64_t virtual_address;
	uint32_t offset_bytes; /* from the function's entry */
	enum probe_site_cost cost;
	uint8_t bytes[PROBE_SITE_BYTES]; /* file bytes at the site (0 past the end), for doctor */
};

/*
 * The sites for one object that publishes the variable `symbol`: they cover all ways to change it,
 * or there are none. Tries, in this order:
 * - correlator_state_apply (our gem's only such function);
 * - upstream's two static functions, whose names strip(1) removes;
 * - each function that refers to the variable (not possible without a relocation for it, or with
 *   more than PROBE_SITES_MAX functions);
 * - upstream's two exported functions, which the static ones do not call with some compilers.
 *
 * In each function, takes the first emulated instruction that straight-line code reaches. The
 * search ends at a call, jmp or jcc, which can be the site, and before a store to memory other than
 * the stack or the first reference. Otherwise, and on other machines, takes the entry. Never a
 * multi-byte nop: from Linux 6.18 on a probe on one writes below the stack pointer, where a leaf
 * function may keep data. Returns the number of sites (0: none, run lean). ret_sites is filled from
 * the front.
 */
int probe_site_find(const struct elf_image *image, const char *symbol,
		    struct probe_site ret_sites[static PROBE_SITES_MAX]);

/*
 * The function with which our gem reports that another fiber continues in the same context:
 * correlator_fiber_apply. If it exists, the second argument of both functions is the fiber's
 * number. False if it does not exist.
 */
bool probe_site_find_fiber(const struct elf_image *image, struct probe_site *ret_site);

/* Whether the third argument of both functions is the serial of the state (gem_abi.h). */
bool probe_site_tells_serials(const struct elf_image *image);
