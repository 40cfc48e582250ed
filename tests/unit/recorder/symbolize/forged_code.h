/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of a Ruby 3.3 that does not exist, in forged memory: iseqs with their texts and lines,
 * methods, classes. Beside a symbol table, in which `request_id` has STATIC_ID.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include <correlator/ruby_frame.h>

#include "recorder/target/forged_ruby.h"
#include "recorder/target/ruby_layouts.h"

enum {
	CODE_WORDS = 8,
	BODY_WORDS = 24,
};

static inline uint64_t forge_imemo(uint32_t type)
{
	return RUBY_TYPE_IMEMO | (uint64_t)type << RUBY_IMEMO_SHIFT;
}

/*
 * An iseq whose first line is 10; the code's words 0 to 3 are of line 11, the others of line 12.
 * The code itself is nowhere.
 */
static inline uint64_t forge_iseq_at(struct forged_ruby *ruby, uint64_t path, const char *label,
				     const char *base)
{
	const uint32_t entries[] = { 11, 0, 0, 12, 0, 0 };
	const uint32_t positions[] = { 0, 4 };
	uint64_t body[BODY_WORDS] = { 0 };
	uint64_t iseq[] = { forge_imemo(RUBY_IMEMO_ISEQ), 0, 0, 0, 0 };

	body[0] = (uint64_t)CODE_WORDS << 32 | RUBY_ISEQ_METHOD;
	body[1] = 0x7f7700000000;
	body[8] = path;
	body[9] = forge_string(ruby, base);
	body[10] = forge_string(ruby, label);
	body[11] = 10;
	body[15] = forged_take(&ruby->memory, sizeof(entries));
	forged_write(&ruby->memory, body[15], entries, sizeof(entries));
	body[17] = 2;
	body[18] = forged_take(&ruby->memory, sizeof(positions));
	forged_write(&ruby->memory, body[18], positions, sizeof(positions));
	iseq[2] = forged_words(&ruby->memory, body, BODY_WORDS);
	return forged_words(&ruby->memory, iseq, 5);
}

static inline uint64_t forge_iseq(struct forged_ruby *ruby, const char *label, const char *base)
{
	return forge_iseq_at(ruby, forge_string(ruby, "/srv/order.rb"), label, base);
}

/* A method whose name is `request_id`. */
static inline uint64_t forge_method(struct forged_ruby *ruby, uint32_t type, uint64_t class)
{
	const uint64_t definition[] = { type | 0x7ffffff0, 0, 0, 0, STATIC_ID };
	const uint64_t method[] = { forge_imemo(RUBY_IMEMO_METHOD), class,
				    forged_words(&ruby->memory, definition, 5), 0, 0 };

	return forged_words(&ruby->memory, method, 5);
}

/* name NULL: it has none. */
static inline uint64_t forge_class(struct forged_ruby *ruby, uint32_t type, uint64_t klass,
				   const char *name, uint64_t attached)
{
	const uint64_t words[] = { type,    klass, 0, 0, 0, 0, name ? forge_string(ruby, name) : 0,
				   attached };

	return forged_words(&ruby->memory, words, 8);
}

static inline struct ruby_frame ruby_frame_of(uint64_t iseq, uint32_t word, uint64_t method)
{
	return (struct ruby_frame){ .object_kind = iseq | RUBY_FRAME_RUBY,
				    .pc = 0x7f7700000000 + 8ULL * word,
				    .method = method };
}

static inline struct ruby_frame c_frame_of(uint64_t method)
{
	return (struct ruby_frame){ .object_kind = method | RUBY_FRAME_C };
}
