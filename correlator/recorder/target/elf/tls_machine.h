/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How machines and C libraries differ in the placement of thread-locals. Pure. Facts: ELF handling
 * of thread-local storage, sections 3 and 4; relocation types: x86-64 psABI and AArch64 ELF psABI;
 * shapes of the DTV: glibc 2.36 sysdeps/{x86_64,aarch64}/nptl/tls.h, elf/dl-tls.c, and musl 1.2
 * src/internal/pthread_impl.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/config.h>

#include "recorder/target/elf/elf_image.h"

struct tls_machine {
	uint16_t elf_machine;
	bool is_above_thread_pointer; /* blocks lie above the thread pointer (variant I) */
	uint32_t module_relocation; /* DTPMOD64 */
	uint32_t offset_relocation; /* DTPOFF64, DTPREL64 */
	uint32_t descriptor_relocation;
	uint32_t static_relocation; /* TPOFF64, TPREL64 */
	int32_t glibc_dtv_offset; /* of the pointer to the DTV, from the thread pointer */
	int32_t musl_dtv_offset;
	uint64_t static_offset_limit; /* descriptor arguments of smaller magnitude are offsets */
};

/* NULL: the TLS of the machine is not known. */
const struct tls_machine *tls_machine_of(const struct elf_image *image);

/* A location with the DTV of the machine and libc, all else 0. */
struct tls_location tls_machine_location(const struct tls_machine *machine, bool is_musl);

/* True if a value can be the static offset of a variable from the thread pointer, modulo 2^64. */
bool tls_machine_is_static_offset(const struct tls_machine *machine, uint64_t offset);

/*
 * Stores the offset from the thread pointer, modulo 2^64, of block_offset in a main program's TLS
 * block, as linkers compute it. False: the alignment of the PT_TLS segment is not a power of two.
 */
bool tls_machine_program_offset(const struct tls_machine *machine, const struct elf_segment *tls,
				uint64_t block_offset, uint64_t *ret_offset);
