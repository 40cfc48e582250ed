/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/combination.h"

#include <assert.h>

/* Precedes each part. */
struct part_heading {
	uint16_t size_bytes;
	uint16_t host_bytes;
};

struct record_text combination_write(const struct combination *combination,
				     char ret_bytes[static COMBINATION_BYTES_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < combination->part_count; i++) {
		const struct combination_part *part = &combination->parts[i];
		struct part_heading heading = { (uint16_t)part->text.size_bytes, part->host_bytes };

		assert(part->text.size_bytes <= COMBINATION_PART_BYTES_MAX);
		memcpy(ret_bytes + used, &heading, sizeof(heading));
		used += sizeof(heading);
		if (part->text.size_bytes > 0)
			memcpy(ret_bytes + used, part->text.bytes, part->text.size_bytes);
		used += part->text.size_bytes;
	}
	return (struct record_text){ ret_bytes, used };
}

struct combination_part combination_read(struct record_text written, size_t part)
{
	const char *at = written.bytes;
	struct part_heading heading;

	for (;; part--) {
		memcpy(&heading, at, sizeof(heading));
		at += sizeof(heading);
		if (part == 0)
			break;
		at += heading.size_bytes;
	}
	return (struct combination_part){ { at, heading.size_bytes }, heading.host_bytes };
}

uint32_t combination_absent(const struct combination *combination)
{
	uint32_t absent = 0;

	for (size_t i = 0; i < combination->part_count; i++)
		if (combination->parts[i].text.size_bytes == 0)
			absent |= 1U << i;
	return absent;
}
