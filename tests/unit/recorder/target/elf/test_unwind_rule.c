/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules of a library that this program uses, and of copies of it with forged tables. */
#include "recorder/target/elf/unwind_rule.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "whole_file.h"

enum {
	FORGERIES = 300,
	FORGED_BYTES = 8, /* of each */
	PATH_BYTES = 512,
};

static struct {
	char folder[64], path[128]; /* of the copies */
	char original[PATH_BYTES];
	uint8_t *bytes;
	size_t size_bytes;
	uint64_t function; /* of the library: its virtual address */
} known;

static int set_up(void **state)
{
	Dl_info info;

	(void)state;
	if (!dladdr((void *)(uintptr_t)_assert_true, &info))
		return -1;
	(void)snprintf(known.original, sizeof(known.original), "%s", info.dli_fname);
	known.function = (uint64_t)info.dli_saddr - (uint64_t)info.dli_fbase;
	(void)strcpy(known.folder, "/tmp/correlator-unwind-XXXXXX");
	if (!mkdtemp(known.folder))
		return -1;
	(void)snprintf(known.path, sizeof(known.path), "%s/library", known.folder);
	known.bytes = whole_file_read(known.original, &known.size_bytes);
	return known.bytes ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(known.path);
	(void)rmdir(known.folder);
	free(known.bytes);
	return 0;
}

static int read_rule(const char *path, uint64_t address, struct unwind_rule *rule)
{
	_cleanup_(object_file_releasep) struct object_file *file = NULL;
	char real[PATH_BYTES];

	assert_non_null(realpath(path, real));
	assert_int_equal(object_file_open_path(getpid(), real, &file), 0);
	memset(rule, '?', sizeof(*rule));
	return unwind_rule_read(file, getpid(), "library", address, rule);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

/* Where a function begins, nothing is on the stack but the address that it returns to. */
FIXTURE_TEST(unwind_rule_is_known_where_function_begins)
{
	struct unwind_rule rule;

	assert_int_equal(read_rule(known.original, known.function, &rule), 0);
	assert_false(rule.is_signal);
	assert_in_range(known.function, rule.begin, rule.end - 1);
	assert_int_equal(rule.step_count, 1);
	assert_int_equal(rule.steps[0].operation, DW_OP_bregx);
#ifdef __aarch64__
	assert_int_equal(rule.steps[0].number, 31);
	assert_int_equal(rule.steps[0].number2, 0);
	assert_int_equal(rule.return_register, 30);
	assert_int_equal(rule.places[30], UNWIND_SAME);
#else
	assert_int_equal(rule.steps[0].number, 7);
	assert_int_equal(rule.steps[0].number2, 8);
	assert_int_equal(rule.return_register, 16);
	assert_int_equal(rule.places[16], UNWIND_SAVED);
	assert_int_equal(rule.offsets[16], -8);
	assert_int_equal(rule.places[6], UNWIND_SAME);
#endif
}

FIXTURE_TEST(unwind_rule_is_none_outside_functions)
{
	struct unwind_rule rule;

	assert_int_equal(read_rule(known.original, 0, &rule), -ENOENT);
	assert_int_equal(read_rule(known.original, UINT64_MAX, &rule), -ENOENT);
}

/* A function that programs call: it begins as others do. */
FIXTURE_TEST(unwind_rule_of_vdso_is_that_of_own)
{
	const char *begin = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)begin;
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct elf_symbol symbol;
	struct unwind_rule rule;

	assert_non_null(begin);
	assert_int_equal(
		elf_image_open_memory(begin, header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr),
				      &image),
		0);
#ifdef __aarch64__
	assert_true(elf_image_find_defined(image, "__kernel_clock_gettime", &symbol));
#else
	assert_true(elf_image_find_defined(image, "__vdso_clock_gettime", &symbol));
#endif
	assert_int_equal(unwind_rule_read_vdso(symbol.value, &rule), 0);
	assert_int_equal(rule.step_count, 1);
	assert_int_equal(rule.steps[0].operation, DW_OP_bregx);
	assert_int_equal(unwind_rule_read_vdso(0, &rule), -ENOENT);
}

/* The section with that name, by headers that are right. */
static const Elf64_Shdr *find_section(const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)known.bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(known.bytes + header->e_shoff);
	const char *names = (const char *)known.bytes + sections[header->e_shstrndx].sh_offset;

	for (size_t i = 0; i < header->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, name) == 0)
			return &sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

static void write_forgery(const Elf64_Shdr *section)
{
	_cleanup_free_ uint8_t *bytes = malloc(known.size_bytes);
	FILE *file = fopen(known.path, "w");

	assert_non_null(bytes);
	assert_non_null(file);
	memcpy(bytes, known.bytes, known.size_bytes);
	for (int i = 0; i < FORGED_BYTES; i++)
		bytes[section->sh_offset + (uint64_t)(drand48() * (double)section->sh_size)] =
			(uint8_t)lrand48();
	assert_int_equal(fwrite(bytes, 1, known.size_bytes, file), known.size_bytes);
	assert_int_equal(fclose(file), 0);
}

/* Whatever libdw does with it, we live, and the next file is read. */
FIXTURE_TEST(unwind_rule_survives_forged_tables)
{
	const Elf64_Shdr *text = find_section(".text");
	const char *const names[] = { ".eh_frame", ".eh_frame_hdr" };
	struct unwind_rule rule;
	int answers = 0;

	srand48(35);
	for (int i = 0; i < FORGERIES; i++) {
		uint64_t address = text->sh_addr + (uint64_t)(drand48() * (double)text->sh_size);
		int r;

		write_forgery(find_section(names[i % 2]));
		r = read_rule(known.path, address, &rule);
		assert_true(r == 0 || r == -ENOENT || r == -ENOTSUP || r == -EPIPE);
		answers += r == 0;
		assert_true(r != 0 || rule.step_count <= UNWIND_STEPS_MAX);
		assert_true(r != 0 || rule.return_register < UNWIND_REGISTERS);
	}
	assert_in_range(answers, 1, FORGERIES);
	assert_int_equal(read_rule(known.original, known.function, &rule), 0);
}
