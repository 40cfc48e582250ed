/* SPDX-License-Identifier: GPL-2.0-only */
/* An ELF file of the target: all that is asked of one, for any answer of it. */
#include "fuzz.h"
#include "recorder/target/elf/elf_image.h"
#include "recorder/target/publisher/probe_site.h"

static void ask_relocations(const struct elf_image *image, size_t size_bytes)
{
	struct elf_relocation relocation;
	size_t cursor = 0, count = 0;

	while (elf_image_next_relocation(image, &cursor, &relocation))
		FUZZ_REQUIRE(++count <= size_bytes);
}

static void ask_segments(const struct elf_image *image, size_t size_bytes)
{
	struct elf_segment segment;
	size_t cursor = 0, count = 0;
	uint8_t bytes[64];
	uint64_t offset;

	while (elf_image_next_segment(image, &cursor, &segment)) {
		FUZZ_REQUIRE(++count <= size_bytes);
		if (elf_image_read(image, segment.virtual_address, bytes, sizeof(bytes)) == 0)
			FUZZ_REQUIRE(elf_image_file_offset(image, segment.virtual_address,
							   &offset) == 0 &&
				     offset <= size_bytes - sizeof(bytes));
	}
}

static void ask_symbol(const struct elf_image *image, const char *name)
{
	struct elf_symbol symbol;
	uint8_t bytes[64];

	if (elf_image_find_symbol(image, name, &symbol) == 0 && symbol.is_defined)
		(void)elf_image_read(image, symbol.value, bytes, sizeof(bytes));
}

static void ask_sites(const struct elf_image *image, size_t size_bytes)
{
	struct probe_site sites[PROBE_SITES_MAX];
	int count = probe_site_find(image, "ruby_profiler_state", sites);

	FUZZ_REQUIRE(count >= 0 && count <= PROBE_SITES_MAX);
	for (int i = 0; i < count; i++) {
		FUZZ_REQUIRE(sites[i].instruction);
		FUZZ_REQUIRE(sites[i].file_offset < size_bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct memory_map_entry entry = { .start = 0x7f5500001000,
					  .end = 0x7f5500002000,
					  .offset = 0x1000,
					  .is_readable = true,
					  .is_executable = true,
					  .path = "/lib/x.so" };
	struct elf_image *image = NULL;
	uint64_t bias;

	if (elf_image_open_memory(data, size_bytes, &image) < 0)
		return 0;
	(void)elf_image_machine(image);
	(void)elf_image_is_program(image);
	ask_relocations(image, size_bytes);
	ask_segments(image, size_bytes);
	ask_symbol(image, "ruby_profiler_state");
	ask_symbol(image, "correlator_state_apply");
	ask_symbol(image, "ruby_version");
	ask_sites(image, size_bytes);
	(void)elf_image_load_bias(image, &entry, &bias);
	elf_image_free(image);
	return 0;
}
