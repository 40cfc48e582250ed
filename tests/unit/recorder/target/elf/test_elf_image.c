/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "failing_memory.h"
#include "recorder/target/elf/elf_image.h"
#include "recorder/target/forged_elf.h"
#include "recorder/target/open_elf.h"
#include "recorder/target/open_mapping.h"

static const char NAME[] = "ruby_profiler_state";

static struct elf_image *open_forged(const struct forged_elf *elf)
{
	struct elf_image *image = NULL;

	assert_int_equal(elf_image_open_memory(elf, sizeof(*elf), &image), 0);
	return image;
}

/* Walks all that can be walked, so that a forged file meets every reader. */
static void exercise(const struct elf_image *image)
{
	struct memory_map_entry entry = { .start = 0x10000, .end = 0x20000, .is_readable = true };
	struct elf_relocation relocation;
	struct elf_segment segment;
	struct elf_symbol symbol;
	uint64_t value;
	uint8_t bytes[16];
	size_t cursor = 0;

	(void)elf_image_find_symbol(image, NAME, &symbol);
	(void)elf_image_is_program(image);
	(void)elf_image_load_bias(image, &entry, &value);
	(void)elf_image_file_offset(image, 0x20, &value);
	(void)elf_image_read(image, 0x20, bytes, sizeof(bytes));
	while (elf_image_next_relocation(image, &cursor, &relocation))
		;
	cursor = 0;
	while (elf_image_next_segment(image, &cursor, &segment))
		;
}

TEST(elf_image_of_library_has_symbol_relocations_and_segments)
{
	_cleanup_fd_ int fd = open(FIXTURE_TLS_GENERAL_DYNAMIC, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_relocation relocation;
	struct elf_segment segment;
	struct elf_symbol symbol;
	size_t relocations = 0;
	size_t tls_segments = 0;
	size_t cursor = 0;

	assert_true(fd >= 0);
	assert_int_equal(open_elf(fd, &image), 0);
	assert_false(elf_image_is_program(image));
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_int_equal(symbol.type, STT_TLS);
	assert_true(symbol.is_defined);
	assert_true(symbol.is_dynamic);
	assert_int_equal(symbol.size_bytes, 8);
	assert_true(symbol.index > 0);
	while (elf_image_next_relocation(image, &cursor, &relocation))
		relocations += relocation.symbol == symbol.index;
	assert_true(relocations > 0);
	cursor = 0;
	while (elf_image_next_segment(image, &cursor, &segment))
		tls_segments += segment.type == PT_TLS;
	assert_int_equal(tls_segments, 1);
	assert_int_equal(elf_image_find_symbol(image, "no_such_name", &symbol), -ENOENT);
}

TEST(elf_image_does_not_find_symbol_by_prefix)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_symbol symbol;

	image = open_forged(&elf);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_int_equal(elf_image_find_symbol(image, "ruby_profiler_stat", &symbol), -ENOENT);
	assert_int_equal(elf_image_find_symbol(image, "ruby_profiler_state2", &symbol), -ENOENT);
}

TEST(elf_image_does_not_find_name_beyond_string_table)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_symbol symbol;

	elf.sections[2].sh_size = 8;
	image = open_forged(&elf);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), -ENOENT);
}

TEST(elf_image_of_own_program_is_program_with_symbols)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	const struct memory_map_entry *entry;
	struct elf_symbol symbol;
	char program[4096] = "";
	uint64_t offset;
	uint64_t bias;
	size_t cursor = 0;
	uint8_t bytes[8];

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	while ((entry = memory_map_next_object(&map, &cursor)))
		if (strcmp(entry->path, program) == 0)
			break;
	assert_non_null(entry);
	assert_int_equal(open_mapping(entry, &image), 0);
	assert_true(elf_image_is_program(image));
	assert_int_equal(elf_image_load_bias(image, entry, &bias), 0);
	assert_int_equal(elf_image_find_symbol(image, "main", &symbol), 0);
	assert_int_equal(symbol.type, STT_FUNC);
	assert_int_equal(elf_image_file_offset(image, symbol.value, &offset), 0);
	assert_int_equal(elf_image_read(image, symbol.value, bytes, sizeof(bytes)), 0);
	assert_memory_equal(bytes, (const void *)(uintptr_t)(bias + symbol.value), sizeof(bytes));
}

TEST(elf_image_load_bias_is_same_for_every_mapping)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	const struct memory_map_entry *first = NULL;
	uint64_t first_bias = 0;

	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	for (size_t i = 0; i < map.count; i++) {
		const struct memory_map_entry *entry = &map.entries[i];
		uint64_t bias;

		if (!strstr(entry->path, "libcmocka"))
			continue;
		if (!first) {
			first = entry;
			assert_int_equal(open_mapping(entry, &image), 0);
			assert_int_equal(elf_image_load_bias(image, entry, &first_bias), 0);
			assert_int_equal(first_bias, entry->start);
		}
		/* The relocated part of the data segment may look like read-only data. */
		if (!entry->is_executable && !entry->is_writable)
			continue;
		assert_int_equal(elf_image_load_bias(image, entry, &bias), 0);
		assert_int_equal(bias, first_bias);
	}
	assert_non_null(first);
}

TEST(elf_image_distinguishes_segments_that_share_a_file_page)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	struct memory_map_entry entry = { .start = 0x7f0000001000,
					  .is_readable = true,
					  .is_executable = true };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t bias = 1;

	elf.segments[0].p_filesz = 0x100;
	elf.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_offset = 0x100,
					.p_vaddr = 0x1100,
					.p_filesz = 0x80 };
	image = open_forged(&elf);
	assert_int_equal(elf_image_load_bias(image, &entry, &bias), 0);
	assert_int_equal(bias, 0x7f0000000000);
	entry = (struct memory_map_entry){ .start = 0x7f0000000000, .is_readable = true };
	assert_int_equal(elf_image_load_bias(image, &entry, &bias), 0);
	assert_int_equal(bias, 0x7f0000000000);
	entry.offset = 0x5000;
	assert_int_equal(elf_image_load_bias(image, &entry, &bias), -ENOENT);
}

TEST(elf_image_rejects_files_other_than_64_bit_elf)
{
	struct forged_elf good = forged_elf_make(EM_X86_64, NAME, 0);
	struct forged_elf elf = good;
	_cleanup_fd_ int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct elf_image *image = NULL;

	assert_int_equal(elf_image_open_memory("\177ELF", 4, &image), -ENOEXEC);
	elf.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), -ENOEXEC);
	elf = good;
	elf.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), -ENOEXEC);
	assert_int_equal(open_elf(null_fd, &image), -ENOEXEC);
	assert_null(image);
}

TEST(elf_image_ignores_tables_with_impossible_size)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_relocation relocation;
	struct elf_symbol symbol;
	size_t cursor = 0;

	elf.sections[1].sh_size = UINT64_MAX - 23;
	elf.sections[3].sh_size = 1ULL << 40;
	image = open_forged(&elf);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), -ENOENT);
	assert_false(elf_image_next_relocation(image, &cursor, &relocation));
}

TEST(elf_image_read_fails_outside_file_part_of_segment)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t offset;
	uint8_t bytes[8];

	elf.segments[0].p_vaddr = 0x400000;
	elf.segments[0].p_filesz = 0x20;
	image = open_forged(&elf);
	assert_int_equal(elf_image_read(image, 0x400000, bytes, 8), 0);
	assert_memory_equal(bytes, "\177ELF", 4);
	assert_int_equal(elf_image_read(image, 0x400018, bytes, 8), 0);
	assert_int_equal(elf_image_read(image, 0x400019, bytes, 8), -EFAULT);
	assert_int_equal(elf_image_read(image, 0x3fffff, bytes, 8), -EFAULT);
	assert_int_equal(elf_image_read(image, UINT64_MAX, bytes, 8), -EFAULT);
	assert_int_equal(elf_image_file_offset(image, 0x400010, &offset), 0);
	assert_int_equal(offset, 0x10);
	assert_int_equal(elf_image_file_offset(image, 0x40001f, &offset), 0);
	assert_int_equal(elf_image_file_offset(image, 0x400020, &offset), -ENOENT);
}

TEST(elf_image_read_covers_whole_file_and_no_more)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint8_t bytes[sizeof(elf) + 1];

	/* More than the file has. */
	elf.segments[0].p_filesz = sizeof(elf) + 8;
	image = open_forged(&elf);
	assert_int_equal(elf_image_read(image, 0, bytes, sizeof(elf)), 0);
	assert_memory_equal(bytes, &elf, sizeof(elf));
	assert_int_equal(elf_image_read(image, sizeof(elf) - 1, bytes, 1), 0);
	assert_int_equal(elf_image_read(image, 0, bytes, sizeof(elf) + 1), -EFAULT);
	assert_int_equal(elf_image_read(image, sizeof(elf) - 1, bytes, 2), -EFAULT);
	assert_int_equal(elf_image_read(image, sizeof(elf), bytes, 1), -EFAULT);
}

TEST(elf_image_finds_defined_symbol_value_by_index)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0x1234);
	_cleanup_(elf_image_freep) struct elf_image *image = open_forged(&elf);
	_cleanup_(elf_image_freep) struct elf_image *without = NULL;
	uint64_t value = 77;

	assert_true(elf_image_defined_at(image, FORGED_SYMBOL_INDEX, &value));
	assert_int_equal(value, 0x1234);
	/* The first one is none, and what follows the last is no symbol. */
	value = 77;
	assert_false(elf_image_defined_at(image, 0, &value));
	assert_false(elf_image_defined_at(image, FORGED_SYMBOL_INDEX + 1, &value));
	assert_false(elf_image_defined_at(image, SIZE_MAX, &value));
	elf.sections[1].sh_type = SHT_NULL;
	without = open_forged(&elf);
	assert_false(elf_image_defined_at(without, FORGED_SYMBOL_INDEX, &value));
	assert_int_equal(value, 77);
}

TEST(elf_image_segment_beyond_end_of_file_has_no_bytes)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t offset;
	uint8_t byte;

	elf.segments[0].p_offset = UINT64_MAX - 4;
	elf.segments[0].p_filesz = UINT64_MAX;
	image = open_forged(&elf);
	assert_int_equal(elf_image_read(image, 0x10, &byte, 1), -EFAULT);
	assert_int_equal(elf_image_read(image, 0, &byte, 1), -EFAULT);
	assert_int_equal(elf_image_file_offset(image, 0x10, &offset), -ENOENT);
}

TEST(elf_image_truncated_segment_has_remaining_bytes)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t offset;

	elf.segments[0].p_vaddr = 0;
	elf.segments[0].p_offset = 0x40;
	elf.segments[0].p_filesz = UINT32_MAX;
	image = open_forged(&elf);
	assert_int_equal(elf_image_file_offset(image, sizeof(elf) - 0x41, &offset), 0);
	assert_int_equal(offset, sizeof(elf) - 1);
	assert_int_equal(elf_image_file_offset(image, sizeof(elf) - 0x40, &offset), -ENOENT);
}

TEST(elf_image_survives_every_truncation_and_flipped_byte)
{
	const struct forged_elf good = forged_elf_make(EM_X86_64, NAME, 0);

	for (size_t i = 0; i <= sizeof(good); i++) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;
		_cleanup_free_ void *part = malloc(i + 1);

		assert_non_null(part);
		memcpy(part, &good, i);
		if (elf_image_open_memory(part, i, &image) == 0)
			exercise(image);
	}
	for (size_t i = 0; i < sizeof(good); i++) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;
		struct forged_elf bad = good;

		((uint8_t *)&bad)[i] ^= 0xff;
		if (elf_image_open_memory(&bad, sizeof(bad), &image) == 0)
			exercise(image);
	}
}

/* A forged file with room behind it for what a test makes longer. */
struct long_elf {
	struct forged_elf elf;
	Elf64_Shdr sections[16];
	Elf64_Dyn dynamic[1100];
};

static struct long_elf *make_long(void)
{
	struct long_elf *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->elf = forged_elf_make(EM_X86_64, NAME, 0);
	file->elf.segments[0].p_filesz = sizeof(*file);
	return file;
}

TEST(elf_image_iterates_relocations_of_up_to_eight_sections)
{
	struct long_elf *file = make_long();

	memcpy(file->sections, file->elf.sections, sizeof(file->elf.sections));
	file->elf.header.e_shoff = offsetof(struct long_elf, sections);
	for (size_t count = 1; count <= 10; count++) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;
		struct elf_relocation relocation;
		size_t cursor = 0, found = 0;

		file->sections[2 + count] = file->elf.sections[3];
		file->elf.header.e_shnum = (uint16_t)(3 + count);
		assert_int_equal(elf_image_open_memory(file, sizeof(*file), &image), 0);
		while (elf_image_next_relocation(image, &cursor, &relocation))
			found++;
		assert_int_equal(found, FORGED_RELOCATIONS_MAX * (count < 8 ? count : 8));
	}
	free(file);
}

TEST(elf_image_validates_header_limits)
{
	static const struct {
		uint16_t segments, sections, segment_bytes, section_bytes;
		int result;
	} cases[] = {
		{ 1024, 4, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), 0 },
		{ 1025, 4, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), -ENOEXEC },
		{ 2, 0, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), -ENOEXEC },
		{ 2, SHN_LORESERVE - 1, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), 0 },
		{ 2, SHN_LORESERVE, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), -ENOEXEC },
		{ 2, 4, sizeof(Elf64_Phdr) + 1, sizeof(Elf64_Shdr), -ENOEXEC },
		{ 0, 4, 0, sizeof(Elf64_Shdr), 0 },
		{ 2, 4, sizeof(Elf64_Phdr), sizeof(Elf64_Shdr) - 1, -ENOEXEC },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
		struct elf_image *image = NULL;

		elf.header.e_phnum = cases[i].segments;
		elf.header.e_shnum = cases[i].sections;
		elf.header.e_phentsize = cases[i].segment_bytes;
		elf.header.e_shentsize = cases[i].section_bytes;
		assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), cases[i].result);
		if (image)
			exercise(image);
		elf_image_free(image);
	}
}

TEST(elf_image_without_sections_has_segments_but_no_symbol)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_segment segment;
	struct elf_symbol symbol;
	size_t cursor = 0;

	elf.header.e_shoff = 0;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), -ENOEXEC);
	elf.header.e_shnum = 0;
	image = open_forged(&elf);
	assert_true(elf_image_next_segment(image, &cursor, &segment));
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), -ENOENT);
}

TEST(elf_image_segments_end_with_file)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);

	elf.header.e_shoff = 0;
	elf.header.e_shnum = 0;
	elf.header.e_phnum = 1024;
	for (size_t whole = 0; whole <= 2; whole++) {
		for (size_t more = 0; more < sizeof(Elf64_Phdr); more += sizeof(Elf64_Phdr) - 1) {
			_cleanup_(elf_image_freep) struct elf_image *image = NULL;
			size_t size_bytes = offsetof(struct forged_elf, segments) +
					    whole * sizeof(Elf64_Phdr) + more;
			struct elf_segment segment;
			size_t cursor = 0, count = 0;

			assert_int_equal(elf_image_open_memory(&elf, size_bytes, &image), 0);
			while (elf_image_next_segment(image, &cursor, &segment))
				count++;
			assert_int_equal(count, whole);
		}
	}
}

static bool is_program(struct long_elf *file, uint64_t file_bytes)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	file->elf.segments[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					      .p_offset = offsetof(struct long_elf, dynamic),
					      .p_filesz = file_bytes };
	assert_int_equal(elf_image_open_memory(file, sizeof(*file), &image), 0);
	return elf_image_is_program(image);
}

TEST(elf_image_recognises_pie_program_by_dynamic_flags)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct long_elf *file = make_long();
	const uint64_t all = sizeof(file->dynamic);

	for (size_t i = 0; i < 1100; i++)
		file->dynamic[i].d_tag = DT_DEBUG;
	assert_false(is_program(file, all));
	file->dynamic[1023] = (Elf64_Dyn){ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE | 1 };
	assert_true(is_program(file, all));
	assert_true(is_program(file, 1024 * sizeof(Elf64_Dyn)));
	assert_false(is_program(file, 1024 * sizeof(Elf64_Dyn) - 1));
	file->dynamic[1023].d_un.d_val = ~(uint64_t)DF_1_PIE;
	assert_false(is_program(file, all));
	/* Not one more is looked at. */
	file->dynamic[1024] = (Elf64_Dyn){ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE };
	file->dynamic[1023].d_tag = DT_DEBUG;
	assert_false(is_program(file, all));
	file->dynamic[5] = file->dynamic[1024];
	assert_true(is_program(file, all));
	/* Elsewhere it says nothing. */
	file->elf.segments[1].p_type = PT_NOTE;
	assert_int_equal(elf_image_open_memory(file, sizeof(*file), &image), 0);
	assert_false(elf_image_is_program(image));
	file->dynamic[4].d_tag = DT_NULL;
	assert_false(is_program(file, all));
	file->elf.header.e_type = ET_EXEC;
	assert_true(is_program(file, all));
	free(file);
}

/* A file by a reader that counts, and becomes shorter than it was. */
struct counted {
	const struct forged_elf *elf;
	size_t reads;
	size_t end; /* 0 = as long as it was */
	int failures; /* of the next reads */
};

static int read_counted(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct counted *file = source;
	size_t end = file->end ? file->end : sizeof(*file->elf);

	file->reads++;
	if (file->failures && file->failures--)
		return -ETIMEDOUT;
	assert_true(offset <= sizeof(*file->elf) && size_bytes <= sizeof(*file->elf) - offset);
	if (offset + size_bytes > end)
		return -EFAULT;
	memcpy(buffer, (const char *)file->elf + offset, size_bytes);
	return 0;
}

TEST(elf_image_reads_ahead_and_caches_symbol_lookups)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	struct counted file = { .elf = &elf };
	struct elf_reader reader = { .read = read_counted,
				     .source = &file,
				     .size_bytes = sizeof(elf) };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_symbol symbol;
	char name[16];

	assert_int_equal(elf_image_open(&reader, &image), 0);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_int_equal(file.reads, 1);
	elf_image_rest(image);
	symbol = (struct elf_symbol){ 0 };
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_int_equal(symbol.index, FORGED_SYMBOL_INDEX);
	assert_int_equal(file.reads, 1);
	/* With 15 others that are not there; of a 17th it has to be read again. */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 15; i++) {
			(void)snprintf(name, sizeof(name), "none_%d", i);
			assert_int_equal(elf_image_find_symbol(image, name, &symbol), -ENOENT);
		}
		/* The headers of sections, at the end, and all from the first table on. */
		assert_int_equal(file.reads, 3);
		elf_image_rest(image);
	}
	for (size_t reads = 5; reads < 9; reads += 2) {
		elf_image_rest(image);
		assert_int_equal(elf_image_find_symbol(image, "none_15", &symbol), -ENOENT);
		assert_int_equal(file.reads, reads);
	}
}

TEST(elf_image_searches_again_after_failed_read)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	struct counted file = { .elf = &elf };
	struct elf_reader reader = { .read = read_counted,
				     .source = &file,
				     .size_bytes = sizeof(elf) };
	struct elf_symbol symbol;

	/* The headers of sections, a table, its strings. */
	for (int failures = 1; failures <= 3; failures++) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;

		assert_int_equal(elf_image_open(&reader, &image), 0);
		for (int i = 0; i < failures; i++) {
			elf_image_rest(image);
			file.failures = 1;
			assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), -ENOENT);
			assert_int_equal(file.failures, 0);
		}
		assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	}
	file.failures = 1;
	assert_int_equal(elf_image_open(&reader, &(struct elf_image *){ NULL }), -ETIMEDOUT);
}

/* Whatever of it there is no memory for: it is not found, and later it is. */
TEST(elf_image_recovers_from_lack_of_memory)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	struct counted file = { .elf = &elf };
	struct elf_reader reader = { .read = read_counted,
				     .source = &file,
				     .size_bytes = sizeof(elf) };
	struct elf_image *image = NULL;
	struct elf_relocation relocation;
	struct elf_symbol symbol;
	size_t count = 0;
	int r;

	for (r = -ENOMEM; r == -ENOMEM; count++) {
		memory_fails_after(count);
		r = elf_image_open(&reader, &image);
		memory_never_fails();
		assert_true(r == 0 || !image);
	}
	assert_int_equal(r, 0);
	assert_true(count > 3);
	for (r = -ENOENT, count = 0; r == -ENOENT; count++) {
		size_t cursor = 0;

		elf_image_rest(image);
		memory_fails_after(count);
		r = elf_image_find_symbol(image, NAME, &symbol);
		elf_image_rest(image);
		memory_fails_after(count);
		(void)elf_image_next_relocation(image, &cursor, &relocation);
		memory_never_fails();
	}
	assert_int_equal(r, 0);
	assert_int_equal(symbol.index, FORGED_SYMBOL_INDEX);
	/* The window of the file, its sections, two tables. */
	assert_int_equal(count, 5);
	elf_image_free(image);
}

TEST(elf_image_reads_rest_of_shortened_file)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	struct counted file = { .elf = &elf };
	struct elf_reader reader = { .read = read_counted,
				     .source = &file,
				     .size_bytes = sizeof(elf) };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	char bytes[8];

	assert_int_equal(elf_image_open(&reader, &image), 0);
	elf_image_rest(image);
	file.end = 64;
	assert_int_equal(elf_image_read(image, 56, bytes, 8), 0);
	assert_memory_equal(bytes, (const char *)&elf + 56, 8);
	assert_int_equal(elf_image_read(image, 57, bytes, 8), -EFAULT);
}

TEST(elf_image_prefers_defined_symbol_over_undefined)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	_cleanup_(elf_image_freep) struct elf_image *both = NULL;
	struct elf_symbol symbol;

	elf.symbols[FORGED_SYMBOL_INDEX].st_shndx = SHN_UNDEF;
	image = open_forged(&elf);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_false(symbol.is_defined);
	assert_false(elf_image_find_defined(image, NAME, &symbol));
	/* The relocations' bytes as a full table, whose second symbol is the defined one. */
	memcpy(elf.relocations, elf.symbols, sizeof(elf.symbols));
	((Elf64_Sym *)(void *)elf.relocations)[1].st_shndx = 1;
	((Elf64_Sym *)(void *)elf.relocations)[1].st_value = 0x1234;
	elf.sections[3].sh_type = SHT_SYMTAB;
	elf.sections[3].sh_link = 2;
	both = open_forged(&elf);
	assert_true(elf_image_find_defined(both, NAME, &symbol));
	assert_int_equal(symbol.value, 0x1234);
	assert_false(symbol.is_dynamic);
	assert_int_equal(symbol.index, 0);
}

TEST(elf_image_searches_other_table_if_one_is_unreadable)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, NAME, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	Elf64_Sym *full = (Elf64_Sym *)(void *)elf.relocations;
	struct elf_symbol symbol;

	memcpy(elf.relocations, elf.symbols, sizeof(elf.symbols));
	full[1].st_value = 0x1111;
	full[2] = full[1];
	full[2].st_name += 5;
	full[2].st_value = 0x2222;
	elf.sections[3].sh_type = SHT_SYMTAB;
	elf.sections[3].sh_link = 2;
	/* More than the file has. */
	elf.sections[1].sh_size = 1 << 20;
	image = open_forged(&elf);
	assert_int_equal(elf_image_find_symbol(image, NAME, &symbol), 0);
	assert_int_equal(symbol.value, 0x1111);
	assert_int_equal(elf_image_find_symbol(image, NAME + 5, &symbol), 0);
	assert_int_equal(symbol.value, 0x2222);
}
