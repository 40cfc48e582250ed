/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/publisher/probe_site.h"

#include <elf.h>
#include <string.h>

#include <correlator/gem_abi.h>

#include "recorder/target/elf/arm64_code.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/elf/unwind_table.h"
#include "recorder/target/elf/x86_code.h"

/* Code examined from a function's entry on; compilers' prologues are shorter. */
enum {
	WINDOW_BYTES = 96,
	REFERENCES_MAX = 64
};

/* Functions that together cover all ways to change the variable. */
struct state_changes {
	const char *names[2]; /* NULL = no more */
};

static const struct state_changes own_changes = { { "correlator_state_apply", NULL } };
static const struct state_changes own_fiber = { { GEM_FIBER_SYMBOL, NULL } };

/*
 * socketry/ruby-profiler at 945c8ae, ext/ruby/profiler/state.c: the static functions, and the
 * exported functions that they call first.
 */
static const struct state_changes upstream_changes = { { "Ruby_Profiler_State_apply",
							 "Ruby_Profiler_fiber_switch_callback" } };
static const struct state_changes upstream_exported_changes = { { "Ruby_Profiler_State_get",
								  "Ruby_Profiler_State_for" } };

/* Reads as many bytes as the file has at the address, at most size_bytes. */
static size_t read_code(const struct elf_image *image, uint64_t virtual_address, uint8_t *code,
			size_t size_bytes)
{
	while (size_bytes > 0 && elf_image_read(image, virtual_address, code, size_bytes) < 0)
		size_bytes--;
	return size_bytes;
}

/* Sets offset, instruction and cost of the site; without code the site stays at the entry. */
static void choose_on_x86(const uint8_t *code, size_t size_bytes, struct probe_site *site)
{
	static const char *const names[_X86_CODE_KIND_MAX] = {
		[X86_CODE_PUSH] = "push", [X86_CODE_NOP] = "nop", [X86_CODE_JMP] = "jmp",
		[X86_CODE_CALL] = "call", [X86_CODE_JCC] = "jcc",
	};
	struct x86_code instruction;
	size_t at = 0;

	while (x86_code_decode(code + at, size_bytes - at, &instruction) == 0) {
		if (x86_code_is_emulated(instruction.kind)) {
			site->offset_bytes = (uint32_t)at;
			site->instruction = names[instruction.kind];
			site->cost = PROBE_SITE_EMULATED;
			return;
		}
		if (instruction.kind == X86_CODE_STORE || instruction.kind == X86_CODE_LEAVE)
			return;
		/*
		 * The entry itself may be a long nop: then the instruction after it is the
		 * fallback.
		 */
		if (instruction.kind == X86_CODE_LONG_NOP && site->offset_bytes == at)
			site->offset_bytes = (uint32_t)(at + instruction.length_bytes);
		at += instruction.length_bytes;
	}
}

/* choose_on_x86 for arm64. */
static void choose_on_arm64(const uint8_t *code, size_t size_bytes, struct probe_site *site)
{
	static const char *const names[] = {
		[ARM64_CODE_ADDRESS] = "adr",
		[ARM64_CODE_BRANCH] = "branch",
		[ARM64_CODE_CALL] = "bl",
	};
	uint32_t instruction;

	for (size_t at = 0; at + sizeof(instruction) <= size_bytes; at += sizeof(instruction)) {
		enum arm64_code_kind kind;

		memcpy(&instruction, code + at, sizeof(instruction));
		kind = arm64_code_decode(instruction);
		if (kind >= ARM64_CODE_STORE)
			return;
		if (kind == ARM64_CODE_PLAIN)
			continue;
		site->offset_bytes = (uint32_t)at;
		site->instruction = names[kind];
		site->cost = PROBE_SITE_EMULATED;
		return;
	}
}

/* size_bytes: of the code to search, starting at entry. */
static bool find_site(const struct elf_image *image, uint64_t entry, uint64_t size_bytes,
		      const char *name, struct probe_site *ret_site)
{
	struct probe_site site = {
		.function = name,
		.instruction = "other",
		.cost = PROBE_SITE_SINGLE_STEPPED,
	};
	uint8_t code[WINDOW_BYTES];
	size_t code_bytes = sizeof(code);

	if (size_bytes < code_bytes)
		code_bytes = (size_t)size_bytes;
	code_bytes = read_code(image, entry, code, code_bytes);
	if (elf_image_machine(image) == EM_X86_64)
		choose_on_x86(code, code_bytes, &site);
	else if (elf_image_machine(image) == EM_AARCH64)
		choose_on_arm64(code, code_bytes, &site);
	site.virtual_address = entry + site.offset_bytes;
	if (elf_image_file_offset(image, site.virtual_address, &site.file_offset) < 0)
		return false;
	(void)read_code(image, site.virtual_address, site.bytes, sizeof(site.bytes));
	*ret_site = site;
	return true;
}

/* Finds a site in each of the functions; 0 if one of them is missing. */
static int find_named(const struct elf_image *image, const struct state_changes *changes,
		      struct probe_site *ret_sites)
{
	int count = 0;

	for (size_t i = 0; i < 2 && changes->names[i]; i++) {
		struct elf_symbol function;
		uint64_t size_bytes;

		if (!elf_image_find_defined(image, changes->names[i], &function) ||
		    function.type != STT_FUNC)
			return 0;
		size_bytes = function.size_bytes ? function.size_bytes : WINDOW_BYTES;
		if (!find_site(image, function.value, size_bytes, changes->names[i],
			       &ret_sites[count]))
			return 0;
		count++;
	}
	return count;
}

/* Finds a site in each function that refers to the variable, before its first reference. */
static int find_referring(const struct elf_image *image, const char *symbol,
			  struct probe_site *ret_sites)
{
	uint64_t references[REFERENCES_MAX];
	uint64_t slot, function, last_function = 0;
	size_t reference_count;
	int count = 0;

	if (tls_symbol_find_slot(image, symbol, &slot) < 0)
		return 0;
	reference_count =
		elf_image_machine(image) == EM_AARCH64
			? arm64_code_find_references(image, slot, references, REFERENCES_MAX)
			: x86_code_find_references(image, slot, references, REFERENCES_MAX);
	if (reference_count > REFERENCES_MAX)
		return 0;
	for (size_t i = 0; i < reference_count; i++) {
		if (unwind_table_find(image, references[i], &function) < 0)
			return 0;
		if (count && function == last_function)
			continue;
		if (count == PROBE_SITES_MAX ||
		    !find_site(image, function, references[i] - function, NULL, &ret_sites[count]))
			return 0;
		last_function = function;
		count++;
	}
	return count;
}

bool probe_site_find_fiber(const struct elf_image *image, struct probe_site *ret_site)
{
	return find_named(image, &own_fiber, ret_site) == 1;
}

bool probe_site_tells_serials(const struct elf_image *image)
{
	struct elf_symbol symbol;

	return elf_image_find_defined(image, GEM_SERIALS_SYMBOL, &symbol);
}

int probe_site_find(const struct elf_image *image, const char *symbol,
		    struct probe_site ret_sites[static PROBE_SITES_MAX])
{
	int count = find_named(image, &own_changes, ret_sites);

	if (!count)
		count = find_named(image, &upstream_changes, ret_sites);
	if (!count)
		count = find_referring(image, symbol, ret_sites);
	if (!count)
		count = find_named(image, &upstream_exported_changes, ret_sites);
	return count;
}
