/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a frame, found, kept and found again, over memory that changes while it is read:
 * iseqs, methods, classes, texts and the state of collections. First the layout and the frame.
 */
#include <errno.h>

#include "fuzz_memory.h"
#include "fuzz_text.h"
#include "recorder/symbolize/frame_names.h"
#include "recorder/symbolize/witness.h"

enum {
	/* Three tries, and what it is believed by; a witness ends each. */
	READS_MAX = 8 * (WITNESS_READS_MAX + 8),
	ROUNDS = 3,
};

static uint32_t take_offset(struct fuzz_input *input)
{
	uint8_t byte = fuzz_take_u8(input);

	return byte == 0xff ? RUBY_LAYOUT_UNKNOWN : byte;
}

static void take_layout(struct fuzz_input *input, struct ruby_stack_layout *layout)
{
	uint32_t *const offsets[] = {
		&layout->iseq_body,	   &layout->body_code_words,
		&layout->body_code,	   &layout->body_path,
		&layout->body_base_label,  &layout->body_label,
		&layout->body_first_line,  &layout->body_lines,
		&layout->body_line_count,  &layout->body_line_positions,
		&layout->method_class,	   &layout->method_definition,
		&layout->definition_type,  &layout->definition_original_id,
		&layout->class_path,	   &layout->class_attached,
		&layout->line_entry_bytes,
	};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		*offsets[i] = take_offset(input);
	layout->definition_type_mask = 0xf;
	layout->string_layout = fuzz_take_u8(input) % 3;
	layout->body_first_line_kind = fuzz_take_u8(input) % 3;
	layout->line_positions_kind = fuzz_take_u8(input) % 3;
	layout->gc_flags_mask = RUBY_GC_IS_ON;
	layout->gc_flags_address = FUZZ_MEMORY_BASE + fuzz_take_u8(input);
	layout->gc_count_address = FUZZ_MEMORY_BASE + fuzz_take_u8(input);
}

static void require_sound(const struct frame_name *name)
{
	fuzz_require_clean(name->label, sizeof(name->label));
	fuzz_require_clean(name->path, sizeof(name->path));
	FUZZ_REQUIRE(name->line <= INT32_MAX && name->first_line <= INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	struct ruby_stack_layout layout = { 0 };
	static struct stack_message message;
	struct ruby_frame *frame = &message.frames.frames[0];
	struct stack_sighting sighting;
	struct frame_names *names = NULL;
	struct frame_name name;
	struct fuzz_memory memory;
	const struct memory_reader reader = fuzz_memory_reader(&memory);
	int r;

	take_layout(&input, &layout);
	memset(&message, 0, offsetof(struct stack_message, frames.frames));
	message.frames.count = 1;
	message.gc_count = fuzz_take_u8(&input);
	message.gc_flags = fuzz_take_u8(&input);
	frame->object_kind = fuzz_take_u64(&input);
	frame->pc = fuzz_take_u64(&input);
	frame->method = fuzz_take_u64(&input);
	fuzz_memory_init(&memory, &input);
	if (frame_names_new(&reader, &layout, NULL, &names) < 0)
		return 0;
	for (int i = 0; i < ROUNDS; i++, message.gc_count++) {
		memory.reads = 0;
		sighting = stack_sighting_of(&message, &layout);
		frame_names_prepare(names, &sighting);
		r = frame_names_find(names, &sighting, frame, &name);
		FUZZ_REQUIRE(r == 0);
		FUZZ_REQUIRE(memory.reads <= READS_MAX);
		require_sound(&name);
	}
	frame_names_free(names);
	return 0;
}
