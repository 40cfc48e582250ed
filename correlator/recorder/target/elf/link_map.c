/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/link_map.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"

/* Offsets in struct r_debug and struct link_map, which are an ABI: <link.h>. */
enum {
	DEBUG_MAP_AT = 8,
	MAP_ADDRESS_WORD = 0,
	MAP_NEXT_WORD = 3,
	MAP_HEAD_WORDS = 4,
	WORD_BITS = 64,
	FIELD_AT_MAX = 64 * 1024
};

/* How libc describes a field of a structure to libthread_db. */
struct field_description {
	uint32_t bits;
	uint32_t count;
	uint32_t at;
};

static uint32_t read_field(const struct elf_image *image, const char *name)
{
	struct field_description field;
	struct elf_symbol symbol;

	if (!elf_image_find_defined(image, name, &symbol) ||
	    elf_image_read(image, symbol.value, &field, sizeof(field)) < 0 ||
	    field.bits != WORD_BITS || field.count != 1 || field.at > FIELD_AT_MAX)
		return 0;
	return field.at;
}

void link_map_note(const struct elf_image *image, uint64_t load_bias,
		   struct link_map_layout *layout)
{
	struct elf_symbol symbol;

	if (!layout->debug_address && elf_image_find_defined(image, "_r_debug", &symbol))
		layout->debug_address = load_bias + symbol.value;
	/* musl's own name, ldso/dynlink.c. */
	if (elf_image_find_defined(image, "_dl_debug_addr", &symbol))
		layout->is_musl = true;
	if (!layout->module_at)
		layout->module_at = read_field(image, "_thread_db_link_map_l_tls_modid");
	if (!layout->offset_at)
		layout->offset_at = read_field(image, "_thread_db_link_map_l_tls_offset");
}

/* Finds the loader's entry for the object at load_bias. */
static int find_entry(const struct link_map_layout *layout, const struct memory_reader *reader,
		      uint64_t load_bias, uint64_t *ret_entry)
{
	uint64_t head[MAP_HEAD_WORDS], entry;
	int r = memory_read_u64(reader, layout->debug_address + DEBUG_MAP_AT, &entry);

	for (uint32_t i = 0; r == 0 && entry && i < LINK_MAP_ENTRIES_MAX; i++) {
		r = memory_read(reader, entry, head, sizeof(head));
		if (r == 0 && head[MAP_ADDRESS_WORD] == load_bias) {
			*ret_entry = entry;
			return 0;
		}
		entry = head[MAP_NEXT_WORD];
	}
	return r < 0 ? r : -ENOENT;
}

static int disagree(bool is_final, const char *what, uint64_t by_relocation, uint64_t by_loader)
{
	if (!is_final)
		return -EUCLEAN;
	return log_error(EUCLEAN,
			 "two ways to the thread-local disagree on its %s: 0x%" PRIx64
			 " by the object's relocation, 0x%" PRIx64 " by the loader's list",
			 what, by_relocation, by_loader);
}

int link_map_confirm(const struct link_map_layout *layout, const struct memory_reader *reader,
		     uint64_t load_bias, const struct tls_symbol *symbol, bool is_final)
{
	const struct tls_location *location = &symbol->location;
	uint64_t entry, module, offset;
	int r;

	if (!layout->debug_address || !layout->module_at || !layout->offset_at)
		return -ENOENT;
	r = find_entry(layout, reader, load_bias, &entry);
	if (r == 0)
		r = memory_read_u64(reader, entry + layout->module_at, &module);
	if (r == 0)
		r = memory_read_u64(reader, entry + layout->offset_at, &offset);
	if (r < 0)
		return r;
	if (location->model == TLS_MODEL_DYNAMIC && module == location->module)
		return 0;
	if (location->model == TLS_MODEL_DYNAMIC)
		return disagree(is_final, "module", location->module, module);
	/*
	 * The loader stores the distance of the object's block from the thread pointer, above or
	 * below it.
	 */
	offset = symbol->symbol_value + (symbol->is_above_thread_pointer ? offset : -offset);
	if (offset != (uint64_t)location->offset)
		return disagree(is_final, "offset", (uint64_t)location->offset, offset);
	return 0;
}
