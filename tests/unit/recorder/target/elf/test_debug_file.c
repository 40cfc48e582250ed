/* SPDX-License-Identifier: GPL-2.0-only */
/* The debug file of a stripped copy of this program, made by binutils' objcopy. */
#include "recorder/target/elf/debug_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "recorder/target/elf/object_file.h"

#define BUILD_ID "--remove-section=.note.gnu.build-id"

enum {
	PATH_BYTES = 128,
};

static char folder[64];

/* So this program has a function of a name that no other has. */
__attribute__((used)) static void debug_file_of_this_program(void)
{
}

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(folder, "/tmp/correlator-debug-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
	char command[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

/* The file "program", which states that "program.debug" has its symbols; that is there, too. */
static void make_files(const char *of_both)
{
	run("objcopy %s --only-keep-debug /proc/%d/exe program.debug", of_both, getpid());
	run("objcopy %s --strip-all --add-gnu-debuglink=program.debug /proc/%d/exe program",
	    of_both, getpid());
}

/* Whether the functions of "program" are now those of its debug file. */
static bool is_found(void)
{
	_cleanup_(object_file_releasep) struct object_file *file = NULL;
	_cleanup_(elf_functions_freep) struct elf_functions *functions = NULL;
	char path[PATH_BYTES];
	const char *name;
	struct elf_symbol symbol;

	(void)snprintf(path, sizeof(path), "%s/program", folder);
	assert_int_equal(object_file_open_path(getpid(), path, &file), 0);
	assert_int_equal(elf_functions_read(object_file_image(file), &functions), 0);
	assert_false(elf_functions_are_all(functions));
	debug_file_replace(object_file_image(file), getpid(), path, &functions);
	if (!elf_functions_are_all(functions))
		return false;
	object_file_release(TAKE_PTR(file));
	(void)snprintf(path, sizeof(path), "%s/../../proc/%d/exe", folder, getpid());
	assert_int_equal(object_file_open_path(getpid(), path, &file), 0);
	assert_true(elf_image_find_defined(object_file_image(file), "debug_file_of_this_program",
					   &symbol));
	name = elf_functions_find(functions, symbol.value);
	assert_non_null(name);
	assert_string_equal(name, "debug_file_of_this_program");
	return true;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(debug_file_is_beside_stripped_file)
{
	make_files("");
	assert_true(is_found());
	run("mkdir .debug && mv program.debug .debug");
	assert_true(is_found());
	run("rm .debug/program.debug");
	assert_false(is_found());
}

FIXTURE_TEST(debug_file_must_have_build_id_of_file)
{
	make_files("");
	run("objcopy " BUILD_ID " program.debug");
	assert_false(is_found());
	/* Not that of any other place, either. */
	make_files("");
	run("mkdir .debug && mv program.debug .debug && cp /usr/bin/objcopy program.debug");
	assert_true(is_found());
}

FIXTURE_TEST(debug_file_without_build_id_must_have_stated_checksum)
{
	make_files(BUILD_ID);
	assert_true(is_found());
	run("echo >>program.debug");
	assert_false(is_found());
}

FIXTURE_TEST(debug_file_is_not_where_name_has_slash)
{
	make_files("");
	run("mkdir rogram && cp program.debug rogram/debug");
	run("sed -i 's|program.debug|rogram/debug\\x00|' program");
	assert_false(is_found());
}

FIXTURE_TEST(debug_file_is_none_of_file_without_link)
{
	make_files("");
	run("objcopy --remove-section=.gnu_debuglink program");
	assert_false(is_found());
	/* The name does not end, and the checksum is missing. */
	run("printf abcd >link && objcopy --add-section=.gnu_debuglink=link program");
	assert_false(is_found());
	run("printf 'abc\\0' >link && objcopy --update-section=.gnu_debuglink=link program");
	assert_false(is_found());
}
