/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the thread-local is: an ELF file, and the memory of a process that claims to have loaded
 * it. First the options, the load bias, a word that is not used, and the size of the ELF file in
 * units of 64.
 */
#include "fuzz_memory.h"
#include "recorder/target/elf/tls_slot.h"
#include "recorder/target/elf/tls_symbol.h"

enum {
	OPTION_MUSL = 1,
	ELF_UNIT_BYTES = 64,
};

static void require_bounded(const struct tls_location *location)
{
	FUZZ_REQUIRE(location->model == TLS_MODEL_STATIC || location->model == TLS_MODEL_DYNAMIC);
	FUZZ_REQUIRE(location->offset > -(1LL << 30) && location->offset < 1LL << 30);
	if (location->model != TLS_MODEL_DYNAMIC)
		return;
	FUZZ_REQUIRE(location->module >= 1 && location->module <= TLS_SLOT_MODULE_MAX);
	FUZZ_REQUIRE(location->dtv_entry_bytes == 8 || location->dtv_entry_bytes == 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	uint8_t options = fuzz_take_u8(&input);
	uint64_t load_bias = fuzz_take_u64(&input);
	uint64_t unused = fuzz_take_u64(&input);
	size_t elf_bytes = ELF_UNIT_BYTES * (size_t)fuzz_take_u8(&input);
	struct elf_image *image = NULL;
	struct tls_symbol symbol;
	struct fuzz_memory memory;
	struct memory_reader reader;
	const uint8_t *elf = input.data;

	(void)unused;
	elf_bytes = elf_bytes < input.size_bytes ? elf_bytes : input.size_bytes;
	input.data += elf_bytes;
	input.size_bytes -= elf_bytes;
	fuzz_memory_init(&memory, &input);
	reader = fuzz_memory_reader(&memory);
	if (elf_image_open_memory(elf, elf_bytes, &image) < 0)
		return 0;
	if (tls_symbol_resolve(image, load_bias, &reader, "ruby_profiler_state",
			       options & OPTION_MUSL, false, &symbol) == 0) {
		require_bounded(&symbol.location);
		FUZZ_REQUIRE(symbol.relocation);
	}
	elf_image_free(image);
	return 0;
}
