/* SPDX-License-Identifier: GPL-2.0-only */
/* What must hold of every text that leaves for a record. */
#pragma once

#include "base/text.h"
#include "fuzz.h"

/* Ends within its room, and is valid UTF-8 without control characters: escaping changes nothing. */
static inline void fuzz_require_clean(const char *text, size_t room_bytes)
{
	char *again = malloc(room_bytes);

	FUZZ_REQUIRE(again);
	FUZZ_REQUIRE(memchr(text, '\0', room_bytes));
	(void)text_escape(text, strlen(text), 0, again, room_bytes);
	FUZZ_REQUIRE(strcmp(again, text) == 0);
	free(again);
}
