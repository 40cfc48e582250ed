/* The content of a PT_NOTE segment: first the alignment, then the notes. */
#include "fuzz.h"
#include "target/elf/elf_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	char hex[2 * ELF_NOTE_BUILD_ID_BYTES_MAX + 1];
	uint64_t align = fuzz_take_u8(&input);

	if (elf_note_build_id(input.data, input.size_bytes, align, hex) < 0)
		return 0;
	FUZZ_REQUIRE(strlen(hex) >= 2 && strlen(hex) % 2 == 0);
	FUZZ_REQUIRE(strspn(hex, "0123456789abcdef") == strlen(hex));
	return 0;
}
