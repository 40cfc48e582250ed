/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

enum {
	SEGMENTS_MAX = 1024,
	SECTIONS_MAX = SHN_LORESERVE - 1, /* above it, e_shnum is 0 and the count is elsewhere */
	RELOCATION_SECTIONS_MAX = 8, /* .rela.dyn and .rela.plt; linkers make no more */
	DYNAMIC_ENTRIES_MAX = 1024,
	NOTES_MAX = 16, /* per section; linkers make one or two */
	NOTE_SECTIONS_MAX = 16, /* linkers make three or four */
	NAMED_SECTIONS_MAX = 256, /* searched by name; a linked file has some 40 */
	SECTION_NAME_BYTES = 32,
	ANSWERS_MAX = 16, /* cached symbol lookups per file */
	/* Read-ahead size for smaller requests: most of it is requested next. */
	WINDOW_BYTES = 16 * 1024,
};

/* A piece of the file, read ahead. */
struct elf_window {
	uint64_t offset;
	size_t size_bytes;
	uint8_t bytes[WINDOW_BYTES];
};

/* The bytes of the file, and its header. */
struct elf_file {
	struct elf_reader reader;
	const uint8_t *buffer; /* borrowed; NULL = read through reader */
	uint64_t size_bytes;
	Elf64_Ehdr header;
};

/* A section and all of its bytes. */
struct elf_table {
	const Elf64_Shdr *section; /* NULL = none */
	void *bytes; /* owned; NULL = not read, or the file is too short */
	bool is_read;
};

/* A symbol table with its strings. */
struct elf_symbol_table {
	struct elf_table symbols;
	struct elf_table strings;
	bool is_dynamic; /* .dynsym */
};

/*
 * Parts of the file held in memory: read by the first lookup that needs them, freed by
 * elf_image_rest().
 */
struct elf_tables {
	struct elf_window *window;
	Elf64_Shdr *sections; /* NULL = freed, or not yet read */
	struct elf_symbol_table dynamic_table;
	struct elf_symbol_table full_table;
	struct elf_table relocations[RELOCATION_SECTIONS_MAX];
	size_t relocation_section_count;
};

/* Cached result of a symbol lookup. */
struct symbol_answer {
	char *name; /* owned */
	bool is_found;
	struct elf_symbol symbol;
};

/* Cached lookups: they are answered without the tables. */
struct symbol_answers {
	struct symbol_answer list[ANSWERS_MAX];
	size_t count;
};

struct elf_image {
	struct elf_file file;
	Elf64_Phdr *segments;
	size_t segment_count;
	/* Filled by lookups, also on a const image. Never NULL once the image is open. */
	struct elf_tables *tables;
	struct symbol_answers *answers;
};

/* Fills the window from offset on, up to the end of the file. 0 or -errno. */
static int fill_window(const struct elf_file *file, struct elf_window *window, uint64_t offset)
{
	uint64_t size_bytes = file->size_bytes - offset;
	int r;

	if (size_bytes > WINDOW_BYTES)
		size_bytes = WINDOW_BYTES;
	window->size_bytes = 0;
	r = file->reader.read(file->reader.source, offset, window->bytes, (size_t)size_bytes);
	if (r < 0)
		return r;
	window->offset = offset;
	window->size_bytes = (size_t)size_bytes;
	return 0;
}

/* Exactly size_bytes at a file offset: 0, -EFAULT (beyond the end), -errno. */
static int file_read(const struct elf_image *image, uint64_t offset, void *buffer,
		     size_t size_bytes)
{
	const struct elf_file *file = &image->file;
	struct elf_window *window;
	int r = 0;

	if (size_bytes > file->size_bytes || offset > file->size_bytes - size_bytes)
		return -EFAULT;
	if (file->buffer) {
		memcpy(buffer, file->buffer + offset, size_bytes);
		return 0;
	}
	if (!image->tables->window)
		image->tables->window = calloc(1, sizeof(*image->tables->window));
	window = image->tables->window;
	if (!window || size_bytes > WINDOW_BYTES)
		return file->reader.read(file->reader.source, offset, buffer, size_bytes);
	if (offset < window->offset || offset - window->offset > window->size_bytes ||
	    size_bytes > window->size_bytes - (offset - window->offset))
		r = fill_window(file, window, offset);
	/* The file has become shorter since it was opened. */
	if (r == -EFAULT)
		return file->reader.read(file->reader.source, offset, buffer, size_bytes);
	if (r == 0)
		memcpy(buffer, window->bytes + (offset - window->offset), size_bytes);
	return r;
}

/* Bounds the counts by which memory is allocated. */
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

static int read_header(struct elf_image *image)
{
	Elf64_Ehdr *header = &image->file.header;
	int r = file_read(image, 0, header, sizeof(*header));

	if (r < 0)
		return r == -EFAULT ? -ENOEXEC : r;
	return is_plausible_header(header) ? 0 : -ENOEXEC;
}

static bool is_small_table(const Elf64_Shdr *section)
{
	return !(section->sh_flags & SHF_COMPRESSED) &&
	       section->sh_size <= ELF_IMAGE_TABLE_BYTES_MAX;
}

static void set_symbol_table(const struct elf_image *image, const Elf64_Shdr *section,
			     struct elf_symbol_table *table)
{
	const Elf64_Shdr *strings;

	if (table->symbols.section || section->sh_link >= image->file.header.e_shnum)
		return;
	strings = &image->tables->sections[section->sh_link];
	if (strings->sh_type != SHT_STRTAB || !is_small_table(strings))
		return;
	table->symbols.section = section;
	table->strings.section = strings;
	table->is_dynamic = section->sh_type == SHT_DYNSYM;
}

static void find_sections(const struct elf_image *image)
{
	struct elf_tables *tables = image->tables;

	for (size_t i = 1; i < image->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &tables->sections[i];

		if (!is_small_table(section))
			continue;
		if (section->sh_type == SHT_DYNSYM)
			set_symbol_table(image, section, &tables->dynamic_table);
		else if (section->sh_type == SHT_SYMTAB)
			set_symbol_table(image, section, &tables->full_table);
		else if (section->sh_type == SHT_RELA && (section->sh_flags & SHF_ALLOC) &&
			 tables->relocation_section_count < RELOCATION_SECTIONS_MAX)
			tables->relocations[tables->relocation_section_count++].section = section;
	}
}

/* 0; -ENOMEM; -errno of reading. A file without section headers has none of these tables. */
static int wake(const struct elf_image *image)
{
	const Elf64_Ehdr *header = &image->file.header;
	struct elf_tables *tables = image->tables;
	int r;

	if (tables->sections)
		return 0;
	tables->sections = calloc(header->e_shnum + 1UL, sizeof(*tables->sections));
	if (!tables->sections)
		return -ENOMEM;
	r = file_read(image, header->e_shoff, tables->sections,
		      header->e_shnum * sizeof(*tables->sections));
	if (r == 0)
		find_sections(image);
	if (r == 0 || r == -EFAULT)
		return 0;
	elf_image_rest(image);
	return r;
}

static void free_symbols(struct elf_symbol_table *table)
{
	free(table->symbols.bytes);
	free(table->strings.bytes);
}

void elf_image_rest(const struct elf_image *image)
{
	struct elf_tables *tables = image->tables;

	if (!tables)
		return;
	free_symbols(&tables->dynamic_table);
	free_symbols(&tables->full_table);
	for (size_t i = 0; i < tables->relocation_section_count; i++)
		free(tables->relocations[i].bytes);
	free(tables->sections);
	free(tables->window);
	*tables = (struct elf_tables){ 0 };
}

/* 0 (table->bytes is NULL if the file is too short), -ENOMEM, or -errno of reading. */
static int read_table(const struct elf_image *image, struct elf_table *table)
{
	uint64_t offset = table->section->sh_offset;
	size_t size_bytes = (size_t)table->section->sh_size;
	_cleanup_free_ void *bytes = NULL;
	int r;

	if (table->is_read)
		return 0;
	/* Checked before memory is allocated. */
	if (offset > image->file.size_bytes || size_bytes > image->file.size_bytes - offset) {
		table->is_read = true;
		return 0;
	}
	bytes = malloc(size_bytes + 1);
	r = bytes ? file_read(image, offset, bytes, size_bytes) : -ENOMEM;
	if (r < 0 && r != -EFAULT)
		return r;
	table->is_read = true;
	table->bytes = r == 0 ? TAKE_PTR(bytes) : NULL;
	return 0;
}

/* Reads the segments that are inside the file: the others cannot be read later, either. */
static int read_segments(struct elf_image *image)
{
	const struct elf_file *file = &image->file;
	uint64_t offset = file->header.e_phoff;
	size_t count = file->header.e_phnum;
	int r;

	if (offset > file->size_bytes)
		count = 0;
	else if (count > (file->size_bytes - offset) / sizeof(*image->segments))
		count = (file->size_bytes - offset) / sizeof(*image->segments);
	image->segments = calloc(count + 1, sizeof(*image->segments));
	if (!image->segments)
		return -ENOMEM;
	r = file_read(image, offset, image->segments, count * sizeof(*image->segments));
	if (r == 0)
		image->segment_count = count;
	return r == -EFAULT ? 0 : r;
}

static int open_file(const struct elf_file *file, struct elf_image **ret_image)
{
	_cleanup_(elf_image_freep) struct elf_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	image->file = *file;
	image->tables = calloc(1, sizeof(*image->tables));
	image->answers = calloc(1, sizeof(*image->answers));
	if (!image->tables || !image->answers)
		return -ENOMEM;
	r = read_header(image);
	if (r == 0)
		r = read_segments(image);
	if (r < 0)
		return r;
	*ret_image = TAKE_PTR(image);
	return 0;
}

int elf_image_open(const struct elf_reader *reader, struct elf_image **ret_image)
{
	const struct elf_file file = { .reader = *reader, .size_bytes = reader->size_bytes };

	return open_file(&file, ret_image);
}

int elf_image_open_memory(const void *buffer, size_t size_bytes, struct elf_image **ret_image)
{
	const struct elf_file file = { .buffer = buffer, .size_bytes = size_bytes };

	return open_file(&file, ret_image);
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	elf_image_rest(image);
	for (size_t i = 0; image->answers && i < image->answers->count; i++)
		free(image->answers->list[i].name);
	free(image->answers);
	free(image->tables);
	free(image->segments);
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
			    file_read(image, offset, &entry, sizeof(entry)) < 0 ||
			    entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_FLAGS_1)
				return entry.d_un.d_val & DF_1_PIE;
		}
	}
	return false;
}

/* Reads the first build ID in a section of notes. Returns its length in bytes; 0 = none. */
static size_t find_build_id(const struct elf_image *image, const Elf64_Shdr *section,
			    uint8_t ret_id[static ELF_BUILD_ID_BYTES_MAX])
{
	struct {
		Elf64_Nhdr header;
		char name[4];
	} note;
	uint64_t at = 0;

	for (size_t i = 0; i < NOTES_MAX && at < section->sh_size; i++) {
		if (file_read(image, section->sh_offset + at, &note, sizeof(note)) < 0)
			return 0;
		if (note.header.n_type == NT_GNU_BUILD_ID && note.header.n_namesz == 4 &&
		    memcmp(note.name, "GNU", 4) == 0) {
			at += section->sh_offset + sizeof(note);
			return note.header.n_descsz <= ELF_BUILD_ID_BYTES_MAX &&
					       file_read(image, at, ret_id, note.header.n_descsz) ==
						       0
				       ? note.header.n_descsz
				       : 0;
		}
		at += sizeof(note.header) + ((note.header.n_namesz + UINT64_C(3)) & ~UINT64_C(3)) +
		      ((note.header.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
	}
	return 0;
}

size_t elf_image_build_id(const struct elf_image *image,
			  uint8_t ret_id[static ELF_BUILD_ID_BYTES_MAX])
{
	size_t size_bytes = 0, searched = 0;

	if (wake(image) < 0)
		return 0;
	for (size_t i = 1;
	     size_bytes == 0 && i < image->file.header.e_shnum && searched < NOTE_SECTIONS_MAX;
	     i++) {
		const Elf64_Shdr *section = &image->tables->sections[i];

		if (section->sh_type != SHT_NOTE)
			continue;
		size_bytes = find_build_id(image, section, ret_id);
		searched++;
	}
	return size_bytes;
}

/* Whether the name at an offset of the table of sections' names is that one. */
static bool has_name(const struct elf_image *image, const Elf64_Shdr *names, uint32_t offset,
		     const char *name, size_t name_bytes)
{
	char text[SECTION_NAME_BYTES];

	return offset <= names->sh_size && name_bytes <= names->sh_size - offset &&
	       file_read(image, names->sh_offset + offset, text, name_bytes) == 0 &&
	       memcmp(text, name, name_bytes) == 0;
}

size_t elf_image_read_section(const struct elf_image *image, const char *name, void *buffer,
			      size_t max_bytes)
{
	size_t name_bytes = strlen(name) + 1, count = image->file.header.e_shnum, read_bytes;
	const Elf64_Shdr *sections, *names;

	if (name_bytes > SECTION_NAME_BYTES || wake(image) < 0 ||
	    image->file.header.e_shstrndx >= count)
		return 0;
	sections = image->tables->sections;
	names = &sections[image->file.header.e_shstrndx];
	for (size_t i = 1; i < count && i <= NAMED_SECTIONS_MAX; i++) {
		if (sections[i].sh_type == SHT_NOBITS ||
		    !has_name(image, names, sections[i].sh_name, name, name_bytes))
			continue;
		read_bytes = sections[i].sh_size < max_bytes ? sections[i].sh_size : max_bytes;
		return file_read(image, sections[i].sh_offset, buffer, read_bytes) == 0 ? read_bytes
											: 0;
	}
	return 0;
}

bool elf_image_crc32(const struct elf_image *image, uint32_t *ret_crc32)
{
	uint64_t size_bytes = image->file.size_bytes;
	uint8_t piece[4096];
	uLong sum = crc32(0, NULL, 0);

	if (size_bytes > ELF_IMAGE_CRC_BYTES_MAX)
		return false;
	for (uint64_t at = 0, bytes; at < size_bytes; at += bytes) {
		bytes = size_bytes - at < sizeof(piece) ? size_bytes - at : sizeof(piece);
		if (file_read(image, at, piece, (size_t)bytes) < 0)
			return false;
		sum = crc32(sum, piece, (uInt)bytes);
	}
	*ret_crc32 = (uint32_t)sum;
	return true;
}

/* The name must end inside the table. */
static bool is_name(const char *strings, uint64_t size_bytes, uint32_t offset, const char *name,
		    size_t name_bytes)
{
	return offset < size_bytes && name_bytes <= size_bytes - offset &&
	       memcmp(strings + offset, name, name_bytes) == 0;
}

/*
 * Linear: the tables are read once. A defined symbol ends the search; an undefined one is stored if
 * *is_found is still false, and the search continues. 1: a defined one was found; 0; -errno of
 * reading.
 */
static int find_in_table(const struct elf_image *image, struct elf_symbol_table *table,
			 const char *name, bool *is_found, struct elf_symbol *ret_symbol)
{
	size_t name_bytes = strlen(name) + 1, count, strings_bytes;
	int r;

	if (!table->symbols.section)
		return 0;
	r = read_table(image, &table->symbols);
	if (r == 0)
		r = read_table(image, &table->strings);
	if (r < 0 || !table->symbols.bytes || !table->strings.bytes)
		return r;
	count = table->symbols.section->sh_size / sizeof(Elf64_Sym);
	strings_bytes = table->strings.section->sh_size;
	for (size_t i = 1; i < count; i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)table->symbols.bytes + i;
		bool is_defined = symbol->st_shndx != SHN_UNDEF;

		if (!is_name(table->strings.bytes, strings_bytes, symbol->st_name, name,
			     name_bytes) ||
		    (*is_found && !is_defined))
			continue;
		*is_found = true;
		*ret_symbol = (struct elf_symbol){
			.value = symbol->st_value,
			.size_bytes = symbol->st_size,
			.type = ELF64_ST_TYPE(symbol->st_info),
			.is_defined = is_defined,
			.is_dynamic = table->is_dynamic,
			.index = table->is_dynamic ? i : 0,
		};
		if (is_defined)
			return 1;
	}
	return 0;
}

static const struct symbol_answer *find_answer(const struct elf_image *image, const char *name)
{
	const struct symbol_answers *answers = image->answers;

	for (size_t i = 0; i < answers->count; i++)
		if (strcmp(answers->list[i].name, name) == 0)
			return &answers->list[i];
	return NULL;
}

/* Without memory, or with more than ANSWERS_MAX names, the next lookup searches again. */
static void remember(const struct elf_image *image, const char *name, bool is_found,
		     const struct elf_symbol *symbol)
{
	struct symbol_answers *answers = image->answers;
	char *copy = answers->count < ANSWERS_MAX ? strdup(name) : NULL;

	if (copy)
		answers->list[answers->count++] = (struct symbol_answer){ copy, is_found, *symbol };
}

/* 0, or -errno: a table could not be searched, and no definition was found. */
static int search(const struct elf_image *image, const char *name, bool *ret_is_found,
		  struct elf_symbol *ret_symbol)
{
	struct elf_symbol_table *tables[] = { &image->tables->dynamic_table,
					      &image->tables->full_table };
	int failure = 0, r = wake(image);

	for (size_t i = 0; r == 0 && i < 2; i++) {
		r = find_in_table(image, tables[i], name, ret_is_found, ret_symbol);
		if (r < 0) {
			failure = r;
			r = 0;
		}
	}
	if (r > 0)
		return 0;
	return r < 0 ? r : failure;
}

int elf_image_find_symbol(const struct elf_image *image, const char *name,
			  struct elf_symbol *ret_symbol)
{
	const struct symbol_answer *known = find_answer(image, name);
	struct elf_symbol symbol = { 0 };
	bool is_found = false;

	if (known) {
		is_found = known->is_found;
		symbol = known->symbol;
	} else if (search(image, name, &is_found, &symbol) == 0) {
		remember(image, name, is_found, &symbol);
	}
	if (!is_found)
		return -ENOENT;
	*ret_symbol = symbol;
	return 0;
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

bool elf_image_defined_at(const struct elf_image *image, size_t index, uint64_t *ret_value)
{
	struct elf_table *table = &image->tables->dynamic_table.symbols;
	const Elf64_Sym *symbol;

	if (wake(image) < 0 || !table->section || read_table(image, table) < 0 || !table->bytes ||
	    index >= table->section->sh_size / sizeof(*symbol))
		return false;
	symbol = (const Elf64_Sym *)table->bytes + index;
	if (symbol->st_shndx == SHN_UNDEF)
		return false;
	*ret_value = symbol->st_value;
	return true;
}

static bool read_symbols(const struct elf_image *image, struct elf_symbol_table *table)
{
	return wake(image) == 0 && table->symbols.section &&
	       read_table(image, &table->symbols) == 0 && read_table(image, &table->strings) == 0 &&
	       table->symbols.bytes && table->strings.bytes;
}

/* The symbol's name, which ends within the table; NULL = none. */
static const char *name_of(const struct elf_symbol_table *table, const Elf64_Sym *symbol)
{
	size_t size_bytes = table->strings.section->sh_size;
	const char *name;

	if (symbol->st_name >= size_bytes)
		return NULL;
	name = (const char *)table->strings.bytes + symbol->st_name;
	return name[0] && memchr(name, 0, size_bytes - symbol->st_name) ? name : NULL;
}

bool elf_image_next_function(const struct elf_image *image, bool is_dynamic, size_t *cursor,
			     struct elf_function *ret_function)
{
	struct elf_symbol_table *table =
		is_dynamic ? &image->tables->dynamic_table : &image->tables->full_table;
	const char *name;

	if (!read_symbols(image, table))
		return false;
	while (*cursor < table->symbols.section->sh_size / sizeof(Elf64_Sym)) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)table->symbols.bytes + (*cursor)++;

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 ||
		    symbol->st_shndx == SHN_UNDEF)
			continue;
		name = name_of(table, symbol);
		if (!name)
			continue;
		*ret_function = (struct elf_function){ .value = symbol->st_value,
						       .size_bytes = symbol->st_size,
						       .name = name,
						       .binding = ELF64_ST_BIND(symbol->st_info) };
		return true;
	}
	return false;
}

bool elf_image_next_relocation(const struct elf_image *image, size_t *cursor,
			       struct elf_relocation *ret_relocation)
{
	struct elf_tables *tables = image->tables;
	size_t index = *cursor;

	if (wake(image) < 0)
		return false;
	for (size_t i = 0; i < tables->relocation_section_count; i++) {
		struct elf_table *table = &tables->relocations[i];
		size_t count = table->section->sh_size / sizeof(Elf64_Rela);
		const Elf64_Rela *relocation;

		if (index >= count) {
			index -= count;
			continue;
		}
		if (read_table(image, table) < 0 || !table->bytes) {
			*cursor += count - index;
			index = 0;
			continue;
		}
		relocation = (const Elf64_Rela *)table->bytes + index;
		*ret_relocation = (struct elf_relocation){
			.offset = relocation->r_offset,
			.type = (uint32_t)ELF64_R_TYPE(relocation->r_info),
			.symbol = (uint32_t)ELF64_R_SYM(relocation->r_info),
			.addend = relocation->r_addend,
		};
		(*cursor)++;
		return true;
	}
	return false;
}

bool elf_image_next_segment(const struct elf_image *image, size_t *cursor,
			    struct elf_segment *ret_segment)
{
	const Elf64_Phdr *segment = &image->segments[*cursor];

	if (*cursor >= image->segment_count)
		return false;
	*ret_segment = (struct elf_segment){
		.type = segment->p_type,
		.flags = segment->p_flags,
		.offset = segment->p_offset,
		.virtual_address = segment->p_vaddr,
		.file_bytes = segment->p_filesz,
		.memory_bytes = segment->p_memsz,
		.align = segment->p_align,
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

/*
 * Finds the PT_LOAD whose file part contains the address, the first one if they overlap, and the
 * address's distance from its start.
 */
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

int elf_image_virtual_address(const struct elf_image *image, uint64_t offset,
			      uint64_t *ret_virtual_address)
{
	struct elf_segment segment;
	size_t cursor = 0;

	while (elf_image_next_segment(image, &cursor, &segment)) {
		if (segment.type != PT_LOAD || !(segment.flags & PF_X) || offset < segment.offset ||
		    offset - segment.offset >= segment.file_bytes)
			continue;
		*ret_virtual_address = segment.virtual_address + (offset - segment.offset);
		return 0;
	}
	return -ENOENT;
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
	return file_read(image, segment.offset + distance, buffer, size_bytes) ? -EFAULT : 0;
}
