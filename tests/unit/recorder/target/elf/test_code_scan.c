/* SPDX-License-Identifier: GPL-2.0-only */
/* Every place in an object's code is looked at once, whole, and no more code than so much. */
#include "recorder/target/elf/code_scan.h"

#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/forged_elf.h"

#define CODE_ADDRESS UINT64_C(0x100000)

enum {
	CODE_BYTES = 3 * CODE_SCAN_CHUNK_BYTES + 100,
	LIMIT = 4,
};

struct object {
	struct forged_elf elf;
	uint8_t code[CODE_BYTES];
};

static struct object *make_object(size_t code_bytes)
{
	struct object *object = calloc(1, sizeof(*object));

	assert_non_null(object);
	object->elf = forged_elf_make(EM_X86_64, "x", 0);
	object->elf.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
						.p_flags = PF_R | PF_X,
						.p_offset = offsetof(struct object, code),
						.p_vaddr = CODE_ADDRESS,
						.p_filesz = code_bytes };
	return object;
}

static bool is_marked(void *context, const uint8_t *code, uint64_t address)
{
	const size_t *bytes = context;

	(void)address;
	for (size_t i = 0; i < *bytes; i++)
		if (code[i] != 0xab)
			return false;
	return true;
}

static size_t scan(const struct object *object, size_t instruction_bytes, size_t step_bytes,
		   uint64_t addresses[static LIMIT])
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	assert_int_equal(elf_image_open_memory(object, sizeof(*object), &image), 0);
	return code_scan_run((struct code_scan){
		.image = image,
		.instruction_bytes = instruction_bytes,
		.step_bytes = step_bytes,
		.is_wanted = is_marked,
		.context = &instruction_bytes,
		.addresses = addresses,
		.limit = LIMIT,
	});
}

TEST(code_scan_visits_each_place_once_across_chunks)
{
	struct object *object = make_object(CODE_BYTES);

	for (size_t border = 0; border <= 3; border++) {
		for (size_t i = 0; i < 24; i++) {
			size_t at = border * CODE_SCAN_CHUNK_BYTES + i;
			uint64_t addresses[LIMIT] = { 0 };

			if (at < 12)
				continue;
			at -= 12;
			memset(object->code + at, 0xab, 7);
			assert_int_equal(scan(object, 7, 1, addresses), 1);
			assert_int_equal(addresses[0], CODE_ADDRESS + at);
			memset(object->code + at, 0, 7);
			/* Instructions of four bytes, at each fourth. */
			if (at % 4)
				continue;
			memset(object->code + at, 0xab, 4);
			assert_int_equal(scan(object, 4, 4, addresses), 1);
			assert_int_equal(addresses[0], CODE_ADDRESS + at);
			memset(object->code + at, 0, 4);
		}
	}
	free(object);
}

TEST(code_scan_requires_whole_instruction_in_executable_segment)
{
	for (size_t bytes = 93; bytes <= 107; bytes++) {
		struct object *object = make_object(bytes);
		uint64_t addresses[LIMIT];

		memset(object->code + 93, 0xab, 7);
		assert_int_equal(scan(object, 7, 1, addresses), bytes >= 100);
		/* What nobody executes is no code. */
		object->elf.segments[1].p_flags = PF_R;
		assert_int_equal(scan(object, 7, 1, addresses), 0);
		free(object);
	}
}

TEST(code_scan_counts_matches_beyond_array_capacity)
{
	struct object *object = make_object(CODE_BYTES);
	uint64_t *addresses = malloc(LIMIT * sizeof(*addresses));

	assert_non_null(addresses);
	memset(object->code + 50, 0xab, 7 + LIMIT + 1);
	assert_int_equal(scan(object, 7, 1, addresses), LIMIT + 2);
	for (uint64_t i = 0; i < LIMIT; i++)
		assert_int_equal(addresses[i], CODE_ADDRESS + 50 + i);
	free(addresses);
	free(object);
}

static size_t looked_at;

static bool count_looks(void *context, const uint8_t *code, uint64_t address)
{
	(void)context;
	(void)code;
	(void)address;
	looked_at++;
	return false;
}

static int read_zeros(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct forged_elf *elf = source;

	memset(buffer, 0, size_bytes);
	if (offset < sizeof(*elf))
		memcpy(buffer, (const char *)elf + offset,
		       sizeof(*elf) - offset < size_bytes ? sizeof(*elf) - offset : size_bytes);
	return 0;
}

TEST(code_scan_limits_total_bytes)
{
	static const int64_t more[] = { -4, 0, 4, 4096 };
	struct forged_elf elf = forged_elf_make(EM_X86_64, "x", 0);
	struct elf_reader reader = { .read = read_zeros,
				     .source = &elf,
				     .size_bytes = UINT64_C(1) << 40 };

	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;
		uint64_t half = CODE_SCAN_BYTES_MAX / 2;

		/* In two segments that lie over each other. */
		elf.segments[0] = elf.segments[1] =
			(Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = half };
		elf.segments[1].p_filesz = half + (uint64_t)more[i];
		assert_int_equal(elf_image_open(&reader, &image), 0);
		looked_at = 0;
		assert_int_equal(code_scan_run((struct code_scan){ .image = image,
								   .instruction_bytes = 4,
								   .step_bytes = 4,
								   .is_wanted = count_looks }),
				 0);
		assert_int_equal(looked_at, CODE_SCAN_BYTES_MAX / 4 - (more[i] < 0));
	}
}
