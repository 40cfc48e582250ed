/* SPDX-License-Identifier: GPL-2.0-only */
/* Code that is traced, at any address, as one of Ruby's accessors after the other. */
#include "fuzz.h"
#include "recorder/target/ruby/ruby_accessors.h"

#define CODE_BASE UINT64_C(0x1000)

struct fuzzed_code {
	const uint8_t *bytes;
	size_t size_bytes;
};

static size_t read_code(const void *context, uint64_t address, uint8_t *buffer, size_t size_bytes)
{
	const struct fuzzed_code *code = context;
	uint64_t offset = address - CODE_BASE;

	if (offset >= code->size_bytes)
		return 0;
	if (size_bytes > code->size_bytes - offset)
		size_bytes = code->size_bytes - offset;
	memcpy(buffer, code->bytes + offset, size_bytes);
	return size_bytes;
}

/* By its address: a third of each. */
static enum x86_slot_kind find_slot(const void *context, uint64_t address, uint64_t *ret_function)
{
	const struct fuzzed_code *code = context;

	*ret_function = CODE_BASE + address / 3 % (code->size_bytes + 1);
	return (enum x86_slot_kind)(address % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzzed_code code = { data, size_bytes };
	const struct x86_code_source source = { &code, read_code, find_slot };
	struct ruby_accessors accessors = { 0 };
	struct ruby_accessor_layout layout;
	const uint32_t *field = &layout.layout.gc_flags_mask;

	for (size_t i = 0; i < _RUBY_ACCESSOR_MAX; i++) {
		accessors.list[i].address = CODE_BASE + i * size_bytes / _RUBY_ACCESSOR_MAX;
		accessors.list[i].size_bytes = i % 2 ? 64 : 0;
	}
	FUZZ_REQUIRE(ruby_accessors_decode(&accessors, &source, &layout) == 0);
	for (; field < &layout.layout.reserved; field++)
		FUZZ_REQUIRE(*field <= RUBY_LAYOUT_OFFSET_MAX || *field == RUBY_LAYOUT_UNKNOWN);
	return 0;
}
