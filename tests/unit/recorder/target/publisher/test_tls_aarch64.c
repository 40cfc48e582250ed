/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tls_symbol.c on what a compiler for aarch64 makes. Nothing of it runs here: the test plays the
 * loader, and writes into the slots what glibc's would.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/open_elf.h"
#include "recorder/target/publisher/probe_site.h"

UNIT_TEST_ALONE;

#ifdef FIXTURE_AARCH64_DESCRIPTOR

static const char NAME[] = "ruby_profiler_state";
static const uint64_t BIAS = 0x7f0000000000;
/* Of fixtures/tls_variable.c: the variable is behind three words. */
static const uint64_t SYMBOL_VALUE = 24;

/* The two words of a slot, at its address. */
struct slot_memory {
	uint64_t address;
	uint64_t words[2];
	uint64_t record_address; /* of a descriptor of dynamic TLS */
	uint64_t record[2];
};

static int read_memory(const struct memory_reader *reader, uint64_t address, void *buffer,
		       size_t size_bytes)
{
	const struct slot_memory *memory = reader->context;
	const uint64_t *words = address == memory->record_address ? memory->record : memory->words;

	if ((address != memory->address && address != memory->record_address) ||
	    size_bytes > sizeof(memory->words))
		return -EFAULT;
	memcpy(buffer, words, size_bytes);
	return 0;
}

static struct elf_image *open_fixture(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image *image = NULL;

	assert_true(fd >= 0);
	assert_int_equal(open_elf(fd, &image), 0);
	assert_int_equal(elf_image_machine(image), EM_AARCH64);
	return image;
}

/* Resolves with these words in the slot, which the fixture must have of that kind of relocation. */
static struct tls_symbol resolve(const char *path, const char *relocation,
				 struct slot_memory *memory, bool is_musl)
{
	_cleanup_(elf_image_freep) struct elf_image *image = open_fixture(path);
	struct memory_reader reader = { .read = read_memory, .context = memory };
	struct elf_symbol variable;
	struct tls_symbol symbol;
	uint64_t slot;

	assert_int_equal(elf_image_find_symbol(image, NAME, &variable), 0);
	assert_int_equal(variable.value, SYMBOL_VALUE);
	assert_int_equal(tls_symbol_find_slot(image, NAME, &slot), 0);
	memory->address = BIAS + slot;
	assert_int_equal(tls_symbol_resolve(image, BIAS, &reader, NAME, is_musl, true, &symbol), 0);
	assert_string_equal(symbol.relocation, relocation);
	assert_int_equal(symbol.symbol_value, SYMBOL_VALUE);
	return symbol;
}

TEST(tls_aarch64_resolves_static_descriptor)
{
	/* _dl_tlsdesc_return, and the offset of the variable itself. */
	struct slot_memory memory = { .words = { 0x7f1000000100, 0xb0 + SYMBOL_VALUE } };
	struct tls_symbol symbol = resolve(FIXTURE_AARCH64_DESCRIPTOR, "TLSDESC", &memory, false);

	assert_int_equal(symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(symbol.location.offset, 0xb0 + SYMBOL_VALUE);
}

TEST(tls_aarch64_resolves_dynamic_descriptor)
{
	struct slot_memory memory = {
		.words = { 0x7f1000000200, 0x7f2000000000 },
		.record_address = 0x7f2000000000,
		.record = { 5, SYMBOL_VALUE },
	};
	struct tls_symbol symbol = resolve(FIXTURE_AARCH64_DESCRIPTOR, "TLSDESC", &memory, false);

	assert_int_equal(symbol.location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(symbol.location.module, 5);
	assert_int_equal(symbol.location.offset, SYMBOL_VALUE);
	assert_int_equal(symbol.location.dtv_pointer_offset, 0);
	assert_int_equal(symbol.location.dtv_entry_bytes, 16);
}

TEST(tls_aarch64_resolves_general_dynamic)
{
	struct slot_memory memory = { .words = { 4, SYMBOL_VALUE } };
	struct tls_symbol glibc =
		resolve(FIXTURE_AARCH64_TRADITIONAL, "DTPMOD64+DTPOFF64", &memory, false);
	struct tls_symbol musl =
		resolve(FIXTURE_AARCH64_TRADITIONAL, "DTPMOD64+DTPOFF64", &memory, true);

	assert_int_equal(glibc.location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(glibc.location.module, 4);
	assert_int_equal(glibc.location.offset, SYMBOL_VALUE);
	assert_int_equal(musl.location.module, 4);
	assert_int_equal(musl.location.dtv_pointer_offset, -8);
	assert_int_equal(musl.location.dtv_entry_bytes, 8);
}

TEST(tls_aarch64_resolves_initial_exec)
{
	struct slot_memory memory = { .words = { 0x40 + SYMBOL_VALUE } };
	struct tls_symbol symbol = resolve(FIXTURE_AARCH64_INITIAL_EXEC, "TPOFF64", &memory, false);

	assert_int_equal(symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(symbol.location.offset, 0x40 + SYMBOL_VALUE);
}

/* mrs x0, tpidr_el0; add x0, x0, #high, lsl #12; add x0, x0, #low: the linker's own figure. */
static uint64_t offset_in_code(const struct elf_image *image)
{
	struct elf_symbol function;
	uint32_t code[3];

	assert_int_equal(elf_image_find_symbol(image, "fixture_variable", &function), 0);
	assert_int_equal(elf_image_read(image, function.value, code, sizeof(code)), 0);
	assert_int_equal(code[0], 0xd53bd040);
	assert_int_equal(code[1] & 0xffc003ff, 0x91400000);
	assert_int_equal(code[2] & 0xffc003ff, 0x91000000);
	return (uint64_t)(code[1] >> 10 & 0xfff) << 12 | (code[2] >> 10 & 0xfff);
}

TEST(tls_aarch64_local_exec_matches_linker_offset)
{
	static const char *const paths[] = { FIXTURE_AARCH64_LOCAL_EXEC,
					     FIXTURE_AARCH64_LOCAL_EXEC_ALIGNED };
	struct slot_memory memory = { 0 };
	struct memory_reader reader = { .read = read_memory, .context = &memory };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(elf_image_freep) struct elf_image *image = open_fixture(paths[i]);
		struct tls_symbol symbol;

		assert_int_equal(tls_symbol_resolve(image, 0, &reader, NAME, false, true, &symbol),
				 0);
		assert_string_equal(symbol.relocation, "none");
		assert_int_equal(symbol.location.model, TLS_MODEL_STATIC);
		assert_int_equal(symbol.location.offset, offset_in_code(image));
	}
}

#else

int main(void)
{
	print_message("no compiler for aarch64 here (gcc-aarch64-linux-gnu)\n");
	return 77;
}

#endif
