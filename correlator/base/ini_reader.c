/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/ini_reader.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

void ini_reader_init(struct ini_reader *reader, char *text, size_t size_bytes)
{
	static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark, as some editors
						    * write it */
	size_t marked = strlen(mark);

	*reader = (struct ini_reader){ .rest = text, .end = text + size_bytes };
	if (size_bytes >= marked && memcmp(text, mark, marked) == 0)
		reader->rest += marked;
}

static bool is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\r';
}

/* Strips the blanks around [text, *end), and NUL-terminates the result at the new *end. */
static char *trim(char *text, char **end)
{
	while (text < *end && is_blank(*text))
		text++;
	while (*end > text && is_blank((*end)[-1]))
		(*end)--;
	**end = '\0';
	return text;
}

static const char *problem_of_value(const char *value)
{
	size_t length = strlen(value);

	if (length == 0)
		return "no value";
	if (length > 1 && strchr("'\"", value[0]) && value[length - 1] == value[0])
		return "a value stands without quotes";
	if (strchr("#;", value[0]) || strstr(value, " #") || strstr(value, " ;"))
		return "a comment is a line of its own";
	if (value[length - 1] == '\\')
		return "a value ends with its line";
	return text_is_clean(value) ? NULL : "a control character, or not UTF-8";
}

static void read_setting(char *line, char *equals, char *end, struct ini_item *ret_item)
{
	ret_item->kind = INI_KIND_SETTING;
	ret_item->value = trim(equals + 1, &end);
	ret_item->name = trim(line, &equals);
	if (!ret_item->name[0])
		ret_item->problem = "no key before the =";
	else if (!text_is_clean(ret_item->name))
		ret_item->problem = "a control character, or not UTF-8";
	else
		ret_item->problem = problem_of_value(ret_item->value);
}

static void read_section(char *line, char *end, struct ini_item *ret_item)
{
	ret_item->kind = INI_KIND_SECTION;
	ret_item->name = line;
	if (end[-1] != ']') {
		ret_item->problem = "a section is [NAME], and nothing else on its line";
	} else if (!text_is_clean(line)) {
		ret_item->problem = "a control character, or not UTF-8";
	} else {
		end[-1] = '\0';
		ret_item->name = line + 1;
	}
}

static void read_line(char *line, char *end, struct ini_item *ret_item)
{
	char *equals = strchr(line, '=');

	*ret_item = (struct ini_item){ .name = line };
	if (memchr(line, '\0', (size_t)(end - line)))
		ret_item->problem = "a NUL character: this is no text";
	else if (line[0] == '[')
		read_section(line, end, ret_item);
	else if (equals)
		read_setting(line, equals, end, ret_item);
	else
		ret_item->problem = "neither [SECTION] nor KEY = VALUE";
	if (ret_item->problem)
		ret_item->kind = INI_KIND_WRONG;
}

void ini_reader_next(struct ini_reader *reader, struct ini_item *ret_item)
{
	while (reader->rest < reader->end) {
		char *line = reader->rest;
		char *newline = memchr(line, '\n', (size_t)(reader->end - line));
		char *end = newline ? newline : reader->end;

		reader->rest = newline ? newline + 1 : end;
		reader->line++;
		line = trim(line, &end);
		if (line == end || line[0] == '#' || line[0] == ';')
			continue;
		read_line(line, end, ret_item);
		return;
	}
	*ret_item = (struct ini_item){ .kind = INI_KIND_END };
}
