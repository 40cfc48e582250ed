/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding a thread-local variable by its name in a live process: which TLS model one loaded object
 * reaches it by, and the module and offset that the dynamic loader gave it (tls_slot.h). Keeps
 * nothing; single thread; logs only what is refused. Facts: tls_machine.h.
 *
 * Reached by: a relocation of the symbol itself, else one without a symbol (which stands for the
 * object's own TLS block) when it is the only one, else, in a main program, the linker's fixed
 * offset.
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
	bool is_above_thread_pointer; /* where the machine has its static blocks */
	bool is_confirmed; /* link_map_confirm() led there, too: set by who asked it */
};

/*
 * Resolves symbol_name in one object that defines it. is_musl selects the DTV's shape.
 * 0; -ENOENT: the object does not define the symbol as TLS; -EAGAIN: not relocated yet;
 * -ENOTSUP: a machine, or a way to reach it, that this version does not know (logged);
 * -EINVAL: no linker makes such an object (logged); -EUCLEAN: the slot holds what no loader leaves
 * there, but one that is at work may (logged if is_final); -EFAULT/-ESRCH/-EPERM from reading.
 */
int tls_symbol_resolve(const struct elf_image *image, uint64_t load_bias,
		       const struct memory_reader *reader, const char *symbol_name, bool is_musl,
		       bool is_final, struct tls_symbol *ret_symbol);

/*
 * The slot that the loader relocates for the variable, as an address of the ELF file: what code
 * refers to. Reads no memory of a process. 0; -ENOENT: no relocation leads to the variable, or it
 * is open which does.
 */
int tls_symbol_find_slot(const struct elf_image *image, const char *symbol_name,
			 uint64_t *ret_virtual_address);
