/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what requests read and wrote by a key (io.h), for people and for programs, the most bytes
 * first. After tally_finish. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "reader/aggregate/io.h"
#include "reader/report/tally_view.h"

/* Prints in options->format. 0, -ENOMEM. */
int io_view_print(const struct tally *io, const struct tally_view_options *options, FILE *out);
int io_text_print(const struct tally *io, const struct tally_view_options *options, FILE *out);
