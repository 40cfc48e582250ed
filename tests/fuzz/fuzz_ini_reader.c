/* SPDX-License-Identifier: GPL-2.0-only */
/* A configuration file: what comes out is fit to print, and in order. */
#include "base/ini_reader.h"
#include "fuzz.h"
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	/* To the byte, so that a sanitizer sees one more. */
	char *text = malloc(size_bytes + 1);
	struct ini_reader reader;
	struct ini_item item;
	unsigned int line = 0;

	FUZZ_REQUIRE(text);
	if (size_bytes > 0)
		memcpy(text, data, size_bytes);
	ini_reader_init(&reader, text, size_bytes);
	for (ini_reader_next(&reader, &item); item.kind != INI_KIND_END;
	     ini_reader_next(&reader, &item)) {
		FUZZ_REQUIRE(reader.line > line);
		line = reader.line;
		FUZZ_REQUIRE((item.kind == INI_KIND_WRONG) == (item.problem != NULL));
		FUZZ_REQUIRE(strlen(item.name) <= size_bytes);
		if (item.kind == INI_KIND_WRONG)
			continue;
		fuzz_require_clean(item.name, strlen(item.name) + 1);
		if (item.kind == INI_KIND_SETTING) {
			FUZZ_REQUIRE(item.name[0] && item.value[0]);
			fuzz_require_clean(item.value, strlen(item.value) + 1);
		}
	}
	free(text);
	return 0;
}
