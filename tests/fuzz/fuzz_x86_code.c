/* SPDX-License-Identifier: GPL-2.0-only */
/* Straight-line code, as the search for a probe site goes through it. */
#include "fuzz.h"
#include "recorder/target/elf/x86_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct x86_code instruction;

	while (size_bytes > 0 && x86_code_decode(data, size_bytes, &instruction) == 0) {
		FUZZ_REQUIRE(instruction.length_bytes >= 1 && instruction.length_bytes <= 15);
		FUZZ_REQUIRE(instruction.length_bytes <= size_bytes);
		FUZZ_REQUIRE(instruction.kind < _X86_CODE_KIND_MAX);
		data += instruction.length_bytes;
		size_bytes -= instruction.length_bytes;
	}
	return 0;
}
