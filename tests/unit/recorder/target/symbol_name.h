/* SPDX-License-Identifier: GPL-2.0-only */
/* The name of an ID as text. */
#pragma once

#include "recorder/target/ruby/ruby_symbols.h"
#include "recorder/target/ruby/ruby_value.h"

/* As ruby_symbols_find_name; 1: the text was cut. */
static inline int find_name_text(struct ruby_symbols *symbols, uint64_t id,
				 char ret_text[static VALUE_TEXT_BYTES])
{
	struct value_snapshot name;
	int r = ruby_symbols_find_name(symbols, id, &name);

	return r < 0 ? r : ruby_value_text(&name, NULL, NULL, ret_text);
}
