/* SPDX-License-Identifier: GPL-2.0-only */
/* link_map.c against the loader of this process, and against lists that no loader makes. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/elf/link_map.h"
#include "recorder/target/forged_elf.h"
#include "recorder/target/open_mapping.h"

#ifdef __aarch64__
#define IS_ABOVE true
#else
#define IS_ABOVE false
#endif

/* The words of a forged process, from WORDS_ADDRESS on: _r_debug, then two entries. */
enum {
	WORD_COUNT = 32,
	DEBUG = 0,
	FIRST = 4,
	SECOND = 16,
	NEXT = 3,
	MODULE = 5,
	OFFSET = 6
};

#define WORDS_ADDRESS	 0x7f0000010000ULL
#define BIAS		 0x7f0000200000ULL
#define ADDRESS_OF(word) (WORDS_ADDRESS + 8 * (word))

static const struct link_map_layout forged_layout = {
	.debug_address = ADDRESS_OF(DEBUG),
	.module_at = 8 * MODULE,
	.offset_at = 8 * OFFSET,
};

static int read_words(const struct memory_reader *reader, uint64_t address, void *buffer,
		      size_t size_bytes)
{
	uint64_t distance = address - WORDS_ADDRESS;

	if (distance >= WORD_COUNT * 8 || size_bytes > WORD_COUNT * 8 - distance)
		return -EFAULT;
	memcpy(buffer, (const char *)reader->context + distance, size_bytes);
	return 0;
}

/* Two objects; the second one, at BIAS, has module 3 and a block 0x80 from the thread pointer. */
static void forge(uint64_t words[static WORD_COUNT])
{
	memset(words, 0, WORD_COUNT * sizeof(*words));
	words[DEBUG + 1] = ADDRESS_OF(FIRST);
	words[FIRST + NEXT] = ADDRESS_OF(SECOND);
	words[SECOND] = BIAS;
	words[SECOND + MODULE] = 3;
	words[SECOND + OFFSET] = 0x80;
}

static int confirm(const uint64_t *words, struct tls_symbol *symbol, bool is_above)
{
	struct memory_reader reader = { .read = read_words, .context = words };

	symbol->is_above_thread_pointer = is_above;
	return link_map_confirm(&forged_layout, &reader, BIAS, symbol, true);
}

static struct tls_symbol dynamic_symbol(uint64_t module)
{
	return (struct tls_symbol){ .location = { .model = TLS_MODEL_DYNAMIC, .module = module } };
}

static struct tls_symbol static_symbol(int64_t offset)
{
	return (struct tls_symbol){ .location = { .model = TLS_MODEL_STATIC, .offset = offset },
				    .symbol_value = 8 };
}

TEST(link_map_rejects_module_that_differs_from_loader)
{
	struct tls_symbol right = dynamic_symbol(3), wrong = dynamic_symbol(4);
	uint64_t words[WORD_COUNT];

	forge(words);
	assert_int_equal(confirm(words, &right, false), 0);
	assert_int_equal(confirm(words, &wrong, false), -EUCLEAN);
}

TEST(link_map_rejects_offset_that_differs_from_loader)
{
	struct tls_symbol below = static_symbol(-0x78), above = static_symbol(0x88);
	uint64_t words[WORD_COUNT];

	forge(words);
	assert_int_equal(confirm(words, &below, false), 0);
	assert_int_equal(confirm(words, &above, true), 0);
	assert_int_equal(confirm(words, &above, false), -EUCLEAN);
	assert_int_equal(confirm(words, &below, true), -EUCLEAN);
	/* The loader says that the object's block is not in static TLS. */
	words[SECOND + OFFSET] = 0;
	assert_int_equal(confirm(words, &below, false), -EUCLEAN);
}

TEST(link_map_returns_enoent_without_object_or_layout)
{
	struct memory_reader reader = { .read = read_words };
	struct tls_symbol symbol = dynamic_symbol(3);
	struct link_map_layout none = forged_layout;
	uint64_t words[WORD_COUNT];

	forge(words);
	words[SECOND] = BIAS + 0x1000;
	assert_int_equal(confirm(words, &symbol, false), -ENOENT);
	none.offset_at = 0;
	assert_int_equal(link_map_confirm(&none, &reader, BIAS, &symbol, true), -ENOENT);
}

TEST(link_map_stops_at_cyclic_or_invalid_list)
{
	struct tls_symbol symbol = dynamic_symbol(3);
	uint64_t words[WORD_COUNT];

	forge(words);
	words[FIRST + NEXT] = ADDRESS_OF(FIRST);
	assert_int_equal(confirm(words, &symbol, false), -ENOENT);
	words[FIRST + NEXT] = 0x10;
	assert_int_equal(confirm(words, &symbol, false), -EFAULT);
}

/* A list whose last entry is the object's, after so many others. */
struct long_list {
	uint64_t others;
};

static int read_long_list(const struct memory_reader *reader, uint64_t address, void *buffer,
			  size_t size_bytes)
{
	const struct long_list *list = reader->context;
	uint64_t at = (address - WORDS_ADDRESS) / 64;
	uint64_t words[8] = { at == list->others + 1 ? BIAS : 0, 0, 0, address + 64, 0, 3, 0x80 };
	uint64_t offset = (address - WORDS_ADDRESS) % 64;

	if (address == ADDRESS_OF(DEBUG + 1)) {
		words[1] = WORDS_ADDRESS + 64;
		offset = 8;
	}
	assert_true(offset + size_bytes <= sizeof(words));
	memcpy(buffer, (const char *)words + offset, size_bytes);
	return 0;
}

TEST(link_map_limits_number_of_entries)
{
	struct tls_symbol symbol = dynamic_symbol(3);
	struct long_list list = { .others = LINK_MAP_ENTRIES_MAX - 1 };
	struct memory_reader reader = { .read = read_long_list, .context = &list };

	assert_int_equal(link_map_confirm(&forged_layout, &reader, BIAS, &symbol, true), 0);
	list.others++;
	assert_int_equal(link_map_confirm(&forged_layout, &reader, BIAS, &symbol, true), -ENOENT);
}

TEST(link_map_nonfinal_check_returns_disagreement_and_errors)
{
	struct tls_symbol symbol = dynamic_symbol(4);
	struct link_map_layout layout = forged_layout;
	uint64_t words[WORD_COUNT];
	struct memory_reader reader = { .read = read_words, .context = words };

	forge(words);
	assert_int_equal(link_map_confirm(&layout, &reader, BIAS, &symbol, false), -EUCLEAN);
	layout.module_at = 8 * WORD_COUNT;
	assert_int_equal(link_map_confirm(&layout, &reader, BIAS, &symbol, false), -EFAULT);
	layout = forged_layout;
	layout.offset_at = 8 * WORD_COUNT;
	assert_int_equal(link_map_confirm(&layout, &reader, BIAS, &symbol, false), -EFAULT);
	layout = forged_layout;
	layout.debug_address = 0;
	assert_int_equal(link_map_confirm(&layout, &reader, BIAS, &symbol, false), -ENOENT);
	layout = forged_layout;
	layout.module_at = 0;
	assert_int_equal(link_map_confirm(&layout, &reader, BIAS, &symbol, false), -ENOENT);
}

static int read_forged_elf(void *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	if (offset > sizeof(struct forged_elf) || size_bytes > sizeof(struct forged_elf) - offset)
		return -EFAULT;
	memcpy(buffer, (const char *)source + offset, size_bytes);
	return 0;
}

/* Of an object with one symbol, which describes a field so. */
static struct link_map_layout note_field(const char *name, uint32_t bits, uint32_t count,
					 uint32_t at)
{
	const uint32_t field[] = { bits, count, at };
	struct forged_elf elf =
		forged_elf_make(EM_X86_64, name, offsetof(struct forged_elf, strings) + 48);
	struct elf_reader reader = { .read = read_forged_elf,
				     .source = &elf,
				     .size_bytes = sizeof(elf) };
	struct link_map_layout layout = { 0 };
	struct elf_image *image;

	memcpy(elf.strings + 48, field, sizeof(field));
	assert_int_equal(elf_image_open(&reader, &image), 0);
	link_map_note(image, BIAS, &layout);
	/* What is known stays. */
	link_map_note(image, 2 * BIAS, &layout);
	elf_image_free(image);
	return layout;
}

TEST(link_map_takes_field_from_loader_only_if_it_is_a_word)
{
	static const char module[] = "_thread_db_link_map_l_tls_modid";
	static const char offset[] = "_thread_db_link_map_l_tls_offset";

	assert_int_equal(note_field(module, 64, 1, 1000).module_at, 1000);
	assert_int_equal(note_field(module, 64, 1, 1000).offset_at, 0);
	assert_int_equal(note_field(offset, 64, 1, 65536).offset_at, 65536);
	assert_int_equal(note_field(offset, 64, 1, 65537).offset_at, 0);
	assert_int_equal(note_field(module, 63, 1, 8).module_at, 0);
	assert_int_equal(note_field(module, 65, 1, 8).module_at, 0);
	assert_int_equal(note_field(module, 64, 2, 8).module_at, 0);
	assert_int_equal(note_field(module, 64, 0, 8).module_at, 0);
	assert_int_equal(note_field("_r_debug", 0, 0, 0).debug_address,
			 BIAS + offsetof(struct forged_elf, strings) + 48);
	assert_false(note_field("_r_debug", 0, 0, 0).is_musl);
	assert_true(note_field("_dl_debug_addr", 0, 0, 0).is_musl);
}

static void assert_confirmed(const struct link_map_layout *layout, const char *path,
			     enum tls_model model)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct memory_reader reader = memory_reader_of_process(getpid());
	const struct memory_map_entry *entry;
	struct tls_symbol symbol;
	uint64_t bias;
	size_t cursor = 0;

	assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	while ((entry = memory_map_next_object(&map, &cursor)))
		if (strcmp(entry->path, path) == 0)
			break;
	assert_non_null(entry);
	assert_int_equal(open_mapping(entry, &image), 0);
	assert_int_equal(elf_image_load_bias(image, entry, &bias), 0);
	assert_int_equal(tls_symbol_resolve(image, bias, &reader, "ruby_profiler_state", false,
					    true, &symbol),
			 0);
	assert_int_equal(symbol.location.model, model);
	assert_int_equal(link_map_confirm(layout, &reader, bias, &symbol, true), 0);
	symbol.location.module++;
	symbol.location.offset += 8;
	assert_int_equal(link_map_confirm(layout, &reader, bias, &symbol, true), -EUCLEAN);
}

static void note_objects(const struct memory_map *map, struct link_map_layout *layout)
{
	const struct memory_map_entry *entry;
	size_t cursor = 0;

	while ((entry = memory_map_next_object(map, &cursor))) {
		_cleanup_(elf_image_freep) struct elf_image *image = NULL;
		uint64_t bias;

		if (entry->is_readable && open_mapping(entry, &image) == 0 &&
		    elf_image_load_bias(image, entry, &bias) == 0)
			link_map_note(image, bias, layout);
	}
}

TEST(link_map_confirms_symbols_of_own_loader)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct link_map_layout layout = { 0 };

	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	note_objects(&map, &layout);
	if (!layout.module_at)
		skip(); /* not glibc */
	assert_true(layout.debug_address && layout.offset_at);
	assert_confirmed(&layout, FIXTURE_TLS_GENERAL_DYNAMIC, TLS_MODEL_DYNAMIC);
	assert_confirmed(&layout, FIXTURE_TLS_INITIAL_EXEC, TLS_MODEL_STATIC);
#ifdef FIXTURE_TLS_DESCRIPTOR_SMALL
	assert_confirmed(&layout, FIXTURE_TLS_DESCRIPTOR_SMALL, TLS_MODEL_STATIC);
	assert_confirmed(&layout, FIXTURE_TLS_DESCRIPTOR_LARGE, TLS_MODEL_DYNAMIC);
#endif
}
