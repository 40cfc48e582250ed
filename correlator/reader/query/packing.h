/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packs records into about a third of the bytes they take in a recording, and unpacks them without
 * decoding msgpack: field names are stored once, as a shape, for all records with the same fields.
 * An unpacked record borrows the bytes and the shapes, and lives as long. Single thread.
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
	bool keeps_all; /* also the fields schema, kind and record_id */
};

/* A growing buffer. All zeros is empty; free(bytes). */
struct packed {
	uint8_t *bytes;
	size_t size_bytes;
	size_t capacity_bytes;
};

/* Precedes each record. */
struct packed_head {
	uint32_t size_bytes; /* including this head */
	uint16_t shape;
	uint16_t kind; /* enum record_kind */
	uint64_t wall_ns;
	uint64_t tag; /* the caller's, not interpreted */
};

/* All zeros: no shape is known. */
void packing_deinit(struct packing *packing);

/* Appends a record, without its schema, kind and record_id fields unless keeps_all. Returns 0;
 * -ENOMEM; -E2BIG: it would need more than PACKING_SHAPES_MAX shapes. */
int packing_put(struct packing *packing, const struct record_view *view, uint64_t tag,
		struct packed *packed);

/* Reads the head of the record at *offset, and moves *offset past the record; false at the end. */
bool packing_next_head(const struct packed *packed, size_t *offset, struct packed_head *ret_head);
/* Unpacks the fields of the record whose head packing_next_head just returned; offset is as
 * packing_next_head left it. */
void packing_get(const struct packing *packing, const struct packed *packed, size_t offset,
		 const struct packed_head *head, struct record_view *ret_view);
