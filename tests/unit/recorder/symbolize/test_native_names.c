/* SPDX-License-Identifier: GPL-2.0-only */
/* What native code of a live process is called: of this one. */
#include "recorder/symbolize/native_names.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "failing_memory.h"

enum {
	PAGE_BYTES = 4096,
};

struct bench {
	struct native_names *names;
	struct native_process *process;
	uint64_t now_ns;
	struct native_name name;
};

/* So this program has Ruby in it. */
void ruby_init(void);
__attribute__((noinline)) void ruby_init(void)
{
	__asm__ volatile("" ::: "memory");
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*state = bench;
	bench->names = native_names_new(NULL);
	bench->process = native_process_new(getpid());
	bench->now_ns = 1000 * NS_PER_S;
	return bench->names && bench->process ? 0 : -1;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	native_process_free(bench->process);
	native_names_free(bench->names);
	free(bench);
	return 0;
}

static const struct native_name *name_at(struct bench *bench, const void *address)
{
	bench->now_ns += 10 * NS_PER_S;
	memset(&bench->name, '?', sizeof(bench->name));
	native_names_find(bench->names, bench->process, (uint64_t)address, bench->now_ns, true,
			  &bench->name);
	return &bench->name;
}

static void code_of_a_file_is_called_by_its_function(void **state)
{
	char path[FRAME_PATH_BYTES] = "";
	struct bench *bench = *state;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_string_equal(name_at(bench, (const void *)ruby_init)->label, "ruby_init");
	assert_string_equal(bench->name.path, path);
	assert_true(bench->name.is_ruby);
	/* Of the C library, which is stripped; no sanitizer has its own of this. */
	assert_string_equal(name_at(bench, (const void *)l64a)->label, "l64a");
	assert_non_null(strstr(bench->name.path, "/libc.so.6"));
	assert_false(bench->name.is_ruby);
	assert_string_equal(name_at(bench, (const char *)ruby_init)->label, "ruby_init");
	assert_true(native_names_size_bytes(bench->names) > 0);
}

static void code_that_is_no_files_has_no_name(void **state)
{
	struct bench *bench = *state;
	char *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_string_equal(name_at(bench, code + 5)->label, "");
	assert_string_equal(bench->name.path, "");
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
	assert_string_equal(name_at(bench, code + 5)->label, FRAME_UNKNOWN);
}

static void the_kernels_own_object_is_named_as_the_kernel_does(void **state)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct bench *bench = *state;

	if (!vdso)
		skip();
	assert_string_equal(name_at(bench, vdso + 64)->label, "[vdso]");
}

static void what_is_mapped_nowhere_or_is_no_code_is_unknown(void **state)
{
	struct bench *bench = *state;

	assert_string_equal(name_at(bench, NULL)->label, FRAME_UNKNOWN);
	assert_string_equal(name_at(bench, bench)->label, FRAME_UNKNOWN);
	assert_string_equal(name_at(bench, (const void *)UINT64_MAX)->label, FRAME_UNKNOWN);
}

/* A file of so many pages that is no ELF file, mapped as code. */
static char *map_file(const char *name, void *at)
{
	char path[] = "/tmp/native-XXXXXX", page[PAGE_BYTES] = { 0 };
	int folder_fd, fd;
	char *code;

	assert_non_null(mkdtemp(path));
	folder_fd = open(path, O_DIRECTORY | O_RDONLY);
	fd = openat(folder_fd, name, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	code = mmap(at, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
		    0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(unlinkat(folder_fd, name, 0), 0);
	assert_int_equal(rmdir(path), 0);
	(void)close(fd);
	(void)close(folder_fd);
	return code;
}

static void a_file_without_symbols_is_named_itself(void **state)
{
	struct bench *bench = *state;
	char *code = map_file("no.so", NULL);

	assert_string_equal(name_at(bench, code)->label, "[no.so]");
	assert_non_null(strstr(bench->name.path, "/no.so"));
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
}

/* Also when the mappings were read a moment ago. */
static void what_has_come_to_the_place_of_a_file_does_not_get_its_name(void **state)
{
	struct bench *bench = *state;
	char *code = map_file("one.so", NULL);
	uint64_t then_ns;

	assert_string_equal(name_at(bench, code)->label, "[one.so]");
	then_ns = bench->now_ns;
	assert_ptr_equal(map_file("two.so", code), code);
	native_names_find(bench->names, bench->process, (uint64_t)code, then_ns, true,
			  &bench->name);
	assert_string_equal(bench->name.label, FRAME_UNKNOWN);
	assert_string_equal(name_at(bench, code)->label, "[two.so]");
	assert_ptr_equal(mmap(code, PAGE_BYTES, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 code);
	assert_string_equal(name_at(bench, code)->label, "");
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
}

/* What has no file could be one's by now: it is looked at again after a while. */
static void what_was_no_files_may_be_later(void **state)
{
	struct bench *bench = *state;
	char *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_string_equal(name_at(bench, code)->label, "");
	assert_ptr_equal(map_file("later.so", code), code);
	assert_string_equal(name_at(bench, code)->label, "[later.so]");
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
}

static void what_may_not_be_read_is_less_well_known(void **state)
{
	struct bench *bench = *state;
	uint64_t address = (uint64_t)(const void *)l64a;

	native_names_find(bench->names, bench->process, address, bench->now_ns, false,
			  &bench->name);
	assert_string_equal(bench->name.label, FRAME_UNKNOWN);
	(void)name_at(bench, (const void *)ruby_init);
	/* The mappings are known, and no file. */
	native_names_find(bench->names, bench->process, address, bench->now_ns, false,
			  &bench->name);
	assert_string_equal(bench->name.label, "[libc.so.6]");
	bench->now_ns += 10 * NS_PER_S;
	native_names_find(bench->names, bench->process, address, bench->now_ns, false,
			  &bench->name);
	assert_string_equal(bench->name.label, FRAME_UNKNOWN);
	(void)name_at(bench, (const void *)l64a);
	bench->now_ns += 10 * NS_PER_S;
	native_names_find(bench->names, bench->process, address, bench->now_ns, false,
			  &bench->name);
	assert_string_equal(bench->name.label, "l64a");
}

static void a_process_that_is_gone_is_unknown(void **state)
{
	struct bench *bench = *state;

	native_process_free(bench->process);
	bench->process = native_process_new(4000000);
	assert_string_equal(name_at(bench, (const void *)l64a)->label, FRAME_UNKNOWN);
}

/* Whatever is missing it is never another name. */
static void without_memory_no_name_is_wrong(void **state)
{
	struct bench *bench = *state;
	size_t tries = 0;

	do {
		native_process_free(bench->process);
		native_names_free(bench->names);
		bench->names = native_names_new(NULL);
		bench->process = native_process_new(getpid());
		memory_fails_once_after(tries++);
		(void)name_at(bench, (const void *)l64a);
		memory_never_fails();
		assert_true(strcmp(bench->name.label, "l64a") == 0 ||
			    strcmp(bench->name.label, FRAME_UNKNOWN) == 0 ||
			    strncmp(bench->name.label, "[libc.so.6]", 11) == 0);
	} while (memory_failures());
	assert_string_equal(bench->name.label, "l64a");
	assert_true(tries > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_of_a_file_is_called_by_its_function, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_that_is_no_files_has_no_name, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_kernels_own_object_is_named_as_the_kernel_does,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_mapped_nowhere_or_is_no_code_is_unknown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_without_symbols_is_named_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_has_come_to_the_place_of_a_file_does_not_get_its_name, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_was_no_files_may_be_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_may_not_be_read_is_less_well_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_is_gone_is_unknown, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_memory_no_name_is_wrong, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
