/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "record/token.h"

#include <stdbool.h>

#include "record/sample.h"

/* What the library packs, by the first byte: each of its 255 marks but those of floats is met. */
static bool met[256];

static struct token read_packed(const msgpack_sbuffer *buffer)
{
	const uint8_t *bytes = (const uint8_t *)buffer->data;
	struct token token = token_read(bytes, buffer->size);

	met[bytes[0]] = true;
	for (size_t cut = 1; cut < token.head_bytes && token.kind >= TOKEN_TEXT; cut++)
		assert_int_equal(token_read(bytes, cut).kind, TOKEN_CUT);
	return token;
}

static struct token number_token(int64_t number, msgpack_sbuffer *buffer)
{
	msgpack_packer packer;

	msgpack_sbuffer_clear(buffer);
	msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
	msgpack_pack_int64(&packer, number);
	return read_packed(buffer);
}

TEST(token_number_payload_matches_library)
{
	msgpack_sbuffer buffer;

	msgpack_sbuffer_init(&buffer);
	for (int shift = 0; shift < 63; shift++) {
		for (int64_t number = (INT64_C(1) << shift) - 1; number <= INT64_C(1) << shift;
		     number++) {
			struct token token = number_token(number, &buffer);
			const uint8_t *bytes = (const uint8_t *)buffer.data;

			assert_int_equal(token.kind, TOKEN_UNSIGNED);
			assert_int_equal(token_bytes(token), buffer.size);
			assert_true(token_number(bytes + token.head_bytes, token.count) ==
				    (uint64_t)number);
			token = number_token(-number - 1, &buffer);
			bytes = (const uint8_t *)buffer.data;
			assert_int_equal(token.kind, TOKEN_SIGNED);
			assert_int_equal(token_bytes(token), buffer.size);
			assert_int_equal(
				(uint8_t)token_number(bytes + token.head_bytes, token.count),
				(uint8_t)(-number - 1));
		}
	}
	for (int number = -32; number < 128; number++)
		assert_int_equal(number_token(number, &buffer).head_bytes, 0);
	msgpack_sbuffer_destroy(&buffer);
}

static void expect_counted(uint32_t count)
{
	static const char bytes[70000];
	static const enum token_kind kinds[] = { TOKEN_TEXT, TOKEN_OTHER, TOKEN_OTHER, TOKEN_ARRAY,
						 TOKEN_MAP };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		msgpack_sbuffer buffer;
		msgpack_packer packer;
		struct token token;

		msgpack_sbuffer_init(&buffer);
		msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
		if (i == 0)
			msgpack_pack_str_with_body(&packer, bytes, count);
		else if (i == 1)
			msgpack_pack_bin_with_body(&packer, bytes, count);
		else if (i == 2)
			msgpack_pack_ext_with_body(&packer, bytes, count, 5);
		else if (i == 3)
			msgpack_pack_array(&packer, count);
		else
			msgpack_pack_map(&packer, count);
		token = read_packed(&buffer);
		assert_int_equal(token.kind, kinds[i]);
		assert_int_equal(token.count, count);
		assert_int_equal(token_bytes(token), buffer.size);
		msgpack_sbuffer_destroy(&buffer);
	}
}

TEST(token_count_of_texts_and_lists_matches_library)
{
	for (uint32_t count = 0; count <= 300; count++)
		expect_counted(count);
	for (uint32_t count = 65530; count <= 65540; count++)
		expect_counted(count);
}

TEST(token_kind_of_each_other_mark_matches_format)
{
	static const struct {
		uint8_t mark;
		struct token token;
	} others[] = {
		{ 0xc0, { TOKEN_OTHER, 1, 0 } },    { 0xc1, { TOKEN_BAD, 0, 0 } },
		{ 0xc2, { TOKEN_FALSE, 1, 0 } },    { 0xc3, { TOKEN_TRUE, 1, 0 } },
		{ 0xca, { TOKEN_OTHER, 1, 4 } },    { 0xcb, { TOKEN_OTHER, 1, 8 } },
		{ 0xd0, { TOKEN_SIGNED, 1, 1 } },   { 0xd1, { TOKEN_SIGNED, 1, 2 } },
		{ 0xd2, { TOKEN_SIGNED, 1, 4 } },   { 0xd3, { TOKEN_SIGNED, 1, 8 } },
		{ 0xcc, { TOKEN_UNSIGNED, 1, 1 } }, { 0xcd, { TOKEN_UNSIGNED, 1, 2 } },
		{ 0xce, { TOKEN_UNSIGNED, 1, 4 } }, { 0xcf, { TOKEN_UNSIGNED, 1, 8 } },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct token token = token_read(&others[i].mark, 1);

		assert_int_equal(token.kind, others[i].token.kind);
		assert_int_equal(token.head_bytes, others[i].token.head_bytes);
		assert_int_equal(token.count, others[i].token.count);
		met[others[i].mark] = true;
	}
	for (int mark = 0; mark < 256; mark++)
		assert_true(met[mark]);
}
