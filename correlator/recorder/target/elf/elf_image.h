/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ELF file of the target. Hostile input: every count, size and offset is bounded, loops end, and
 * at most a dozen tables of ELF_IMAGE_TABLE_BYTES_MAX are held. Reads only what is needed, piece by
 * piece. That is why this is not libelf, which needs the whole file in memory or a descriptor to
 * read from, and such a read might block. Single thread; does not log. Symbols and relocations are
 * found by section headers (strip(1) leaves those of the dynamic link).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/proc/memory_map.h"

/* Larger symbol, string and relocation tables are ignored, as if the file had none. */
enum {
	ELF_IMAGE_TABLE_BYTES_MAX = 64 * 1024 * 1024,
	ELF_IMAGE_CRC_BYTES_MAX = 64 * 1024 * 1024,
};

struct elf_image;

struct elf_symbol {
	uint64_t value; /* st_value */
	uint64_t size_bytes;
	uint8_t type; /* STT_FUNC, STT_TLS, STT_OBJECT, ... */
	bool is_defined; /* section is not SHN_UNDEF */
	bool is_dynamic; /* found in .dynsym, so it survives strip */
	size_t index; /* in .dynsym when is_dynamic (relocations refer to it) */
};

struct elf_relocation {
	uint64_t offset; /* r_offset: add the load bias */
	uint32_t type; /* R_X86_64_DTPMOD64, ... */
	uint32_t symbol; /* index in .dynsym, 0 = none */
	int64_t addend;
};

struct elf_segment {
	uint32_t type; /* PT_LOAD, PT_TLS */
	uint32_t flags;
	uint64_t offset;
	uint64_t virtual_address;
	uint64_t file_bytes;
	uint64_t memory_bytes;
	uint64_t align;
};

/* Access to a file's bytes. */
struct elf_reader {
	/* Reads exactly size_bytes at offset: 0; -EFAULT: the file is too short; -errno. */
	int (*read)(void *source, uint64_t offset, void *buffer, size_t size_bytes);
	void *source; /* must outlive the image */
	uint64_t size_bytes; /* size of the file, as far as is known */
};

/*
 * 0, -ENOEXEC (not a 64-bit little-endian ELF file, or more headers than any real one), -ENOMEM,
 * -errno of reading. If a later read fails, the call that needs it behaves as if the file lacked
 * that part; the next call tries again.
 */
int elf_image_open(const struct elf_reader *reader, struct elf_image **ret_image);
/* The same for a file in memory, which must outlive the image. */
int elf_image_open_memory(const void *buffer, size_t size_bytes, struct elf_image **ret_image);
void elf_image_free(struct elf_image *image);
DEFINE_CLEANUP(struct elf_image *, elf_image_free);
/*
 * Frees the symbols and relocations that were read; a lookup of something new reads them again.
 * Results of elf_image_find_symbol() stay cached.
 */
void elf_image_rest(const struct elf_image *image);

uint16_t elf_image_machine(const struct elf_image *image); /* EM_X86_64, EM_AARCH64 */
/* True for a main program: ET_EXEC, or ET_DYN that the linker marked DF_1_PIE. */
bool elf_image_is_program(const struct elf_image *image);

enum {
	ELF_BUILD_ID_BYTES_MAX = 64
};

/*
 * The build ID, by which the linker tells the file from others (NT_GNU_BUILD_ID), found by section
 * headers. Returns its length in bytes; 0 = none.
 */
size_t elf_image_build_id(const struct elf_image *image,
			  uint8_t ret_id[static ELF_BUILD_ID_BYTES_MAX]);

/*
 * Reads the first max_bytes bytes of the section with that name, or all of them if it has fewer.
 * Returns their number; 0: there is no such section, or it cannot be read. name: at most 31 bytes.
 */
size_t elf_image_read_section(const struct elf_image *image, const char *name, void *buffer,
			      size_t max_bytes);

/*
 * The CRC-32 of the whole file, as .gnu_debuglink has it; it is read to its end. False: the file is
 * larger than ELF_IMAGE_CRC_BYTES_MAX, or cannot be read.
 */
bool elf_image_crc32(const struct elf_image *image, uint32_t *ret_crc32);

/* Looks name up in .dynsym, then in .symtab. 0, -ENOENT. Defined symbols win over undefined ones.
 */
int elf_image_find_symbol(const struct elf_image *image, const char *name,
			  struct elf_symbol *ret_symbol);
/* The same for definitions only. False: there is none. */
bool elf_image_find_defined(const struct elf_image *image, const char *name,
			    struct elf_symbol *ret_symbol);
/*
 * Stores the value of the symbol at index in .dynsym. False: the object does not define one there.
 */
bool elf_image_defined_at(const struct elf_image *image, size_t index, uint64_t *ret_value);

/* A function that the file defines. */
struct elf_function {
	uint64_t value; /* a virtual address */
	uint64_t size_bytes; /* > 0 */
	const char *name; /* not ""; valid until elf_image_rest() */
	uint8_t binding; /* STB_GLOBAL, ... */
};

/*
 * Iterates over the functions of .dynsym or .symtab that have a size and a name, without those that
 * select another one at load time (STT_GNU_IFUNC). *cursor starts at 0; false at the end, or if the
 * table cannot be read.
 */
bool elf_image_next_function(const struct elf_image *image, bool is_dynamic, size_t *cursor,
			     struct elf_function *ret_function);

/*
 * Iterates over the relocations of all SHT_RELA sections of the dynamic link. *cursor starts at 0;
 * false at the end.
 */
bool elf_image_next_relocation(const struct elf_image *image, size_t *cursor,
			       struct elf_relocation *ret_relocation);
bool elf_image_next_segment(const struct elf_image *image, size_t *cursor,
			    struct elf_segment *ret_segment);

/*
 * The object's load bias (0 for ET_EXEC) from one of its mappings. Pass the lowest, as
 * memory_map_next_object gives it: a page of the file may be mapped by two segments, and then the
 * segment with the mapping's permissions and the lower address is taken. -ENOENT: no PT_LOAD fits.
 */
int elf_image_load_bias(const struct elf_image *image, const struct memory_map_entry *entry,
			uint64_t *ret_bias);
/* The virtual address of a file offset inside an executable PT_LOAD. -ENOENT. */
int elf_image_virtual_address(const struct elf_image *image, uint64_t offset,
			      uint64_t *ret_virtual_address);
/* File offset of a virtual address inside a PT_LOAD's file part. -ENOENT. */
int elf_image_file_offset(const struct elf_image *image, uint64_t virtual_address,
			  uint64_t *ret_offset);
/*
 * Copies bytes of the file at a virtual address: exactly size_bytes inside one PT_LOAD's file part,
 * else -EFAULT (buffer contents are then undefined).
 */
int elf_image_read(const struct elf_image *image, uint64_t virtual_address, void *buffer,
		   size_t size_bytes);
