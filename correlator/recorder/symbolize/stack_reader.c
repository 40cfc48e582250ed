/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/stack_reader.h"

void stack_reader_walk(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		       uint64_t execution_context, uint64_t stack_pointer,
		       struct ruby_frames *ret_frames)
{
	/* A fixed key will do: hashes are compared only within one process. */
	static const struct context_hash_key key = { { 0, 0 } };
	struct ruby_frames_walk walk = { .layout = layout,
					 .key = &key,
					 .execution_context = execution_context,
					 .stack_pointer = stack_pointer,
					 .reader = reader,
					 .frames = ret_frames,
					 .tells_block_methods = 1 };

	ruby_frames_walk(&walk);
	ruby_frames_find_methods(&walk);
}
