/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of ELF files, forged ones and our own. */
#include "recorder/target/elf/elf_functions.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"

enum {
	SYMBOLS_MAX = 64,
	STRINGS_BYTES = 4096,
};

/* A file of two symbol tables that share their strings. */
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr code;
	Elf64_Shdr sections[5];
	Elf64_Sym symbols[2][SYMBOLS_MAX];
	char strings[STRINGS_BYTES];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t bytes[72];
	} notes[2];
} elf;

static size_t counts[2], string_bytes;

enum {
	FULL = 0,
	DYNAMIC = 1
};

static int set_up(void **state)
{
	(void)state;
	memset(&elf, 0, sizeof(elf));
	counts[FULL] = counts[DYNAMIC] = string_bytes = 1;
	memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
	elf.header.e_ident[EI_CLASS] = ELFCLASS64;
	elf.header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf.header.e_type = ET_DYN;
	elf.header.e_phoff = offsetof(__typeof__(elf), code);
	elf.header.e_phnum = 1;
	elf.header.e_phentsize = sizeof(Elf64_Phdr);
	elf.header.e_shoff = offsetof(__typeof__(elf), sections);
	elf.header.e_shnum = 5;
	elf.header.e_shentsize = sizeof(Elf64_Shdr);
	elf.code = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = 0x1000,
				 .p_vaddr = 0x5000,
				 .p_filesz = 0x800,
				 .p_memsz = 0x800 };
	for (int i = 0; i < 2; i++)
		elf.sections[1 + i] = (Elf64_Shdr){
			.sh_type = i ? SHT_DYNSYM : SHT_SYMTAB,
			.sh_offset =
				offsetof(__typeof__(elf), symbols) + i * sizeof(elf.symbols[0]),
			.sh_size = sizeof(elf.symbols[0]),
			.sh_link = 3,
		};
	elf.sections[4] = (Elf64_Shdr){ .sh_type = SHT_NOTE,
					.sh_offset = offsetof(__typeof__(elf), notes),
					.sh_size = sizeof(elf.notes) };
	for (int i = 0; i < 2; i++)
		elf.notes[i].header = (Elf64_Nhdr){ .n_namesz = 4, .n_descsz = 72, .n_type = 1 };
	elf.sections[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					.sh_offset = offsetof(__typeof__(elf), strings),
					.sh_size = sizeof(elf.strings) };
	return 0;
}

static Elf64_Sym *add(int table, const char *name, uint64_t value, uint64_t size_bytes)
{
	Elf64_Sym *symbol = &elf.symbols[table][counts[table]++];

	assert_true(counts[table] <= SYMBOLS_MAX);
	assert_true(string_bytes + strlen(name) + 1 <= STRINGS_BYTES);
	*symbol = (Elf64_Sym){ .st_name = (Elf64_Word)string_bytes,
			       .st_value = value,
			       .st_size = size_bytes,
			       .st_shndx = 1,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
	(void)strcpy(elf.strings + string_bytes, name);
	string_bytes += strlen(name) + 1;
	return symbol;
}

static struct elf_functions *read_all(void)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_functions *functions = NULL;

	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(elf_functions_read(image, &functions), 0);
	return functions;
}

/* "" = none. */
static const char *name_at(uint64_t address)
{
	_cleanup_(elf_functions_freep) struct elf_functions *functions = read_all();
	const char *name = elf_functions_find(functions, address);
	static char copy[ELF_FUNCTION_NAME_BYTES];

	(void)snprintf(copy, sizeof(copy), "%s", name ? name : "");
	return copy;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(elf_functions_find_function_that_covers_address)
{
	add(FULL, "second", 0x30, 0x10);
	add(FULL, "first", 0x10, 0x10);
	assert_string_equal(name_at(0xf), "");
	assert_string_equal(name_at(0x10), "first");
	assert_string_equal(name_at(0x1f), "first");
	assert_string_equal(name_at(0x20), "");
	assert_string_equal(name_at(0x3f), "second");
	assert_string_equal(name_at(0x40), "");
	assert_string_equal(name_at(UINT64_MAX), "");
}

FIXTURE_TEST(elf_functions_skip_symbols_without_code_place_and_size)
{
	add(FULL, "data", 0x10, 0x10)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	add(FULL, "chooses", 0x10, 0x10)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
	add(FULL, "missing", 0x10, 0x10)->st_shndx = SHN_UNDEF;
	add(FULL, "short", 0x10, 0);
	add(FULL, "", 0x10, 0x10);
	add(FULL, "outside", 0x10, 0x10)->st_name = STRINGS_BYTES;
	assert_string_equal(name_at(0x10), "");
	add(FULL, "function", 0x10, 0x10);
	assert_string_equal(name_at(0x10), "function");
}

FIXTURE_TEST(elf_functions_require_name_to_end_in_string_table)
{
	memset(elf.strings + STRINGS_BYTES - 4, 'x', 4);
	add(FULL, "name", 0x10, 0x10)->st_name = STRINGS_BYTES - 4;
	assert_string_equal(name_at(0x10), "");
	elf.strings[STRINGS_BYTES - 1] = '\0';
	assert_string_equal(name_at(0x10), "xxx");
}

FIXTURE_TEST(elf_functions_prefer_plainest_of_several_names)
{
	add(FULL, "__libc_read", 0x10, 0x10);
	add(FULL, "read", 0x10, 0x10)->st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
	add(FULL, "__read", 0x10, 0x10);
	assert_string_equal(name_at(0x18), "read");
	add(FULL, "alias", 0x20, 0x10)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	add(FULL, "other", 0x20, 0x10);
	add(FULL, "third", 0x20, 0x10);
	assert_string_equal(name_at(0x28), "other");
}

FIXTURE_TEST(elf_functions_name_nested_function_and_rest_of_outer)
{
	add(FULL, "outer", 0x10, 0x100);
	add(FULL, "inner", 0x40, 0x10);
	assert_string_equal(name_at(0x45), "inner");
	assert_string_equal(name_at(0x50), "outer");
	assert_string_equal(name_at(0x110), "");
}

FIXTURE_TEST(elf_functions_use_dynamic_table_only_without_full_one)
{
	add(DYNAMIC, "exported", 0x10, 0x10);
	assert_string_equal(name_at(0x10), "exported");
	add(FULL, "local", 0x10, 0x10);
	assert_string_equal(name_at(0x10), "local");
}

FIXTURE_TEST(elf_functions_skip_name_that_is_too_long)
{
	char name[ELF_FUNCTION_NAME_BYTES + 1];

	memset(name, 'x', sizeof(name));
	name[ELF_FUNCTION_NAME_BYTES] = '\0';
	add(FULL, name, 0x10, 0x10);
	assert_string_equal(name_at(0x10), "");
	add(FULL, name + 1, 0x10, 0x10);
	assert_string_equal(name_at(0x10), name + 1);
}

/* A table of the most there may be, and one more, all of one name. */
FIXTURE_TEST(elf_functions_are_empty_beyond_symbol_limit)
{
	const size_t most = ELF_FUNCTIONS_MAX, table_bytes = (most + 1) * sizeof(Elf64_Sym);
	char *bytes = calloc(1, sizeof(elf) + table_bytes);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	Elf64_Sym *symbols = (Elf64_Sym *)(bytes + sizeof(elf));

	assert_non_null(bytes);
	add(FULL, "x", 0, 1);
	for (size_t i = 0; i <= most; i++) {
		symbols[i] = elf.symbols[FULL][1];
		symbols[i].st_value = i;
	}
	elf.sections[1].sh_offset = sizeof(elf);
	for (size_t count = most; count <= most + 1; count++) {
		_cleanup_(elf_functions_freep) struct elf_functions *functions = NULL;

		elf.sections[1].sh_size = count * sizeof(Elf64_Sym);
		memcpy(bytes, &elf, sizeof(elf));
		elf_image_free(TAKE_PTR(image));
		assert_int_equal(elf_image_open_memory(bytes, sizeof(elf) + table_bytes, &image),
				 0);
		assert_int_equal(elf_functions_read(image, &functions), 0);
		assert_int_equal(elf_functions_count(functions), count == most ? most : 0);
		assert_true(elf_functions_size_bytes(functions) >=
			    elf_functions_count(functions) * 16);
	}
	elf_image_free(TAKE_PTR(image));
	free(bytes);
}

/* Of a file with so long an ID in its second note. */
static size_t read_id(uint32_t size_bytes, uint8_t ret_id[static ELF_BUILD_ID_BYTES_MAX])
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	(void)strcpy(elf.notes[1].name, "GNU");
	elf.notes[1].header.n_type = NT_GNU_BUILD_ID;
	elf.notes[1].header.n_descsz = size_bytes;
	for (uint8_t i = 0; i < 72; i++)
		elf.notes[1].bytes[i] = i;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	return elf_image_build_id(image, ret_id);
}

FIXTURE_TEST(elf_image_build_id_comes_from_gnu_note)
{
	uint8_t id[ELF_BUILD_ID_BYTES_MAX];
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(elf_image_build_id(image, id), 0);
	assert_int_equal(read_id(20, id), 20);
	for (uint8_t i = 0; i < 20; i++)
		assert_int_equal(id[i], i);
	assert_int_equal(read_id(ELF_BUILD_ID_BYTES_MAX, id), ELF_BUILD_ID_BYTES_MAX);
	assert_int_equal(read_id(ELF_BUILD_ID_BYTES_MAX + 1, id), 0);
	assert_int_equal(read_id(UINT32_MAX, id), 0);
	/* The first note says that it is longer than all of them. */
	elf.notes[0].header.n_descsz = UINT32_MAX;
	assert_int_equal(read_id(20, id), 0);
	elf.notes[0].header.n_descsz = 72;
	elf.sections[4].sh_offset = UINT64_MAX - 8;
	assert_int_equal(read_id(20, id), 0);
}

FIXTURE_TEST(elf_functions_are_complete_only_with_full_table)
{
	_cleanup_(elf_functions_freep) struct elf_functions *none = read_all();
	struct elf_functions *exported, *all;

	assert_false(elf_functions_are_all(none));
	add(DYNAMIC, "exported", 0x10, 0x10);
	exported = read_all();
	assert_false(elf_functions_are_all(exported));
	elf_functions_free(exported);
	add(FULL, "local", 0x10, 0x10);
	all = read_all();
	assert_true(elf_functions_are_all(all));
	elf_functions_free(all);
}

FIXTURE_TEST(elf_functions_return_enomem_and_free_everything)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_functions *functions = NULL;
	size_t tries = 0;
	int r = 0;

	for (size_t i = 1; i < SYMBOLS_MAX; i++)
		add(FULL, "name", i, 1);
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	do {
		memory_fails_after(tries++);
		r = elf_functions_read(image, &functions);
		memory_never_fails();
		if (r == 0)
			elf_functions_free(TAKE_PTR(functions));
	} while (memory_failures());
	assert_int_equal(r, 0);
	assert_true(tries > 3);
}

FIXTURE_TEST(elf_image_maps_file_offset_to_address_only_in_code)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t address;

	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(elf_image_virtual_address(image, 0x1000, &address), 0);
	assert_int_equal(address, 0x5000);
	assert_int_equal(elf_image_virtual_address(image, 0x17ff, &address), 0);
	assert_int_equal(address, 0x57ff);
	assert_int_equal(elf_image_virtual_address(image, 0x1800, &address), -ENOENT);
	assert_int_equal(elf_image_virtual_address(image, 0xfff, &address), -ENOENT);
	elf_image_free(TAKE_PTR(image));
	elf.code.p_flags = PF_R;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(elf_image_virtual_address(image, 0x1000, &address), -ENOENT);
}
