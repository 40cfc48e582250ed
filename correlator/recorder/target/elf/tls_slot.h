/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot in an object's data through which code reaches a thread-local. The dynamic loader fills
 * it with the variable's module and offset, or with its offset from the thread pointer. A caller
 * that has the variable's name uses tls_symbol.h, which finds the slot; machine code refers to the
 * slot alone. Keeps nothing; single thread; logs only what is refused. Facts: tls_machine.h; glibc
 * 2.36 elf/dl-tls.c, sysdeps/{x86_64,aarch64}/dl-tlsdesc.h; musl 1.2 ldso/dynlink.c.
 *
 * The values in a slot are bounded: module 1..TLS_SLOT_MODULE_MAX; offsets in a block below 1 GiB,
 * those from the thread pointer as in tls_machine.h, all 8-aligned; a descriptor's record must
 * repeat the offset that the ELF file implies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/tls_machine.h"
#include "recorder/target/proc/memory_reader.h"

/* Loaders number modules densely, from 1 on; no process loads this many. */
enum {
	TLS_SLOT_MODULE_MAX = 65535
};

enum tls_slot_kind {
	TLS_SLOT_NONE = 0, /* no slot: the linker knew the offset from the thread pointer */
	TLS_SLOT_MODULE = 1, /* {module, offset}: general dynamic */
	TLS_SLOT_DESCRIPTOR = 2, /* {function, argument}: TLSDESC */
	TLS_SLOT_OFFSET = 3, /* offset from the thread pointer: initial exec */
};

/* A slot, and the variable that it leads to. */
struct tls_slot {
	enum tls_slot_kind kind;
	bool has_offset_word; /* TLS_SLOT_MODULE: the next word is the variable's offset */
	uint64_t virtual_address; /* in the ELF file: add the load bias */
	/*
	 * Offset of the variable from what the slot stands for, modulo 2^64. Without a slot: from
	 * the thread pointer.
	 */
	uint64_t delta;
	uint64_t block_offset; /* of the variable in its object's TLS block, by the ELF file */
};

/* The object whose slot is resolved. All borrowed. */
struct tls_object {
	const struct elf_image *image;
	const struct tls_machine *machine; /* the image's */
	const struct memory_reader *reader;
	uint64_t load_bias;
	bool is_musl; /* shape of the DTV */
	/* Name to log if the slot holds a value that no loader leaves; NULL: no log. */
	const char *logged_name;
};

/* TLS_SLOT_NONE: the relocation is not one of a TLS slot. */
enum tls_slot_kind tls_slot_kind_of(const struct tls_machine *machine,
				    const struct elf_relocation *relocation);

/*
 * Finds the relocation of a TLS_SLOT_MODULE's offset word; symbol_index must match, 0 = no symbol.
 * False: there is none, the linker wrote the word.
 */
bool tls_slot_offset_word(const struct elf_image *image, const struct tls_machine *machine,
			  uint64_t virtual_address, size_t symbol_index,
			  struct elf_relocation *ret_relocation);

/*
 * Describes the slot that the loader relocates at virtual_address, and the variable delta bytes
 * after what the slot stands for. Reads no process memory. 0; -ENOENT: the loader relocates no TLS
 * slot there, or uses a symbol of another object.
 */
int tls_slot_at(const struct elf_image *image, const struct tls_machine *machine,
		uint64_t virtual_address, int64_t delta, struct tls_slot *ret_slot);

/*
 * Finds the variable's location. 0; -EAGAIN: not relocated yet, or bound only on first use;
 * -EUCLEAN: the slot holds a value that no loader leaves there, though a loader still at work may;
 * -EFAULT/-ESRCH/-EPERM from reading.
 */
int tls_slot_resolve(const struct tls_object *object, const struct tls_slot *slot,
		     struct tls_location *ret_location);
