/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of ruby_frames.h from outside of the process, by its memory: what the kernel programs do
 * of a thread that runs here is done of one that should hold still, or that is not to be relied on.
 * Owns nothing; any thread; does not log.
 */
#pragma once

#include <stdint.h>

#include "recorder/target/proc/memory_reader.h"

#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address) \
	memory_read((walk)->reader, address, buffer, size_bytes)

#include <correlator/ruby_frames.h>

/*
 * Reads the frames of an execution context, and their methods. stack_pointer: the thread's, in user
 * mode, or 0: then frames of compiled code are unreadable. What could not be read is in
 * ret_frames.
 */
void stack_reader_walk(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		       uint64_t execution_context, uint64_t stack_pointer,
		       struct ruby_frames *ret_frames);
