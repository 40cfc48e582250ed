/* SPDX-License-Identifier: GPL-2.0-only */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/forged_elf.h"
#include "recorder/target/open_elf.h"
#include "recorder/target/publisher/probe_site.h"

/* A forged object: one function of the given code at the address 0x10 of its one segment. */
static int find_in_code(uint16_t machine, const char *name, const uint8_t *code, size_t size_bytes,
			struct probe_site *ret_site)
{
	struct forged_elf elf = forged_elf_make(machine, name, 0x10);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct probe_site sites[PROBE_SITES_MAX];
	uint8_t file[sizeof(elf) + 128] = { 0 };
	int count;

	elf.symbols[FORGED_SYMBOL_INDEX].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	elf.symbols[FORGED_SYMBOL_INDEX].st_size = size_bytes;
	elf.segments[0].p_offset = sizeof(elf) - 0x10;
	elf.segments[0].p_filesz = 0x10 + size_bytes;
	memcpy(file, &elf, sizeof(elf));
	memcpy(file + sizeof(elf), code, size_bytes);
	assert_int_equal(elf_image_open_memory(file, sizeof(file), &image), 0);
	count = probe_site_find(image, "ruby_profiler_state", sites);
	if (count == 1)
		*ret_site = sites[0];
	return count;
}

static void assert_site(const uint8_t *code, size_t size_bytes, const char *instruction,
			uint32_t offset_bytes, enum probe_site_cost cost)
{
	struct probe_site site;

	assert_int_equal(find_in_code(EM_X86_64, "correlator_state_apply", code, size_bytes, &site),
			 1);
	assert_string_equal(site.instruction, instruction);
	assert_int_equal(site.offset_bytes, offset_bytes);
	assert_int_equal(site.cost, cost);
	assert_int_equal(site.virtual_address, 0x10 + offset_bytes);
	assert_int_equal(site.file_offset, sizeof(struct forged_elf) + offset_bytes);
	assert_memory_equal(site.bytes, code + offset_bytes, size_bytes - offset_bytes);
}

#define ASSERT_SITE(instruction, offset_bytes, cost, ...)                           \
	do {                                                                        \
		static const uint8_t code_[] = { __VA_ARGS__ };                     \
		assert_site(code_, sizeof(code_), instruction, offset_bytes, cost); \
	} while (0)

TEST(probe_site_is_first_emulated_instruction_in_straight_line)
{
	ASSERT_SITE("push", 0, PROBE_SITE_EMULATED, 0x55, 0xc3);
	ASSERT_SITE("push", 4, PROBE_SITE_EMULATED, 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0xc3);
	ASSERT_SITE("nop", 3, PROBE_SITE_EMULATED, 0x48, 0x89, 0xe0, 0x90, 0xc3);
	ASSERT_SITE("call", 4, PROBE_SITE_EMULATED, 0x48, 0x83, 0xec, 8, 0xe8, 0, 0, 0, 0);
	ASSERT_SITE("jmp", 3, PROBE_SITE_EMULATED, 0x48, 0x89, 0xfe, 0xe9, 0, 0, 0, 0);
	ASSERT_SITE("jcc", 3, PROBE_SITE_EMULATED, 0x48, 0x85, 0xff, 0x74, 5, 0x55);
}

TEST(probe_site_falls_back_to_single_stepped_entry)
{
	/* ret, an indirect jump, a prefixed call, an unknown instruction: each before a push. */
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x48, 0x89, 0xfe, 0xc3, 0x55);
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0xff, 0xe0, 0x55);
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0,
		    0x55);
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0xc5, 0xf8, 0x77, 0x55);
}

TEST(probe_site_ignores_instruction_cut_by_end_of_function)
{
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x48, 0x85, 0xff, 0x74);
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x48, 0x85, 0xff, 0xe8, 0, 0, 0);
}

TEST(probe_site_is_not_placed_after_a_store)
{
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x48, 0x89, 0x38, 0x55);
	ASSERT_SITE("push", 5, PROBE_SITE_EMULATED, 0x48, 0x89, 0x7c, 0x24, 8, 0x55);
}

TEST(probe_site_is_never_a_multi_byte_nop)
{
	ASSERT_SITE("push", 5, PROBE_SITE_EMULATED, 0x0f, 0x1f, 0x44, 0, 0, 0x55);
	ASSERT_SITE("other", 5, PROBE_SITE_SINGLE_STEPPED, 0x0f, 0x1f, 0x44, 0, 0, 0xc3);
	/* But what lies behind one that is the entry. */
	ASSERT_SITE("other", 0, PROBE_SITE_SINGLE_STEPPED, 0x48, 0x89, 0xe0, 0x0f, 0x1f, 0x44, 0, 0,
		    0xc3);
}

/* Whatever a symbol says of its size: from the entry on 96 bytes, and none behind the function. */
TEST(probe_site_search_is_limited_to_96_bytes_and_function)
{
	static const uint8_t move[] = { 0x48, 0x89, 0xe0 };
	uint8_t code[128];

	for (size_t bytes = 93; bytes <= 96; bytes += 3) {
		struct probe_site site;

		memset(code, 0xc3, sizeof(code));
		for (size_t at = 0; at < bytes; at += sizeof(move))
			memcpy(code + at, move, sizeof(move));
		code[bytes] = 0x55;
		assert_int_equal(find_in_code(EM_X86_64, "correlator_state_apply", code,
					      sizeof(code), &site),
				 1);
		assert_string_equal(site.instruction, bytes < 96 ? "push" : "other");
		assert_int_equal(site.offset_bytes, bytes < 96 ? bytes : 0);
		assert_int_equal(
			find_in_code(EM_X86_64, "correlator_state_apply", code, bytes, &site), 1);
		assert_string_equal(site.instruction, "other");
	}
}

TEST(probe_site_is_entry_on_other_machines)
{
	static const uint8_t code[] = { 0x55, 0xc3 };
	struct probe_site site;

	assert_int_equal(
		find_in_code(EM_RISCV, "correlator_state_apply", code, sizeof(code), &site), 1);
	assert_string_equal(site.instruction, "other");
	assert_int_equal(site.offset_bytes, 0);
	assert_int_equal(site.cost, PROBE_SITE_SINGLE_STEPPED);
}

/* The last of them is where the search ends. */
static void assert_arm64_site(const uint32_t *code, size_t count, const char *instruction,
			      size_t index)
{
	bool is_emulated = strcmp(instruction, "other") != 0;
	struct probe_site site;

	assert_int_equal(find_in_code(EM_AARCH64, "correlator_state_apply", (const uint8_t *)code,
				      count * sizeof(*code), &site),
			 1);
	assert_string_equal(site.instruction, instruction);
	assert_int_equal(site.offset_bytes, index * sizeof(*code));
	assert_int_equal(site.cost, is_emulated ? PROBE_SITE_EMULATED : PROBE_SITE_SINGLE_STEPPED);
}

#define ASSERT_ARM64_SITE(instruction, index, ...)                                            \
	do {                                                                                  \
		static const uint32_t code_[] = { __VA_ARGS__ };                              \
		assert_arm64_site(code_, sizeof(code_) / sizeof(*code_), instruction, index); \
	} while (0)

TEST(probe_site_on_arm64_is_first_simulated_instruction)
{
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; bl */
	ASSERT_ARM64_SITE("bl", 2, 0xa9bf7bfd, 0x910003fd, 0x97fffff2);
	/* paciasp; bti c; nop; adrp x0 */
	ASSERT_ARM64_SITE("adr", 3, 0xd503233f, 0xd503245f, 0xd503201f, 0xb0000080);
	/* str x0, [sp, #8]; stp q0, q1, [sp, #32]; ldr x1, [x0]; mrs x2, tpidr_el0; cbz x1 */
	ASSERT_ARM64_SITE("branch", 4, 0xf90007e0, 0xad0107e0, 0xf9400001, 0xd53bd042, 0xb4000061);
	/* b; b.ne; tbnz w0, #3 */
	ASSERT_ARM64_SITE("branch", 0, 0x14000002);
	ASSERT_ARM64_SITE("branch", 0, 0x54000041);
	ASSERT_ARM64_SITE("branch", 0, 0x37180040);
}

TEST(probe_site_on_arm64_is_not_placed_after_a_store)
{
	/* str x0, [x1]; str x0, [x1, #-8]!; str x0, [x1, x2]; stp x0, x1, [x2]; str q0, [x1] */
	ASSERT_ARM64_SITE("other", 0, 0xf9000020, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xf81f8c20, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xf8226820, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xa9000440, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0x3d800020, 0x97fffff2);
	/* stlr x0, [x1]; ldadd x0, x1, [x2]; svc #0; ret; br x0; an undefined one */
	ASSERT_ARM64_SITE("other", 0, 0xc89ffc20, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xf8200041, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xd4000001, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xd65f03c0, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0xd61f0000, 0x97fffff2);
	ASSERT_ARM64_SITE("other", 0, 0x00000000, 0x97fffff2);
}

/*
 * Functions without names, of which as many as are described are so for unwinding. Each refers to
 * the variable so often, behind five plain instructions.
 */
static int find_in_references(size_t functions, size_t described, size_t count,
			      struct probe_site sites[static PROBE_SITES_MAX])
{
	enum {
		FUNCTION = 4096,
		FUNCTION_BYTES = 1024,
		TABLE = 32768,
		DESCRIPTION = TABLE + 256,
		SLOT = 36864,
		REFERENCE_BYTES = 7,
	};
	static uint8_t file[40960];
	struct forged_elf elf = forged_elf_make(EM_X86_64, "ruby_profiler_state", 0x20);
	const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b };
	const int32_t counts[] = { 0, (int32_t)described };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	memset(file, 0x90, sizeof(file));
	elf.segments[0].p_flags = PF_R | PF_X;
	elf.segments[0].p_filesz = sizeof(file);
	elf.segments[1] = elf.segments[0];
	elf.segments[0] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = TABLE };
	elf.relocations[0] = (Elf64_Rela){
		.r_offset = SLOT,
		.r_info = ELF64_R_INFO(FORGED_SYMBOL_INDEX, R_X86_64_DTPMOD64),
	};
	memcpy(file, &elf, sizeof(elf));
	memcpy(file + TABLE, header, sizeof(header));
	memcpy(file + TABLE + 4, counts, sizeof(counts));
	for (int32_t i = 0; i < (int32_t)functions; i++) {
		int32_t function = FUNCTION + i * FUNCTION_BYTES, place = DESCRIPTION + i * 16;
		const int32_t entry[] = { function - TABLE, place - TABLE };
		const int32_t description[] = { 20, 0, function - (place + 8), FUNCTION_BYTES };

		memcpy(file + TABLE + 12 + i * 8, entry, sizeof(entry));
		memcpy(file + place, description, sizeof(description));
		for (int j = 0; j < 5; j++)
			memcpy(file + function + j * 3, "\x48\x89\xe0", 3);
		for (size_t j = 0; j < count; j++) {
			uint8_t *code = file + function + 15 + j * REFERENCE_BYTES;
			int32_t displacement = SLOT - (int32_t)(code + REFERENCE_BYTES - file);

			memcpy(code, "\x48\x8d\x3d", 3);
			memcpy(code + 3, &displacement, sizeof(displacement));
		}
	}
	assert_int_equal(elf_image_open_memory(file, sizeof(file), &image), 0);
	return probe_site_find(image, "ruby_profiler_state", sites);
}

TEST(probe_site_needs_all_references_within_storage_limit)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_references(1, 1, 0, sites), 0);
	assert_int_equal(find_in_references(1, 1, 1, sites), 1);
	assert_int_equal(find_in_references(1, 1, 64, sites), 1);
	assert_int_equal(find_in_references(1, 1, 65, sites), 0);
	assert_int_equal(find_in_references(1, 1, 200, sites), 0);
}

TEST(probe_site_needs_all_functions_within_site_limit)
{
	struct probe_site sites[PROBE_SITES_MAX];

	for (size_t functions = 1; functions <= PROBE_SITES_MAX + 2; functions++)
		assert_int_equal(find_in_references(functions, functions, 2, sites),
				 functions <= PROBE_SITES_MAX ? functions : 0);
}

/* Which function it is in cannot be told. */
TEST(probe_site_needs_every_reference_in_described_function)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_references(2, 1, 1, sites), 0);
	assert_int_equal(find_in_references(3, 2, 1, sites), 0);
}

/* Behind it there are nops, each as good a site as any. */
TEST(probe_site_precedes_first_reference)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_references(3, 3, 2, sites), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(sites[i].instruction, "other");
		assert_int_equal(sites[i].offset_bytes, 0);
		assert_int_equal(sites[i].virtual_address, sites[0].virtual_address + i * 1024);
	}
}

TEST(probe_site_is_missing_without_known_functions)
{
	static const uint8_t code[] = { 0x55, 0xc3 };
	struct probe_site site;

	assert_int_equal(find_in_code(EM_X86_64, "something_else", code, sizeof(code), &site), 0);
	/* Nor one with the first of two that change it together. */
	assert_int_equal(
		find_in_code(EM_X86_64, "Ruby_Profiler_State_apply", code, sizeof(code), &site), 0);
	assert_int_equal(
		find_in_code(EM_X86_64, "Ruby_Profiler_State_get", code, sizeof(code), &site), 0);
}

TEST(probe_site_is_missing_for_data_symbol)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, "correlator_state_apply", 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct probe_site sites[PROBE_SITES_MAX];

	elf.symbols[FORGED_SYMBOL_INDEX].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(probe_site_find(image, "ruby_profiler_state", sites), 0);
}

TEST(probe_site_is_missing_for_function_outside_file)
{
	struct forged_elf elf = forged_elf_make(EM_X86_64, "correlator_state_apply", 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct probe_site sites[PROBE_SITES_MAX];

	elf.symbols[FORGED_SYMBOL_INDEX].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	elf.symbols[FORGED_SYMBOL_INDEX].st_value = UINT64_MAX - 3;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	assert_int_equal(probe_site_find(image, "ruby_profiler_state", sites), 0);
}

#if defined(FIXTURE_OWN_GEM) || defined(FIXTURE_AARCH64_REFERRING_DESCRIPTOR)
static void open_path(const char *path, struct elf_image **ret_image)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(open_elf(fd, ret_image), 0);
}

static int find_in_file(const char *path, struct probe_site sites[static PROBE_SITES_MAX])
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	open_path(path, &image);
	return probe_site_find(image, "ruby_profiler_state", sites);
}

#endif

#ifdef FIXTURE_AARCH64_REFERRING_DESCRIPTOR
TEST(probe_site_on_arm64_is_found_by_references)
{
	static const char *const paths[] = { FIXTURE_AARCH64_REFERRING_DESCRIPTOR,
					     FIXTURE_AARCH64_REFERRING_TRADITIONAL,
					     FIXTURE_AARCH64_REFERRING_INITIAL_EXEC };
	struct probe_site sites[PROBE_SITES_MAX];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(find_in_file(paths[i], sites), 2);
		for (size_t j = 0; j < 2; j++) {
			assert_null(sites[j].function);
			assert_int_equal(sites[j].cost, PROBE_SITE_EMULATED);
			assert_in_range(sites[j].offset_bytes, 0, 24);
		}
		assert_int_not_equal(sites[0].virtual_address - sites[0].offset_bytes,
				     sites[1].virtual_address - sites[1].offset_bytes);
	}
}
#endif

#ifdef FIXTURE_OWN_GEM
TEST(probe_site_of_own_gem_is_its_only_function)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_file(FIXTURE_OWN_GEM, sites), 1);
	assert_string_equal(sites[0].function, "correlator_state_apply");
	assert_string_equal(sites[0].instruction, "push");
	assert_int_equal(sites[0].bytes[0], 0x55);
}

static bool tells_serials(const char *path)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;

	open_path(path, &image);
	return probe_site_tells_serials(image);
}

TEST(probe_site_tells_serials_if_gem_says_so)
{
	assert_true(tells_serials(FIXTURE_OWN_GEM));
	assert_false(tells_serials(FIXTURE_UPSTREAM_GEM));
}

/* Ours may be older than that it tells of fibers. */
TEST(probe_site_of_fibers_is_separate)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct forged_elf elf = forged_elf_make(EM_X86_64, "correlator_fiber_apply", 0x10);
	uint8_t file[sizeof(elf) + 2] = { 0 };
	struct probe_site site, sites[PROBE_SITES_MAX];

	elf.symbols[FORGED_SYMBOL_INDEX].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	elf.symbols[FORGED_SYMBOL_INDEX].st_size = 2;
	elf.segments[0].p_offset = sizeof(elf) - 0x10;
	elf.segments[0].p_filesz = 0x10 + 2;
	memcpy(file, &elf, sizeof(elf));
	memcpy(file + sizeof(elf), "\x90\xc3", 2);
	assert_int_equal(elf_image_open_memory(file, sizeof(file), &image), 0);
	assert_int_equal(probe_site_find(image, "ruby_profiler_state", sites), 0);
	assert_true(probe_site_find_fiber(image, &site));
	assert_string_equal(site.instruction, "nop");
	assert_int_equal(site.file_offset, sizeof(elf));
}

TEST(probe_site_prefers_static_functions_of_upstream_gem)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_file(FIXTURE_UPSTREAM_GEM, sites), 2);
	assert_string_equal(sites[0].function, "Ruby_Profiler_State_apply");
	assert_string_equal(sites[0].instruction, "push");
	assert_int_equal(sites[0].offset_bytes, 4);
	assert_string_equal(sites[1].function, "Ruby_Profiler_fiber_switch_callback");
	assert_string_equal(sites[1].instruction, "call");
	assert_int_equal(sites[1].offset_bytes, 9);
}

TEST(probe_site_of_stripped_upstream_gem_is_exported_function)
{
	struct probe_site sites[PROBE_SITES_MAX];

	assert_int_equal(find_in_file(FIXTURE_UPSTREAM_GEM_STRIPPED, sites), 2);
	assert_string_equal(sites[0].function, "Ruby_Profiler_State_get");
	assert_string_equal(sites[0].instruction, "jmp");
	assert_int_equal(sites[0].offset_bytes, 7);
	assert_string_equal(sites[1].function, "Ruby_Profiler_State_for");
	assert_string_equal(sites[1].instruction, "push");
	assert_int_equal(sites[1].offset_bytes, 0);
}

/* The address that a function of the object has in its file. */
static uint64_t function_in_file(void *library, const char *table, size_t index)
{
	void *const *functions = dlsym(library, table);
	Dl_info info;

	assert_non_null(functions);
	assert_true(dladdr(functions, &info));
	return (uint64_t)((char *)functions[index] - (char *)info.dli_fbase);
}

static void assert_sites_in_referring_functions(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct probe_site sites[PROBE_SITES_MAX];

	assert_non_null(library);
	assert_int_equal(find_in_file(path, sites), 2);
	for (size_t i = 0; i < 2; i++) {
		uint64_t entry = function_in_file(library, "fixture_changes", i);
		uint64_t first = sites[0].virtual_address - sites[0].offset_bytes;
		const struct probe_site *site = &sites[first != entry];

		assert_null(site->function);
		assert_int_equal(site->virtual_address - site->offset_bytes, entry);
		assert_in_range(site->offset_bytes, 0, 16);
	}
	assert_int_equal(dlclose(library), 0);
}

TEST(probe_site_of_unnamed_functions_is_found_by_references)
{
	assert_sites_in_referring_functions(FIXTURE_REFERRING_GENERAL_DYNAMIC);
	assert_sites_in_referring_functions(FIXTURE_REFERRING_INITIAL_EXEC);
	assert_sites_in_referring_functions(FIXTURE_REFERRING_PROTECTED);
}
#endif
