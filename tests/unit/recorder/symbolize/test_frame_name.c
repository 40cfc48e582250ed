/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/frame_name.h"

#include <errno.h>

#include "unit_test.h"

#include "recorder/symbolize/forged_code.h"
#include "recorder/symbolize/witness.h"

struct fixture {
	struct forged_ruby *ruby;
	struct ruby_symbols *symbols;
	struct ruby_stack_layout layout;
	struct frame_namer namer;
	struct frame_name name; /* that was read last */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->ruby = forge_ruby(&layouts[2]);
	fixture->layout = layout_3_3;
	if (ruby_symbols_new(&fixture->ruby->reader, fixture->ruby->table, NULL, 0,
			     &fixture->symbols) < 0)
		return -1;
	fixture->namer = (struct frame_namer){ &fixture->layout, fixture->symbols };
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	ruby_symbols_free(fixture->symbols);
	free(fixture->ruby);
	free(fixture);
	return 0;
}

static int read_name(struct fixture *fixture, struct ruby_frame frame)
{
	memset(&fixture->name, 0xa5, sizeof(fixture->name));
	return frame_name_read(&fixture->namer, &fixture->ruby->reader, &frame, &fixture->name);
}

static void assert_label(struct fixture *fixture, struct ruby_frame frame, const char *label)
{
	assert_int_equal(read_name(fixture, frame), 0);
	assert_string_equal(fixture->name.label, label);
}

static void assert_unknown(struct fixture *fixture, struct ruby_frame frame)
{
	assert_label(fixture, frame, FRAME_UNKNOWN);
	assert_string_equal(fixture->name.path, "");
	assert_int_equal(fixture->name.line, 0);
	assert_int_equal(fixture->name.first_line, 0);
	assert_int_equal(fixture->name.block_depth, 0);
	assert_false(fixture->name.is_line_old);
}

/* A word of an iseq's body. */
static void set_body(struct fixture *fixture, uint64_t iseq, uint32_t offset, uint64_t word)
{
	struct ruby_object object;

	assert_int_equal(ruby_object_read(&fixture->ruby->reader, iseq, &object), 0);
	forged_write_u64(&fixture->ruby->memory, object.words[2] + offset, word);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(frame_name_has_label_path_and_lines)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = ruby_frame_of(forge_iseq(fixture->ruby, "total", "total"), 2, 0);

	assert_label(fixture, frame, "total");
	assert_string_equal(fixture->name.path, "/srv/order.rb");
	assert_int_equal(fixture->name.first_line, 10);
	assert_int_equal(fixture->name.line, 11);
	assert_int_equal(fixture->name.block_depth, 0);
	assert_false(fixture->name.is_line_old);
	/* Compiled code is said to be. */
	frame.object_kind = ruby_frame_object(&frame) | RUBY_FRAME_COMPILED;
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.line, 11);
	assert_true(fixture->name.is_line_old);
}

FIXTURE_TEST(frame_name_line_precedes_pc_and_stays_within_code)
{
	struct fixture *fixture = *state;
	uint64_t iseq = forge_iseq(fixture->ruby, "total", "total");
	static const struct {
		uint32_t word, line;
	} cases[] = { { 0, 11 },	{ 1, 11 },	    { 4, 11 },
		      { 5, 12 },	{ CODE_WORDS, 12 }, { CODE_WORDS + 1, 0 },
		      { UINT32_MAX, 0 } };
	struct ruby_frame frame;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_label(fixture, ruby_frame_of(iseq, cases[i].word, 0), "total");
		assert_int_equal(fixture->name.line, cases[i].line);
		assert_int_equal(fixture->name.first_line, 10);
	}
	frame = ruby_frame_of(iseq, 0, 0);
	frame.pc--;
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.line, 0);
	frame.pc = 0;
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.line, 0);
	/* Nor is none at all of code that says that it begins there. */
	set_body(fixture, iseq, 8, 0);
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.line, 0);
}

FIXTURE_TEST(frame_name_line_is_unknown_without_line_table)
{
	struct fixture *fixture = *state;
	uint32_t *members[] = { &fixture->layout.body_lines, &fixture->layout.body_line_count,
				&fixture->layout.body_line_positions,
				&fixture->layout.line_entry_bytes,
				&fixture->layout.line_positions_kind };
	struct ruby_frame frame = ruby_frame_of(forge_iseq(fixture->ruby, "total", "total"), 2, 0);

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		fixture->layout = layout_3_3;
		*members[i] = RUBY_LAYOUT_UNKNOWN;
		assert_label(fixture, frame, "total");
		assert_int_equal(fixture->name.line, 0);
	}
}

FIXTURE_TEST(frame_name_first_line_is_fixnum_or_int)
{
	struct fixture *fixture = *state;
	uint64_t iseq = forge_iseq(fixture->ruby, "total", "total");
	struct ruby_frame frame = ruby_frame_of(iseq, 2, 0);

	set_body(fixture, iseq, 0x58, 0xdead00000000 | INT32_MAX);
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.first_line, INT32_MAX);
	set_body(fixture, iseq, 0x58, 0x80000000);
	assert_unknown(fixture, frame);
	fixture->layout.body_first_line_kind = RUBY_FIRST_LINE_VALUE;
	set_body(fixture, iseq, 0x58, 2 * 4711 + 1);
	assert_label(fixture, frame, "total");
	assert_int_equal(fixture->name.first_line, 4711);
	set_body(fixture, iseq, 0x58, 2 * 4711);
	assert_unknown(fixture, frame);
	set_body(fixture, iseq, 0x58, 0x100000001);
	assert_unknown(fixture, frame);
}

/* What would be read where no member is, is what the member says. */
FIXTURE_TEST(frame_name_does_not_read_members_unknown_to_layout)
{
	struct fixture *fixture = *state;
	struct forged_memory *memory = &fixture->ruby->memory;
	uint32_t *members[] = { &fixture->layout.iseq_body, &fixture->layout.body_label,
				&fixture->layout.body_base_label, &fixture->layout.body_path,
				&fixture->layout.body_first_line };
	uint64_t iseq = forge_iseq(fixture->ruby, "total", "total");
	struct ruby_frame frame = ruby_frame_of(iseq, 2, 0);
	uint64_t body, word;

	memcpy(&body, memory->bytes + (iseq + 0x10 - FORGED_BASE), sizeof(body));
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		uint64_t object = i == 0 ? iseq : body;

		fixture->layout = layout_3_3;
		memcpy(&word, memory->bytes + (object + *members[i] - FORGED_BASE), sizeof(word));
		*members[i] = RUBY_LAYOUT_OFFSET_MAX;
		forged_write_u64(memory, object + RUBY_LAYOUT_OFFSET_MAX, word);
		assert_label(fixture, frame, "total");
		*members[i] = RUBY_LAYOUT_OFFSET_MAX + 1;
		forged_write_u64(memory, object + RUBY_LAYOUT_OFFSET_MAX + 1, word);
		assert_unknown(fixture, frame);
	}
}

FIXTURE_TEST(frame_name_reads_path_from_array)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t pair[] = { T_ARRAY | FLAG_13 | 2 << 15, 0, forge_string(ruby, "order.rb"),
			    forge_string(ruby, "/real/order.rb"), 0 };
	uint64_t empty[] = { T_ARRAY | FLAG_13, 0, pair[2], 0, 0 };

	assert_label(fixture,
		     ruby_frame_of(forge_iseq_at(ruby, forged_words(&ruby->memory, pair, 5),
						 "total", "total"),
				   2, 0),
		     "total");
	assert_string_equal(fixture->name.path, "order.rb");
	assert_unknown(fixture,
		       ruby_frame_of(forge_iseq_at(ruby, forged_words(&ruby->memory, empty, 5),
						   "total", "total"),
				     2, 0));
}

FIXTURE_TEST(frame_name_takes_block_depth_from_label)
{
	static const struct {
		const char *label;
		uint32_t depth;
	} cases[] = {
		{ "total", 0 },
		{ "block in total", 1 },
		{ "block (2 levels) in total", 2 },
		{ "rescue in block (17 levels) in total", 17 },
		{ "ensure in total", 0 },
		{ "block (99999999999999999999 levels) in total", 0 },
		{ "block (999 levels) in total", 999 },
		{ "block (1000 levels) in total", 0 },
		/* No label of this method's. */
		{ "block in other", 0 },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_label(
			fixture,
			ruby_frame_of(forge_iseq(fixture->ruby, cases[i].label, "total"), 2, 0),
			cases[i].label);
		assert_int_equal(fixture->name.block_depth, cases[i].depth);
	}
	/* A method that is called so. */
	assert_label(fixture,
		     ruby_frame_of(forge_iseq(fixture->ruby, "block in", "block in"), 2, 0),
		     "block in");
	assert_int_equal(fixture->name.block_depth, 0);
	assert_label(fixture, ruby_frame_of(forge_iseq(fixture->ruby, "x", "longer than it"), 2, 0),
		     "x");
}

FIXTURE_TEST(frame_name_qualifies_method_with_its_class)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Shop::Order", 0x1234);
	uint64_t module = forge_class(ruby, RUBY_TYPE_MODULE, 0, "Billing", 0);
	uint64_t unnamed = forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, 0);
	const struct {
		uint64_t class;
		const char *label;
	} cases[] = {
		{ order, "block in Shop::Order#request_id" },
		{ module, "block in Billing#request_id" },
		{ forge_class(ruby, RUBY_TYPE_ICLASS, module, "Wrong", 0),
		  "block in Billing#request_id" },
		{ forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, order),
		  "block in Shop::Order.request_id" },
		{ forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, module),
		  "block in Billing.request_id" },
		/* Of an object; of a class without a name; an allocator's address. */
		{ forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, forge_string(ruby, "x")),
		  "block in request_id" },
		{ forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, unnamed), "block in request_id" },
		{ forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, 0x7f1100000000),
		  "block in request_id" },
		{ unnamed, "block in request_id" },
	};
	uint64_t iseq = forge_iseq(ruby, "block in total", "total");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t method = forge_method(ruby, RUBY_DEFINITION_ISEQ, cases[i].class);

		assert_label(fixture, ruby_frame_of(iseq, 2, method), cases[i].label);
		assert_int_equal(fixture->name.block_depth, 1);
		/* As a C function the same, without the block. */
		method = forge_method(ruby, RUBY_DEFINITION_C, cases[i].class);
		assert_label(fixture, c_frame_of(method), cases[i].label + strlen("block in "));
		assert_string_equal(fixture->name.path, "");
		assert_int_equal(fixture->name.line, 0);
	}
}

FIXTURE_TEST(frame_name_of_block_method_is_its_method_name)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t block = forge_method(ruby, RUBY_DEFINITION_BLOCK, order);
	uint64_t iseq = forge_iseq(ruby, "block (2 levels) in <class:Order>", "<class:Order>");
	uint64_t rescue = forge_iseq(ruby, "rescue in block in <main>", "<main>");
	static const struct {
		uint64_t level;
		const char *label;
		uint32_t depth;
	} cases[] = {
		{ 1, "Order#request_id", 0 },
		{ 2, "block in Order#request_id", 1 },
		{ 3, "block (2 levels) in Order#request_id", 2 },
		{ 6, "block (5 levels) in Order#request_id", 5 },
		/* It is not known how deep. */
		{ RUBY_METHOD_IS_DEEP, "block (2 levels) in <class:Order>", 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_label(fixture, ruby_frame_of(iseq, 2, block | cases[i].level),
			     cases[i].label);
		assert_int_equal(fixture->name.block_depth, cases[i].depth);
	}
	/* Of another kind, or another label. */
	assert_label(fixture,
		     ruby_frame_of(iseq, 2, forge_method(ruby, RUBY_DEFINITION_ISEQ, order) | 1),
		     "block (2 levels) in Order#request_id");
	assert_label(fixture, ruby_frame_of(rescue, 2, block | 2), "rescue in block in <main>");
	/* Where classes have no names at hand the method has one all the same. */
	fixture->layout.class_path = RUBY_LAYOUT_UNKNOWN;
	assert_label(fixture, ruby_frame_of(iseq, 2, block | 1), "request_id");
}

FIXTURE_TEST(frame_name_of_evaluated_code_is_its_surrounding_method)
{
	struct fixture *fixture = *state;
	uint64_t order = forge_class(fixture->ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t method = forge_method(fixture->ruby, RUBY_DEFINITION_ISEQ, order);
	uint64_t iseq = forge_iseq(fixture->ruby, "<compiled>", "<main>");

	assert_label(fixture, ruby_frame_of(iseq, 2, 0), "<main>");
	assert_label(fixture, ruby_frame_of(iseq, 2, method), "Order#request_id");
}

FIXTURE_TEST(frame_name_keeps_label_without_class_names)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t iseq = forge_iseq(ruby, "block in total", "total");

	/* A block that a method was made of. */
	assert_label(fixture, ruby_frame_of(iseq, 2, forge_method(ruby, 3, order)),
		     "block in total");
	fixture->layout.class_path = RUBY_LAYOUT_UNKNOWN;
	/* Nor is the method looked at. */
	assert_label(fixture, ruby_frame_of(iseq, 2, 0x10), "block in total");
	assert_label(fixture, c_frame_of(forge_method(ruby, RUBY_DEFINITION_C, order)),
		     "request_id");
	fixture->layout = layout_3_3;
	fixture->layout.class_attached = RUBY_LAYOUT_UNKNOWN;
	assert_label(fixture, c_frame_of(forge_method(ruby, RUBY_DEFINITION_C, order)),
		     "request_id");
}

FIXTURE_TEST(frame_name_is_unknown_for_malformed_objects)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t method = forge_method(ruby, RUBY_DEFINITION_C, order);
	uint64_t iseq = forge_iseq(ruby, "total", "total");
	uint64_t string = forge_string(ruby, "x");

	assert_unknown(fixture, ruby_frame_of(method, 2, 0));
	assert_unknown(fixture, ruby_frame_of(string, 2, 0));
	assert_unknown(fixture, ruby_frame_of(0, 2, 0));
	assert_unknown(fixture, ruby_frame_of(0x10, 2, 0));
	assert_unknown(fixture, ruby_frame_of(FORGED_BASE - 64, 2, 0));
	assert_unknown(fixture, ruby_frame_of(iseq, 2, string));
	assert_unknown(fixture, c_frame_of(0));
	assert_unknown(fixture, c_frame_of(iseq));
	assert_unknown(fixture, c_frame_of(string));
	assert_unknown(fixture, c_frame_of(forge_method(ruby, RUBY_DEFINITION_ISEQ, order)));
	assert_unknown(fixture, (struct ruby_frame){ RUBY_FRAME_UNREADABLE, 0, 0 });
	assert_unknown(fixture, (struct ruby_frame){ iseq | _RUBY_FRAME_KIND_MAX, 0, 0 });
	assert_unknown(fixture, (struct ruby_frame){ iseq | RUBY_FRAME_KIND_MASK, 0, 0 });
	assert_unknown(fixture, (struct ruby_frame){ iseq, 0, 0 });
	/* A text that is none. */
	set_body(fixture, iseq, 0x50, order);
	assert_unknown(fixture, ruby_frame_of(iseq, 2, 0));
	/* Without a symbol table, and of one that is not in it. */
	assert_label(fixture, c_frame_of(method), "Order#request_id");
	fixture->namer.symbols = NULL;
	assert_unknown(fixture, c_frame_of(method));
}

FIXTURE_TEST(frame_name_of_collection_is_gc_label)
{
	struct fixture *fixture = *state;

	assert_label(fixture, (struct ruby_frame){ RUBY_FRAME_GC, 0, 0 }, FRAME_COLLECTION);
	assert_string_equal(fixture->name.path, "");
}

FIXTURE_TEST(frame_name_texts_are_bounded_and_escaped)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	char long_text[700] = "";
	uint64_t huge[] = { T_STRING | FLAG_13, 0, 1 << 30, FORGED_BASE, 0 };
	uint64_t iseq;

	assert_label(fixture, ruby_frame_of(forge_iseq(ruby, "a\x1b[31m\xff", "b"), 2, 0),
		     "a\\x1b[31m\\xff");
	memset(long_text, 'x', sizeof(long_text) - 1);
	iseq = forge_iseq_at(ruby, forge_string(ruby, long_text), long_text, long_text);
	assert_int_equal(read_name(fixture, ruby_frame_of(iseq, 2, 0)), 0);
	assert_int_equal(strlen(fixture->name.label), FRAME_TEXT_BYTES_MAX + strlen("…"));
	assert_string_equal(fixture->name.label + FRAME_TEXT_BYTES_MAX, "…");
	assert_int_equal(strlen(fixture->name.path), FRAME_PATH_TEXT_BYTES_MAX + strlen("…"));
	assert_string_equal(fixture->name.path + FRAME_PATH_TEXT_BYTES_MAX, "…");
	/* Each byte is four: more than there is room for. */
	memset(long_text, 1, sizeof(long_text) - 1);
	iseq = forge_iseq_at(ruby, forge_string(ruby, long_text), long_text, "b");
	assert_int_equal(read_name(fixture, ruby_frame_of(iseq, 2, 0)), 0);
	assert_true(strlen(fixture->name.label) < FRAME_LABEL_BYTES);
	assert_true(strlen(fixture->name.label) > FRAME_LABEL_BYTES - 8);
	assert_true(strlen(fixture->name.path) < FRAME_PATH_BYTES);
	/* A gigabyte, of which there is as much as is looked at. */
	set_body(fixture, iseq, 0x50, forged_words(&ruby->memory, huge, 5));
	assert_int_equal(read_name(fixture, ruby_frame_of(iseq, 2, 0)), 0);
	/* An empty one. */
	assert_label(fixture, ruby_frame_of(forge_iseq(ruby, "", ""), 2, 0), "");
}

FIXTURE_TEST(frame_name_escapes_text_of_other_encoding)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t iseq = forge_iseq(ruby, "total", "total");
	uint64_t string = forge_string(ruby, "é");

	set_body(fixture, iseq, 0x50, string);
	assert_label(fixture, ruby_frame_of(iseq, 2, 0), "é");
	forged_write_u64(&ruby->memory, string, T_STRING | 2 << 22);
	assert_label(fixture, ruby_frame_of(iseq, 2, 0), "é");
	forged_write_u64(&ruby->memory, string, T_STRING | 3 << 22);
	assert_label(fixture, ruby_frame_of(iseq, 2, 0), "\\xc3\\xa9");
}

/* Whatever of it cannot be read. */
FIXTURE_TEST(frame_name_is_unknown_if_any_part_is_unreadable)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t iseq = forge_iseq(ruby, "total", "total");
	struct ruby_frame frame =
		ruby_frame_of(iseq, 2, forge_method(ruby, RUBY_DEFINITION_ISEQ, order));
	static struct witness witness;

	assert_label(fixture, frame, "Order#request_id");
	witness_init(&witness, &ruby->reader);
	assert_int_equal(frame_name_read(&fixture->namer, &witness.reader, &frame, &fixture->name),
			 0);
	assert_in_range(witness.count, 20, WITNESS_READS_MAX);
	for (size_t i = 0; i < witness.count; i++) {
		ruby->memory.hole = witness.reads[i].address;
		assert_unknown(fixture, frame);
	}
}

static int read_fails(const struct memory_reader *reader, uint64_t address, void *buffer,
		      size_t size_bytes)
{
	(void)address;
	(void)buffer;
	(void)size_bytes;
	return *(const int *)reader->context;
}

FIXTURE_TEST(frame_name_returns_error_of_reader)
{
	static const int errors[] = { -ESRCH, -EPERM, -ETIMEDOUT };
	struct fixture *fixture = *state;
	struct ruby_frame frame = ruby_frame_of(forge_iseq(fixture->ruby, "total", "total"), 2, 0);

	for (size_t i = 0; i < 3; i++) {
		const struct memory_reader reader = { .read = read_fails, .context = &errors[i] };

		fixture->name.line = 77;
		assert_int_equal(frame_name_read(&fixture->namer, &reader, &frame, &fixture->name),
				 errors[i]);
		assert_int_equal(fixture->name.line, 77);
	}
}

/* Fails once, after so many reads. */
struct failing_once {
	const struct memory_reader *real;
	size_t left;
};

static int read_fails_once(const struct memory_reader *reader, uint64_t address, void *buffer,
			   size_t size_bytes)
{
	struct failing_once *failing = (struct failing_once *)reader->context;

	return failing->left-- == 0 ? -ESRCH
				    : memory_read(failing->real, address, buffer, size_bytes);
}

FIXTURE_TEST(frame_name_returns_error_of_any_single_read)
{
	struct fixture *fixture = *state;
	struct forged_ruby *ruby = fixture->ruby;
	uint64_t order = forge_class(ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	uint64_t singleton = forge_class(ruby, RUBY_TYPE_CLASS, 0, NULL, order);
	uint64_t pair[] = { T_ARRAY | FLAG_13 | 2 << 15, 0, forge_string(ruby, "order.rb"), 0, 0 };
	uint64_t iseq = forge_iseq_at(ruby, forged_words(&ruby->memory, pair, 5), "total", "total");
	const struct ruby_frame frame = ruby_frame_of(
		iseq, 2,
		forge_method(ruby, RUBY_DEFINITION_ISEQ,
			     forge_class(ruby, RUBY_TYPE_ICLASS, singleton, NULL, 0)));
	struct failing_once failing = { &ruby->reader, SIZE_MAX };
	const struct memory_reader reader = { .read = read_fails_once, .context = &failing };
	size_t count;

	assert_int_equal(frame_name_read(&fixture->namer, &reader, &frame, &fixture->name), 0);
	assert_string_equal(fixture->name.label, "Order.request_id");
	assert_string_equal(fixture->name.path, "order.rb");
	count = SIZE_MAX - failing.left;
	assert_in_range(count, 25, 60);
	for (size_t i = 0; i < count; i++) {
		failing.left = i;
		assert_int_equal(frame_name_read(&fixture->namer, &reader, &frame, &fixture->name),
				 -ESRCH);
	}
}
