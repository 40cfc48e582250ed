/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/kernel_symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

enum {
	TEXT_BYTES_MAX = 64 * 1024 * 1024, /* of all names */
	LINE_NAME_BYTES = 512, /* KSYM_NAME_LEN of include/linux/kallsyms.h, since 6.1 */
	MODULE_PAGE_BYTES = 4096,
};

struct kernel_symbol {
	uint64_t address;
	uint32_t name; /* offset in texts */
	uint32_t module; /* offset of its name with brackets; 0 = the kernel itself */
	char type;
};

struct kernel_symbols {
	struct kernel_symbol *list; /* by address, then by preference */
	size_t count;
	size_t capacity;
	char *texts; /* each with its NUL; offset 0 is "" */
	size_t text_bytes;
	size_t text_capacity;
	uint32_t last_module;
	uint64_t text_end; /* of the kernel itself; 0 = not known */
};

struct kernel_symbols *kernel_symbols_new(void)
{
	return calloc(1, sizeof(struct kernel_symbols));
}

static void forget(struct kernel_symbols *symbols)
{
	free(symbols->list);
	free(symbols->texts);
	memset(symbols, 0, sizeof(*symbols));
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	forget(symbols);
	free(symbols);
}

/* 0, -ENOMEM, or -E2BIG. */
static int add_text(struct kernel_symbols *symbols, const char *text, uint32_t *ret_offset)
{
	size_t size_bytes = strlen(text) + 1, wanted = symbols->text_bytes + size_bytes + 1;

	if (wanted > TEXT_BYTES_MAX)
		return -E2BIG;
	if (array_reserve(&symbols->texts, &symbols->text_capacity, wanted) < 0)
		return -ENOMEM;
	if (symbols->text_bytes == 0)
		symbols->texts[symbols->text_bytes++] = '\0';
	*ret_offset = (uint32_t)symbols->text_bytes;
	memcpy(symbols->texts + symbols->text_bytes, text, size_bytes);
	symbols->text_bytes += size_bytes;
	return 0;
}

/* The symbols of one module are consecutive. */
static int find_module(struct kernel_symbols *symbols, const char *module, uint32_t *ret_offset)
{
	int r = 0;

	if (!module[0]) {
		*ret_offset = 0;
		return 0;
	}
	if (!symbols->last_module || strcmp(symbols->texts + symbols->last_module, module) != 0)
		r = add_text(symbols, module, &symbols->last_module);
	*ret_offset = symbols->last_module;
	return r;
}

static int add(struct kernel_symbols *symbols, const struct kernel_symbol *symbol)
{
	if (array_reserve(&symbols->list, &symbols->capacity, symbols->count + 1) < 0)
		return -ENOMEM;
	symbols->list[symbols->count++] = *symbol;
	return 0;
}

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Parses one line: address, type, name, and a module's name in brackets. 0 or -errno. */
static int add_line(struct kernel_symbols *symbols, const char *line)
{
	char name[LINE_NAME_BYTES], module[LINE_NAME_BYTES];
	struct kernel_symbol symbol;
	int fields, r;

	module[0] = '\0';
	fields = sscanf(line, "%" SCNx64 " %c %511s %511s", &symbol.address, &symbol.type, name,
			module);
	if (fields < 3 || symbol.address == 0 || !is_code(symbol.type))
		return 0;
	if (fields == 3 && strcmp(name, "_etext") == 0) {
		symbols->text_end = symbol.address;
		return 0;
	}
	r = find_module(symbols, module, &symbol.module);
	if (r == 0)
		r = add_text(symbols, name, &symbol.name);
	return r == 0 ? add(symbols, &symbol) : r;
}

/* Rank among the names of one address: global before local before weak; then the first wins. */
static int preference(const struct kernel_symbol *symbol)
{
	return symbol->type == 'T' ? 0 : symbol->type == 't' ? 1 : 2;
}

static int compare(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (preference(a) != preference(b))
		return preference(a) - preference(b);
	return a->name < b->name ? -1 : a->name > b->name;
}

int kernel_symbols_read(struct kernel_symbols *symbols, FILE *list)
{
	_cleanup_free_ char *line = NULL;
	size_t line_bytes = 0;
	int r = 0;

	forget(symbols);
	while (r == 0 && symbols->count < KERNEL_SYMBOLS_MAX &&
	       getline(&line, &line_bytes, list) > 0)
		r = add_line(symbols, line);
	if (r == -E2BIG)
		r = 0;
	if (r == 0 && ferror(list))
		r = -EIO;
	if (r == 0 && symbols->count == 0)
		r = -EPERM;
	if (r < 0) {
		forget(symbols);
		return r;
	}
	qsort(symbols->list, symbols->count, sizeof(*symbols->list), compare);
	return 0;
}

int kernel_symbols_read_running(struct kernel_symbols *symbols)
{
	_cleanup_file_ FILE *list = fopen("/proc/kallsyms", "re");

	if (list)
		return kernel_symbols_read(symbols, list);
	forget(symbols);
	return -errno;
}

/* The last symbol at or below the address, under its preferred name; NULL = none. */
static const struct kernel_symbol *find(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t low =
		array_count_up_to(symbols->list, symbols->count, sizeof(*symbols->list), address);

	if (low == 0)
		return NULL;
	for (low--; low > 0 && symbols->list[low - 1].address == symbols->list[low].address;)
		low--;
	return &symbols->list[low];
}

/* The next symbol at another address; NULL = none. */
static const struct kernel_symbol *next_of(const struct kernel_symbols *symbols,
					   const struct kernel_symbol *symbol)
{
	const struct kernel_symbol *end = symbols->list + symbols->count, *next = symbol;

	while (next < end && next->address == symbol->address)
		next++;
	return next < end ? next : NULL;
}

/* True if the function certainly extends to address, which is below the next symbol. */
static bool reaches(const struct kernel_symbols *symbols, const struct kernel_symbol *symbol,
		    uint64_t address)
{
	const struct kernel_symbol *next = next_of(symbols, symbol);

	if (!symbol->module)
		return !symbols->text_end || symbol->address >= symbols->text_end
			       ? next && !next->module
			       : address < symbols->text_end;
	return (next && next->module &&
		!strcmp(symbols->texts + next->module, symbols->texts + symbol->module)) ||
	       (address | (MODULE_PAGE_BYTES - 1)) == (symbol->address | (MODULE_PAGE_BYTES - 1));
}

/* Code that comes and goes without a module. */
static bool is_fleeting(const char *module)
{
	return strcmp(module, "[bpf]") == 0 || strncmp(module, "[__builtin", 10) == 0;
}

int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			char ret_name[static KERNEL_NAME_BYTES])
{
	const struct kernel_symbol *symbol = find(symbols, address);
	const char *module, *name;
	char text[2 * LINE_NAME_BYTES];

	ret_name[0] = '\0';
	if (!symbol || !reaches(symbols, symbol, address))
		return -ENOENT;
	module = symbols->texts + symbol->module;
	name = is_fleeting(module) ? "" : symbols->texts + symbol->name;
	(void)snprintf(text, sizeof(text), "%s%s%s", name, name[0] && module[0] ? " " : "", module);
	(void)text_escape(text, strlen(text), 0, ret_name, KERNEL_NAME_BYTES);
	return 0;
}

bool kernel_symbols_is_movable(const struct kernel_symbols *symbols, uint64_t address)
{
	const struct kernel_symbol *symbol = find(symbols, address);

	return !symbol || symbol->module || !reaches(symbols, symbol, address);
}

uint64_t kernel_symbols_modules(FILE *list)
{
	_cleanup_free_ char *line = NULL;
	char name[LINE_NAME_BYTES], address[32];
	size_t line_bytes = 0;
	uint64_t number = 0;

	while (getline(&line, &line_bytes, list) > 0) {
		if (sscanf(line, "%511s %*s %*s %*s %*s %31s", name, address) != 2)
			continue;
		number = hash_bytes(number, name, strlen(name));
		number = hash_bytes(number, address, strlen(address));
	}
	return number;
}

uint64_t kernel_symbols_running_modules(void)
{
	_cleanup_file_ FILE *list = fopen("/proc/modules", "re");

	return list ? kernel_symbols_modules(list) : 0;
}
