/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second way to locate a thread-local of glibc: the dynamic loader's own records of an object, in
 * the list that it keeps for debuggers. Module number and static offset are private fields; libc
 * exports their offsets in symbols made for libthread_db. Facts: glibc 2.36 include/link.h,
 * nptl_db/structs.def, elf/link.h (struct r_debug, struct link_map). Single thread; logs a
 * disagreement. Keeps nothing but the layout, which its caller owns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/proc/memory_reader.h"

/* No process loads this many objects. */
enum {
	LINK_MAP_ENTRIES_MAX = 65536
};

/* The loader's list as its objects describe it; 0 = not found (another libc, or none). */
struct link_map_layout {
	uint64_t debug_address; /* of _r_debug in the process */
	uint32_t module_at; /* of l_tls_modid in struct link_map */
	uint32_t offset_at; /* of l_tls_offset */
	bool is_musl; /* the loader is musl's, whatever its file is called */
};

/* Adds to layout what one loaded object describes. */
void link_map_note(const struct elf_image *image, uint64_t load_bias,
		   struct link_map_layout *layout);

/*
 * Checks whether the loader's own records lead to the variable's location as found in the object at
 * load_bias. 0: they do; -ENOENT: there is no second way, or the loader's list lacks the object;
 * -EUCLEAN: they disagree (logged with both values if is_final); or an error of the reader.
 */
int link_map_confirm(const struct link_map_layout *layout, const struct memory_reader *reader,
		     uint64_t load_bias, const struct tls_symbol *symbol, bool is_final);
