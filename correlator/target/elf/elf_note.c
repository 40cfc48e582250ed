#include "target/elf/elf_note.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char GNU_OWNER[] = "GNU";

static bool is_build_id(const Elf64_Nhdr *note, const uint8_t *owner)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(GNU_OWNER) &&
	       memcmp(owner, GNU_OWNER, sizeof(GNU_OWNER)) == 0 && note->n_descsz > 0 &&
	       note->n_descsz <= ELF_NOTE_BUILD_ID_BYTES_MAX;
}

static void write_hex(const uint8_t *bytes, size_t size_bytes, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size_bytes; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * size_bytes] = '\0';
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

int elf_note_build_id(const uint8_t *notes, size_t size_bytes, uint64_t align,
		      char ret_hex[static 2 * ELF_NOTE_BUILD_ID_BYTES_MAX + 1])
{
	uint64_t at = 0;
	Elf64_Nhdr note;

	align = align == 8 ? 8 : 4;
	while (at + sizeof(note) <= size_bytes) {
		uint64_t owner = at + sizeof(note);
		uint64_t description;

		memcpy(&note, notes + at, sizeof(note));
		description = align_up(owner + note.n_namesz, align);
		if (description > size_bytes || note.n_descsz > size_bytes - description)
			return -ENOENT;
		if (is_build_id(&note, notes + owner)) {
			write_hex(notes + description, note.n_descsz, ret_hex);
			return 0;
		}
		at = align_up(description + note.n_descsz, align);
	}
	return -ENOENT;
}
