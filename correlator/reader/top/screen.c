/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/screen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "base/text.h"

int screen_init(struct screen *screen, size_t width, size_t height)
{
	*screen = (struct screen){
		.width = width < SCREEN_SIDE_MAX ? width : SCREEN_SIDE_MAX,
		.height = height < SCREEN_SIDE_MAX ? height : SCREEN_SIDE_MAX,
	};
	screen->cells = calloc(screen->width * screen->height + 1, sizeof(*screen->cells));
	if (!screen->cells)
		return -ENOMEM;
	for (size_t i = 0; i < screen->width * screen->height; i++)
		screen->cells[i].text[0] = ' ';
	return 0;
}

void screen_deinit(struct screen *screen)
{
	free(screen->cells);
	*screen = (struct screen){ 0 };
}

struct screen_cell *screen_at(const struct screen *screen, size_t row, size_t column)
{
	return &screen->cells[row * screen->width + column];
}

static void set(struct screen *screen, size_t row, size_t column, enum screen_style style,
		const char *text)
{
	struct screen_cell *cell = screen_at(screen, row, column);

	(void)strcpy(cell->text, text);
	cell->style = style;
}

/* True for control characters, which a terminal would obey: never shown, even if nothing else has
 * escaped them. */
static bool is_control(const char *character)
{
	unsigned char first = (unsigned char)character[0], second = (unsigned char)character[1];

	return first < ' ' || first == 0x7f || (first == 0xc2 && second < 0xa0);
}

/* Appends a combining character, such as an accent, to the character before. */
static void combine(struct screen *screen, size_t row, size_t column, const char *text)
{
	char *before;

	if (column == 0)
		return;
	before = screen_at(screen, row, column - 1)->text;
	if (before[0] == '\0' && column > 1)
		before = screen_at(screen, row, column - 2)->text;
	if (strlen(before) + strlen(text) < SCREEN_CELL_BYTES)
		(void)strcat(before, text);
}

size_t screen_put(struct screen *screen, size_t row, size_t column, enum screen_style style,
		  const char *text)
{
	size_t left_bytes = strlen(text);

	while (left_bytes > 0 && row < screen->height && column < screen->width) {
		int length = text_utf8_length((const uint8_t *)text, left_bytes);
		char character[TEXT_CODE_POINT_BYTES + 1] = "?";
		size_t columns;

		if (length > 0)
			memcpy(character, text, (size_t)length);
		length = length > 0 ? length : 1;
		text += length;
		left_bytes -= (size_t)length;
		if (is_control(character))
			(void)strcpy(character, "?");
		columns = display_columns(character);
		if (column + columns > screen->width)
			break;
		if (columns == 0)
			combine(screen, row, column, character);
		else
			set(screen, row, column, style, character);
		if (columns == 2)
			set(screen, row, column + 1, style, "");
		column += columns;
	}
	return column;
}

void screen_fill(struct screen *screen, size_t row, enum screen_style style)
{
	for (size_t column = 0; row < screen->height && column < screen->width; column++)
		screen_at(screen, row, column)->style = style;
}

void screen_print(const struct screen *screen, FILE *out)
{
	for (size_t row = 0; row < screen->height; row++) {
		size_t end = screen->width;

		while (end > 0 && strcmp(screen_at(screen, row, end - 1)->text, " ") == 0)
			end--;
		for (size_t column = 0; column < end; column++)
			(void)fputs(screen_at(screen, row, column)->text, out);
		(void)fputc('\n', out);
	}
}
