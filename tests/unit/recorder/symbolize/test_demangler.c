/* SPDX-License-Identifier: GPL-2.0-only */
/* Names as they are written, in C, C++ and Rust; hostile ones stay as they are. */
#include "recorder/symbolize/demangler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

enum {
	TEXT_BYTES = 64
};

struct bench {
	struct demangler *demangler;
	char text[TEXT_BYTES];
	bool is_cheap;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*state = bench;
	bench->demangler = demangler_new();
	return bench->demangler ? 0 : -1;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	demangler_free(bench->demangler);
	free(bench);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

static const char *written(struct bench *bench, const char *name)
{
	bench->is_cheap =
		demangler_write(bench->demangler, name, true, bench->text, sizeof(bench->text));
	assert_true(strlen(bench->text) < sizeof(bench->text));
	return bench->text;
}

static void expect(struct bench *bench, const char *name, const char *text)
{
	/* The second time it is known. */
	for (int i = 0; i < 2; i++) {
		assert_string_equal(written(bench, name), text);
		assert_true(bench->is_cheap);
	}
}

FIXTURE_TEST(demangler_keeps_c_names)
{
	static const char *const names[] = {
		"SHA256_Transform", "", "_", "_ZN", "_Z", "_R", "main", "R", "Z3fooi",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect(*state, names[i], names[i]);
}

FIXTURE_TEST(demangler_demangles_cpp_names)
{
	expect(*state, "_ZN3foo3barEi", "foo::bar(int)");
	expect(*state, "_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

FIXTURE_TEST(demangler_strips_hash_from_older_rust_names)
{
	expect(*state, "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	expect(*state, "_ZN27_$LT$u8$u20$as$u20$a..B$GT$3fmt17h0123456789abcdefE",
	       "<u8 as a::B>::fmt");
	/* Only of Rust. */
	expect(*state, "_ZN4core3fmt17h0123456789abcdegE", "core::fmt::h0123456789abcdeg");
}

FIXTURE_TEST(demangler_demangles_newer_rust_names)
{
	expect(*state, "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	expect(*state, "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
	expect(*state, "_RNvMNtC5crate3fooNtB2_3Bar3new", "<crate::foo::Bar>::new");
	expect(*state, "_RNCNvC5crate4main0", "crate::main::{closure#0}");
	expect(*state, "_RNvC5crateu8gdel_5qa", "crate::gödel");
	expect(*state, "_RNvC5crate", "_RNvC5crate");
}

FIXTURE_TEST(demangler_truncates_long_names_at_character_boundary)
{
	char name[TEXT_BYTES + 8];

	memset(name, 'x', sizeof(name));
	name[TEXT_BYTES - 1] = '\0';
	assert_string_equal(written(*state, name), name);
	name[TEXT_BYTES - 1] = 'x';
	name[TEXT_BYTES] = '\0';
	assert_int_equal(strlen(written(*state, name)), TEXT_BYTES - 1);
	assert_string_equal(written(*state, name) + TEXT_BYTES - 4, "…");
	/* Not in the middle of a character. */
	memcpy(name + TEXT_BYTES - 5, "ä", 2);
	assert_int_equal(strlen(written(*state, name)), TEXT_BYTES - 2);
}

/* Each argument is three times the one before: 3^30 in the last. */
FIXTURE_TEST(demangler_keeps_names_that_grow_exponentially)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1aIiiE", expected[TEXT_BYTES];

	for (int i = 0; i < 30; i++)
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			       digits[i], digits[i]);
	(void)snprintf(expected, sizeof(expected), "%.*s…", TEXT_BYTES - 4, name);
	assert_string_equal(written(*state, name), expected);
	assert_false(((struct bench *)*state)->is_cheap);
	/* It is not tried again. */
	expect(*state, name, expected);
}

/* It has 62^5 parameters, and says so in six characters. */
FIXTURE_TEST(demangler_keeps_names_of_too_many_parameters)
{
	static const char name[] = "_RINvC3foo3barFGzzzzz_uEuE";

	assert_string_equal(written(*state, name), name);
	assert_false(((struct bench *)*state)->is_cheap);
	expect(*state, name, name);
	expect(*state, "_ZN3foo3barEi", "foo::bar(int)");
}

FIXTURE_TEST(demangler_uses_cache_alone_if_it_may_not_ask)
{
	struct bench *bench = *state;

	for (int i = 0; i < 2; i++) {
		assert_true(demangler_write(bench->demangler, "_ZN3foo3barEi", i, bench->text,
					    sizeof(bench->text)));
		assert_string_equal(bench->text, i ? "foo::bar(int)" : "_ZN3foo3barEi");
	}
	assert_true(demangler_write(bench->demangler, "_ZN3foo3barEi", false, bench->text,
				    sizeof(bench->text)));
	assert_string_equal(bench->text, "foo::bar(int)");
}

FIXTURE_TEST(demangler_forgets_names_beyond_its_bound)
{
	char name[32], text[32];

	for (int i = 0; i <= DEMANGLER_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "_ZN5f%04d3barEi", i);
		(void)snprintf(text, sizeof(text), "f%04d::bar(int)", i);
		assert_string_equal(written(*state, name), text);
	}
	expect(*state, "_ZN5f00003barEi", "f0000::bar(int)");
}
