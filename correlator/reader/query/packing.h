/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records put away in few bytes, about a third of what they are in a recording, and made out again
 * without decoding msgpack: the names of their fields are kept once, as a shape, of all records
 * that have the same fields. Borrowed: what is made out points into the bytes and the shapes, and
 * lives as long. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	PACKING_SHAPES_MAX = 256, /* a recorder has about ten */
};

struct packing {
	struct packing_shape *shapes[PACKING_SHAPES_MAX];
	size_t shape_count;
	size_t last[_RECORD_KIND_MAX]; /* shape of the last record of each kind */
	bool keeps_all; /* fields, schema, kind and record_id, too */
};

/* Bytes that grow. All zeros is none; free(bytes). */
struct packed {
	uint8_t *bytes;
	size_t size_bytes;
	size_t capacity_bytes;
};

/* In front of each record. */
struct packed_head {
	uint32_t size_bytes; /* with this */
	uint16_t shape;
	uint16_t kind; /* enum record_kind */
	uint64_t wall_ns;
	uint64_t tag; /* whatever its owner knows it by */
};

/* All zeros knows no shape. */
void packing_deinit(struct packing *packing);

/* Appends a record, but for its schema, kind and record_id fields, unless keeps_all. 0; -ENOMEM;
 * -E2BIG: one more shape than there is room for. */
int packing_put(struct packing *packing, const struct record_view *view, uint64_t tag,
		struct packed *packed);

/* The record at *offset, which is moved behind it; false at the end. */
bool packing_next_head(const struct packed *packed, size_t *offset, struct packed_head *ret_head);
/* The fields of the one that packing_next_head just gave, offset being behind it. */
void packing_get(const struct packing *packing, const struct packed *packed, size_t offset,
		 const struct packed_head *head, struct record_view *ret_view);
