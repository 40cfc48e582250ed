/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/display.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/text.h"

enum {
	SIGNIFICANT_LIMIT = 10000, /* numbers below have four digits */
	SENTENCE_BYTES = 2048,
	SHOWN_BYTES = 8192,
};

static const char ellipsis[] = "…";

/* Length in bytes of the first character of a NUL-terminated text. */
static int first_bytes(const char *text)
{
	int length = text_utf8_length((const uint8_t *)text, strnlen(text, TEXT_CODE_POINT_BYTES));

	return length > 0 ? length : 1;
}

static size_t character_columns(const char *text, int length)
{
	int columns = wcwidth((wchar_t)text_code_point((const uint8_t *)text, length));

	return columns < 0 ? 1 : (size_t)columns;
}

size_t display_escape(const char *text, size_t size_bytes, char *ret_text, size_t text_bytes)
{
	return text_escape(text, size_bytes, TEXT_SHOWN, ret_text, text_bytes);
}

size_t display_columns(const char *text)
{
	size_t columns = 0;

	while (*text) {
		int length = first_bytes(text);

		columns += character_columns(text, length);
		text += length;
	}
	return columns;
}

/* Bytes at the front of text that take at most columns columns and room_bytes bytes. */
static size_t head_bytes(const char *text, size_t columns, size_t room_bytes)
{
	size_t at = 0;

	while (text[at]) {
		int length = first_bytes(text + at);
		size_t taken = character_columns(text + at, length);

		if (taken > columns || at + (size_t)length > room_bytes)
			break;
		columns -= taken;
		at += (size_t)length;
	}
	return at;
}

/* Offset of the longest tail that takes at most columns columns and room_bytes bytes. */
static size_t tail_offset(const char *text, size_t columns, size_t room_bytes)
{
	size_t size_bytes = strlen(text);
	size_t at = size_bytes;

	while (at > 0) {
		size_t before = at - 1;
		size_t taken;

		while (before > 0 && ((uint8_t)text[before] & 0xc0) == 0x80)
			before--;
		taken = character_columns(text + before, (int)(at - before));
		if (taken > columns || size_bytes - before > room_bytes)
			break;
		columns -= taken;
		at = before;
	}
	return at;
}

void display_fit(const char *raw, size_t columns, char *ret_text, size_t text_bytes)
{
	char text[SHOWN_BYTES];
	size_t size_bytes = display_escape(raw, strlen(raw), text, sizeof(text));
	size_t room_bytes = (text_bytes - sizeof(ellipsis)) / 2;
	struct text_writer writer;
	size_t tail;

	text_writer_init(&writer, ret_text, text_bytes);
	if (size_bytes < text_bytes && display_columns(text) <= columns) {
		text_writer_put(&writer, text, size_bytes);
		return;
	}
	/* The head gets the odd column: prefixes are more telling than suffixes. */
	text_writer_put(&writer, text, head_bytes(text, columns / 2, room_bytes));
	text_writer_put(&writer, ellipsis, sizeof(ellipsis) - 1);
	tail = tail_offset(text, (columns - 1) / 2, room_bytes);
	text_writer_put(&writer, text + tail, size_bytes - tail);
}

void display_duration(int64_t ns, char ret_text[DISPLAY_NUMBER_BYTES])
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };
	uint64_t rounded = (uint64_t)ns, step = 1;

	while (rounded / step >= SIGNIFICANT_LIMIT)
		step *= 10;
	/* Rounded before the unit is chosen: 999.99 us is 1.000 ms. */
	rounded = (rounded + step / 2) / step * step;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t whole = rounded / units[i].ns;
		int decimals = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
		uint64_t scale = decimals == 3 ? 1000 : decimals == 2 ? 100 : 10;

		if (whole == 0)
			continue;
		if (decimals == 0)
			(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%" PRIu64 " %s", whole,
				       units[i].name);
		else
			(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES,
				       "%" PRIu64 ".%0*" PRIu64 " %s", whole, decimals,
				       rounded % units[i].ns * scale / units[i].ns, units[i].name);
		return;
	}
	(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%" PRIu64 " ns", rounded);
}

void display_bytes(int64_t bytes, char ret_text[DISPLAY_NUMBER_BYTES])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%" PRId64 " B", bytes);
		return;
	}
	/* As it is rounded: 1023.96 KiB is 1.0 MiB. */
	for (; value >= 1023.95; value /= 1024)
		unit++;
	(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%.1f %s", value, units[unit]);
}

void display_number(int64_t number, char ret_text[DISPLAY_NUMBER_BYTES])
{
	uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char digits[DISPLAY_NUMBER_BYTES];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
	char *out = ret_text;

	if (number < 0)
		*out++ = '-';
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
}

bool display_needs_date(int64_t first_ns, int64_t last_ns, char ret_zone[DISPLAY_ZONE_BYTES])
{
	time_t start = (time_t)(first_ns / (int64_t)NS_PER_S);
	time_t end = (time_t)(last_ns / (int64_t)NS_PER_S);
	struct tm first = { 0 }, last = { 0 };

	/* 64-bit nanoseconds end in 2262: no year is too large. */
	(void)localtime_r(&start, &first);
	(void)localtime_r(&end, &last);
	(void)snprintf(ret_zone, DISPLAY_ZONE_BYTES, "%s", first.tm_zone ? first.tm_zone : "");
	return first.tm_yday != last.tm_yday || first.tm_year != last.tm_year;
}

void display_time(int64_t ns, bool with_date, char ret_text[DISPLAY_NUMBER_BYTES])
{
	time_t seconds = (time_t)(ns / (int64_t)NS_PER_S);
	int ms = (int)(ns / (int64_t)NS_PER_MS % 1000);
	char text[DISPLAY_NUMBER_BYTES] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		(void)strftime(text, sizeof(text), with_date ? "%m-%d %H:%M:%S" : "%H:%M:%S",
			       &local);
	(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%.24s.%03d", text, ms);
}

void display_sentence(FILE *out, size_t width, size_t indent, const char *format, ...)
{
	char raw[SENTENCE_BYTES], sentence[SHOWN_BYTES];
	const char *word = sentence;
	size_t column = 0;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	(void)display_escape(raw, strlen(raw), sentence, sizeof(sentence));
	while (*word) {
		/* Leading spaces belong to the word: they are the indent of the first line. */
		size_t length = strspn(word, " ");

		length += strcspn(word + length, " ");
		if (column > 0 && column + length >= width) {
			word += strspn(word, " ");
			length = strcspn(word, " ");
			(void)fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		(void)fwrite(word, 1, length, out);
		column += length;
		word += length;
	}
	(void)fputc('\n', out);
}
