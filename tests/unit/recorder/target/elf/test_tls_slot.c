/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of a slot by its address alone, as code has it. By name: test_tls_symbol.c. */
#include "recorder/target/elf/tls_slot.h"

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/forged_process.h"

/* The location of what code adds delta bytes to the slot at an address for. */
static int resolve_at(struct forged_process *process, uint64_t address, int64_t delta,
		      struct tls_location *ret_location)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct memory_reader reader = forged_process_reader(process);
	struct tls_object object = { .reader = &reader, .load_bias = BIAS };
	struct tls_slot slot;
	int r;

	assert_int_equal(elf_image_open_memory(&process->elf, sizeof(process->elf), &image), 0);
	object.image = image;
	object.machine = tls_machine_of(image);
	r = tls_slot_at(image, object.machine, address, delta, &slot);
	return r < 0 ? r : tls_slot_resolve(&object, &slot, ret_location);
}

TEST(tls_slot_is_relocation_at_given_address)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_TPOFF64, 0, 0x20);
	struct tls_location location = { 0 };

	add_relocation(&process, 1, SLOT + 16, R_X86_64_TPOFF64, 0);
	/* Nor is another relocation of the same word the loader's number of a thread-local. */
	add_relocation(&process, 2, SLOT + 32, R_X86_64_RELATIVE, 0);
	add_relocation(&process, 3, SLOT + 32, R_X86_64_TPOFF64, 0);
	process.words[0] = -0x100ULL;
	process.words[2] = -0x40ULL;
	process.words[4] = -0x80ULL;
	assert_int_equal(resolve_at(&process, SLOT + 16, 8, &location), 0);
	assert_int_equal(location.model, TLS_MODEL_STATIC);
	assert_int_equal(location.offset, -0x38);
	assert_int_equal(resolve_at(&process, SLOT + 32, 0, &location), 0);
	assert_int_equal(location.offset, -0x80);
	assert_int_equal(resolve_at(&process, SLOT + 8, 0, &location), -ENOENT);
}

/* General dynamic of what others may see: the loader writes both words. */
TEST(tls_slot_reads_module_and_offset_written_by_loader)
{
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_DTPMOD64, FORGED_SYMBOL_INDEX, 0);
	struct tls_location location = { 0 };

	add_relocation(&process, 1, SLOT + 8, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
	process.words[0] = 3;
	process.words[1] = FORGED_VARIABLE_OFFSET;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), 0);
	assert_int_equal(location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(location.module, 3);
	assert_int_equal(location.offset, FORGED_VARIABLE_OFFSET + 0x10);
	assert_int_equal(location.dtv_entry_bytes, 16);
	assert_true(location.dtv_has_length);
	/* It has written the first alone. */
	process.words[1] = 0;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), -EAGAIN);
	/* Its symbol is at the block's start: the zero is right. */
	process.elf.symbols[FORGED_SYMBOL_INDEX].st_value = 0;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), 0);
	assert_int_equal(location.offset, 0x10);
	process.words[0] = 0;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), -EAGAIN);
}

/* Of a hidden variable the linker knew the offset, and of all of them (local dynamic) it is 0. */
TEST(tls_slot_takes_offset_written_by_linker)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_DTPMOD64, 0, 0);
	struct tls_location location = { 0 };
	/* In the file, where it stays what it is. */
	const uint64_t slot = offsetof(struct forged_elf, strings) + 40;
	uint64_t in_file = 0x48;

	process.elf.relocations[0].r_offset = slot;
	memcpy(process.elf.strings + 48, &in_file, sizeof(in_file));
	/* Nothing of the process is there: the file alone says so. */
	assert_int_equal(resolve_at(&process, slot, 0, &location), -EFAULT);
	process.elf.segments[0].p_vaddr = SLOT - slot;
	process.elf.relocations[0].r_offset = SLOT;
	process.words[0] = 2;
	process.words[1] = in_file;
	assert_int_equal(resolve_at(&process, SLOT, 8, &location), 0);
	assert_int_equal(location.module, 2);
	assert_int_equal(location.offset, 0x50);
	/* What the file has there is not in memory yet. */
	process.words[1] = 0;
	assert_int_equal(resolve_at(&process, SLOT, 8, &location), -EAGAIN);
	memset(process.elf.strings + 48, 0, sizeof(in_file));
	assert_int_equal(resolve_at(&process, SLOT, 0x28, &location), 0);
	assert_int_equal(location.offset, 0x28);
}

TEST(tls_slot_of_module_without_offset_in_file_is_not_found)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_DTPMOD64, 0, 0);
	struct tls_location location = { 0 };

	process.words[0] = 2;
	assert_int_equal(resolve_at(&process, SLOT, 8, &location), -ENOENT);
}

/* A lazily bound one is told apart, which the argument alone, that looks like a pointer, is not. */
TEST(tls_slot_reads_descriptor_only_once_it_is_bound)
{
	struct forged_process process =
		make_process(EM_X86_64, R_X86_64_TLSDESC, FORGED_SYMBOL_INDEX, 8);
	struct tls_location location = { 0 };

	process.words[1] = WORDS_ADDRESS + 64;
	process.words[8] = 5;
	process.words[9] = FORGED_VARIABLE_OFFSET + 8;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), -EAGAIN);
	process.words[0] = BIAS + 8;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), -EAGAIN);
	process.words[0] = 0x7f1234560000;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), 0);
	assert_int_equal(location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(location.module, 5);
	assert_int_equal(location.offset, FORGED_VARIABLE_OFFSET + 0x18);
	/* The record is another variable's. */
	process.words[9] = FORGED_VARIABLE_OFFSET;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), -EUCLEAN);
	process.words[1] = -0x40ULL;
	assert_int_equal(resolve_at(&process, SLOT, 0x10, &location), 0);
	assert_int_equal(location.model, TLS_MODEL_STATIC);
	assert_int_equal(location.offset, -0x30);
}

TEST(tls_slot_descriptor_without_symbol_uses_own_block)
{
	struct forged_process process = make_process(EM_X86_64, R_X86_64_TLSDESC, 0, 0x18);
	struct tls_location location = { 0 };

	process.words[0] = 0x7f1234560000;
	process.words[1] = WORDS_ADDRESS + 64;
	process.words[8] = 5;
	process.words[9] = 0x18;
	assert_int_equal(resolve_at(&process, SLOT, 0, &location), 0);
	assert_int_equal(location.offset, 0x18);
	process.words[9] = 0x20;
	assert_int_equal(resolve_at(&process, SLOT, 0, &location), -EUCLEAN);
}

TEST(tls_slot_of_undefined_symbol_is_not_found)
{
	static const uint32_t types[] = { R_X86_64_DTPMOD64, R_X86_64_TLSDESC, R_X86_64_TPOFF64 };
	struct tls_location location = { 0 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct forged_process process =
			make_process(EM_X86_64, types[i], FORGED_SYMBOL_INDEX, 0);

		add_relocation(&process, 1, SLOT + 8, R_X86_64_DTPOFF64, FORGED_SYMBOL_INDEX);
		process.elf.symbols[FORGED_SYMBOL_INDEX].st_shndx = SHN_UNDEF;
		process.words[0] = types[i] == R_X86_64_TPOFF64 ? -0x40ULL : 2;
		process.words[1] = types[i] == R_X86_64_DTPMOD64 ? 0x20 : -0x40ULL;
		assert_int_equal(resolve_at(&process, SLOT, 0, &location), -ENOENT);
		assert_int_equal(location.model, TLS_MODEL_NONE);
	}
}

TEST(tls_slot_none_is_offset_from_thread_pointer)
{
	const struct tls_slot inside = { .kind = TLS_SLOT_NONE, .delta = -0x40ULL };
	const struct tls_slot outside = { .kind = TLS_SLOT_NONE, .delta = 0x10 };
	struct forged_process process = make_process(EM_X86_64, 0, 0, 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct tls_object object = { .load_bias = BIAS, .is_musl = true };
	struct tls_location location = { .model = 4711 };

	assert_int_equal(elf_image_open_memory(&process.elf, sizeof(process.elf), &image), 0);
	object.image = image;
	object.machine = tls_machine_of(image);
	assert_int_equal(tls_slot_resolve(&object, &outside, &location), -EUCLEAN);
	assert_int_equal(location.model, 4711);
	assert_int_equal(tls_slot_resolve(&object, &inside, &location), 0);
	assert_int_equal(location.model, TLS_MODEL_STATIC);
	assert_int_equal(location.offset, -0x40);
	assert_int_equal(location.dtv_entry_bytes, 8);
	assert_false(location.dtv_has_length);
}
