/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the dynamic loader left in the slot of an object's data by which code reaches a
 * thread-local: its module and offset, or its offset from the thread pointer. Whoever knows the
 * variable's name asks tls_symbol.h, which finds its slot; whoever read code knows the slot alone.
 * Keeps nothing; single thread; logs only what is refused. Facts: tls_machine.h; glibc 2.36
 * elf/dl-tls.c, sysdeps/{x86_64,aarch64}/dl-tlsdesc.h; musl 1.2 ldso/dynlink.c.
 *
 * What the loader wrote is bounded: module 1..TLS_SLOT_MODULE_MAX, offsets below 1 GiB and
 * 8-aligned; a descriptor's record must repeat the offset that the ELF file implies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/tls_machine.h"
#include "recorder/target/proc/memory_reader.h"

/* Loaders number modules from 1 on, densely: no process loads this many. */
enum {
	TLS_SLOT_MODULE_MAX = 65535
};

enum tls_slot_kind {
	TLS_SLOT_NONE = 0, /* no slot: the linker knew the offset from the thread pointer */
	TLS_SLOT_MODULE = 1, /* {module, offset}: general dynamic */
	TLS_SLOT_DESCRIPTOR = 2, /* {function, argument}: TLSDESC */
	TLS_SLOT_OFFSET = 3, /* offset from the thread pointer: initial exec */
};

/* A slot, and the variable that is reached by it. */
struct tls_slot {
	enum tls_slot_kind kind;
	bool has_offset_word; /* TLS_SLOT_MODULE: the word behind the module's is the variable's */
	uint64_t virtual_address; /* of the ELF file: add the load bias */
	/* From what the slot stands for to the variable, modulo 2^64. Without a slot: from the
	 * thread pointer. */
	uint64_t delta;
	uint64_t block_offset; /* the variable's in its object's block, by the ELF file */
};

/* Where it is looked up. All borrowed. */
struct tls_object {
	const struct elf_image *image;
	const struct tls_machine *machine; /* the image's */
	const struct memory_reader *reader;
	uint64_t load_bias;
	bool is_musl; /* shape of the DTV */
	/* The variable's, for the log when a slot holds what no loader leaves; NULL: no log. */
	const char *logged_name;
};

/* TLS_SLOT_NONE: a relocation of something else. */
enum tls_slot_kind tls_slot_kind_of(const struct tls_machine *machine,
				    const struct elf_relocation *relocation);

/* The relocation of the offset's word of a TLS_SLOT_MODULE, of the symbol with this index, 0 = of
 * none. False: there is none, the linker wrote the word. */
bool tls_slot_offset_word(const struct elf_image *image, const struct tls_machine *machine,
			  uint64_t virtual_address, size_t symbol_index,
			  struct elf_relocation *ret_relocation);

/*
 * The slot that the loader relocates at an address of the ELF file, and of it what lies delta bytes
 * behind what it stands for. Reads no memory of a process. 0; -ENOENT: it relocates none there, or
 * by a symbol that is another object's.
 */
int tls_slot_at(const struct elf_image *image, const struct tls_machine *machine,
		uint64_t virtual_address, int64_t delta, struct tls_slot *ret_slot);

/*
 * Where the variable is. 0; -EAGAIN: not relocated yet, or bound only when it is first used;
 * -EUCLEAN: the slot holds what no loader leaves there, but one that is at work may;
 * -EFAULT/-ESRCH/-EPERM from reading.
 */
int tls_slot_resolve(const struct tls_object *object, const struct tls_slot *slot,
		     struct tls_location *ret_location);
