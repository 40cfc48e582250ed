/*
 * The slot of an object's data that the dynamic loader relocated for one thread-local variable,
 * found by the ELF file's relocations. Reads no memory of the process. Single thread (libelf).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf/elf_image.h"
#include "target/elf/tls_machine.h"

struct tls_slot {
	enum tls_slot_kind kind; /* TLS_SLOT_NONE: no relocation leads to the variable */
	uint64_t virtual_address; /* of the ELF file: add the load bias */
	uint64_t
		delta; /* to add to what the slot stands for, modulo 2^64: 0 but with odd addends */
	bool has_offset_word; /* TLS_SLOT_MODULE: the loader writes the offset too */
};

/*
 * Takes the relocation of the symbol itself; else the one without a symbol, which stands for the
 * object's own TLS block, if its addend fits. Returns how many relocations of that second sort
 * there were: above 1 it is open which is the variable's, and *ret_slot is one of them.
 */
size_t tls_slot_find(const struct elf_image *image, const struct tls_machine *machine,
		     const struct elf_symbol *symbol, struct tls_slot *ret_slot);
