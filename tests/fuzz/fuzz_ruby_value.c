/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of any snapshot, also of one that no kernel program writes. */
#include <errno.h>

#include "fuzz_text.h"
#include "recorder/target/ruby/ruby_value.h"

/* A symbol's name is the second half of the input. */
static int find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	struct fuzz_input *input = context;

	if (id & 1)
		return id & 2 ? -EAGAIN : -ENOENT;
	fuzz_take(input, ret_name, sizeof(*ret_name));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	char text[VALUE_TEXT_BYTES];
	struct value_snapshot value;
	int r;

	fuzz_take(&input, &value, sizeof(value));
	r = ruby_value_text(&value, find_symbol, &input, text);
	FUZZ_REQUIRE(r == 0 || r == 1 || r == -EINVAL || r == -ENODATA || r == -EAGAIN);
	if (r >= 0)
		fuzz_require_clean(text, sizeof(text));
	return 0;
}
