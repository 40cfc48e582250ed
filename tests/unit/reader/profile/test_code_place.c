/* SPDX-License-Identifier: GPL-2.0-only */
/* Where code is, as a table says it. */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "reader/profile/code_place.h"

static struct frames_text *text_of(const char *bytes)
{
	struct frames_text *text = calloc(1, sizeof(*text) + strlen(bytes) + 1);

	assert_non_null(text);
	text->size_bytes = strlen(bytes);
	memcpy(text->bytes, bytes, text->size_bytes);
	return text;
}

TEST(code_place_shortens_path_to_significant_part)
{
	static const struct {
		const char *path, *shown;
		enum frame_kind kind;
		uint32_t line;
		bool is_of_application;
	} cases[] = {
		{ "/srv/shop/app/models/order.rb", " app/models/order.rb:12", FRAME_KIND_RUBY, 12,
		  true },
		{ "config.ru", " config.ru:1", FRAME_KIND_RUBY, 1, true },
		{ "/x.rb", " /x.rb:1", FRAME_KIND_RUBY, 1, true },
		{ "a/b/c/d.rb", " b/c/d.rb", FRAME_KIND_RUBY, 0, true },
		{ "/var/lib/gems/3.1.0/gems/puma-5.6.5/lib/puma/server.rb",
		  " puma-5.6.5/lib/puma/server.rb:400", FRAME_KIND_RUBY, 400, false },
		{ "/srv/shop/vendor/bundle/ruby/3.3.0/gems/rack-3.0/lib/rack.rb",
		  " rack-3.0/lib/rack.rb:4", FRAME_KIND_RUBY, 4, false },
		{ "/usr/lib/ruby/vendor_ruby/puma/server.rb", " puma/server.rb:4", FRAME_KIND_RUBY,
		  4, false },
		{ "/usr/lib/ruby/3.1.0/set.rb", " 3.1.0/set.rb:3", FRAME_KIND_RUBY, 3, false },
		{ "/srv/shop/vendor/correlator-0.1.0/lib/correlator.rb",
		  " correlator-0.1.0/lib/correlator.rb:2", FRAME_KIND_RUBY, 2, false },
		{ "<internal:kernel>", " <internal:kernel>:18", FRAME_KIND_RUBY, 18, false },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", " libc.so.6", FRAME_KIND_NATIVE, 0,
		  false },
		{ "/tmp/\033[2Jx.rb", " /tmp/\\x1b[2Jx.rb:1", FRAME_KIND_RUBY, 1, true },
		{ "/tmp/", "", FRAME_KIND_NATIVE, 0, false },
	};
	char place[FRAMES_TEXT_ESCAPED_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frames_text *file = text_of(cases[i].path);

		code_place_write(file, cases[i].kind, cases[i].line, place);
		assert_string_equal(place, cases[i].shown);
		assert_int_equal(code_place_is_of_application(file, cases[i].kind),
				 cases[i].is_of_application);
		free(file);
	}
	code_place_write(NULL, FRAME_KIND_C, 0, place);
	assert_string_equal(place, "");
	assert_false(code_place_is_of_application(NULL, FRAME_KIND_RUBY));
}

TEST(code_place_fits_longest_escaped_path)
{
	char path[FRAMES_TEXT_BYTES_MAX + 1], place[FRAMES_TEXT_ESCAPED_BYTES];
	struct frames_text *file;

	memset(path, '\033', FRAMES_TEXT_BYTES_MAX);
	path[FRAMES_TEXT_BYTES_MAX] = '\0';
	file = text_of(path);
	code_place_write(file, FRAME_KIND_RUBY, UINT32_MAX, place);
	assert_true(strlen(place) < sizeof(place));
	free(file);
}
