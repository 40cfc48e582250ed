/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a record is grouped by, of several keys at once: one value of each, any of which may be
 * absent, and all of them as one text that a table can be keyed with. Borrowed: texts live as long
 * as what they were read from. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	COMBINATION_PARTS_MAX = 6,
	COMBINATION_PART_BYTES_MAX = RECORD_VIEW_TEXT_BYTES_MAX + 64,
	/* Of one, for a screen (display_escape), and its end. */
	COMBINATION_PART_ESCAPED_BYTES = 4 * COMBINATION_PART_BYTES_MAX + 1,
	COMBINATION_BYTES_MAX = COMBINATION_PARTS_MAX * (COMBINATION_PART_BYTES_MAX + 4),
};

struct combination_part {
	struct record_text text; /* at most COMBINATION_PART_BYTES_MAX; empty: absent */
	uint16_t host_bytes; /* of it, from the front: host name, and ':' */
};

struct combination {
	size_t part_count; /* <= COMBINATION_PARTS_MAX */
	struct combination_part parts[COMBINATION_PARTS_MAX];
};

/* As one text in ret_bytes; different combinations are different texts. */
struct record_text combination_write(const struct combination *combination,
				     char ret_bytes[static COMBINATION_BYTES_MAX]);

/* One part of a text that combination_write made. */
struct combination_part combination_read(struct record_text written, size_t part);

/* A bit for each part that is absent. */
uint32_t combination_absent(const struct combination *combination);
