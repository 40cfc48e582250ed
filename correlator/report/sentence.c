#include "report/sentence.h"

#include <stdarg.h>
#include <string.h>

enum {
	SENTENCE_BYTES = 2048,
};

void sentence_print(FILE *out, size_t width, size_t indent, const char *format, ...)
{
	char sentence[SENTENCE_BYTES];
	const char *word = sentence;
	size_t column = 0;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
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
