#include "target/probe_site.h"

#include <elf.h>
#include <string.h>

#include "target/x86_instruction.h"

/* Code looked at from a function's entry; compilers' prologues are shorter. */
enum {
	WINDOW_BYTES = 96
};

/* The first name that the object defines is taken. */
struct state_change {
	const char *names[2];
};

static const struct state_change own_changes[] = {
	{ { "correlator_state_apply", NULL } },
};

/* socketry/ruby-profiler at 945c8ae, ext/ruby/profiler/state.c; the static functions first. */
static const struct state_change upstream_changes[] = {
	{ { "Ruby_Profiler_State_apply", "Ruby_Profiler_State_get" } },
	{ { "Ruby_Profiler_fiber_switch_callback", "Ruby_Profiler_State_for" } },
};

static bool find_function(const struct elf_image *image, const char *name,
			  struct elf_symbol *ret_symbol)
{
	struct elf_symbol symbol;

	if (!name || elf_image_find_symbol(image, name, &symbol) < 0 || !symbol.is_defined ||
	    symbol.type != STT_FUNC)
		return false;
	*ret_symbol = symbol;
	return true;
}

/* As many bytes as the file has at the address, size_bytes at most. */
static size_t read_code(const struct elf_image *image, uint64_t virtual_address, uint8_t *code,
			size_t size_bytes)
{
	while (size_bytes > 0 && elf_image_read(image, virtual_address, code, size_bytes) < 0)
		size_bytes--;
	return size_bytes;
}

/* Sets offset, instruction and cost of the site; without code it stays at the entry. */
static void choose_instruction(const uint8_t *code, size_t size_bytes, struct probe_site *site)
{
	static const char *const names[_X86_INSTRUCTION_KIND_MAX] = {
		[X86_INSTRUCTION_PUSH] = "push", [X86_INSTRUCTION_NOP] = "nop",
		[X86_INSTRUCTION_JMP] = "jmp",	 [X86_INSTRUCTION_CALL] = "call",
		[X86_INSTRUCTION_JCC] = "jcc",
	};
	struct x86_instruction instruction;
	size_t at = 0;

	while (x86_instruction_decode(code + at, size_bytes - at, &instruction) == 0) {
		if (x86_instruction_is_emulated(instruction.kind)) {
			site->offset_bytes = (uint32_t)at;
			site->instruction = names[instruction.kind];
			site->cost = PROBE_SITE_EMULATED;
			return;
		}
		if (instruction.kind == X86_INSTRUCTION_STORE ||
		    instruction.kind == X86_INSTRUCTION_LEAVE)
			return;
		/* The entry itself may be a long nop: then what follows it is the fallback. */
		if (instruction.kind == X86_INSTRUCTION_LONG_NOP && site->offset_bytes == at)
			site->offset_bytes = (uint32_t)(at + instruction.length_bytes);
		at += instruction.length_bytes;
	}
}

static bool find_site(const struct elf_image *image, const struct elf_symbol *function,
		      const char *name, struct probe_site *ret_site)
{
	struct probe_site site = {
		.function = name,
		.instruction = "other",
		.cost = PROBE_SITE_SINGLE_STEPPED,
	};
	uint8_t code[WINDOW_BYTES];
	size_t size_bytes = sizeof(code);

	if (function->size_bytes > 0 && function->size_bytes < size_bytes)
		size_bytes = (size_t)function->size_bytes;
	size_bytes = read_code(image, function->value, code, size_bytes);
	if (size_bytes > 0 && elf_image_machine(image) == EM_X86_64)
		choose_instruction(code, size_bytes, &site);
	site.virtual_address = function->value + site.offset_bytes;
	if (elf_image_file_offset(image, site.virtual_address, &site.file_offset) < 0)
		return false;
	(void)read_code(image, site.virtual_address, site.bytes, sizeof(site.bytes));
	*ret_site = site;
	return true;
}

static int find_changes(const struct elf_image *image, const struct state_change *changes,
			size_t change_count, struct probe_site *ret_sites)
{
	int count = 0;

	for (size_t i = 0; i < change_count; i++) {
		for (size_t j = 0; j < 2; j++) {
			const char *name = changes[i].names[j];
			struct elf_symbol function;

			if (!find_function(image, name, &function))
				continue;
			if (find_site(image, &function, name, &ret_sites[count]))
				count++;
			break;
		}
	}
	return count;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
_Static_assert(COUNT_OF(upstream_changes) <= PROBE_SITES_MAX, "room");

int probe_site_find(const struct elf_image *image,
		    struct probe_site ret_sites[static PROBE_SITES_MAX])
{
	int count = find_changes(image, own_changes, COUNT_OF(own_changes), ret_sites);

	return count > 0 ? count
			 : find_changes(image, upstream_changes, COUNT_OF(upstream_changes),
					ret_sites);
}
