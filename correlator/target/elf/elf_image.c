/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SEGMENTS_MAX = 1024,
	SECTIONS_MAX = SHN_LORESERVE - 1, /* above it, e_shnum is 0 and the count elsewhere */
	RELOCATION_SECTIONS_MAX = 8, /* .rela.dyn and .rela.plt; linkers make no more */
	DYNAMIC_ENTRIES_MAX = 1024,
};

/* The bytes of the file, and its header. */
struct elf_file {
	int fd; /* owned; -1: the file is in buffer */
	const uint8_t *buffer; /* borrowed */
	uint64_t size_bytes;
	Elf64_Ehdr header;
};

/* A symbol table with its strings. */
struct elf_symbol_table {
	Elf_Scn *symbols; /* NULL = the file has none */
	Elf_Scn *strings;
	bool is_dynamic; /* .dynsym */
};

struct elf_image {
	Elf *elf;
	struct elf_file file;
	struct elf_symbol_table dynamic_table;
	struct elf_symbol_table full_table;
	Elf_Scn *relocations[RELOCATION_SECTIONS_MAX];
	size_t relocation_section_count;
};

/* Exactly size_bytes at a file offset: 0, -EFAULT (beyond the end), -errno. */
static int file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t used = 0;

	if (offset > file->size_bytes || size_bytes > file->size_bytes - offset)
		return -EFAULT;
	if (file->fd < 0) {
		memcpy(buffer, file->buffer + offset, size_bytes);
		return 0;
	}
	while (used < size_bytes) {
		ssize_t got = pread(file->fd, (char *)buffer + used, size_bytes - used,
				    (off_t)(offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EFAULT;
		used += (size_t)got;
	}
	return 0;
}

/* Before libelf sees it: libelf allocates by these counts. */
static bool is_plausible_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (header->e_phnum > SEGMENTS_MAX ||
	    (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)))
		return false;
	if (header->e_shoff == 0)
		return header->e_shnum == 0;
	return header->e_shnum > 0 && header->e_shnum <= SECTIONS_MAX &&
	       header->e_shentsize == sizeof(Elf64_Shdr);
}

static int read_header(struct elf_file *file)
{
	int r = file_read(file, 0, &file->header, sizeof(file->header));

	if (r < 0)
		return r == -EFAULT ? -ENOEXEC : r;
	return is_plausible_header(&file->header) ? 0 : -ENOEXEC;
}

/* fd is duplicated. */
static int file_init(struct elf_file *ret_file, int fd)
{
	_cleanup_fd_ int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct elf_file file = { .fd = own_fd };
	struct stat status;
	int r;

	if (own_fd < 0 || fstat(own_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file.size_bytes = (uint64_t)status.st_size;
	r = read_header(&file);
	if (r < 0)
		return r;
	*ret_file = file;
	(void)TAKE_FD(own_fd);
	return 0;
}

static int file_init_memory(struct elf_file *ret_file, const void *buffer, size_t size_bytes)
{
	struct elf_file file = { .fd = -1, .buffer = buffer, .size_bytes = size_bytes };
	int r = read_header(&file);

	if (r < 0)
		return r;
	*ret_file = file;
	return 0;
}

static void file_deinit(struct elf_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}

static bool is_small_table(Elf_Scn *section, GElf_Shdr *header)
{
	return section && gelf_getshdr(section, header) && !(header->sh_flags & SHF_COMPRESSED) &&
	       header->sh_size <= ELF_IMAGE_TABLE_BYTES_MAX;
}

static void set_symbol_table(const struct elf_image *image, Elf_Scn *section,
			     const GElf_Shdr *header, struct elf_symbol_table *table)
{
	Elf_Scn *strings = elf_getscn(image->elf, header->sh_link);
	GElf_Shdr strings_header;

	if (table->symbols || !is_small_table(strings, &strings_header) ||
	    strings_header.sh_type != SHT_STRTAB)
		return;
	*table = (struct elf_symbol_table){
		.symbols = section,
		.strings = strings,
		.is_dynamic = header->sh_type == SHT_DYNSYM,
	};
}

static void find_sections(struct elf_image *image)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!is_small_table(section, &header))
			continue;
		if (header.sh_type == SHT_DYNSYM)
			set_symbol_table(image, section, &header, &image->dynamic_table);
		else if (header.sh_type == SHT_SYMTAB)
			set_symbol_table(image, section, &header, &image->full_table);
		else if (header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC) &&
			 image->relocation_section_count < RELOCATION_SECTIONS_MAX)
			image->relocations[image->relocation_section_count++] = section;
	}
}

/* Takes the file over in any case. */
static int open_file(struct elf_file *file, struct elf_image **ret_image)
{
	_cleanup_(elf_image_freep) struct elf_image *image = calloc(1, sizeof(*image));

	if (!image) {
		file_deinit(file);
		return -ENOMEM;
	}
	image->file = *file;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	image->elf = file->fd >= 0 ? elf_begin(file->fd, ELF_C_READ, NULL)
				   : elf_memory((char *)(uintptr_t)file->buffer,
						(size_t)file->size_bytes);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return -ENOEXEC;
	find_sections(image);
	*ret_image = TAKE_PTR(image);
	return 0;
}

int elf_image_open(int fd, struct elf_image **ret_image)
{
	struct elf_file file;
	int r = file_init(&file, fd);

	return r < 0 ? r : open_file(&file, ret_image);
}

int elf_image_open_memory(const void *buffer, size_t size_bytes, struct elf_image **ret_image)
{
	struct elf_file file;
	int r = file_init_memory(&file, buffer, size_bytes);

	return r < 0 ? r : open_file(&file, ret_image);
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	(void)elf_end(image->elf);
	file_deinit(&image->file);
	free(image);
}

uint16_t elf_image_machine(const struct elf_image *image)
{
	return image->file.header.e_machine;
}

bool elf_image_is_program(const struct elf_image *image)
{
	struct elf_segment segment;
	Elf64_Dyn entry;
	size_t cursor = 0;

	if (image->file.header.e_type == ET_EXEC)
		return true;
	while (elf_image_next_segment(image, &cursor, &segment)) {
		if (segment.type != PT_DYNAMIC)
			continue;
		for (size_t i = 0; i < DYNAMIC_ENTRIES_MAX; i++) {
			uint64_t offset = segment.offset + i * sizeof(entry);

			if ((i + 1) * sizeof(entry) > segment.file_bytes ||
			    file_read(&image->file, offset, &entry, sizeof(entry)) < 0 ||
			    entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_FLAGS_1)
				return entry.d_un.d_val & DF_1_PIE;
		}
	}
	return false;
}

/* By hand, not elf_strptr: the name must end inside the table, and nothing is inflated. */
static bool is_name(const Elf_Data *strings, uint32_t offset, const char *name, size_t name_bytes)
{
	return offset < strings->d_size && name_bytes <= strings->d_size - offset &&
	       memcmp((const char *)strings->d_buf + offset, name, name_bytes) == 0;
}

/*
 * Linear: the tables are read once. A defined symbol ends the search and returns true; an undefined
 * one is stored when *is_found is still false, and the search goes on.
 */
static bool find_in_table(const struct elf_symbol_table *table, const char *name, bool *is_found,
			  struct elf_symbol *ret_symbol)
{
	Elf_Data *symbols = table->symbols ? elf_getdata(table->symbols, NULL) : NULL;
	Elf_Data *strings = table->strings ? elf_getdata(table->strings, NULL) : NULL;
	size_t count = symbols ? symbols->d_size / sizeof(Elf64_Sym) : 0;
	size_t name_bytes = strlen(name) + 1;
	GElf_Sym symbol;

	if (!strings || !strings->d_buf)
		return false;
	for (size_t i = 1; i < count && gelf_getsym(symbols, (int)i, &symbol); i++) {
		bool is_defined = symbol.st_shndx != SHN_UNDEF;

		if (!is_name(strings, symbol.st_name, name, name_bytes) ||
		    (*is_found && !is_defined))
			continue;
		*is_found = true;
		*ret_symbol = (struct elf_symbol){
			.value = symbol.st_value,
			.size_bytes = symbol.st_size,
			.type = GELF_ST_TYPE(symbol.st_info),
			.is_defined = is_defined,
			.is_dynamic = table->is_dynamic,
			.index = table->is_dynamic ? i : 0,
		};
		if (is_defined)
			return true;
	}
	return false;
}

int elf_image_find_symbol(const struct elf_image *image, const char *name,
			  struct elf_symbol *ret_symbol)
{
	bool is_found = false;

	if (!find_in_table(&image->dynamic_table, name, &is_found, ret_symbol))
		(void)find_in_table(&image->full_table, name, &is_found, ret_symbol);
	return is_found ? 0 : -ENOENT;
}

bool elf_image_find_defined(const struct elf_image *image, const char *name,
			    struct elf_symbol *ret_symbol)
{
	struct elf_symbol symbol;

	if (elf_image_find_symbol(image, name, &symbol) < 0 || !symbol.is_defined)
		return false;
	*ret_symbol = symbol;
	return true;
}

bool elf_image_next_relocation(const struct elf_image *image, size_t *cursor,
			       struct elf_relocation *ret_relocation)
{
	size_t index = *cursor;

	for (size_t i = 0; i < image->relocation_section_count; i++) {
		Elf_Data *data = elf_getdata(image->relocations[i], NULL);
		size_t count = data ? data->d_size / sizeof(Elf64_Rela) : 0;
		GElf_Rela relocation;

		if (index >= count) {
			index -= count;
			continue;
		}
		if (!gelf_getrela(data, (int)index, &relocation))
			return false;
		*ret_relocation = (struct elf_relocation){
			.offset = relocation.r_offset,
			.type = (uint32_t)GELF_R_TYPE(relocation.r_info),
			.symbol = (uint32_t)GELF_R_SYM(relocation.r_info),
			.addend = relocation.r_addend,
		};
		(*cursor)++;
		return true;
	}
	return false;
}

bool elf_image_next_segment(const struct elf_image *image, size_t *cursor,
			    struct elf_segment *ret_segment)
{
	Elf64_Phdr segment;
	uint64_t offset = image->file.header.e_phoff + *cursor * sizeof(segment);

	if (*cursor >= image->file.header.e_phnum || offset < image->file.header.e_phoff ||
	    file_read(&image->file, offset, &segment, sizeof(segment)) < 0)
		return false;
	*ret_segment = (struct elf_segment){
		.type = segment.p_type,
		.flags = segment.p_flags,
		.offset = segment.p_offset,
		.virtual_address = segment.p_vaddr,
		.file_bytes = segment.p_filesz,
		.memory_bytes = segment.p_memsz,
		.align = segment.p_align,
	};
	(*cursor)++;
	return true;
}

static bool is_exact_mapping(const struct elf_segment *segment,
			     const struct memory_map_entry *entry)
{
	return entry->is_readable == !!(segment->flags & PF_R) &&
	       entry->is_writable == !!(segment->flags & PF_W) &&
	       entry->is_executable == !!(segment->flags & PF_X);
}

int elf_image_load_bias(const struct elf_image *image, const struct memory_map_entry *entry,
			uint64_t *ret_bias)
{
	uint64_t page_mask = ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	struct elf_segment segment;
	bool is_found = false;
	bool is_exact = false;
	size_t cursor = 0;

	while (!is_exact && elf_image_next_segment(image, &cursor, &segment)) {
		uint64_t first = segment.offset & page_mask;

		if (segment.type != PT_LOAD || entry->offset < first ||
		    entry->offset - first >= segment.file_bytes + (segment.offset - first))
			continue;
		is_exact = is_exact_mapping(&segment, entry);
		/* Another fit may be the relocated, now read-only, start of the data segment. */
		if (is_found && !is_exact)
			continue;
		is_found = true;
		*ret_bias =
			entry->start - entry->offset - (segment.virtual_address - segment.offset);
	}
	return is_found ? 0 : -ENOENT;
}

/* The PT_LOAD whose file part has the address, the first one if they overlap; and where in it. */
static bool find_loaded(const struct elf_image *image, uint64_t virtual_address,
			struct elf_segment *ret_segment, uint64_t *ret_distance)
{
	size_t cursor = 0;

	while (elf_image_next_segment(image, &cursor, ret_segment)) {
		*ret_distance = virtual_address - ret_segment->virtual_address;
		if (ret_segment->type == PT_LOAD &&
		    virtual_address >= ret_segment->virtual_address &&
		    *ret_distance < ret_segment->file_bytes)
			return true;
	}
	return false;
}

int elf_image_file_offset(const struct elf_image *image, uint64_t virtual_address,
			  uint64_t *ret_offset)
{
	struct elf_segment segment;
	uint64_t distance;

	if (!find_loaded(image, virtual_address, &segment, &distance) ||
	    segment.offset >= image->file.size_bytes ||
	    distance >= image->file.size_bytes - segment.offset)
		return -ENOENT;
	*ret_offset = segment.offset + distance;
	return 0;
}

int elf_image_read(const struct elf_image *image, uint64_t virtual_address, void *buffer,
		   size_t size_bytes)
{
	struct elf_segment segment;
	uint64_t distance;

	if (!find_loaded(image, virtual_address, &segment, &distance) ||
	    size_bytes > segment.file_bytes - distance || segment.offset + distance < distance)
		return -EFAULT;
	return file_read(&image->file, segment.offset + distance, buffer, size_bytes) ? -EFAULT : 0;
}
