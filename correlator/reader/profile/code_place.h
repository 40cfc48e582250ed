/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a method is, in few words, and whether it is the application's. Pure. */
#pragma once

#include <stdbool.h>

#include "reader/profile/frames.h"

/*
 * "app/models/order.rb:12" with a space in front, "" where no file is known: of a gem from its name
 * on, of Ruby's own library from there on, of anything else the last three parts of the path; of
 * native code the object's name. Escaped as for a screen (display.h).
 */
void code_place_write(const struct frames_text *file, enum frame_kind kind, uint32_t line,
		      char ret_text[static FRAMES_TEXT_ESCAPED_BYTES]);

/* Ruby code that is of no gem, nor of Ruby's own library. */
bool code_place_is_of_application(const struct frames_text *file, enum frame_kind kind);
