/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Ruby's VM and frames, with words of its memory changed: what is written where, as an offset in
 * units of 8 and a word, which may be a pointer into the memory.
 */
#include "fuzz_text.h"
#include "recorder/target/forged_vm.h"

enum {
	CHANGES_MAX = 64
};

static void change_word(struct forged_vm *forged, struct fuzz_input *input)
{
	bool is_pointer = fuzz_take_u8(input) & 1;
	uint64_t word, address;
	uint16_t at;

	fuzz_take(input, &at, sizeof(at));
	word = fuzz_take_u64(input);
	address = FORGED_BASE + (uint64_t)at * 8 % forged->memory.used_bytes / 8 * 8;
	forged_write_u64(&forged->memory, address,
			 is_pointer ? FORGED_BASE + word % FORGED_BYTES / 8 * 8 : word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	struct forged_vm *forged = forge_vm();
	struct ruby_behaviour seen;

	for (int i = 0; i < CHANGES_MAX && input.size_bytes > 0; i++)
		change_word(forged, &input);
	if (ruby_behaviour_look(&forged->reader, &forged->hints, &seen) == 0) {
		FUZZ_REQUIRE(seen.frame_count <= 64);
		FUZZ_REQUIRE(seen.vm != 0 && seen.execution != 0);
	}
	free(forged);
	return 0;
}
