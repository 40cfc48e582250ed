/*
 * One symbol table of an ELF file with its strings, as libelf sections: a part of elf_image, which
 * owns the file and has bounded the sections' sizes. Single thread; does not log.
 */
#pragma once

#include <stdbool.h>

#include <libelf.h>

struct elf_symbol;

struct elf_symbol_table {
	Elf_Scn *symbols; /* NULL = the file has none */
	Elf_Scn *strings;
	bool is_dynamic; /* .dynsym */
};

/*
 * Finds name (linear: the tables are read once). A defined symbol ends the search and returns
 * true; an undefined one is stored when *is_found is still false, and the search goes on.
 */
bool elf_symbol_table_find(const struct elf_symbol_table *table, const char *name, bool *is_found,
			   struct elf_symbol *ret_symbol);
