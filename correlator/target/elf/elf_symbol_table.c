#include "target/elf/elf_symbol_table.h"

#include <gelf.h>
#include <string.h>

#include "target/elf/elf_image.h"

/* By hand, not elf_strptr: the name must end inside the table, and nothing is inflated. */
static bool is_name(const Elf_Data *strings, uint32_t offset, const char *name, size_t name_bytes)
{
	return offset < strings->d_size && name_bytes <= strings->d_size - offset &&
	       memcmp((const char *)strings->d_buf + offset, name, name_bytes) == 0;
}

bool elf_symbol_table_find(const struct elf_symbol_table *table, const char *name, bool *is_found,
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
