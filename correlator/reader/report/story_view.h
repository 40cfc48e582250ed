/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a story, for people and for programs. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/report/totals_view.h"
#include "reader/story/story.h"

/* Prints in options->format. After story_finish, if story_is_there. 0 or -ENOMEM. */
int story_view_print(const struct story *story, const struct view_options *options, FILE *out);
int story_text_print(const struct story *story, const struct view_options *options, FILE *out);
