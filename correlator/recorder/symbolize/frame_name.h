/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one frame of a Ruby is called: read from the live process by a layout, with nothing kept.
 * Every word is the target's: texts are bounded, valid UTF-8 without control characters; a frame
 * that is not what it should be is `[unknown]`, never something else. Single thread; does not log.
 *
 * A method is called by its class where Ruby has the class's name at hand (3.3 and newer), as
 * rb_profile_frame_full_label() does (vm_backtrace.c, v3_3_8): the iseq's label with its method's
 * name replaced by the qualified one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/ruby_frame.h>
#include <correlator/ruby_stack_layout.h>

#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_symbols.h"

enum {
	/* With the NUL; longer ones end in "…". */
	FRAME_LABEL_BYTES = 512,
	FRAME_PATH_BYTES = 1024,
	/* Of one of the target's texts: what is read of it. */
	FRAME_TEXT_BYTES_MAX = 256,
	FRAME_PATH_TEXT_BYTES_MAX = 512,
};

#define FRAME_UNKNOWN	 "[unknown]"
#define FRAME_COLLECTION "(garbage collection)"

struct frame_name {
	char label[FRAME_LABEL_BYTES]; /* "block in Order#total", "Integer#times", FRAME_UNKNOWN */
	char path[FRAME_PATH_BYTES]; /* as Ruby was told; "" of what has no file */
	uint32_t first_line; /* of what the label names; 0 = none, not known */
	uint32_t line; /* that runs; 0 = none, not known */
	uint32_t block_depth; /* 0: no block; 2: a block in a block of the method */
	bool is_line_old; /* compiled code: the line may be that of an earlier instruction */
};

/* What the names of a process are read by. All borrowed. */
struct frame_namer {
	const struct ruby_stack_layout *layout;
	struct ruby_symbols *symbols; /* NULL: methods have no names of their own */
};

/*
 * Names a frame; methods of Ruby frames must have been found (ruby_frames_find_methods()). 0, also
 * when it is unknown; -EAGAIN: unknown for now, because it, or the symbol table, was changing; an
 * error of the reader but for -EFAULT.
 */
int frame_name_read(const struct frame_namer *namer, const struct memory_reader *reader,
		    const struct ruby_frame *frame, struct frame_name *ret_name);
