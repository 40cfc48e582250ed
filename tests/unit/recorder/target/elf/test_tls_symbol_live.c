/* SPDX-License-Identifier: GPL-2.0-only */
/* tls_symbol.c against objects that the dynamic loader has really loaded: into this process. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/open_mapping.h"
#include "recorder/target/tls_read.h"

UNIT_TEST_ALONE;

static const char NAME[] = "ruby_profiler_state";

/* Local exec: this program's own variable, at no round offset. */
_Thread_local uint64_t program_padding[5] = { 1 };
_Thread_local uint64_t program_variable;

typedef uint64_t *(*variable_fn)(void);

/* A fixture loaded into this process, and what was found out about its variable. */
struct loaded {
	variable_fn variable;
	variable_fn other;
	struct tls_symbol symbol;
};

static uint64_t own_thread_pointer(void)
{
	return (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

static int resolve_in_self(const char *path, const char *name, struct tls_symbol *ret_symbol)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct memory_reader reader = memory_reader_of_process(getpid());
	const struct memory_map_entry *entry;
	uint64_t bias;
	size_t cursor = 0;

	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	while ((entry = memory_map_next_object(&map, &cursor)))
		if (strcmp(entry->path, path) == 0)
			break;
	assert_non_null(entry);
	assert_int_equal(open_mapping(entry, &image), 0);
	assert_int_equal(elf_image_load_bias(image, entry, &bias), 0);
	return tls_symbol_resolve(image, bias, &reader, name, false, true, ret_symbol);
}

static struct loaded load(const char *path)
{
	_cleanup_free_ char *real_path = realpath(path, NULL);
	struct loaded loaded;
	void *library;

	assert_non_null(real_path);
	library = dlopen(real_path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	/* dlsym gives the address of a function as an object's. */
	loaded.variable = (variable_fn)(uintptr_t)dlsym(library, "fixture_variable");
	loaded.other = (variable_fn)(uintptr_t)dlsym(library, "fixture_other");
	assert_non_null((void *)(uintptr_t)loaded.variable);
	assert_int_equal(resolve_in_self(real_path, NAME, &loaded.symbol), 0);
	return loaded;
}

static int read_own(const struct tls_location *location, uint64_t *ret_value)
{
	struct memory_reader reader = memory_reader_of_process(getpid());

	return tls_read(location, own_thread_pointer(), &reader, ret_value);
}

/* Two values, so that a neighbour that happens to hold the first does not pass. */
static void assert_tracks(const struct tls_location *location, uint64_t *variable)
{
	uint64_t value = 0;

	*variable = 0x1122334455667788;
	assert_int_equal(read_own(location, &value), 0);
	assert_int_equal(value, 0x1122334455667788);
	*variable = 0;
	assert_int_equal(read_own(location, &value), 0);
	assert_int_equal(value, 0);
}

struct thread_result {
	const struct loaded *loaded;
	int untouched;
	int touched;
	uint64_t value;
};

static void *read_in_thread(void *argument)
{
	struct thread_result *result = argument;
	uint64_t value = 42;

	result->untouched = read_own(&result->loaded->symbol.location, &value);
	*result->loaded->variable() = 77;
	result->touched = read_own(&result->loaded->symbol.location, &result->value);
	return NULL;
}

static struct thread_result run_thread(const struct loaded *loaded)
{
	struct thread_result result = { .loaded = loaded };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, read_in_thread, &result), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return result;
}

static void assert_dynamic(const char *path, const char *relocation, uint64_t symbol_value)
{
	struct loaded loaded = load(path);
	struct thread_result result;

	assert_string_equal(loaded.symbol.relocation, relocation);
	assert_int_equal(loaded.symbol.location.model, TLS_MODEL_DYNAMIC);
	assert_int_equal(loaded.symbol.symbol_value, symbol_value);
	assert_int_equal(loaded.symbol.location.offset, symbol_value);
	assert_true(loaded.symbol.slot_address != 0);
	assert_tracks(&loaded.symbol.location, loaded.variable());
	*loaded.variable() = 5;
	result = run_thread(&loaded);
	assert_int_equal(result.untouched, -ENODATA);
	assert_int_equal(result.touched, 0);
	assert_int_equal(result.value, 77);
	assert_int_equal(*loaded.variable(), 5);
}

static void assert_static(const char *path, const char *relocation)
{
	struct loaded loaded = load(path);
	struct thread_result result;

	assert_string_equal(loaded.symbol.relocation, relocation);
	assert_int_equal(loaded.symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(own_thread_pointer() + (uint64_t)loaded.symbol.location.offset,
			 (uintptr_t)loaded.variable());
	assert_tracks(&loaded.symbol.location, loaded.variable());
	result = run_thread(&loaded);
	assert_int_equal(result.untouched, 0);
	assert_int_equal(result.touched, 0);
	assert_int_equal(result.value, 77);
}

TEST(tls_symbol_reads_general_dynamic_through_dtv)
{
	assert_dynamic(FIXTURE_TLS_GENERAL_DYNAMIC, "DTPMOD64+DTPOFF64", 24);
}

TEST(tls_symbol_finds_hidden_variable_by_only_relocation)
{
	struct loaded loaded = load(FIXTURE_TLS_HIDDEN);

	assert_string_equal(loaded.symbol.relocation, "DTPMOD64+DTPOFF64");
	assert_tracks(&loaded.symbol.location, loaded.variable());
	assert_int_not_equal((uintptr_t)loaded.variable(), (uintptr_t)loaded.other());
}

TEST(tls_symbol_reads_initial_exec_at_fixed_offset)
{
	assert_static(FIXTURE_TLS_INITIAL_EXEC, "TPOFF64");
}

TEST(tls_symbol_reads_small_descriptor_at_fixed_offset)
{
#ifdef FIXTURE_TLS_DESCRIPTOR_SMALL
	assert_static(FIXTURE_TLS_DESCRIPTOR_SMALL, "TLSDESC");
#else
	skip();
#endif
}

TEST(tls_symbol_reads_large_descriptor_through_dtv)
{
#ifdef FIXTURE_TLS_DESCRIPTOR_LARGE
	assert_dynamic(FIXTURE_TLS_DESCRIPTOR_LARGE, "TLSDESC", 65536);
#else
	skip();
#endif
}

TEST(tls_symbol_reads_program_variable_at_linker_offset)
{
	struct tls_symbol symbol;
	char program[4096] = "";

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	assert_int_equal(resolve_in_self(program, "program_variable", &symbol), 0);
	assert_string_equal(symbol.relocation, "none");
	assert_int_equal(symbol.location.model, TLS_MODEL_STATIC);
	assert_int_equal(own_thread_pointer() + (uint64_t)symbol.location.offset,
			 (uintptr_t)&program_variable);
	assert_tracks(&symbol.location, &program_variable);
}

TEST(tls_symbol_does_not_find_missing_or_non_tls_name)
{
	struct tls_symbol symbol;
	char program[4096] = "";

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	assert_int_equal(resolve_in_self(program, NAME, &symbol), -ENOENT);
	assert_int_equal(resolve_in_self(program, "main", &symbol), -ENOENT);
}
