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
	PROBE_SITE_EMULATED = 1, /* the instructions below: on x86-64 about 0.7 us */
	PROBE_SITE_SINGLE_STEPPED = 2, /* anything else: about 10 us there */
};

enum {
	PROBE_SITES_MAX = 16,
	PROBE_SITE_BYTES = 16
};

struct probe_site {
	const char *function; /* static text: the symbol's name; NULL = it has none */
	/* Static text: "push", "nop", "jmp", "call", "jcc"; "adr", "branch", "bl"; "other". */
	const char *instruction;
	uint64_t file_offset; /* where the uprobe goes */
	uint64_t virtual_address;
	uint32_t offset_bytes; /* from the function's entry */
	enum probe_site_cost cost;
	uint8_t bytes[PROBE_SITE_BYTES]; /* of the file at the site (0 past its end), for doctor */
};

/*
 * The sites for one object that publishes the variable `symbol`: all ways to change it, or none. In
 * this order: correlator_state_apply (our gem's one such function); upstream's two static
 * functions, which strip(1) takes the names of; each function that refers to the variable (without
 * a relocation for it, or more of them than PROBE_SITES_MAX, this way is closed); upstream's two
 * exported functions, which some compilers do not have the others call. In each function, the first
 * emulated instruction that straight-line code reaches; a call, jmp or jcc is the last that it can
 * be, a store to memory that is not the stack, or the first reference, ends the search before it.
 * Else, and on other machines, the entry. Never a multi-byte nop: from Linux 6.18 on a
 * probe on one writes below the stack pointer, where a leaf function may keep data. Returns the
 * number of sites (0: none, run lean). ret_sites is set from the front.
 */
int probe_site_find(const struct elf_image *image, const char *symbol,
		    struct probe_site ret_sites[static PROBE_SITES_MAX]);

/*
 * Where our gem tells that another fiber goes on in the same context: correlator_fiber_apply. Where
 * it is, the second argument of both functions is the fiber's number. False: it is not there.
 */
bool probe_site_find_fiber(const struct elf_image *image, struct probe_site *ret_site);
