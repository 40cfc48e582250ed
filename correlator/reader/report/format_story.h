/* SPDX-License-Identifier: GPL-2.0-only */
/* A story for people, and as JSON. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/report/format.h"
#include "reader/story/story.h"

/* Each: 0 or -ENOMEM. After story_finish, of a story that is there. */
int format_story(const struct story *story, const struct format_options *options, FILE *out);
int format_story_json(const struct story *story, const struct format_options *options, FILE *out);
