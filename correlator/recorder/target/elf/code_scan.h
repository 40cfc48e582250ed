/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scans an object's code for both machines: in chunks, at each address where an instruction may
 * start. In a header, so that is_wanted() can be inlined into the loop. Reads the image, keeps
 * nothing of it; single thread; does not log.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"

enum {
	CODE_SCAN_BYTES_MAX = 16 * 1024 * 1024,
	CODE_SCAN_CHUNK_BYTES = 32 * 1024
};

struct code_scan {
	const struct elf_image *image;
	size_t step_bytes; /* distance between possible instruction starts */
	size_t instruction_bytes; /* bytes passed to is_wanted(), >= step_bytes */
	/* True if the instruction_bytes at address are wanted. Called in address order. */
	bool (*is_wanted)(void *context, const uint8_t *code, uint64_t address);
	void *context;
	uint64_t *addresses; /* of the wanted instructions, at most limit */
	size_t limit;
	size_t count; /* of wanted instructions; may exceed limit */
	uint64_t bytes_left; /* budget for all segments, which may be many and overlap */
};

static inline void code_scan_chunk(struct code_scan *scan, const uint8_t *code, size_t size_bytes,
				   uint64_t address)
{
	for (size_t i = 0; i + scan->instruction_bytes <= size_bytes; i += scan->step_bytes) {
		if (!scan->is_wanted(scan->context, code + i, address + i))
			continue;
		if (scan->count < scan->limit)
			scan->addresses[scan->count] = address + i;
		scan->count++;
	}
}

static inline void code_scan_segment(struct code_scan *scan, const struct elf_segment *segment)
{
	uint8_t code[CODE_SCAN_CHUNK_BYTES];
	uint64_t size_bytes = segment->file_bytes;
	/* Chunks overlap, so that each instruction is whole in one of them. */
	uint64_t advance_bytes = sizeof(code) - scan->instruction_bytes + scan->step_bytes;

	if (size_bytes > scan->bytes_left)
		size_bytes = scan->bytes_left;
	scan->bytes_left -= size_bytes;
	for (uint64_t at = 0; at + scan->instruction_bytes <= size_bytes; at += advance_bytes) {
		size_t chunk = size_bytes - at < sizeof(code) ? size_bytes - at : sizeof(code);

		if (elf_image_read(scan->image, segment->virtual_address + at, code, chunk) < 0)
			return;
		code_scan_chunk(scan, code, chunk, segment->virtual_address + at);
	}
}

/* Scans the first CODE_SCAN_BYTES_MAX of the object's code. Returns the count. */
static inline size_t code_scan_run(struct code_scan scan)
{
	struct elf_segment segment;
	size_t cursor = 0;

	scan.bytes_left = CODE_SCAN_BYTES_MAX;
	while (elf_image_next_segment(scan.image, &cursor, &segment))
		if (segment.type == PT_LOAD && (segment.flags & PF_X))
			code_scan_segment(&scan, &segment);
	return scan.count;
}
