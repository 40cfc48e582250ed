/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_column.h"

void page_column_open(struct page_column *column, const char *name, FILE *out)
{
	*column = (struct page_column){ .out = out };
	(void)fprintf(out, ",\n\"%s\":\"", name);
}

static void flush(struct page_column *column)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)column->bytes[0] << 16 | (uint32_t)column->bytes[1] << 8 |
			column->bytes[2];

	for (size_t i = 0; i <= column->count && column->count > 0; i++)
		(void)fputc(digits[bits >> (18 - 6 * i) & 63], column->out);
	*column = (struct page_column){ .out = column->out };
}

static void put_byte(struct page_column *column, uint8_t byte)
{
	column->bytes[column->count++] = byte;
	if (column->count == sizeof(column->bytes))
		flush(column);
}

void page_column_put(struct page_column *column, int64_t number)
{
	uint64_t rest = number > 0 ? (uint64_t)number : 0;

	for (; rest > 0x7f; rest >>= 7)
		put_byte(column, (uint8_t)(rest & 0x7f) | 0x80);
	put_byte(column, (uint8_t)rest);
}

void page_column_close(struct page_column *column)
{
	flush(column);
	(void)fputc('"', column->out);
}
