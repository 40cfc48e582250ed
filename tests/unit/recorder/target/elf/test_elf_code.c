/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/elf_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/target/open_elf.h"

static struct elf_image *open_fixture(const char *path)
{
	struct elf_image *image = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(open_elf(fd, &image), 0);
	(void)close(fd);
	return image;
}

/* The first relocation of a type. */
static uint64_t find_relocation(const struct elf_image *image, uint32_t type)
{
	struct elf_relocation relocation;
	size_t cursor = 0;

	while (elf_image_next_relocation(image, &cursor, &relocation))
		if (relocation.type == type)
			return relocation.offset;
	return 0;
}

static enum x86_slot_kind slot_at(const struct elf_code *code, uint64_t address,
				  uint64_t *ret_function)
{
	struct x86_code_source source = elf_code_source(code);

	return source.slot(source.context, address, ret_function);
}

TEST(elf_code_identifies_thread_local_slot)
{
	struct elf_image *image = open_fixture(FIXTURE_TLS_GENERAL_DYNAMIC);
	uint64_t function, slot = find_relocation(image, R_X86_64_DTPMOD64);
	struct elf_code code;

	assert_int_not_equal(slot, 0);
	assert_int_equal(elf_code_init(&code, image), 0);
	assert_int_equal(slot_at(&code, slot, &function), X86_SLOT_TLS);
	assert_int_equal(slot_at(&code, slot + 1, &function), X86_SLOT_NONE);
	assert_int_equal(slot_at(&code, slot + 8, &function), X86_SLOT_NONE);
	elf_code_deinit(&code);
	elf_image_free(image);
}

TEST(elf_code_resolves_function_slot_within_same_object)
{
	struct elf_image *image = open_fixture(FIXTURE_UPSTREAM_GEM);
	struct elf_symbol symbol;
	struct elf_code code;
	uint64_t function = 0;

	assert_true(elf_image_find_defined(image, "Ruby_Profiler_State_for", &symbol));
	assert_int_equal(elf_code_init(&code, image), 0);
	assert_int_equal(slot_at(&code, find_relocation(image, R_X86_64_JUMP_SLOT), &function),
			 X86_SLOT_FUNCTION);
	assert_int_equal(function, symbol.value);
	/* Another object's. */
	assert_int_equal(slot_at(&code, find_relocation(image, R_X86_64_GLOB_DAT), &function),
			 X86_SLOT_NONE);
	elf_code_deinit(&code);
	elf_image_free(image);
}

TEST(elf_code_reads_bytes_up_to_end_of_segment)
{
	struct elf_image *image = open_fixture(FIXTURE_UPSTREAM_GEM);
	struct x86_code_source source;
	struct elf_segment segment;
	struct elf_code code;
	uint8_t bytes[64], expected[64];
	size_t cursor = 0, got;

	assert_int_equal(elf_code_init(&code, image), 0);
	source = elf_code_source(&code);
	while (elf_image_next_segment(image, &cursor, &segment) && !(segment.flags & PF_X))
		;
	assert_true(segment.flags & PF_X);
	assert_int_equal(elf_image_read(image, segment.virtual_address, expected, 64), 0);
	assert_int_equal(source.read(source.context, segment.virtual_address, bytes, 64), 64);
	assert_memory_equal(bytes, expected, 64);
	for (size_t left = 0; left <= 16; left++) {
		got = source.read(source.context,
				  segment.virtual_address + segment.file_bytes - left, bytes, 64);
		assert_int_equal(got, left);
	}
	assert_int_equal(source.read(source.context, UINT64_MAX / 2, bytes, 64), 0);
	elf_code_deinit(&code);
	elf_image_free(image);
}

TEST(elf_code_rejects_other_machines)
{
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_AARCH64,
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_shentsize = sizeof(Elf64_Shdr) };
	struct elf_image *image = NULL;
	struct elf_code code;

	assert_int_equal(elf_image_open_memory(&header, sizeof(header), &image), 0);
	assert_int_equal(elf_code_init(&code, image), -ENOTSUP);
	elf_image_free(image);
}
