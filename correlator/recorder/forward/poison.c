/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/poison.h"

#include <stdlib.h>

#include <utlist.h>

#include "record/entry_scan.h"

enum {
	/* More refusals in a row are the collector's fault, not the entries': stop halving. */
	REFUSALS_IN_A_ROW_MAX = 64,
	/* Two may be chance with a collector that is overloaded and refuses at random. */
	REFUSALS_ALONE_MAX = 3,
};

struct part {
	struct part *prev, *next;
	struct poison_part range;
	unsigned int refusals_alone; /* as a single entry, with other acks between them */
	uint64_t acks_alone; /* value of acks at the last of refusals_alone */
};

struct poison_hunt {
	const uint8_t *bytes;
	struct part *parts; /* utlist: next to try first */
	size_t part_count;
	uint64_t acks;
	size_t refusals_in_a_row;
};

static struct part *part_new(size_t offset_bytes, size_t size_bytes, uint32_t entries)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->range = (struct poison_part){ offset_bytes, size_bytes, entries };
	return part;
}

static void append(struct poison_hunt *hunt, struct part *part)
{
	DL_APPEND(hunt->parts, part);
	hunt->part_count++;
}

static struct part *take_first(struct poison_hunt *hunt)
{
	struct part *part = hunt->parts;

	DL_DELETE(hunt->parts, part);
	hunt->part_count--;
	return part;
}

struct poison_hunt *poison_hunt_new(const void *bytes, size_t size_bytes, uint32_t entries)
{
	_cleanup_free_ struct poison_hunt *hunt = calloc(1, sizeof(*hunt));
	_cleanup_free_ struct part *whole = part_new(0, size_bytes, entries);

	if (!hunt || !whole)
		return NULL;
	hunt->bytes = bytes;
	append(hunt, TAKE_PTR(whole));
	return TAKE_PTR(hunt);
}

void poison_hunt_free(struct poison_hunt *hunt)
{
	if (!hunt)
		return;
	while (hunt->parts)
		free(take_first(hunt));
	free(hunt);
}

void poison_hunt_rebind(struct poison_hunt *hunt, const void *bytes)
{
	hunt->bytes = bytes;
}

bool poison_hunt_next(const struct poison_hunt *hunt, struct poison_part *ret_part)
{
	if (!hunt->parts)
		return false;
	*ret_part = hunt->parts->range;
	return true;
}

void poison_hunt_acked(struct poison_hunt *hunt)
{
	free(take_first(hunt));
	poison_hunt_witnessed(hunt);
}

void poison_hunt_witnessed(struct poison_hunt *hunt)
{
	hunt->acks++;
	hunt->refusals_in_a_row = 0;
}

/* Size of the first entries of a range; 0: the range does not hold them. */
static size_t measure(const struct poison_hunt *hunt, const struct poison_part *range,
		      uint32_t entries)
{
	size_t size_bytes = 0, entry_bytes;

	for (uint32_t i = 0; i < entries; i++) {
		if (entry_scan(hunt->bytes + range->offset_bytes + size_bytes,
			       range->size_bytes - size_bytes, &entry_bytes) < 0)
			return 0;
		size_bytes += entry_bytes;
	}
	return size_bytes < range->size_bytes ? size_bytes : 0;
}

/* False: out of memory, or not divisible; the part stays whole. */
static bool halve(struct poison_hunt *hunt, const struct part *part)
{
	const struct poison_part *range = &part->range;
	uint32_t entries = range->entries / 2;
	size_t size_bytes = measure(hunt, range, entries);
	_cleanup_free_ struct part *first = part_new(range->offset_bytes, size_bytes, entries);
	_cleanup_free_ struct part *second =
		part_new(range->offset_bytes + size_bytes, range->size_bytes - size_bytes,
			 range->entries - entries);

	if (size_bytes == 0 || !first || !second)
		return false;
	append(hunt, TAKE_PTR(first));
	append(hunt, TAKE_PTR(second));
	return true;
}

enum poison_verdict poison_hunt_refused(struct poison_hunt *hunt)
{
	struct part *part = take_first(hunt);
	bool is_alone = part->range.entries == 1;

	hunt->refusals_in_a_row++;
	if (is_alone && (part->refusals_alone == 0 || hunt->acks > part->acks_alone)) {
		part->refusals_alone++;
		part->acks_alone = hunt->acks;
	}
	if (part->refusals_alone == REFUSALS_ALONE_MAX) {
		free(part);
		return POISON_BAD;
	}
	if (!is_alone && hunt->refusals_in_a_row <= REFUSALS_IN_A_ROW_MAX && halve(hunt, part)) {
		free(part);
		return POISON_GO_ON;
	}
	append(hunt, part);
	return POISON_GO_ON;
}

bool poison_hunt_is_stuck(const struct poison_hunt *hunt)
{
	const struct part *part;

	if (hunt->refusals_in_a_row > REFUSALS_IN_A_ROW_MAX)
		return true;
	DL_FOREACH(hunt->parts, part) {
		if (part->refusals_alone == 0 || hunt->acks > part->acks_alone)
			return false;
	}
	return hunt->parts != NULL;
}

enum poison_verdict poison_hunt_concede(struct poison_hunt *hunt)
{
	struct part *part = hunt->parts;

	if (!part || part->acks_alone == 0)
		return POISON_GO_ON;
	free(take_first(hunt));
	return POISON_BAD;
}
