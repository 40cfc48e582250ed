/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/arm64_code.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "recorder/target/elf/code_scan.h"

enum {
	REGISTERS = 32,
	STACK_POINTER = 31 /* as the base of a load or store */
};

static const uint64_t PAGE_MASK = 4095;

static bool is(uint32_t instruction, uint32_t mask, uint32_t value)
{
	return (instruction & mask) == value;
}

static unsigned int base_of(uint32_t instruction)
{
	return instruction >> 5 & (REGISTERS - 1);
}

/* The class with bit 27 set and bit 25 clear. */
static enum arm64_code_kind decode_memory(uint32_t instruction)
{
	bool is_pair = is(instruction, 0x3a000000, 0x28000000);
	bool is_single = is(instruction, 0x3b000000, 0x39000000) || /* unsigned offset */
			 is(instruction, 0x3b200000, 0x38000000) || /* signed, pre-/post-indexed */
			 is(instruction, 0x3b200c00, 0x38200800); /* register offset */
	bool is_vector = instruction & 1U << 26;
	unsigned int operation = instruction >> 22 & 3;
	bool is_store;

	if (is(instruction, 0x3b000000, 0x18000000)) /* load of a literal */
		return ARM64_CODE_PLAIN;
	if (!is_pair && !is_single)
		return ARM64_CODE_OTHER;
	/* For a vector register, operation 2 stores 16 bytes. */
	is_store = is_pair ? !(operation & 1) : operation == 0 || (is_vector && operation == 2);
	return is_store && base_of(instruction) != STACK_POINTER ? ARM64_CODE_STORE
								 : ARM64_CODE_PLAIN;
}

enum arm64_code_kind arm64_code_decode(uint32_t instruction)
{
	if (is(instruction, 0x1f000000, 0x10000000))
		return ARM64_CODE_ADDRESS;
	if (is(instruction, 0xfc000000, 0x94000000))
		return ARM64_CODE_CALL;
	if (is(instruction, 0xfc000000, 0x14000000) || is(instruction, 0xff000010, 0x54000000) ||
	    is(instruction, 0x7c000000, 0x34000000))
		return ARM64_CODE_BRANCH;
	/* Arithmetic with immediates, registers, vectors; hints (nop, bti, paciasp); mrs. */
	if (is(instruction, 0x1c000000, 0x10000000) || is(instruction, 0x0e000000, 0x0a000000) ||
	    is(instruction, 0x0e000000, 0x0e000000) || is(instruction, 0xfffff01f, 0xd503201f) ||
	    is(instruction, 0xfff00000, 0xd5300000))
		return ARM64_CODE_PLAIN;
	if (is(instruction, 0x0a000000, 0x08000000))
		return decode_memory(instruction);
	return ARM64_CODE_OTHER;
}

struct search {
	uint64_t slot;
	bool has_page[REGISTERS]; /* the register holds the slot's page */
};

static uint64_t page_of(uint32_t instruction, uint64_t address)
{
	uint32_t pages = (instruction >> 5 & 0x7ffff) << 2 | (instruction >> 29 & 3);
	int64_t signed_pages = (int32_t)(pages << 11) >> 11;

	return (address & ~PAGE_MASK) + (uint64_t)signed_pages * (PAGE_MASK + 1);
}

static bool refers(void *context, const uint8_t *code, uint64_t address)
{
	struct search *search = context;
	uint32_t instruction;
	uint64_t immediate;

	memcpy(&instruction, code, sizeof(instruction));
	immediate = instruction >> 10 & 0xfff;
	if (is(instruction, 0x9f000000, 0x90000000)) {
		search->has_page[instruction & (REGISTERS - 1)] =
			page_of(instruction, address) == (search->slot & ~PAGE_MASK);
		return false;
	}
	/* add, or a 64-bit ldr, whose offset counts 8-byte words */
	if (is(instruction, 0xffc00000, 0xf9400000))
		immediate *= 8;
	else if (!is(instruction, 0xffc00000, 0x91000000))
		return false;
	return search->has_page[base_of(instruction)] && immediate == (search->slot & PAGE_MASK);
}

size_t arm64_code_find_references(const struct elf_image *image, uint64_t slot,
				  uint64_t *ret_addresses, size_t limit)
{
	struct search search = { .slot = slot };

	if (elf_image_machine(image) != EM_AARCH64)
		return 0;
	return code_scan_run((struct code_scan){ .image = image,
						 .step_bytes = ARM64_CODE_BYTES,
						 .instruction_bytes = ARM64_CODE_BYTES,
						 .is_wanted = refers,
						 .context = &search,
						 .addresses = ret_addresses,
						 .limit = limit });
}
