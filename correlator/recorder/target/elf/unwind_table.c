/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

/* Pointer encodings: relative to the table, or to the pointer itself; 4 bytes. */
enum {
	HEADER_VERSION = 1,
	ENCODING_U32 = 0x03,
	ENCODING_TABLE_S32 = 0x3b,
	ENTRY_BYTES = 8
};

struct table_header {
	uint8_t version;
	uint8_t frame_encoding; /* of frame, which has 4 bytes with all compilers */
	uint8_t count_encoding;
	uint8_t table_encoding;
	int32_t frame;
	uint32_t count;
};

struct table_entry {
	int32_t function; /* relative to the header */
	int32_t description;
};

/* The start of a frame description of 32-bit DWARF. */
struct description {
	uint32_t length;
	uint32_t common;
	int32_t function; /* relative to itself */
	uint32_t size_bytes;
};

static bool find_header(const struct elf_image *image, uint64_t *ret_address,
			struct table_header *ret_header)
{
	struct elf_segment segment;
	size_t cursor = 0;

	while (elf_image_next_segment(image, &cursor, &segment)) {
		if (segment.type != PT_GNU_EH_FRAME)
			continue;
		*ret_address = segment.virtual_address;
		return elf_image_read(image, segment.virtual_address, ret_header,
				      sizeof(*ret_header)) == 0 &&
		       ret_header->version == HEADER_VERSION &&
		       ret_header->count_encoding == ENCODING_U32 &&
		       ret_header->table_encoding == ENCODING_TABLE_S32 &&
		       (ret_header->frame_encoding & 0x0f) == (ENCODING_TABLE_S32 & 0x0f);
	}
	return false;
}

static bool read_entry(const struct elf_image *image, uint64_t table, uint32_t index,
		       struct table_entry *ret_entry)
{
	uint64_t address = table + sizeof(struct table_header) + (uint64_t)index * ENTRY_BYTES;

	return elf_image_read(image, address, ret_entry, sizeof(*ret_entry)) == 0;
}

/* True if the description belongs to the function and covers the address. */
static bool covers(const struct elf_image *image, uint64_t description_address, uint64_t function,
		   uint64_t virtual_address)
{
	struct description description;
	uint64_t pointer = description_address + offsetof(struct description, function);

	return elf_image_read(image, description_address, &description, sizeof(description)) == 0 &&
	       pointer + (uint64_t)(int64_t)description.function == function &&
	       virtual_address - function < description.size_bytes;
}

int unwind_table_find(const struct elf_image *image, uint64_t virtual_address,
		      uint64_t *ret_function)
{
	struct table_header header;
	struct table_entry entry;
	uint64_t table, function;
	uint32_t low = 0, high;

	if (!find_header(image, &table, &header))
		return -ENOENT;
	/* The last entry at or before the address is below high. */
	for (high = header.count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (!read_entry(image, table, middle, &entry))
			return -ENOENT;
		if (table + (uint64_t)(int64_t)entry.function <= virtual_address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !read_entry(image, table, low - 1, &entry))
		return -ENOENT;
	function = table + (uint64_t)(int64_t)entry.function;
	if (!covers(image, table + (uint64_t)(int64_t)entry.description, function, virtual_address))
		return -ENOENT;
	*ret_function = function;
	return 0;
}
