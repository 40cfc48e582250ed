/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of one Ruby frame, read from the live process by a layout; caches nothing. Every word
 * comes from the target: texts are bounded, valid UTF-8 without control characters; a frame that
 * fails its checks is `[unknown]`, never another name. Single thread; does not log.
 *
 * A method is qualified by its class where Ruby stores the class's name (3.3 and newer), as in
 * rb_profile_frame_full_label() (vm_backtrace.c, v3_3_8): the iseq's label with its method's name
 * replaced by the qualified one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/ruby_frame.h>
#include <correlator/ruby_stack_layout.h>

#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_symbols.h"

enum {
	/* With the NUL; longer texts end in "…". */
	FRAME_LABEL_BYTES = 512,
	FRAME_PATH_BYTES = 1024,
	/* Bytes read of one of the target's texts. */
	FRAME_TEXT_BYTES_MAX = 256,
	FRAME_PATH_TEXT_BYTES_MAX = 512,
};

#define FRAME_UNKNOWN	 "[unknown]"
#define FRAME_COLLECTION "(garbage collection)"

struct frame_name {
	char label[FRAME_LABEL_BYTES]; /* "block in Order#total", "Integer#times", FRAME_UNKNOWN */
	char path[FRAME_PATH_BYTES]; /* as given to Ruby; "" = no file */
	uint32_t first_line; /* where the labelled code begins; 0 = none, not known */
	uint32_t line; /* currently running; 0 = none, not known */
	uint32_t block_depth; /* 0: no block; 2: a block in a block of the method */
	bool is_line_old; /* compiled code: the line may be that of an earlier instruction */
};

/* The sources of a process's names. All borrowed. */
struct frame_namer {
	const struct ruby_stack_layout *layout;
	struct ruby_symbols *symbols; /* NULL: methods get no qualified names */
};

/*
 * Names a frame; methods of Ruby frames must have been found (ruby_frames_find_methods()). 0, also
 * when it is unknown; -EAGAIN: unknown for now, because it, or the symbol table, was changing; an
 * error of the reader except -EFAULT.
 */
int frame_name_read(const struct frame_namer *namer, const struct memory_reader *reader,
		    const struct ruby_frame *frame, struct frame_name *ret_name);
