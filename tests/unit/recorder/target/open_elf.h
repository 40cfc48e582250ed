/* SPDX-License-Identifier: GPL-2.0-only */
/* An ELF file of ours. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/target/elf/elf_image.h"

static inline int open_elf_read(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	ssize_t got = pread((int)(intptr_t)source, buffer, size_bytes, (off_t)offset);

	return got == (ssize_t)size_bytes ? 0 : got < 0 ? -errno : -EFAULT;
}

/* As elf_image_open. A duplicate of fd stays open for the image. */
static inline int open_elf(int fd, struct elf_image **ret_image)
{
	struct elf_reader reader = { .read = open_elf_read, .source = (void *)(intptr_t)dup(fd) };
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	reader.size_bytes = (uint64_t)status.st_size;
	return elf_image_open(&reader, ret_image);
}
