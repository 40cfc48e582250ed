/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values by which a record is grouped for several keys at once: one value per key, any of which
 * may be absent, encoded as a single text that a table can be keyed with. Borrowed: texts live as
 * long as their source. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	COMBINATION_PARTS_MAX = 6,
	COMBINATION_PART_BYTES_MAX = RECORD_VIEW_TEXT_BYTES_MAX + 64,
	/* One part, escaped for a screen (display_escape), with its NUL. */
	COMBINATION_PART_ESCAPED_BYTES = 4 * COMBINATION_PART_BYTES_MAX + 1,
	COMBINATION_BYTES_MAX = COMBINATION_PARTS_MAX * (COMBINATION_PART_BYTES_MAX + 4),
};

struct combination_part {
	struct record_text text; /* at most COMBINATION_PART_BYTES_MAX; empty: absent */
	uint16_t host_bytes; /* prefix of text: host name, and ':' */
};

struct combination {
	size_t part_count; /* <= COMBINATION_PARTS_MAX */
	struct combination_part parts[COMBINATION_PARTS_MAX];
};

/* Encodes the combination as one text in ret_bytes; different combinations give different texts. */
struct record_text combination_write(const struct combination *combination,
				     char ret_bytes[static COMBINATION_BYTES_MAX]);

/* Returns one part of a text that combination_write made. */
struct combination_part combination_read(struct record_text written, size_t part);

/* Returns a bit for each part that is absent. */
uint32_t combination_absent(const struct combination *combination);
