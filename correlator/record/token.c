/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/token.h"

/* The number is in the mark (IN_MARK), a payload of count bytes follows (FIXED), or a length field
 * follows (COUNTED; bytes is its size). An extension has a byte for its type after its length. */
#define IN_MARK(kind)                 \
	{                             \
		TOKEN_##kind, 0, 0, 1 \
	}
#define FIXED(kind, count)                \
	{                                 \
		TOKEN_##kind, 1, 0, count \
	}
#define COUNTED(kind, bytes)                        \
	{                                           \
		TOKEN_##kind, 1 + (bytes), bytes, 0 \
	}
#define FIXED_EXTENSION(count)           \
	{                                \
		TOKEN_OTHER, 2, 0, count \
	}
#define COUNTED_EXTENSION(bytes)                   \
	{                                          \
		TOKEN_OTHER, 2 + (bytes), bytes, 0 \
	}
#define FOUR(kind, n) \
	FIXED(kind, n), FIXED(kind, (n) + 1), FIXED(kind, (n) + 2), FIXED(kind, (n) + 3)
#define SIXTEEN(kind, n) \
	FOUR(kind, n), FOUR(kind, (n) + 4), FOUR(kind, (n) + 8), FOUR(kind, (n) + 12)

const struct token_mark token_marks[256] = {
	[0x00 ... 0x7f] = IN_MARK(UNSIGNED),
	[0x80] = SIXTEEN(MAP, 0),
	[0x90] = SIXTEEN(ARRAY, 0),
	[0xa0] = SIXTEEN(TEXT, 0),
	[0xb0] = SIXTEEN(TEXT, 16),
	[0xc0] = FIXED(OTHER, 0), /* nil */
	[0xc1] = { TOKEN_BAD, 0, 0, 0 },
	[0xc2] = FIXED(FALSE, 0),
	[0xc3] = FIXED(TRUE, 0),
	[0xc4] = COUNTED(OTHER, 1), /* binary */
	[0xc5] = COUNTED(OTHER, 2),
	[0xc6] = COUNTED(OTHER, 4),
	[0xc7] = COUNTED_EXTENSION(1),
	[0xc8] = COUNTED_EXTENSION(2),
	[0xc9] = COUNTED_EXTENSION(4),
	[0xca] = FIXED(OTHER, 4), /* floats */
	[0xcb] = FIXED(OTHER, 8),
	[0xcc] = FIXED(UNSIGNED, 1),
	[0xcd] = FIXED(UNSIGNED, 2),
	[0xce] = FIXED(UNSIGNED, 4),
	[0xcf] = FIXED(UNSIGNED, 8),
	[0xd0] = FIXED(SIGNED, 1),
	[0xd1] = FIXED(SIGNED, 2),
	[0xd2] = FIXED(SIGNED, 4),
	[0xd3] = FIXED(SIGNED, 8),
	[0xd4] = FIXED_EXTENSION(1),
	[0xd5] = FIXED_EXTENSION(2),
	[0xd6] = FIXED_EXTENSION(4),
	[0xd7] = FIXED_EXTENSION(8),
	[0xd8] = FIXED_EXTENSION(16),
	[0xd9] = COUNTED(TEXT, 1),
	[0xda] = COUNTED(TEXT, 2),
	[0xdb] = COUNTED(TEXT, 4),
	[0xdc] = COUNTED(ARRAY, 2),
	[0xdd] = COUNTED(ARRAY, 4),
	[0xde] = COUNTED(MAP, 2),
	[0xdf] = COUNTED(MAP, 4),
	[0xe0 ... 0xff] = IN_MARK(SIGNED),
};
