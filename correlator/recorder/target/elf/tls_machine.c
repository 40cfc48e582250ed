/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/tls_machine.h"

#include <elf.h>
#include <stddef.h>

enum {
	GLIBC_DTV_ENTRY_BYTES = 16, /* {value, to_free} */
	MUSL_DTV_ENTRY_BYTES = 8,
	THREAD_CONTROL_BLOCK_BYTES = 16, /* aarch64: two words at the thread pointer */
	STATIC_OFFSET_MAX = 1 << 30,
};

static const struct tls_machine machines[] = {
	{
		.elf_machine = EM_X86_64,
		.is_above_thread_pointer = false,
		.module_relocation = R_X86_64_DTPMOD64,
		.offset_relocation = R_X86_64_DTPOFF64,
		.descriptor_relocation = R_X86_64_TLSDESC,
		.static_relocation = R_X86_64_TPOFF64,
		.glibc_dtv_offset = 8,
		.musl_dtv_offset = 8,
		.static_offset_limit = STATIC_OFFSET_MAX,
	},
	{
		.elf_machine = EM_AARCH64,
		.is_above_thread_pointer = true,
		.module_relocation = R_AARCH64_TLS_DTPMOD,
		.offset_relocation = R_AARCH64_TLS_DTPREL,
		.descriptor_relocation = R_AARCH64_TLSDESC,
		.static_relocation = R_AARCH64_TLS_TPREL,
		.glibc_dtv_offset = 0,
		.musl_dtv_offset = -8,
		/*
		 * Offsets are positive here: only a value too low to be mapped is surely no
		 * address.
		 */
		.static_offset_limit = 65536,
	},
};

const struct tls_machine *tls_machine_of(const struct elf_image *image)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf_machine == elf_image_machine(image))
			return &machines[i];
	return NULL;
}

struct tls_location tls_machine_location(const struct tls_machine *machine, bool is_musl)
{
	return (struct tls_location){
		.model = TLS_MODEL_NONE,
		.dtv_pointer_offset =
			is_musl ? machine->musl_dtv_offset : machine->glibc_dtv_offset,
		.dtv_entry_bytes = is_musl ? MUSL_DTV_ENTRY_BYTES : GLIBC_DTV_ENTRY_BYTES,
		.dtv_has_length = !is_musl,
	};
}

bool tls_machine_is_static_offset(const struct tls_machine *machine, uint64_t offset)
{
	if (machine->is_above_thread_pointer)
		return offset < machine->static_offset_limit;
	return offset > -machine->static_offset_limit;
}

bool tls_machine_program_offset(const struct tls_machine *machine, const struct elf_segment *tls,
				uint64_t block_offset, uint64_t *ret_offset)
{
	uint64_t mask = tls->align ? tls->align - 1 : 0;
	uint64_t block;

	if (tls->align & mask)
		return false;
	if (machine->is_above_thread_pointer)
		block = THREAD_CONTROL_BLOCK_BYTES +
			((tls->virtual_address - THREAD_CONTROL_BLOCK_BYTES) & mask);
	else
		block = -(tls->memory_bytes + (-(tls->virtual_address + tls->memory_bytes) & mask));
	*ret_offset = block + block_offset;
	return true;
}
