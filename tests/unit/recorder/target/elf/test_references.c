/* SPDX-License-Identifier: GPL-2.0-only */
/* Which instructions refer to a place, on both machines: made by hand, and all that is nearly so.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/elf/arm64_code.h"
#include "recorder/target/elf/x86_code.h"
#include "recorder/target/forged_elf.h"

#define CODE_ADDRESS UINT64_C(0x40000000)

struct object {
	struct forged_elf elf;
	uint8_t code[64];
};

static struct object make_object(uint16_t machine)
{
	struct object object = { .elf = forged_elf_make(machine, "x", 0) };

	object.elf.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					       .p_flags = PF_R | PF_X,
					       .p_offset = offsetof(struct object, code),
					       .p_vaddr = CODE_ADDRESS,
					       .p_filesz = sizeof(object.code) };
	return object;
}

static size_t find(const struct object *object, uint64_t slot, uint64_t addresses[static 4])
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	assert_int_equal(elf_image_open_memory(object, sizeof(*object), &image), 0);
	return x86_code_find_references(image, slot, addresses, 4) +
	       arm64_code_find_references(image, slot, addresses, 4);
}

/* At the 10th byte, with what is to be added to where it ends. */
static bool x86_refers(uint8_t prefix, uint8_t opcode, uint8_t operands, int32_t displacement,
		       uint64_t slot)
{
	struct object object = make_object(EM_X86_64);
	const uint8_t head[] = { prefix, opcode, operands };
	uint64_t addresses[4] = { 0 };
	size_t count;

	memset(object.code, 0x90, sizeof(object.code));
	memcpy(object.code + 10, head, sizeof(head));
	memcpy(object.code + 13, &displacement, sizeof(displacement));
	count = find(&object, slot, addresses);
	assert_true(count <= 1);
	assert_int_equal(addresses[0], count ? CODE_ADDRESS + 10 : 0);
	return count;
}

TEST(references_on_x86_are_lea_mov_and_add)
{
	const uint64_t end = CODE_ADDRESS + 17;

	for (unsigned int byte = 0; byte < 256; byte++) {
		uint8_t value = (uint8_t)byte;

		assert_int_equal(x86_refers(value, 0x8d, 0x05, 0x1000, end + 0x1000),
				 value >= 0x48 && value <= 0x4f);
		assert_int_equal(x86_refers(0x48, value, 0x05, 0x1000, end + 0x1000),
				 value == 0x8d || value == 0x8b || value == 0x03);
		assert_int_equal(x86_refers(0x48, 0x8b, value, 0x1000, end + 0x1000),
				 (value & 0xc7) == 0x05);
	}
	assert_true(x86_refers(0x48, 0x03, 0x05, -0x12345678, end - 0x12345678));
	assert_true(x86_refers(0x48, 0x03, 0x05, INT32_MAX, end + INT32_MAX));
	assert_false(x86_refers(0x48, 0x03, 0x05, 0x1000, end + 0x1001));
	assert_false(x86_refers(0x48, 0x03, 0x05, 0x1000, end + 0xfff));
}

static uint32_t adrp(unsigned int to, int32_t pages)
{
	return 0x90000000 | ((uint32_t)pages & 3) << 29 | ((uint32_t)pages >> 2 & 0x7ffff) << 5 |
	       to;
}

static uint32_t add(unsigned int from, uint32_t immediate)
{
	return 0x91000000 | immediate << 10 | from << 5 | 9;
}

static uint32_t load(unsigned int from, uint32_t offset)
{
	return 0xf9400000 | offset / 8 << 10 | from << 5 | 9;
}

/* Of two instructions, the second one. */
static bool arm64_refers(uint32_t first, uint32_t second, uint64_t slot)
{
	struct object object = make_object(EM_AARCH64);
	const uint32_t nop = 0xd503201f, code[] = { nop, first, nop, second };
	uint64_t addresses[4] = { 0 };
	size_t count;

	memset(object.code, 0, sizeof(object.code));
	memcpy(object.code, code, sizeof(code));
	count = find(&object, slot, addresses);
	assert_true(count <= 1);
	assert_int_equal(addresses[0], count ? CODE_ADDRESS + 12 : 0);
	return count;
}

TEST(references_on_arm64_are_page_and_offset_pairs)
{
	static const int32_t pages[] = {
		0, 1, 2, 3, 4, 0x12345, 0xfffff, -1, -2, -0x12345, -0x40000
	};

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		uint64_t page = CODE_ADDRESS + (uint64_t)((int64_t)pages[i] * 4096);

		for (unsigned int base = 0; base < 31; base += 10) {
			assert_true(
				arm64_refers(adrp(base, pages[i]), add(base, 0x123), page + 0x123));
			assert_true(arm64_refers(adrp(base, pages[i]), load(base, 0x7f8),
						 page + 0x7f8));
			assert_false(arm64_refers(adrp(base, pages[i]), add(base + 1, 0x123),
						  page + 0x123));
			assert_false(arm64_refers(adrp(base + 1, pages[i]), add(base, 0x123),
						  page + 0x123));
		}
		assert_true(arm64_refers(adrp(1, pages[i]), add(1, 0xfff), page + 0xfff));
		assert_false(arm64_refers(adrp(1, pages[i]), add(1, 0xff8), page + 0xff0));
		assert_false(arm64_refers(adrp(1, pages[i]), load(1, 0x7f8), page + 0xff));
		assert_false(arm64_refers(adrp(1, pages[i]), add(1, 8), page + 4096 + 8));
		assert_false(arm64_refers(adrp(1, pages[i]), add(1, 8), page - 4096 + 8));
	}
	/* Of other bits: 32-bit add, a shifted one, a store, a load of four bytes, adr. */
	assert_false(arm64_refers(adrp(1, 1), add(1, 8) & 0x7fffffff, CODE_ADDRESS + 4104));
	assert_false(arm64_refers(adrp(1, 1), add(1, 8) | 1 << 22, CODE_ADDRESS + 4104));
	assert_false(arm64_refers(adrp(1, 1), load(1, 8) & ~(1u << 22), CODE_ADDRESS + 4104));
	assert_false(arm64_refers(adrp(1, 1), load(1, 8) & ~(1u << 30), CODE_ADDRESS + 4104));
	assert_false(arm64_refers(adrp(1, 1) & 0x7fffffff, add(1, 8), CODE_ADDRESS + 4104));
}

TEST(references_on_arm64_end_when_register_gets_another_page)
{
	struct object object = make_object(EM_AARCH64);
	const uint32_t code[] = { adrp(1, 1), add(1, 8),  adrp(1, 2),
				  add(1, 8),  adrp(1, 1), load(1, 8) };
	uint64_t addresses[4];

	memcpy(object.code, code, sizeof(code));
	assert_int_equal(find(&object, CODE_ADDRESS + 4104, addresses), 2);
	assert_int_equal(addresses[0], CODE_ADDRESS + 4);
	assert_int_equal(addresses[1], CODE_ADDRESS + 20);
}

TEST(references_are_not_found_on_other_machines)
{
	struct object object = make_object(EM_RISCV);
	const uint32_t code[] = { adrp(1, 1), add(1, 8) };
	static const uint8_t lea[] = { 0x48, 0x8d, 0x05, 0, 0, 0, 0 };
	uint64_t addresses[4];

	memcpy(object.code, code, sizeof(code));
	memcpy(object.code + 16, lea, sizeof(lea));
	assert_int_equal(find(&object, CODE_ADDRESS + 4104, addresses), 0);
	assert_int_equal(find(&object, CODE_ADDRESS + 23, addresses), 0);
}
