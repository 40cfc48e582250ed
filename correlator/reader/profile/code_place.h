/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a method is, in short, and whether it is the application's. Pure. */
#pragma once

#include <stdbool.h>

#include "reader/profile/frames.h"

/*
 * Writes " app/models/order.rb:12", with the leading space; "" if the file is not known. Paths of a
 * gem start at its name, those of Ruby's own library below its folder; other Ruby files show their
 * last three parts, and all other kinds of code the file's name without folders. Escaped as for a
 * screen (display.h).
 */
void code_place_write(const struct frames_text *file, enum frame_kind kind, uint32_t line,
		      char ret_text[static FRAMES_TEXT_ESCAPED_BYTES]);

/* Whether it is Ruby code that is in no gem, nor in Ruby's own library. */
bool code_place_is_of_application(const struct frames_text *file, enum frame_kind kind);
