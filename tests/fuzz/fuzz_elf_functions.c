/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an ELF file of the target: whatever it says, a name is of a function that says
 * it has the address; and of what has none it is not known where it begins, or before.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "recorder/target/elf/elf_functions.h"
#include "recorder/target/elf/unwind_table.h"

enum {
	ADDRESSES_MAX = 64,
};

static bool is_there(const struct elf_image *image, const char *name, uint64_t address)
{
	struct elf_function function;

	for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++)
		for (size_t cursor = 0;
		     elf_image_next_function(image, is_dynamic, &cursor, &function);)
			if (address - function.value < function.size_bytes &&
			    strcmp(function.name, name) == 0)
				return true;
	return false;
}

static void ask(const struct elf_image *image, const struct elf_functions *functions,
		uint64_t address)
{
	const char *name = elf_functions_find(functions, address);
	uint64_t start;

	if (name)
		FUZZ_REQUIRE(name[0] && strlen(name) < ELF_FUNCTION_NAME_BYTES &&
			     is_there(image, name, address));
	if (unwind_table_find(image, address, &start) == 0)
		FUZZ_REQUIRE(start <= address);
}

static void ask_around(const struct elf_image *image, const struct elf_functions *functions,
		       size_t size_bytes)
{
	uint64_t addresses[ADDRESSES_MAX] = { 0, UINT64_MAX, size_bytes };
	struct elf_function function;
	size_t count = 3;

	for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
		size_t cursor = 0, before = 0;

		while (count + 3 <= ADDRESSES_MAX &&
		       elf_image_next_function(image, is_dynamic, &cursor, &function)) {
			FUZZ_REQUIRE(cursor > before);
			before = cursor;
			addresses[count++] = function.value;
			addresses[count++] = function.value + function.size_bytes - 1;
			addresses[count++] = function.value + function.size_bytes;
		}
	}
	for (size_t i = 0; i < count; i++)
		ask(image, functions, addresses[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct elf_functions *functions = NULL;
	struct elf_image *image = NULL;
	uint8_t id[ELF_BUILD_ID_BYTES_MAX];
	uint64_t address;

	if (elf_image_open_memory(data, size_bytes, &image) < 0)
		return 0;
	FUZZ_REQUIRE(elf_image_build_id(image, id) <= sizeof(id));
	for (uint64_t offset = 0; offset <= size_bytes; offset += 512)
		if (elf_image_virtual_address(image, offset, &address) == 0)
			(void)unwind_table_find(image, address, &address);
	if (elf_functions_read(image, &functions) == 0) {
		FUZZ_REQUIRE(elf_functions_count(functions) <= ELF_FUNCTIONS_MAX);
		ask_around(image, functions, size_bytes);
		elf_functions_free(functions);
	}
	elf_image_free(image);
	return 0;
}
