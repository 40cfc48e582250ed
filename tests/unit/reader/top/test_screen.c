/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/top/screen.h"

static struct screen screen;

static int setup(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	return screen_init(&screen, 10, 3);
}

static int teardown(void **state)
{
	(void)state;
	screen_deinit(&screen);
	return 0;
}

static void expect(const char *expected)
{
	size_t size_bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	screen_print(&screen, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(screen_starts_blank_and_plain)
{
	expect("\n\n\n");
	assert_string_equal(screen_at(&screen, 2, 9)->text, " ");
	assert_int_equal(screen_at(&screen, 2, 9)->style, SCREEN_PLAIN);
}

FIXTURE_TEST(screen_puts_text_at_position_and_clips_at_edge)
{
	assert_int_equal(screen_put(&screen, 1, 2, SCREEN_HEADING, "abc"), 5);
	assert_int_equal(screen_put(&screen, 2, 7, SCREEN_PLAIN, "wxyz"), 10);
	assert_int_equal(screen_put(&screen, 0, 10, SCREEN_PLAIN, "no"), 10);
	assert_int_equal(screen_put(&screen, 3, 0, SCREEN_PLAIN, "no"), 0);
	expect("\n  abc\n       wxy\n");
	assert_int_equal(screen_at(&screen, 1, 1)->style, SCREEN_PLAIN);
	assert_int_equal(screen_at(&screen, 1, 2)->style, SCREEN_HEADING);
	assert_int_equal(screen_at(&screen, 1, 4)->style, SCREEN_HEADING);
	assert_int_equal(screen_at(&screen, 1, 5)->style, SCREEN_PLAIN);
}

FIXTURE_TEST(screen_gives_wide_characters_two_cells_and_accents_none)
{
	assert_int_equal(screen_put(&screen, 0, 0, SCREEN_PLAIN, "日e\xcc\x81x"), 4);
	assert_string_equal(screen_at(&screen, 0, 0)->text, "日");
	assert_string_equal(screen_at(&screen, 0, 1)->text, "");
	assert_string_equal(screen_at(&screen, 0, 2)->text, "e\xcc\x81");
	assert_string_equal(screen_at(&screen, 0, 3)->text, "x");
	/* Half a character is none. */
	assert_int_equal(screen_put(&screen, 1, 9, SCREEN_PLAIN, "日"), 9);
	assert_int_equal(screen_put(&screen, 2, 8, SCREEN_PLAIN, "日\xcc\x81"), 10);
	assert_string_equal(screen_at(&screen, 2, 8)->text, "日");
	expect("日e\xcc\x81x\n\n        日\n");
}

FIXTURE_TEST(screen_joins_accent_to_preceding_wide_character)
{
	assert_int_equal(screen_put(&screen, 0, 0, SCREEN_PLAIN, "日\xcc\x81z"), 3);
	assert_string_equal(screen_at(&screen, 0, 0)->text, "日\xcc\x81");
	/* In front of everything there is nothing that it could be of. */
	assert_int_equal(screen_put(&screen, 1, 0, SCREEN_PLAIN, "\xcc\x81z"), 1);
	expect("日\xcc\x81z\nz\n\n");
}

FIXTURE_TEST(screen_drops_accents_beyond_cell_size)
{
	char text[201] = "e";

	for (int i = 0; i < 99; i++)
		(void)strcat(text, "\xcc\x81");
	assert_int_equal(screen_put(&screen, 0, 0, SCREEN_PLAIN, text), 1);
	assert_int_equal(strlen(screen_at(&screen, 0, 0)->text), SCREEN_CELL_BYTES - 1);
}

FIXTURE_TEST(screen_replaces_control_and_invalid_bytes)
{
	(void)screen_put(&screen, 0, 0, SCREEN_PLAIN, "a\033[2Jb");
	(void)screen_put(&screen, 1, 0, SCREEN_PLAIN, "\x7f\xc2\x9b\xc2\xa0\x1f~");
	(void)screen_put(&screen, 2, 0, SCREEN_PLAIN, "\xff\xe6\x97z");
	expect("a?[2Jb\n??\xc2\xa0?~\n???z\n");
}

FIXTURE_TEST(screen_fill_styles_row_and_keeps_text)
{
	(void)screen_put(&screen, 1, 0, SCREEN_PLAIN, "abc");
	screen_fill(&screen, 1, SCREEN_BAR);
	screen_fill(&screen, 3, SCREEN_BAR);
	for (size_t column = 0; column < 10; column++) {
		assert_int_equal(screen_at(&screen, 0, column)->style, SCREEN_PLAIN);
		assert_int_equal(screen_at(&screen, 1, column)->style, SCREEN_BAR);
		assert_int_equal(screen_at(&screen, 2, column)->style, SCREEN_PLAIN);
	}
	expect("\nabc\n\n");
}

FIXTURE_TEST(screen_init_clamps_sides_and_reports_enomem)
{
	struct screen other;

	assert_int_equal(screen_init(&other, SCREEN_SIDE_MAX + 1, 1), 0);
	assert_int_equal(other.width, SCREEN_SIDE_MAX);
	assert_int_equal(other.height, 1);
	screen_deinit(&other);
	assert_int_equal(screen_init(&other, 2, SCREEN_SIDE_MAX + 1), 0);
	assert_int_equal(other.width, 2);
	assert_int_equal(other.height, SCREEN_SIDE_MAX);
	screen_deinit(&other);
	memory_fails_after(0);
	assert_int_equal(screen_init(&other, 2, 2), -ENOMEM);
	memory_never_fails();
	assert_int_equal(screen_init(&other, 0, 0), 0);
	assert_int_equal(screen_put(&other, 0, 0, SCREEN_PLAIN, "x"), 0);
	screen_deinit(&other);
}
