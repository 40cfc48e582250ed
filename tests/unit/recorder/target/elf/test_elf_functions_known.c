/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of this program itself, against binutils' addr2line, by the same symbols. */
#include "recorder/target/elf/elf_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "whole_file.h"

enum {
	ADDRESSES = 5000,
	NAME_BYTES = 1024,
};

static struct {
	char folder[64], program[96];
	uint8_t *bytes;
	size_t size_bytes;
	struct elf_image *image;
	struct elf_functions *functions;
	uint64_t addresses[ADDRESSES]; /* in the file, each in a function */
} known;

/* Without debug information, by which addr2line would tell of code that was inlined. */
static int read_program(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "objcopy --strip-debug /proc/%d/exe %s", getpid(),
		       known.program);
	if (system(command) != 0)
		return -1;
	known.bytes = whole_file_read(known.program, &known.size_bytes);
	return known.bytes ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(known.folder, "/tmp/correlator-functions-XXXXXX");
	if (!mkdtemp(known.folder))
		return -1;
	(void)snprintf(known.program, sizeof(known.program), "%s/program", known.folder);
	return read_program() == 0 &&
			       elf_image_open_memory(known.bytes, known.size_bytes, &known.image) ==
				       0 &&
			       elf_functions_read(known.image, &known.functions) == 0
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	char addresses[128];

	(void)state;
	(void)snprintf(addresses, sizeof(addresses), "%s/addresses", known.folder);
	(void)unlink(addresses);
	(void)unlink(known.program);
	(void)rmdir(known.folder);
	elf_functions_free(known.functions);
	elf_image_free(known.image);
	free(known.bytes);
	return 0;
}

/* Random ones of the code, of which each is in a function with a size. */
static void draw_addresses(void)
{
	srand48(35);
	assert_true(elf_functions_count(known.functions) > ADDRESSES / 10);
	for (size_t i = 0; i < ADDRESSES;) {
		uint64_t address = (uint64_t)(drand48() * (double)known.size_bytes);

		if (elf_functions_find(known.functions, address))
			known.addresses[i++] = address;
	}
}

/* addr2line, which reads the addresses and says two lines of each: the function, and a place. */
static FILE *ask_addr2line(void)
{
	char path[128], command[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/addresses", known.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < ADDRESSES; i++)
		(void)fprintf(file, "%" PRIx64 "\n", known.addresses[i]);
	assert_int_equal(fclose(file), 0);
	(void)snprintf(command, sizeof(command), "addr2line -f -e %s <%s", known.program, path);
	file = popen(command, "r");
	assert_non_null(file);
	return file;
}

/* Returns nm's output: lines of an address, a letter and a name. Owned by the caller. */
static char *ask_nm(void)
{
	char command[256], *text = NULL;
	size_t size_bytes = 0;
	FILE *nm;

	(void)snprintf(command, sizeof(command), "nm %s", known.program);
	nm = popen(command, "r");
	assert_non_null(nm);
	assert_true(getdelim(&text, &size_bytes, '\0', nm) > 0);
	(void)pclose(nm);
	return text;
}

/* Whether nm has both names, one of them or more, at one address. */
static bool are_of_one_function(const char *symbols, const char *one, const char *other)
{
	char line[2][NAME_BYTES];
	const char *names[] = { one, other };
	uint64_t starts[2][16] = { 0 };
	size_t counts[2] = { 0 };

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(line[i], NAME_BYTES, " %s\n", names[i]);
		for (const char *at = symbols; (at = strstr(at, line[i])) != NULL && counts[i] < 16;
		     at++)
			if (at - symbols >= 18)
				starts[i][counts[i]++] = strtoull(at - 18, NULL, 16);
	}
	for (size_t i = 0; i < counts[0]; i++)
		for (size_t j = 0; j < counts[1]; j++)
			if (starts[0][i] == starts[1][j])
				return true;
	return false;
}

TEST_WITH(elf_functions_are_those_of_addr2line, set_up, tear_down)
{
	char said[NAME_BYTES], place[NAME_BYTES];
	_cleanup_free_ char *symbols = ask_nm();
	size_t aliases = 0;
	FILE *answers;

	draw_addresses();
	answers = ask_addr2line();
	for (size_t i = 0; i < ADDRESSES; i++) {
		const char *name = elf_functions_find(known.functions, known.addresses[i]);

		assert_non_null(fgets(said, sizeof(said), answers));
		assert_non_null(fgets(place, sizeof(place), answers));
		said[strcspn(said, "\n")] = '\0';
		if (strcmp(name, said) == 0)
			continue;
		/* Several names of one function. */
		if (!are_of_one_function(symbols, name, said))
			fail_msg("0x%" PRIx64 ": %s, and by addr2line %s", known.addresses[i], name,
				 said);
		aliases++;
	}
	(void)pclose(answers);
	print_message("%d addresses, %zu of them in functions of several names\n", ADDRESSES,
		      aliases);
}
