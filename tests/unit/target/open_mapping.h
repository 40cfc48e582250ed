/* SPDX-License-Identifier: GPL-2.0-only */
/* The object behind a mapping of this process. */
#pragma once

#include <unistd.h>

#include "base/cleanup.h"
#include "target/elf/elf_image.h"
#include "target/proc/memory_map.h"

/* As memory_map_open_file and elf_image_open. */
static inline int open_mapping(const struct memory_map_entry *entry, struct elf_image **ret_image)
{
	_cleanup_fd_ int fd = memory_map_open_file(getpid(), entry);

	return fd < 0 ? fd : elf_image_open(fd, ret_image);
}
