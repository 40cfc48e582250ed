/* SPDX-License-Identifier: GPL-2.0-only */
/* Mangled names: the text is clean up to its end, and the same when it comes from the cache. */
#include "fuzz.h"
#include "recorder/symbolize/demangler.h"

enum {
	TEXT_BYTES = 128
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct demangler *demangler;
	char first[TEXT_BYTES], second[TEXT_BYTES];
	char *name = strndup((const char *)data, size_bytes);

	if (!demangler)
		demangler = demangler_new();
	FUZZ_REQUIRE(name && demangler);
	(void)demangler_write(demangler, name, true, first, sizeof(first));
	FUZZ_REQUIRE(memchr(first, '\0', sizeof(first)));
	FUZZ_REQUIRE(demangler_write(demangler, name, true, second, sizeof(second)));
	FUZZ_REQUIRE(strcmp(first, second) == 0);
	free(name);
	return 0;
}
