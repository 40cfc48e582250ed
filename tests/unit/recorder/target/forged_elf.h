/* SPDX-License-Identifier: GPL-2.0-only */
/* A small ELF file built by hand: one symbol, a few relocations, and whatever a test breaks in it.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	FORGED_RELOCATIONS_MAX = 4,
	FORGED_SECTIONS = 4,
	FORGED_SYMBOL_INDEX = 1,
};

struct forged_elf {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Sym symbols[2];
	Elf64_Rela relocations[FORGED_RELOCATIONS_MAX];
	char strings[64];
	Elf64_Shdr sections[FORGED_SECTIONS];
};

#define FORGED_SECTION(kind, member, entry_type, flags_value, link_value)                     \
	{                                                                                     \
		.sh_type = (kind), .sh_flags = (flags_value),                                 \
		.sh_offset = offsetof(struct forged_elf, member),                             \
		.sh_size = sizeof(((struct forged_elf *)0)->member), .sh_link = (link_value), \
		.sh_addralign = 8, .sh_entsize = sizeof(entry_type)                           \
	}

static inline struct forged_elf forged_elf_make(uint16_t machine, const char *symbol_name,
						uint64_t symbol_value)
{
	struct forged_elf elf = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = machine,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct forged_elf, segments),
			.e_shoff = offsetof(struct forged_elf, sections),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = FORGED_SECTIONS,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof(struct forged_elf),
			  .p_memsz = sizeof(struct forged_elf), .p_align = 4096 },
			{ .p_type = PT_TLS, .p_flags = PF_R, .p_vaddr = 0x1000, .p_memsz = 0x28,
			  .p_align = 16 },
		},
		.symbols = {
			[FORGED_SYMBOL_INDEX] = {
				.st_name = 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
				.st_shndx = 1,
				.st_value = symbol_value,
				.st_size = 8,
			},
		},
		.sections = {
			[1] = FORGED_SECTION(SHT_DYNSYM, symbols, Elf64_Sym, SHF_ALLOC, 2),
			[2] = FORGED_SECTION(SHT_STRTAB, strings, char, SHF_ALLOC, 0),
			[3] = FORGED_SECTION(SHT_RELA, relocations, Elf64_Rela, SHF_ALLOC, 1),
		},
	};

	(void)strncpy(elf.strings + 1, symbol_name, sizeof(elf.strings) - 2);
	return elf;
}
