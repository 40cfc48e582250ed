/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/ini_reader.h"

#include <stdio.h>
#include <string.h>

#include "unit_test.h"

enum {
	TEXT_BYTES = 512
};

/* What is said of a text: a line each, NUMBER [SECTION], NUMBER KEY=VALUE or NUMBER NAME! PROBLEM.
 */
static const char *say(const char *text, size_t size_bytes)
{
	static char copy[TEXT_BYTES], said[2 * TEXT_BYTES];
	struct ini_reader reader;
	struct ini_item item;
	size_t used = 0;

	memset(copy, 'x', sizeof(copy));
	memcpy(copy, text, size_bytes);
	said[0] = '\0';
	ini_reader_init(&reader, copy, size_bytes);
	for (ini_reader_next(&reader, &item); item.kind != INI_KIND_END;
	     ini_reader_next(&reader, &item)) {
		const char *form = item.kind == INI_KIND_SECTION   ? "%u [%s]\n"
				   : item.kind == INI_KIND_SETTING ? "%u %s=%s\n"
								   : "%u %s! %s\n";

		used += (size_t)snprintf(said + used, sizeof(said) - used, form, reader.line,
					 item.name,
					 item.kind == INI_KIND_WRONG ? item.problem : item.value);
	}
	ini_reader_next(&reader, &item);
	assert_int_equal(item.kind, INI_KIND_END);
	return said;
}

#define assert_said(text, expected) assert_string_equal(say(text, sizeof(text) - 1), expected)

TEST(ini_reader_trims_blanks_around_settings)
{
	assert_said("[a]\nb=c\n", "1 [a]\n2 b=c\n");
	assert_said(" \t[a b] \r\n\t b \t= \tc d\t \r\n", "1 [a b]\n2 b=c d\n");
	assert_said("b=c", "1 b=c\n");
	assert_said("b = p99(cpu) >= 5ms", "1 b=p99(cpu) >= 5ms\n");
	assert_said("u=\xc3\xa9\xe2\x82\xac", "1 u=\xc3\xa9\xe2\x82\xac\n");
	assert_said("b=x#y;z", "1 b=x#y;z\n");
}

TEST(ini_reader_skips_comments_and_empty_lines)
{
	assert_said("", "");
	assert_said("\n\n \t\r\n", "");
	assert_said("# a = b\n;a=b\n  # \x1b[31m\nc=d\n", "4 c=d\n");
	assert_said("\xef\xbb\xbf[a]\n", "1 [a]\n");
	assert_said("\xef\xbb\xbf", "");
	assert_said("\xef\xbb", "1 \xef\xbb! neither [SECTION] nor KEY = VALUE\n");
}

TEST(ini_reader_rejects_ambiguous_values)
{
	static const char *const values[] = { "'a b'", "\"\"", "a # b", "a ; b", "a\t# b", "a\t; b",
					      "# b",   "; b",  "a \\",	"\\",	 "" };
	char line[64];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)snprintf(line, sizeof(line), "k = %s\nb=c\n", values[i]);
		if (!strstr(say(line, strlen(line)), "1 k! ") ||
		    !strstr(say(line, strlen(line)), "\n2 b=c\n"))
			fail_msg("%s: %s", line, say(line, strlen(line)));
	}
	assert_said("k='\nk='a\nk=a'\nk=\\a\nk='a\"", "1 k='\n2 k='a\n3 k=a'\n4 k=\\a\n5 k='a\"\n");
}

TEST(ini_reader_reports_and_skips_malformed_lines)
{
	assert_said("all-ruby\n=c\n = \nb=c\n", "1 all-ruby! neither [SECTION] nor KEY = VALUE\n"
						"2 ! no key before the =\n"
						"3 ! no key before the =\n4 b=c\n");
	assert_said("[a\n[a] b = c\n[\n[]\n",
		    "1 [a! a section is [NAME], and nothing else on its line\n"
		    "2 [a] b = c! a section is [NAME], and nothing else on its line\n"
		    "3 [! a section is [NAME], and nothing else on its line\n4 []\n");
}

TEST(ini_reader_rejects_control_characters_and_bad_utf8)
{
	static const char unclean[] = "a control character, or not UTF-8";
	const char *said;

	assert_said("\0", "1 ! a NUL character: this is no text\n");
	assert_said("k=v\0w\nb=c\n", "1 k=v! a NUL character: this is no text\n2 b=c\n");
	assert_said("# \0\n", "");
	said = say("k\x01=v\n", 5);
	assert_true(strstr(said, unclean) && strncmp(said, "1 k\x01!", 5) == 0);
	assert_non_null(strstr(say("k=v\x1b[m\n", 8), unclean));
	assert_non_null(strstr(say("k=v\tw\n", 6), unclean));
	assert_non_null(strstr(say("k=v\xff\n", 5), unclean));
	assert_non_null(strstr(say("[\x7f]\n", 4), unclean));
}
