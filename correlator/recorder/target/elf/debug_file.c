/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/debug_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "recorder/target/elf/object_file.h"

#define DEBUG_FOLDER "/usr/lib/debug"

enum {
	PATH_BYTES = 2 * PATH_MAX,
};

/* The marks of a debug file. */
struct wanted {
	uint8_t id[ELF_BUILD_ID_BYTES_MAX];
	size_t id_bytes;
	char name[NAME_MAX + 1]; /* "" = not stated */
	uint32_t crc32;
};

/* A name, its NUL, up to three bytes of padding, and the CRC-32 of the debug file. */
static void read_link(const struct elf_image *image, struct wanted *wanted)
{
	char section[NAME_MAX + 1 + 3 + sizeof(wanted->crc32)];
	size_t bytes = elf_image_read_section(image, ".gnu_debuglink", section, sizeof(section));
	size_t length = strnlen(section, bytes), crc_at = (length + 4) & ~(size_t)3;

	if (length == 0 || length > NAME_MAX || bytes < crc_at + sizeof(wanted->crc32) ||
	    memchr(section, '/', length))
		return;
	memcpy(wanted->name, section, length + 1);
	memcpy(&wanted->crc32, section + crc_at, sizeof(wanted->crc32));
}

static bool is_wanted(const struct wanted *wanted, const struct elf_image *image)
{
	uint8_t id[ELF_BUILD_ID_BYTES_MAX];
	uint32_t crc32;

	if (wanted->id_bytes > 0)
		return elf_image_build_id(image, id) == wanted->id_bytes &&
		       memcmp(id, wanted->id, wanted->id_bytes) == 0;
	return elf_image_crc32(image, &crc32) && crc32 == wanted->crc32;
}

/* True: it is the file, and functions are replaced by its. */
static bool try_path(const struct wanted *wanted, pid_t pid, const char *path,
		     struct elf_functions **functions)
{
	_cleanup_(object_file_releasep) struct object_file *file = NULL;
	_cleanup_(elf_functions_freep) struct elf_functions *found = NULL;
	const struct elf_image *image;

	if (object_file_open_path(pid, path, &file) < 0)
		return false;
	image = object_file_image(file);
	if (!image || !is_wanted(wanted, image) || elf_functions_read(image, &found) < 0 ||
	    !elf_functions_are_all(found))
		return false;
	elf_functions_free(*functions);
	*functions = TAKE_PTR(found);
	return true;
}

static bool try_build_id(const struct wanted *wanted, pid_t pid, struct elf_functions **functions)
{
	char digits[2 * ELF_BUILD_ID_BYTES_MAX + 1], path[PATH_BYTES];

	if (wanted->id_bytes < 2)
		return false;
	text_hex(wanted->id, wanted->id_bytes, digits);
	(void)snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%.2s/%s.debug", digits,
		       digits + 2);
	return try_path(wanted, pid, path, functions);
}

static void try_link(const struct wanted *wanted, pid_t pid, const char *of_path,
		     struct elf_functions **functions)
{
	static const struct {
		const char *before, *after;
	} folders[] = { { "", "" }, { "", "/.debug" }, { DEBUG_FOLDER, "" } };
	const char *slash = strrchr(of_path, '/');
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int length =
			snprintf(path, sizeof(path), "%s%.*s%s/%s", folders[i].before,
				 (int)(slash - of_path), of_path, folders[i].after, wanted->name);

		if (length < PATH_BYTES && try_path(wanted, pid, path, functions))
			return;
	}
}

void debug_file_replace(const struct elf_image *image, pid_t pid, const char *path,
			struct elf_functions **functions)
{
	struct wanted wanted = { .name = "" };

	wanted.id_bytes = elf_image_build_id(image, wanted.id);
	read_link(image, &wanted);
	elf_image_rest(image);
	if (!try_build_id(&wanted, pid, functions) && wanted.name[0] && strchr(path, '/'))
		try_link(&wanted, pid, path, functions);
}
