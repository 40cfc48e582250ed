#include "target/elf/code_reference.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

/* REX.W, opcode, ModRM, displacement. */
enum {
	INSTRUCTION_BYTES = 7,
	CHUNK_BYTES = 32 * 1024
};

struct scan {
	const struct elf_image *image;
	uint64_t slot;
	uint64_t *addresses;
	size_t limit;
	size_t count;
	uint64_t bytes_left; /* of all segments together: there may be many, over each other */
};

static bool refers(const uint8_t *code, uint64_t address, uint64_t slot)
{
	int32_t displacement;

	/* lea, mov, add: to a 64-bit register, from or at rip + displacement. */
	if ((code[0] & 0xf8) != 0x48 || (code[1] != 0x8d && code[1] != 0x8b && code[1] != 0x03) ||
	    (code[2] & 0xc7) != 0x05)
		return false;
	memcpy(&displacement, code + 3, sizeof(displacement));
	return address + INSTRUCTION_BYTES + (uint64_t)(int64_t)displacement == slot;
}

static void scan_chunk(struct scan *scan, const uint8_t *code, size_t size_bytes, uint64_t address)
{
	for (size_t i = 0; i + INSTRUCTION_BYTES <= size_bytes; i++) {
		if (!refers(code + i, address + i, scan->slot))
			continue;
		if (scan->count < scan->limit)
			scan->addresses[scan->count] = address + i;
		scan->count++;
	}
}

static void scan_segment(struct scan *scan, const struct elf_segment *segment)
{
	uint8_t code[CHUNK_BYTES];
	uint64_t size_bytes = segment->file_bytes;

	if (size_bytes > scan->bytes_left)
		size_bytes = scan->bytes_left;
	scan->bytes_left -= size_bytes;
	/* Chunks overlap by what an instruction may straddle. */
	for (uint64_t at = 0; at + INSTRUCTION_BYTES <= size_bytes;
	     at += CHUNK_BYTES - INSTRUCTION_BYTES + 1) {
		size_t chunk = size_bytes - at < CHUNK_BYTES ? size_bytes - at : CHUNK_BYTES;

		if (elf_image_read(scan->image, segment->virtual_address + at, code, chunk) < 0)
			return;
		scan_chunk(scan, code, chunk, segment->virtual_address + at);
	}
}

size_t code_reference_find(const struct elf_image *image, uint64_t slot, uint64_t *ret_addresses,
			   size_t limit)
{
	struct scan scan = { .image = image,
			     .slot = slot,
			     .addresses = ret_addresses,
			     .limit = limit,
			     .bytes_left = CODE_REFERENCE_SCAN_BYTES_MAX };
	struct elf_segment segment;
	size_t cursor = 0;

	if (elf_image_machine(image) != EM_X86_64)
		return 0;
	while (elf_image_next_segment(image, &cursor, &segment))
		if (segment.type == PT_LOAD && (segment.flags & PF_X))
			scan_segment(&scan, &segment);
	return scan.count;
}
