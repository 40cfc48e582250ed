/*
 * What the machines differ in for thread-local storage. Static tables, pure.
 * Numbers: x86-64 psABI and AArch64 ELF psABI, "relocation types"; DTV shapes: glibc 2.36
 * sysdeps/{x86_64,aarch64}/nptl/tls.h, elf/dl-tls.c, and musl 1.2 src/internal/pthread_impl.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/config.h>

#include "target/elf/elf_image.h"

enum tls_slot_kind {
	TLS_SLOT_NONE = 0,
	TLS_SLOT_MODULE = 1, /* {module, offset}: general dynamic */
	TLS_SLOT_DESCRIPTOR = 2, /* {function, argument}: TLSDESC */
	TLS_SLOT_OFFSET = 3, /* offset from the thread pointer: initial exec */
};

struct tls_machine {
	uint16_t elf_machine;
	bool is_above_thread_pointer; /* blocks lie above the thread pointer (variant I) */
	uint32_t module_relocation; /* DTPMOD64 */
	uint32_t offset_relocation; /* DTPOFF64, DTPREL64 */
	uint32_t descriptor_relocation;
	uint32_t static_relocation; /* TPOFF64, TPREL64 */
	int32_t glibc_dtv_offset; /* of the DTV's address, from the thread pointer */
	int32_t musl_dtv_offset;
	uint64_t static_offset_limit; /* a descriptor's argument below it is no address */
};

/* True if blocks lie above the thread pointer; false also for an unknown machine. */
bool tls_machine_is_above(uint16_t elf_machine);
/* NULL: a machine whose TLS is not known. Static storage. */
const struct tls_machine *tls_machine_find(uint16_t elf_machine);
enum tls_slot_kind tls_machine_slot_kind(const struct tls_machine *machine, uint32_t relocation);
/* The location with the machine's and libc's DTV, all else 0. */
struct tls_location tls_machine_location(const struct tls_machine *machine, bool is_musl);
/* True if a value can be the static offset of a variable from the thread pointer. */
bool tls_machine_is_static_offset(const struct tls_machine *machine, uint64_t offset);
/*
 * Offset from the thread pointer of st_value in a main program's block, as linkers compute it
 * (local exec). 0, or -EINVAL: the PT_TLS segment's alignment is no power of two.
 */
int tls_machine_local_exec(const struct tls_machine *machine, const struct elf_segment *tls,
			   uint64_t symbol_value, uint64_t *ret_offset);
