/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of ruby_frames.h from outside the process, through its memory: the kernel programs use
 * it on a thread that runs, this one on a thread that should hold still or whose data may be
 * inconsistent. Owns nothing; any thread; does not log.
 */
#pragma once

#include <stdint.h>

#include "recorder/target/proc/memory_reader.h"

#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address) \
	memory_read((walk)->reader, address, buffer, size_bytes)

#include <correlator/ruby_frames.h>

/*
 * Reads the frames of an execution context, and their methods. stack_pointer: the thread's, in user
 * mode, or 0: then frames of compiled code are unreadable. ret_frames records what could not be
 * read.
 */
void stack_reader_walk(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		       uint64_t execution_context, uint64_t stack_pointer,
		       struct ruby_frames *ret_frames);
