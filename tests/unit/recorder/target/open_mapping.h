/* SPDX-License-Identifier: GPL-2.0-only */
/* The object behind a mapping of this process. */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/proc/target_file.h"

enum {
	OPEN_MAPPINGS_MAX = 256
};

static inline int open_mapping_read(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	return target_file_read(source, offset, buffer, size_bytes);
}

/* As target_file_open and elf_image_open. The file stays open for the image. */
static inline int open_mapping(const struct memory_map_entry *entry, struct elf_image **ret_image)
{
	static struct target_file *files[OPEN_MAPPINGS_MAX];
	static size_t count;
	struct elf_reader reader = { .read = open_mapping_read };
	int r = count < OPEN_MAPPINGS_MAX ? target_file_open(getpid(), entry, &files[count])
					  : -EMFILE;

	if (r < 0)
		return r;
	reader.source = files[count++];
	reader.size_bytes = target_file_size_bytes(reader.source);
	return elf_image_open(&reader, ret_image);
}
