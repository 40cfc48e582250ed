/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a story, for people and for programs. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/report/format.h"
#include "reader/story/story.h"

/* Prints in options->format. After story_finish, if story_is_there. 0 or -ENOMEM. */
int format_story(const struct story *story, const struct format_options *options, FILE *out);
int format_story_table(const struct story *story, const struct format_options *options, FILE *out);
