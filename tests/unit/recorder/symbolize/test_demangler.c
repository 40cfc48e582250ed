/* SPDX-License-Identifier: GPL-2.0-only */
/* Names as they are written; those of C++ by the library that is there. */
#include "recorder/symbolize/demangler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

enum {
	TEXT_BYTES = 64
};

static const char *written(const char *name)
{
	_cleanup_(demangler_freep) struct demangler *demangler = demangler_new();
	static char text[TEXT_BYTES];

	assert_non_null(demangler);
	demangler_write(demangler, name, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	return text;
}

static int need_library(void **state)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);

	(void)state;
	if (!library)
		skip();
	return dlclose(library);
}

TEST(demangler_keeps_c_names)
{
	assert_string_equal(written("SHA256_Transform"), "SHA256_Transform");
	assert_string_equal(written(""), "");
	assert_string_equal(written("_ZN"), "_ZN");
	assert_string_equal(written("_Z"), "_Z");
	assert_string_equal(written("_RNvC6_123foo3bar"), "_RNvC6_123foo3bar");
}

TEST(demangler_demangles_cpp_names)
{
	need_library(state);
	assert_string_equal(written("_ZN3foo3barEi"), "foo::bar(int)");
	assert_string_equal(written("_ZNSt6vectorIiSaIiEE9push_backERKi"),
			    "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

TEST(demangler_strips_hash_from_rust_names)
{
	need_library(state);
	assert_string_equal(written("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
	assert_string_equal(written("_ZN5alloc20_$LT$u8$u20$as$u20$C$GT$17h0123456789abcdefE"),
			    "_ZN5alloc20_$LT$u8$u20$as$u20$C$GT$17h0123456789abcdefE");
	assert_string_equal(written("_ZN27_$LT$u8$u20$as$u20$a..B$GT$3fmt17h0123456789abcdefE"),
			    "<u8 as a::B>::fmt");
	/* Only of Rust. */
	assert_string_equal(written("_ZN4core3fmt17h0123456789abcdegE"),
			    "core::fmt::h0123456789abcdeg");
}

TEST(demangler_truncates_long_names_at_character_boundary)
{
	char name[TEXT_BYTES + 8];

	memset(name, 'x', sizeof(name));
	name[TEXT_BYTES - 1] = '\0';
	assert_string_equal(written(name), name);
	name[TEXT_BYTES - 1] = 'x';
	name[TEXT_BYTES] = '\0';
	assert_int_equal(strlen(written(name)), TEXT_BYTES - 1);
	assert_string_equal(written(name) + TEXT_BYTES - 4, "…");
	/* Not in the middle of a character. */
	memcpy(name + TEXT_BYTES - 5, "ä", 2);
	assert_int_equal(strlen(written(name)), TEXT_BYTES - 2);
}

/* Each argument is twice the one before. */
TEST(demangler_keeps_names_that_grow_exponentially)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1f1aIiiE";
	static char text[4096];
	_cleanup_(demangler_freep) struct demangler *demangler = demangler_new();

	need_library(state);
	for (int i = 0; i < 30; i++)
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			       digits[i], digits[i]);
	demangler_write(demangler, name, text, sizeof(text));
	assert_string_equal(text, name);
	/* And what is not refused takes little. */
	strcpy(name, "_Z1f1aIiiE");
	for (int i = 0; i < DEMANGLER_REFERENCES_MAX / 3; i++)
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%c_S%c_E",
			       digits[i], digits[i]);
	demangler_write(demangler, name, text, sizeof(text));
	assert_string_not_equal(text, name);
}
