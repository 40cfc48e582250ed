/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/elf_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

struct elf_code_slot {
	uint64_t address;
	enum x86_slot_kind kind;
	uint64_t function;
};

/* False if the relocation does not matter to code. */
static bool slot_of(const struct elf_image *image, const struct elf_relocation *relocation,
		    struct elf_code_slot *ret_slot)
{
	*ret_slot = (struct elf_code_slot){ .address = relocation->offset, .kind = X86_SLOT_TLS };
	switch (relocation->type) {
	case R_X86_64_DTPMOD64:
	case R_X86_64_TLSDESC:
		return true;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		ret_slot->kind = X86_SLOT_FUNCTION;
		return elf_image_defined_at(image, relocation->symbol, &ret_slot->function);
	default:
		return false;
	}
}

static int compare_slots(const void *a, const void *b)
{
	uint64_t first = ((const struct elf_code_slot *)a)->address;
	uint64_t second = ((const struct elf_code_slot *)b)->address;

	return first < second ? -1 : first > second;
}

int elf_code_init(struct elf_code *code, const struct elf_image *image)
{
	struct elf_relocation relocation;
	struct elf_code_slot slot, *slots;
	size_t count = 0, cursor = 0;

	if (elf_image_machine(image) != EM_X86_64)
		return -ENOTSUP;
	while (elf_image_next_relocation(image, &cursor, &relocation))
		count += slot_of(image, &relocation, &slot) && count < ELF_CODE_SLOTS_MAX;
	slots = calloc(count + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	*code = (struct elf_code){ .image = image, .slots = slots };
	cursor = 0;
	while (code->slot_count < count && elf_image_next_relocation(image, &cursor, &relocation))
		code->slot_count += slot_of(image, &relocation, &slots[code->slot_count]);
	qsort(slots, code->slot_count, sizeof(*slots), compare_slots);
	return 0;
}

void elf_code_deinit(struct elf_code *code)
{
	free(code->slots);
	code->slots = NULL;
}

/* Reads as many bytes as there are: a function may be the last of its segment. */
static size_t read_code(const void *context, uint64_t address, uint8_t *buffer, size_t size_bytes)
{
	const struct elf_code *code = context;

	for (; size_bytes > 0; size_bytes--)
		if (elf_image_read(code->image, address, buffer, size_bytes) == 0)
			return size_bytes;
	return 0;
}

static enum x86_slot_kind find_slot(const void *context, uint64_t address, uint64_t *ret_function)
{
	const struct elf_code *code = context;
	const struct elf_code_slot wanted = { .address = address };
	const struct elf_code_slot *slot =
		bsearch(&wanted, code->slots, code->slot_count, sizeof(wanted), compare_slots);

	if (!slot)
		return X86_SLOT_NONE;
	*ret_function = slot->function;
	return slot->kind;
}

struct x86_code_source elf_code_source(const struct elf_code *code)
{
	return (struct x86_code_source){ .context = code, .read = read_code, .slot = find_slot };
}
