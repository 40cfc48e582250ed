/* SPDX-License-Identifier: GPL-2.0-only */
/* What native code of a live process is called: of this one. */
#include "recorder/symbolize/native_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"

UNIT_TEST_ALONE;

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

/* Functions whose names keep libiberty busy (test_demangler.c), and one that is C++'s. */
#define COSTLY_NAMES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define COSTLY_NAME(n)	"_RINvC3foo3ba" #n "FGzzzzz_uEuE"
#define COSTLY(n)                                       \
	void costly_##n(void) __asm__(COSTLY_NAME(n));  \
	__attribute__((noinline)) void costly_##n(void) \
	{                                               \
		__asm__ volatile("" ::: "memory");      \
	}
COSTLY_NAMES(COSTLY)

void of_cpp(void) __asm__("_ZN3foo3barEi");
__attribute__((noinline)) void of_cpp(void)
{
	__asm__ volatile("" ::: "memory");
}

void of_cpp_too(void) __asm__("_ZN3foo3bazEi");
__attribute__((noinline)) void of_cpp_too(void)
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

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(native_names_leave_names_of_process_mangled_after_costly_ones)
{
	static const struct {
		void (*function)(void);
		const char *name;
	} costly[] = {
#define ROW(n) { costly_##n, COSTLY_NAME(n) },
		COSTLY_NAMES(ROW)
#undef ROW
	};
	struct bench *bench = *state;

	assert_int_equal(sizeof(costly) / sizeof(costly[0]), NATIVE_COSTLY_CALLS_MAX);
	for (size_t i = 0; i < NATIVE_COSTLY_CALLS_MAX; i++) {
		assert_string_equal(name_at(bench, of_cpp)->label, "foo::bar(int)");
		assert_string_equal(name_at(bench, costly[i].function)->label, costly[i].name);
		/* It is known, and costs no more. */
		assert_string_equal(name_at(bench, costly[i].function)->label, costly[i].name);
	}
	/* Cached names stay demangled; new ones stay mangled. */
	assert_string_equal(name_at(bench, of_cpp)->label, "foo::bar(int)");
	assert_string_equal(name_at(bench, of_cpp_too)->label, "_ZN3foo3bazEi");
	/* Only of that process. */
	native_process_free(bench->process);
	bench->process = native_process_new(getpid());
	assert_non_null(bench->process);
	assert_string_equal(name_at(bench, of_cpp_too)->label, "foo::baz(int)");
}

FIXTURE_TEST(native_names_find_function_of_mapped_file)
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

FIXTURE_TEST(native_names_are_empty_for_anonymous_code)
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

FIXTURE_TEST(native_names_label_vdso)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct bench *bench = *state;

	if (!vdso)
		skip();
	assert_string_equal(name_at(bench, vdso + 64)->label, "[vdso]");
}

FIXTURE_TEST(native_names_are_unknown_for_unmapped_or_data_address)
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

FIXTURE_TEST(native_names_use_file_name_without_symbols)
{
	struct bench *bench = *state;
	char *code = map_file("no.so", NULL);

	assert_string_equal(name_at(bench, code)->label, "[no.so]");
	assert_non_null(strstr(bench->name.path, "/no.so"));
	assert_false(bench->name.is_ruby);
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
}

/* Also when the mappings were read a moment ago. */
FIXTURE_TEST(native_names_do_not_name_replaced_mapping_after_old_file)
{
	struct bench *bench = *state;
	char *code = map_file("one.so", NULL);
	uint64_t then_ns;

	assert_string_equal(name_at(bench, code)->label, "[one.so]");
	then_ns = bench->now_ns + 1;
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
FIXTURE_TEST(native_names_look_again_at_anonymous_mapping)
{
	struct bench *bench = *state;
	char *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_string_equal(name_at(bench, code)->label, "");
	assert_ptr_equal(map_file("later.so", code), code);
	assert_string_equal(name_at(bench, code)->label, "[later.so]");
	assert_int_equal(munmap(code, PAGE_BYTES), 0);
}

/* In no file, and in shared memory, which is one; both as perf-PID.map has it. */
FIXTURE_TEST(native_names_find_names_of_generated_code)
{
	struct bench *bench = *state;
	char *shared = map_file("shared", NULL), path[64];
	char *own =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file;

	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(own != MAP_FAILED);
	(void)fprintf(file, "%lx 10 shared\n%lx 10 own\n", (unsigned long)shared,
		      (unsigned long)own);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(name_at(bench, shared + 15)->label, "shared");
	assert_true(bench->name.is_ruby);
	assert_string_equal(name_at(bench, shared + 16)->label, "[shared]");
	assert_false(bench->name.is_ruby);
	assert_string_equal(name_at(bench, own)->label, "own");
	assert_true(bench->name.is_ruby);
	assert_string_equal(name_at(bench, own + 16)->label, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(munmap(shared, PAGE_BYTES) | munmap(own, PAGE_BYTES), 0);
}

FIXTURE_TEST(native_names_use_only_cached_files_if_reading_is_denied)
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
	assert_false(bench->name.is_ruby);
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

FIXTURE_TEST(native_names_are_unknown_for_exited_process)
{
	struct bench *bench = *state;

	native_process_free(bench->process);
	bench->process = native_process_new(4000000);
	assert_string_equal(name_at(bench, (const void *)l64a)->label, FRAME_UNKNOWN);
}

/* Whatever is missing it is never another name. */
FIXTURE_TEST(native_names_are_never_wrong_without_memory)
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
