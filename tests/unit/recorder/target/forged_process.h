/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that does not exist, which has loaded an object with one thread-local variable: the
 * object's file, and the words that the loader relocated.
 */
#pragma once

#include <errno.h>

#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/forged_elf.h"
#include "recorder/target/proc/memory_reader.h"

#define FORGED_VARIABLE "ruby_profiler_state"

/* Words of the process, from WORDS_ADDRESS on; the ELF file is loaded at BIAS. */
enum {
	WORD_COUNT = 64,
	FORGED_VARIABLE_OFFSET = 0x20, /* in its block */
};

#define WORDS_ADDRESS 0x7f0000010000ULL
#define SLOT	      0x8000ULL /* the first word */
#define BIAS	      (WORDS_ADDRESS - SLOT)

struct forged_process {
	struct forged_elf elf;
	uint64_t words[WORD_COUNT];
	struct tls_symbol symbol;
};

static inline int forged_process_read(const struct memory_reader *reader, uint64_t address,
				      void *buffer, size_t size_bytes)
{
	uint64_t distance = address - WORDS_ADDRESS;

	if (distance >= WORD_COUNT * 8 || size_bytes > WORD_COUNT * 8 - distance)
		return -EFAULT;
	memcpy(buffer, (const char *)reader->context + distance, size_bytes);
	return 0;
}

static inline struct forged_process make_process(uint16_t machine, uint32_t relocation,
						 uint32_t symbol, int64_t addend)
{
	struct forged_process process = { .elf = forged_elf_make(machine, FORGED_VARIABLE,
								 FORGED_VARIABLE_OFFSET) };

	process.elf.relocations[0] = (Elf64_Rela){
		.r_offset = SLOT,
		.r_info = ELF64_R_INFO(symbol, relocation),
		.r_addend = addend,
	};
	return process;
}

static inline void add_relocation(struct forged_process *process, size_t index, uint64_t offset,
				  uint32_t type, uint32_t symbol)
{
	process->elf.relocations[index] = (Elf64_Rela){
		.r_offset = offset,
		.r_info = ELF64_R_INFO(symbol, type),
	};
}

static inline struct memory_reader forged_process_reader(struct forged_process *process)
{
	return (struct memory_reader){ .read = forged_process_read, .context = process->words };
}
