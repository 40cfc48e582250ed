/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/elf/tls_slot.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/forged_process.h"

/* What code that refers to the variable refers to; 0 = not known. */
static uint64_t find_slot(const struct forged_process *process)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	uint64_t slot = 0;
	int r;

	assert_int_equal(elf_image_open_memory(&process->elf, sizeof(process->elf), &image), 0);
	r = tls_symbol_find_slot(image, FORGED_VARIABLE, &slot);
	assert_int_equal(r, slot ? 0 : -ENOENT);
	return slot;
}

static int resolve(struct forged_process *process, bool is_musl)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct memory_reader reader = forged_process_reader(process);

	assert_int_equal(elf_image_open_memory(&process->elf, sizeof(process->elf), &image), 0);
	return tls_symbol_resolve(image, BIAS, &reader, FORGED_VARIABLE, is_musl, true,
				  &process->symbol);
}

TEST(tls_symbol_dtv_layout_follows_machine_and_libc)
{
	static const struct {
		uint16_t machine;
		uint32_t relocation;
		bool is_musl;
		int32_t dtv_pointer_offset;
		uint32_t entry_bytes;
	} cases[] = {
		{ EM_X86_64, 16, false, 8, 16 },
		{ EM_X86_64, 16, true, 8, 8 },
		{ EM_AARCH64, 1028, false, 0, 16 },
		{ EM_AARCH64, 1028, true, -8, 8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged_process process =
			make_process(cases[i].machine, cases[i].relocation, FORGED_SYMBOL_INDEX, 0);
		const struct tls_location *location = &process.symbol.location;

		process.words[0] = 3;
		assert_int_equal(resolve(&process, cases[i].is_musl), 0);
		assert_int_equal(location->model, TLS_MODEL_DYNAMIC);
		assert_int_equal(location->module, 3);
		assert_int_equal(location->offset, 0x20);
		assert_int_equal(location->dtv_pointer_offset, cases[i].dtv_pointer_offset);
		assert_int_equal(location->dtv_entry_bytes, cases[i].entry_bytes);
		assert_int_equal(location->dtv_has_length, !cases[i].is_musl);
		assert_int_equal(process.symbol.slot_address, WORDS_ADDRESS);
	}
}

TEST(tls_symbol_selects_relocation_by_symbol_not_order)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_DTPMOD64, 0, 0);

	add_relocation(&process, 1, SLOT + 16, R_X86_64_DTPMOD64, 7);
	add_relocation(&process, 2, SLOT + 32, R_X86_64_DTPMOD64, FORGED_SYMBOL_INDEX);
	add_relocation(&process, 3, SLOT + 40, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
	process.words[0] = 1;
	process.words[2] = 2;
	process.words[4] = 9;
	process.words[5] = 0x20;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.module, 9);
	assert_int_equal(process.symbol.location.offset, 0x20);
	/* Nor is what comes first of its own, of another kind, its slot. */
	add_relocation(&process, 0, SLOT + 40, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
	process.symbol = (struct tls_symbol){ 0 };
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.module, 9);
}

TEST(tls_symbol_bound_to_other_object_follows_loader)
{
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_DTPMOD64, FORGED_SYMBOL_INDEX, 0);

	add_relocation(&process, 1, SLOT + 8, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
	process.words[0] = 2;
	process.words[1] = 0x48;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.module, 2);
	assert_int_equal(process.symbol.location.offset, 0x48);
	/* The module is written first: the offset's zero is the file's. */
	process.words[1] = 0;
	assert_int_equal(resolve(&process, false), -EAGAIN);
}

TEST(tls_symbol_rejects_several_relocations_without_symbol)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_DTPMOD64, 0, 0);

	process.words[0] = 4;
	process.words[2] = 4;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(find_slot(&process), SLOT);
	add_relocation(&process, 1, SLOT + 16, R_X86_64_DTPMOD64, 0);
	assert_int_equal(resolve(&process, false), -ENOTSUP);
	assert_int_equal(find_slot(&process), 0);
}

TEST(tls_symbol_returns_eagain_for_unrelocated_slot)
{
	static const uint32_t types[] = { R_X86_64_DTPMOD64, R_X86_64_TLSDESC, R_X86_64_TPOFF64 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct forged_process process =
			make_process(EM_X86_64, types[i], FORGED_SYMBOL_INDEX, 0);

		assert_int_equal(resolve(&process, false), -EAGAIN);
	}
}

TEST(tls_symbol_returns_efault_for_unreadable_slot)
{
	static const uint32_t types[] = { R_X86_64_DTPMOD64, R_X86_64_TLSDESC, R_X86_64_TPOFF64 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct forged_process process =
			make_process(EM_X86_64, types[i], FORGED_SYMBOL_INDEX, 0);

		process.elf.relocations[0].r_offset = SLOT + sizeof(process.words);
		assert_int_equal(resolve(&process, false), -EFAULT);
		assert_int_equal(process.symbol.location.model, TLS_MODEL_NONE);
	}
}

TEST(tls_symbol_returns_eagain_for_lazily_bound_descriptor)
{
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_TLSDESC, FORGED_SYMBOL_INDEX, 0);

	process.words[0] = BIAS + 0x40;
	process.words[1] = BIAS + 0x80;
	assert_int_equal(resolve(&process, false), -EAGAIN);
}

TEST(tls_symbol_distinguishes_aarch64_descriptors_by_argument)
{
	struct forged_process process =
		make_process(EM_AARCH64, R_AARCH64_TLSDESC, FORGED_SYMBOL_INDEX, 0);

	process.words[0] = 0x7f1234560000;
	process.words[1] = 0xb0;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(process.symbol.location.offset, 0xb0);
	process.words[1] = WORDS_ADDRESS + 64;
	process.words[8] = 5;
	process.words[9] = 0x20;
	assert_int_equal(resolve(&process, true), 0);
	assert_int_equal(process.symbol.location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(process.symbol.location.module, 5);
	assert_int_equal(process.symbol.location.offset, 0x20);
}

TEST(tls_symbol_accepts_zero_offset_with_musl_on_aarch64)
{
	struct forged_process process =
		make_process(EM_AARCH64, R_AARCH64_TLS_TPREL, FORGED_SYMBOL_INDEX, 0);

	assert_int_equal(resolve(&process, false), -EAGAIN);
	assert_int_equal(resolve(&process, true), 0);
	assert_int_equal(process.symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(process.symbol.location.offset, 0);
}

TEST(tls_symbol_rejects_impossible_slot_values)
{
	static const struct {
		uint32_t relocation;
		uint64_t words[2];
		int expected;
	} cases[] = {
		{ R_X86_64_DTPMOD64, { TLS_SLOT_MODULE_MAX + 1, 0 }, -EUCLEAN },
		{ R_X86_64_DTPMOD64, { UINT64_MAX, 0 }, -EUCLEAN },
		{ R_X86_64_TPOFF64, { 0x1000, 0 }, -EUCLEAN },
		{ R_X86_64_TPOFF64, { (uint64_t)-12, 0 }, -EUCLEAN },
		{ R_X86_64_TPOFF64, { (uint64_t) - (1LL << 40), 0 }, -EUCLEAN },
		{ R_X86_64_TLSDESC, { 0x7f1234560000, 0 }, -EUCLEAN },
		{ R_X86_64_TLSDESC, { 0x7f1234560000, 1ULL << 60 }, -EUCLEAN },
		{ R_X86_64_TLSDESC, { 0x7f1234560000, 0x7f5555550001 }, -EUCLEAN },
		{ R_X86_64_TLSDESC, { 0x7f1234560000, 0x7f5555550000 }, -EFAULT },
		/* A record that leads to another variable. */
		{ R_X86_64_TLSDESC, { 0x7f1234560000, 0x7f0000010100 }, -EUCLEAN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged_process process =
			make_process(EM_X86_64, cases[i].relocation, FORGED_SYMBOL_INDEX, 0);
		int r;

		memcpy(process.words, cases[i].words, sizeof(cases[i].words));
		r = resolve(&process, false);
		if (r != cases[i].expected)
			fail_msg("case %zu: %d, not %d", i, r, cases[i].expected);
		assert_int_equal(process.symbol.location.model, TLS_MODEL_NONE);
	}
}

TEST(tls_symbol_accepts_slot_values_up_to_their_limits)
{
	static const struct {
		uint16_t machine;
		uint32_t relocation;
		uint64_t words[2];
		int expected;
		int64_t offset;
	} cases[] = {
		{ EM_X86_64, R_X86_64_DTPMOD64, { TLS_SLOT_MODULE_MAX, 0 }, 0, 0x20 },
		{ EM_X86_64, R_X86_64_TPOFF64, { -(1ULL << 30) + 8, 0 }, 0, -(1LL << 30) + 8 },
		{ EM_X86_64, R_X86_64_TPOFF64, { -(1ULL << 30), 0 }, -EUCLEAN, 0 },
		{ EM_X86_64, R_X86_64_TPOFF64, { -8ULL, 0 }, 0, -8 },
		{ EM_AARCH64, R_AARCH64_TLS_TPREL, { 65528, 0 }, 0, 65528 },
		{ EM_AARCH64, R_AARCH64_TLS_TPREL, { 65536, 0 }, -EUCLEAN, 0 },
		{ EM_AARCH64, R_AARCH64_TLS_TPREL, { 65532, 0 }, -EUCLEAN, 0 },
		/* A descriptor's argument: an offset, or an address to be read at. */
		{ EM_X86_64, R_X86_64_TLSDESC, { 0x7f1234560000, 4088 }, -EUCLEAN, 0 },
		{ EM_X86_64, R_X86_64_TLSDESC, { 0x7f1234560000, 4096 }, -EFAULT, 0 },
		{ EM_X86_64, R_X86_64_TLSDESC, { 0x7f1234560000, (1ULL << 56) - 8 }, -EFAULT, 0 },
		{ EM_X86_64, R_X86_64_TLSDESC, { 0x7f1234560000, 1ULL << 56 }, -EUCLEAN, 0 },
		{ EM_X86_64, R_X86_64_TLSDESC, { 0x7f1234560000, 4100 }, -EUCLEAN, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged_process process =
			make_process(cases[i].machine, cases[i].relocation, FORGED_SYMBOL_INDEX, 0);
		int r;

		memcpy(process.words, cases[i].words, sizeof(cases[i].words));
		r = resolve(&process, false);
		if (r != cases[i].expected)
			fail_msg("case %zu: %d, not %d", i, r, cases[i].expected);
		assert_int_equal(process.symbol.location.offset, cases[i].offset);
	}
}

TEST(tls_symbol_module_offset_is_aligned_and_below_1_gib)
{
	static const struct {
		uint64_t offset;
		int expected;
	} cases[] = { { (1ULL << 30) - 8, 0 },
		      { 1ULL << 30, -EUCLEAN },
		      { 0x44, -EUCLEAN },
		      { 0x41, -EUCLEAN } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forged_process process =
			make_process(EM_X86_64, R_X86_64_DTPMOD64, FORGED_SYMBOL_INDEX, 0);

		add_relocation(&process, 1, SLOT + 8, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
		process.words[0] = 2;
		process.words[1] = cases[i].offset;
		assert_int_equal(resolve(&process, false), cases[i].expected);
	}
}

/* What lies behind it in the same words is another variable's. */
TEST(tls_symbol_offset_relocation_is_word_after_module)
{
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_DTPMOD64, FORGED_SYMBOL_INDEX, 0);

	add_relocation(&process, 1, SLOT + 16, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
	add_relocation(&process, 2, SLOT + 8, R_X86_64_DTPOFF64, 7);
	add_relocation(&process, 3, SLOT + 8, R_X86_64_TPOFF64, FORGED_SYMBOL_INDEX);
	process.words[0] = 2;
	process.words[1] = 0x48;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.offset, 0x20);
	/* With an addend of its own, which the word has in it. */
	process.elf.relocations[1].r_offset = SLOT + 8;
	process.elf.relocations[1].r_addend = 8;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.offset, 0x40);
}

TEST(tls_symbol_accepts_anonymous_relocation_with_its_addend)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_TPOFF64, 0, 0x18);

	process.words[0] = -0x40ULL;
	assert_int_equal(resolve(&process, false), -ENOTSUP);
	assert_int_equal(find_slot(&process), 0);
	process.elf.relocations[0].r_addend = 0x20;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.offset, -0x40);
	assert_string_equal(process.symbol.relocation, "TPOFF64");
	assert_int_equal(process.symbol.symbol_value, 0x20);
	assert_false(process.symbol.is_above_thread_pointer);
	process.words[0] = 0;
	assert_int_equal(resolve(&process, false), -EAGAIN);
}

TEST(tls_symbol_returns_eagain_for_descriptor_inside_its_object)
{
	const uint64_t size = sizeof(struct forged_elf);
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_TLSDESC, FORGED_SYMBOL_INDEX, 0);

	process.words[0] = 0x7f1234560000;
	process.words[1] = BIAS + size - 1;
	assert_int_equal(resolve(&process, false), -EAGAIN);
	process.words[1] = BIAS;
	assert_int_equal(resolve(&process, false), -EAGAIN);
	process.words[1] = (BIAS + size + 7) & ~7ULL;
	assert_int_equal(resolve(&process, false), -EFAULT);
	process.words[1] = -0x40ULL;
	process.words[0] = BIAS + 8;
	assert_int_equal(resolve(&process, false), -EAGAIN);
	process.words[0] = 0x7f1234560000;
	assert_int_equal(resolve(&process, false), 0);
	assert_int_equal(process.symbol.location.offset, -0x40);
}

TEST(tls_symbol_rejects_missing_relocation_and_unknown_machine)
{
	struct forged_process process = make_process(EM_X86_64, 0, 0, 0);
	struct forged_process unknown = make_process(EM_S390, 16, FORGED_SYMBOL_INDEX, 0);

	assert_int_equal(resolve(&process, false), -ENOTSUP);
	assert_int_equal(resolve(&unknown, false), -ENOTSUP);
}

TEST(tls_symbol_local_exec_follows_variant_of_machine)
{
	struct forged_process x86 = make_process(EM_X86_64, 0, 0, 0);
	struct forged_process aarch64 = make_process(EM_AARCH64, 0, 0, 0);

	x86.elf.header.e_type = ET_EXEC;
	aarch64.elf.header.e_type = ET_EXEC;
	assert_int_equal(resolve(&x86, false), 0);
	assert_int_equal(x86.symbol.location.offset, -0x30 + 0x20);
	assert_int_equal(resolve(&aarch64, false), 0);
	assert_int_equal(aarch64.symbol.location.offset, 0x10 + 0x20);
	aarch64.elf.segments[1].p_align = 64;
	assert_int_equal(resolve(&aarch64, false), 0);
	assert_int_equal(aarch64.symbol.location.offset, 0x40 + 0x20);
	/* A block that does not begin where it would be aligned. */
	x86.elf.segments[1].p_vaddr = 0x1008;
	assert_int_equal(resolve(&x86, false), 0);
	assert_int_equal(x86.symbol.location.offset, -0x28 + 0x20);
	aarch64.elf.segments[1].p_align = 16;
	aarch64.elf.segments[1].p_vaddr = 0x1008;
	assert_int_equal(resolve(&aarch64, false), 0);
	assert_int_equal(aarch64.symbol.location.offset, 0x18 + 0x20);
	for (uint64_t align = 0; align <= 1; align++) {
		aarch64.elf.segments[1].p_align = align;
		assert_int_equal(resolve(&aarch64, false), 0);
		assert_int_equal(aarch64.symbol.location.offset, 0x10 + 0x20);
	}
	aarch64.elf.segments[1].p_align = 24;
	assert_int_equal(resolve(&aarch64, false), -EINVAL);
	aarch64.elf.segments[1].p_type = PT_NULL;
	assert_int_equal(resolve(&aarch64, false), -EINVAL);
}
