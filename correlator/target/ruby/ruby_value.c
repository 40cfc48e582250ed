#include "target/ruby/ruby_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "target/ruby/ruby_encoding.h"
#include "target/ruby/ruby_number.h"

enum {
	/* special_consts.h with flonum: the same from 2.7 on, but for nil and undef (3.2). */
	VALUE_FALSE = 0x00,
	VALUE_NIL = 0x04,
	VALUE_NIL_BEFORE_3_2 = 0x08,
	VALUE_TRUE = 0x14,
	VALUE_UNDEF = 0x24,
	VALUE_UNDEF_BEFORE_3_2 = 0x34,
	VALUE_SYMBOL_FLAG = 0x0c,
	BDIGIT_BYTES = 4,
	/* "…#" and 16 hex digits, rounded up. */
	CUT_MARK_BYTES = 24,
	TYPES_MAX = 0x20,
};

_Static_assert(VALUE_TEXT_BYTES >= TEXT_ESCAPE_BYTES * VALUE_BYTES_MAX + CUT_MARK_BYTES + 1,
	       "the longest text fits");
_Static_assert(VALUE_TEXT_BYTES >= (int)RUBY_INTEGER_TEXT_BYTES, "the longest Integer fits");
_Static_assert((int)RUBY_INTEGER_DIGITS_MAX *BDIGIT_BYTES == (int)VALUE_BYTES_MAX,
	       "all digits fit");

/* The resolver of symbols and its context. */
struct symbol_finder {
	ruby_value_symbol_fn find;
	void *context;
};

static void put_cut_mark(uint64_t digest, size_t length, char ret_text[static VALUE_TEXT_BYTES])
{
	(void)snprintf(ret_text + length, VALUE_TEXT_BYTES - length, "…#%016" PRIx64, digest);
}

static int put_text(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	bool is_cut = value->flags & VALUE_TRUNCATED;
	size_t length;

	if (value->length_bytes > VALUE_BYTES_MAX ||
	    (is_cut ? value->length_bytes != VALUE_BYTES_MAX : value->raw != value->length_bytes))
		return -EINVAL;
	length = ruby_encoding_text(value->encoding, value->bytes, value->length_bytes, is_cut,
				    ret_text, VALUE_TEXT_BYTES - CUT_MARK_BYTES);
	if (is_cut)
		put_cut_mark(value->raw, length, ret_text);
	return is_cut;
}

static int put_symbol(const struct symbol_finder *finder, uint64_t id,
		      char ret_text[static VALUE_TEXT_BYTES])
{
	struct value_snapshot name;
	int r = -ENOENT;

	if (finder->find)
		r = finder->find(finder->context, id, &name);
	if (r == -EAGAIN)
		return r;
	if (r == 0)
		return put_text(&name, ret_text);
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, ":0x%" PRIx64, id);
	return 0;
}

static int put_immediate(uint64_t raw, const struct symbol_finder *finder,
			 char ret_text[static VALUE_TEXT_BYTES])
{
	const char *text;

	if (raw & 1) {
		/* A fixnum is 2n + 1. */
		(void)snprintf(ret_text, VALUE_TEXT_BYTES, "%" PRId64, (int64_t)raw >> 1);
		return 0;
	}
	if ((raw & 3) == 2) {
		(void)ruby_number_float_text(ruby_number_flonum(raw), ret_text);
		return 0;
	}
	if ((raw & 0xff) == VALUE_SYMBOL_FLAG)
		return put_symbol(finder, raw >> 8, ret_text);
	switch (raw) {
	case VALUE_FALSE:
		text = "false";
		break;
	case VALUE_TRUE:
		text = "true";
		break;
	case VALUE_NIL:
	case VALUE_NIL_BEFORE_3_2:
		text = "";
		break;
	case VALUE_UNDEF:
	case VALUE_UNDEF_BEFORE_3_2:
		text = "#<T_UNDEF>";
		break;
	default:
		/* An aligned one is an address, which no program takes for an immediate. */
		if ((raw & 7) == 0)
			return -EINVAL;
		text = "#<T_NONE>";
		break;
	}
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, "%s", text);
	return 0;
}

static int put_bignum(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	static const char huge[] = "#<T_BIGNUM>";
	uint32_t digits[RUBY_INTEGER_DIGITS_MAX];
	size_t count = value->length_bytes / BDIGIT_BYTES;
	bool is_cut = value->flags & VALUE_TRUNCATED;

	if (value->length_bytes % BDIGIT_BYTES != 0 ||
	    (is_cut ? count != RUBY_INTEGER_DIGITS_MAX : value->raw != count))
		return -EINVAL;
	if (is_cut) {
		memcpy(ret_text, huge, sizeof(huge));
		put_cut_mark(value->raw, sizeof(huge) - 1, ret_text);
		return 1;
	}
	memcpy(digits, value->bytes, value->length_bytes);
	(void)ruby_number_integer_text(digits, count, value->flags & VALUE_NEGATIVE, ret_text);
	return 0;
}

static int put_object(const struct value_snapshot *value, char ret_text[static VALUE_TEXT_BYTES])
{
	/* enum ruby_value_type (value_type.h), the same from 2.7 on. */
	static const char *const names[TYPES_MAX] = {
		"NONE", "OBJECT", "CLASS",  "MODULE", "FLOAT",	"STRING", "REGEXP",  "ARRAY",
		"HASH", "STRUCT", "BIGNUM", "FILE",   "DATA",	"MATCH",  "COMPLEX", "RATIONAL",
		NULL,	"NIL",	  "TRUE",   "FALSE",  "SYMBOL", "FIXNUM", "UNDEF",   NULL,
		NULL,	NULL,	  "IMEMO",  "NODE",   "ICLASS", "ZOMBIE", "MOVED",   NULL,
	};

	if (value->type >= TYPES_MAX)
		return -EINVAL;
	(void)snprintf(ret_text, VALUE_TEXT_BYTES, "#<T_%s>",
		       names[value->type] ? names[value->type] : "NONE");
	return 0;
}

int ruby_value_text(const struct value_snapshot *value, ruby_value_symbol_fn find_symbol,
		    void *context, char ret_text[static VALUE_TEXT_BYTES])
{
	const struct symbol_finder finder = { .find = find_symbol, .context = context };
	char text[VALUE_TEXT_BYTES] = "";
	double number;
	int r = -EINVAL;

	if (value->length_bytes > VALUE_BYTES_MAX ||
	    value->flags & ~(VALUE_TRUNCATED | VALUE_NEGATIVE))
		return -EINVAL;
	switch ((enum value_kind)value->kind) {
	case VALUE_KIND_ABSENT:
		return -ENODATA;
	case VALUE_KIND_IMMEDIATE:
		r = put_immediate(value->raw, &finder, text);
		break;
	case VALUE_KIND_STRING:
	case VALUE_KIND_SYMBOL:
		r = put_text(value, text);
		break;
	case VALUE_KIND_FLOAT:
		memcpy(&number, &value->raw, sizeof(number));
		(void)ruby_number_float_text(number, text);
		r = 0;
		break;
	case VALUE_KIND_BIGNUM:
		r = put_bignum(value, text);
		break;
	case VALUE_KIND_OBJECT:
		r = put_object(value, text);
		break;
	case VALUE_KIND_UNREADABLE:
		(void)snprintf(text, sizeof(text), "#<unreadable>");
		r = 0;
		break;
	case _VALUE_KIND_MAX:
		break;
	}
	if (r < 0)
		return r;
	memcpy(ret_text, text, sizeof(text));
	return r;
}
