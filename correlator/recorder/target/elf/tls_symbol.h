/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds a thread-local variable by name in a live process: the TLS model through which a loaded
 * object reaches it, and the module and offset that the dynamic loader assigned (tls_slot.h). Keeps
 * nothing; single thread; logs only what is refused. Facts: tls_machine.h.
 *
 * Uses the first of:
 * - a relocation of the symbol itself;
 * - the relocation without a symbol (which stands for the object's own TLS block), if it is the
 *   only one;
 * - in a main program, the linker's fixed offset.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/config.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/memory_reader.h"

/* How the location was found, for `doctor`. */
struct tls_symbol {
	struct tls_location location;
	const char *relocation; /* static text: "DTPMOD64+DTPOFF64", "TLSDESC", "TPOFF64", "none" */
	uint64_t slot_address; /* of the relocated slot in the process, 0 = none */
	uint64_t symbol_value; /* st_value: offset in the module's block */
	bool is_above_thread_pointer; /* the machine's static blocks lie above it */
	bool is_confirmed; /* link_map_confirm() agrees; set by the caller */
};

/*
 * Resolves symbol_name in one object that defines it. is_musl selects the DTV's shape. 0; -ENOENT:
 * the object does not define the symbol as TLS; -EAGAIN: not relocated yet; -ENOTSUP: this version
 * does not support the machine, or how it reaches the symbol (logged); -EINVAL: no linker makes
 * such an object (logged); -EUCLEAN: the slot holds a value that no loader leaves there, though a
 * loader still at work may (logged if is_final); -EFAULT/-ESRCH/-EPERM from reading.
 */
int tls_symbol_resolve(const struct elf_image *image, uint64_t load_bias,
		       const struct memory_reader *reader, const char *symbol_name, bool is_musl,
		       bool is_final, struct tls_symbol *ret_symbol);

/*
 * Stores the slot that the loader relocates for the variable, which code refers to, as a virtual
 * address in the ELF file. Reads no process memory. 0; -ENOENT: no relocation leads to the
 * variable, or it is ambiguous which one does.
 */
int tls_symbol_find_slot(const struct elf_image *image, const char *symbol_name,
			 uint64_t *ret_virtual_address);
