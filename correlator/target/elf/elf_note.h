/* ELF notes as bytes: pure, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	ELF_NOTE_BUILD_ID_BYTES_MAX = 32
};

/*
 * Walks the notes (the content of a PT_NOTE segment of alignment 4 or 8) to the GNU build ID
 * (type 3, owner "GNU", 1 to 32 bytes) and writes it as lower-case hex, NUL-terminated.
 * 0, -ENOENT (none, or a note that does not fit).
 */
int elf_note_build_id(const uint8_t *notes, size_t size_bytes, uint64_t align,
		      char ret_hex[static 2 * ELF_NOTE_BUILD_ID_BYTES_MAX + 1]);
