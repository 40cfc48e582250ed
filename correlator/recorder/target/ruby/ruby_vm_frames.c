/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_vm_frames.h"

#include <string.h>

enum {
	FRAMES_WORDS_MAX = RUBY_FRAMES_MAX * RUBY_FRAME_BYTES_MAX / 8,
	IMEMO_IFUNC = 4, /* imemo_ifunc */
};

/*
 * Reads the outermost frames, innermost first, assuming that each has frame_bytes. Leaves out the
 * very last one, a dummy.
 */
static bool read_frames(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			uint32_t frame_bytes)
{
	uint64_t size_bytes = frames->stack.end - frames->stack.frame;
	uint64_t words[FRAMES_WORDS_MAX];
	size_t count, frame_words = frame_bytes / 8;

	/* The innermost frame is in the stack, so there is at least one, the dummy. */
	if (size_bytes % frame_bytes)
		return false;
	count = size_bytes / frame_bytes - 1;
	count -= count * frames->skipped_quarters / 4;
	if (count > RUBY_FRAMES_MAX)
		count = RUBY_FRAMES_MAX;
	/* In a single read, because the process keeps running. */
	if (!ruby_evidence_read(evidence, frames->stack.end - (count + 1) * frame_bytes, words,
				count * frame_words))
		return false;
	for (size_t i = 0; i < count; i++)
		memcpy(frames->list[i].words, words + i * frame_words, frame_bytes);
	frames->count = count;
	return true;
}

/*
 * True if each frame has an iseq, a block of C code (vm_ifunc) or 0 at word, and one has an iseq.
 */
static bool are_iseqs(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames,
		      size_t word)
{
	bool has_one = false;

	for (size_t i = 0; i < frames->count; i++) {
		uint64_t iseq = frames->list[i].words[word];

		if (iseq == 0)
			continue;
		if (ruby_evidence_is_imemo(evidence, iseq, RUBY_IMEMO_ISEQ))
			has_one = true;
		else if (!ruby_evidence_is_imemo(evidence, iseq, IMEMO_IFUNC))
			return false;
	}
	return has_one;
}

static bool is_magic(uint64_t flags)
{
	switch (flags & RUBY_MAGIC_MASK) {
	case RUBY_MAGIC_METHOD:
	case RUBY_MAGIC_BLOCK:
	case RUBY_MAGIC_CLASS:
	case RUBY_MAGIC_TOP:
	case RUBY_MAGIC_C:
	case RUBY_MAGIC_IFUNC:
	case RUBY_MAGIC_EVAL:
	case RUBY_MAGIC_RESCUE:
	case RUBY_MAGIC_DUMMY:
		return true;
	default:
		return false;
	}
}

/* True if the flags at word's ep are those of a frame, and consistent with the frame's iseq. */
static bool is_environment(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames,
			   struct ruby_frame_words *frame, size_t word)
{
	uint64_t ep = frame->words[word], words[3];

	if (!ruby_evidence_read(evidence, ep - 16, words, 3) || !is_magic(words[2]))
		return false;
	if ((words[2] & RUBY_MAGIC_MASK) == RUBY_MAGIC_C && !(words[2] & RUBY_FRAME_IS_C))
		return false;
	frame->entry = words[0];
	frame->flags = words[2];
	return frame->words[frames->iseq / 8] || (words[2] & RUBY_FRAME_IS_C);
}

static bool are_environments(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			     size_t word)
{
	for (size_t i = 0; i < frames->count; i++)
		if (!is_environment(evidence, frames, &frames->list[i], word))
			return false;
	return true;
}

/* Adds the shapes that frames of this size may have: the words for iseq and ep. */
static void find_frame_words(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			     uint32_t bytes, struct ruby_frame_shapes *shapes)
{
	for (uint32_t iseq = 0; iseq < bytes; iseq += 8) {
		if (!are_iseqs(evidence, frames, iseq / 8))
			continue;
		frames->iseq = iseq;
		for (uint32_t ep = 0; ep < bytes; ep += 8) {
			if (shapes->count == RUBY_FRAME_SHAPES_MAX ||
			    !are_environments(evidence, frames, ep / 8))
				continue;
			shapes->list[shapes->count++] =
				(struct ruby_frame_shape){ .bytes = bytes, .iseq = iseq, .ep = ep };
		}
	}
}

void ruby_vm_frames_find_shapes(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
				struct ruby_frame_shapes *ret_shapes)
{
	ret_shapes->count = 0;
	for (uint32_t bytes = RUBY_FRAME_BYTES_MIN; bytes <= RUBY_FRAME_BYTES_MAX; bytes += 8)
		if (read_frames(evidence, frames, bytes))
			find_frame_words(evidence, frames, bytes, ret_shapes);
}

/*
 * The last word of each frame is jit_return, unless one is a base pointer into the stack (to 3.0).
 */
static void find_jit_return(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames)
{
	size_t last = frames->bytes / 8 - 1;

	for (size_t i = 0; i < frames->count; i++) {
		uint64_t word = frames->list[i].words[last];

		if (word >= frames->stack.frame - 8 * RUBY_STACK_WORDS_MAX &&
		    word < frames->stack.end)
			return;
	}
	RUBY_EVIDENCE_ADD(evidence, frame_jit_return, 8 * last);
}

bool ruby_vm_frames_read(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			 const struct ruby_frame_shape *shape)
{
	frames->bytes = shape->bytes;
	frames->iseq = shape->iseq;
	RUBY_EVIDENCE_ADD(evidence, frame_bytes, shape->bytes);
	RUBY_EVIDENCE_ADD(evidence, frame_iseq, shape->iseq);
	RUBY_EVIDENCE_ADD(evidence, frame_ep, shape->ep);
	if (!read_frames(evidence, frames, shape->bytes) ||
	    !are_environments(evidence, frames, shape->ep / 8))
		return false;
	evidence->result->frame_count = frames->count;
	find_jit_return(evidence, frames);
	return true;
}
