/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/stack_sighting.h"

#include "recorder/symbolize/stack_reader.h"

struct stack_sighting stack_sighting_of(const struct stack_message *message,
					const struct ruby_stack_layout *layout)
{
	return (struct stack_sighting){
		.frames = &message->frames,
		.then = gc_state_of(layout, message->gc_count, message->gc_flags),
		.has_same_methods = -1,
	};
}

static int has_survived(const struct memory_reader *reader, uint64_t object)
{
	uint64_t flags;
	int r = memory_read_u64(reader, object, &flags);

	return r < 0 ? r : (flags & RUBY_OBJECT_SURVIVED) != 0;
}

/* The ends are excluded: other code may begin or end there. */
static int has_code_of(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		       const struct ruby_frame *frame)
{
	uint64_t body, code;
	uint32_t words;
	int r = memory_read_u64(reader, ruby_frame_object(frame) + layout->iseq_body, &body);

	if (r == 0)
		r = memory_read_u64(reader, body + layout->body_code, &code);
	if (r == 0)
		r = memory_read(reader, body + layout->body_code_words, &words, sizeof(words));
	return r < 0 ? r : frame->pc > code && frame->pc - code < (uint64_t)words * 8;
}

static int has_same_methods(struct stack_sighting *sighting, const struct memory_reader *reader)
{
	/* The walk does not write to the frames. */
	struct ruby_frames_walk walk = {
		.reader = reader, .frames = (struct ruby_frames *)(uintptr_t)sighting->frames
	};

	if (sighting->has_same_methods < 0)
		sighting->has_same_methods = ruby_frames_have_same_methods(&walk);
	return sighting->has_same_methods;
}

int stack_sighting_is_of(struct stack_sighting *sighting, const struct memory_reader *reader,
			 const struct ruby_stack_layout *layout, const struct ruby_frame *frame)
{
	uint64_t method = ruby_frames_method_of(frame);
	int r = 1;

	/* Then the name does not depend on the method. */
	if (ruby_frame_is_ruby(frame) && layout->class_path > RUBY_LAYOUT_OFFSET_MAX &&
	    ruby_frame_method_level(frame) == 0)
		method = 0;
	if (ruby_frame_is_ruby(frame)) {
		r = has_survived(reader, ruby_frame_object(frame));
		if (r > 0)
			r = has_code_of(reader, layout, frame);
	}
	if (r > 0 && method)
		r = has_survived(reader, method);
	if (r > 0 && method)
		r = has_same_methods(sighting, reader);
	return r;
}
