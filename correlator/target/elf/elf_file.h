/*
 * The bytes of an ELF file, on disk or in memory, and its header: a part of elf_image. Reads by
 * pread(2), never by mmap: a mapped file that its owner truncates would kill the reader. Does not
 * log; single thread.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int fd; /* owned; -1: the file is in buffer */
	const uint8_t *buffer; /* borrowed */
	uint64_t size_bytes;
	Elf64_Ehdr header;
};

/*
 * fd is duplicated. 0; -ENOEXEC: not a regular file, not a 64-bit little-endian ELF file, or one
 * with more headers than any real one; -errno. Release with elf_file_deinit.
 */
int elf_file_init(struct elf_file *ret_file, int fd);
/* The same of a file in memory, which must outlive it. */
int elf_file_init_memory(struct elf_file *ret_file, const void *buffer, size_t size_bytes);
void elf_file_deinit(struct elf_file *file);

/* Exactly size_bytes at a file offset: 0, -EFAULT (beyond the end), -errno. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes);
