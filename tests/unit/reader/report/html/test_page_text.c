/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "reader/report/html/page_text.h"

static void expect_put(const char *text, const char *expected)
{
	char *got = NULL;
	size_t got_bytes;
	FILE *out = open_memstream(&got, &got_bytes);

	page_text_put(out, text, strlen(text));
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, expected);
	free(got);
}

TEST(page_text_escapes_markup_and_control_characters)
{
	expect_put("GET /orders", "GET /orders");
	expect_put("</th><script>", "&lt;/th&gt;&lt;script&gt;");
	expect_put("a&b \"c\" 'd'", "a&amp;b &quot;c&quot; &#39;d&#39;");
	expect_put("&lt;", "&amp;lt;");
	expect_put("caf\xc3\xa9", "caf\xc3\xa9");
	expect_put("bell\a \xff \xe2\x80\xae", "bell\\x07 \\xff \\xe2\\x80\\xae");
	expect_put("", "");
}

static void expect_script(const char *text, const char *expected)
{
	char *got = NULL;
	size_t got_bytes;
	FILE *out = open_memstream(&got, &got_bytes), *script = page_text_open_script(out);

	assert_non_null(script);
	assert_int_equal(fputs(text, script) >= 0, 1);
	assert_int_equal(fclose(script), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, expected);
	free(got);
}

TEST(page_text_escapes_tags_inside_script)
{
	expect_script("{\"a\":[1,2]}", "{\"a\":[1,2]}");
	expect_script("\"</script>\"", "\"\\u003c/script\\u003e\"");
	expect_script("\"<!-- & -->\"", "\"\\u003c!-- \\u0026 --\\u003e\"");
	expect_script("\"\xe2\x80\xa8|\xe2\x80\xa9|\xe2\x80\xaa|\xe2\x80\"",
		      "\"\\u2028|\\u2029|\xe2\x80\xaa|\xe2\x80\"");
	expect_script("", "");
}
