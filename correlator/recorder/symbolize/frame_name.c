/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/frame_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recorder/symbolize/line_table.h"
#include "recorder/target/ruby/ruby_object.h"
#include "recorder/target/ruby/ruby_value.h"

enum {
	ENCODING_US_ASCII = 2, /* encindex.h: 0 binary, 1 UTF-8, then this */
	KLASS_OFFSET = 8, /* klass of struct RBasic; an iclass's is its module */
	CODE_WORD_BYTES = 8,
	BLOCK_DEPTH_MAX = 999,
	CLASS_TEXT_BYTES = FRAME_PATH_BYTES + 1,
	METHOD_TEXT_BYTES = CLASS_TEXT_BYTES + VALUE_TEXT_BYTES,
	BLOCK_TEXT_BYTES = 32, /* "block (6 levels) in " */
};

static const char cut_mark[] = "…";

/* State while one frame is read. */
struct naming {
	const struct frame_namer *namer;
	const struct ruby_stack_layout *layout;
	const struct memory_reader *reader;
	struct frame_name *name;
};

/* A text of the target's, escaped for printing. */
struct target_text {
	char text[FRAME_PATH_BYTES];
	size_t length_bytes;
};

/* Copies an escaped text, cut at a whole character. */
static void put_text(char *ret_text, size_t text_bytes, const char *text)
{
	(void)text_escape(text, strlen(text), 0, ret_text, text_bytes);
}

static bool is_known(uint32_t offset)
{
	return offset <= RUBY_LAYOUT_OFFSET_MAX;
}

static int read_member(const struct naming *naming, uint64_t object, uint32_t offset,
		       uint64_t *ret_word)
{
	if (!is_known(offset) || !ruby_object_is_address(object))
		return -EINVAL;
	return memory_read_u64(naming->reader, object + offset, ret_word);
}

static int read_member_u32(const struct naming *naming, uint64_t object, uint32_t offset,
			   uint32_t *ret_word)
{
	if (!is_known(offset) || !ruby_object_is_address(object))
		return -EINVAL;
	return memory_read(naming->reader, object + offset, ret_word, sizeof(*ret_word));
}

static int require_imemo(const struct naming *naming, uint64_t object, uint32_t type)
{
	uint64_t flags;
	int r = read_member(naming, object, 0, &flags);

	if (r < 0)
		return r;
	if ((flags & RUBY_OBJECT_TYPE_MASK) != RUBY_TYPE_IMEMO ||
	    (flags >> RUBY_IMEMO_SHIFT & RUBY_IMEMO_MASK) != type)
		return -EINVAL;
	return 0;
}

/* Reads at most text_bytes_max bytes of a String, and marks a longer one as cut. */
static int read_string(const struct naming *naming, uint64_t value, size_t text_bytes_max,
		       struct target_text *ret_text)
{
	char bytes[FRAME_PATH_TEXT_BYTES_MAX];
	struct ruby_object object;
	struct ruby_string string;
	unsigned int options;
	size_t length;
	int r;

	r = ruby_object_read(naming->reader, value, &object);
	if (r == 0)
		r = ruby_object_string(&object, naming->layout->string_layout, &string);
	if (r < 0)
		return r;
	length = string.length_bytes < text_bytes_max ? string.length_bytes : text_bytes_max;
	if (length > 0)
		r = memory_read(naming->reader, string.address, bytes, length);
	if (r < 0)
		return r;
	options = string.encoding > ENCODING_US_ASCII ? TEXT_ASCII : 0;
	if (length < string.length_bytes)
		options |= TEXT_CUT;
	ret_text->length_bytes = text_escape(bytes, length, options, ret_text->text,
					     sizeof(ret_text->text) - sizeof(cut_mark));
	if (options & TEXT_CUT) {
		memcpy(ret_text->text + ret_text->length_bytes, cut_mark, sizeof(cut_mark));
		ret_text->length_bytes += sizeof(cut_mark) - 1;
	}
	return 0;
}

static int read_string_member(const struct naming *naming, uint64_t object, uint32_t offset,
			      struct target_text *ret_text)
{
	uint64_t value;
	int r = read_member(naming, object, offset, &value);

	return r < 0 ? r : read_string(naming, value, FRAME_TEXT_BYTES_MAX, ret_text);
}

/* The path is a String, or an Array whose first element it is. */
static int read_path(const struct naming *naming, uint64_t body)
{
	struct ruby_object object;
	struct ruby_array array;
	struct target_text path;
	uint64_t value;
	int r;

	r = read_member(naming, body, naming->layout->body_path, &value);
	if (r == 0)
		r = ruby_object_read(naming->reader, value, &object);
	if (r < 0)
		return r;
	if (ruby_object_array(&object, &array) == 0) {
		if (array.count == 0)
			return -EINVAL;
		r = memory_read_u64(naming->reader, array.address, &value);
		if (r < 0)
			return r;
	}
	r = read_string(naming, value, FRAME_PATH_TEXT_BYTES_MAX, &path);
	if (r < 0)
		return r;
	put_text(naming->name->path, sizeof(naming->name->path), path.text);
	return 0;
}

static int read_first_line(const struct naming *naming, uint64_t body)
{
	const struct ruby_stack_layout *layout = naming->layout;
	uint64_t value;
	uint32_t line;
	int r;

	if (layout->body_first_line_kind == RUBY_FIRST_LINE_VALUE) {
		r = read_member(naming, body, layout->body_first_line, &value);
		if (r < 0)
			return r;
		if (!(value & 1) || value >> 32 != 0)
			return -EINVAL;
		line = (uint32_t)(value >> 1);
	} else {
		r = read_member_u32(naming, body, layout->body_first_line, &line);
		if (r < 0)
			return r;
		if (line > INT32_MAX)
			return -EINVAL;
	}
	naming->name->first_line = line;
	return 0;
}

/* Reads the current line; without a table, or with a pc outside this code, it stays unknown. */
static int read_line(const struct naming *naming, uint64_t body, uint64_t pc)
{
	const struct ruby_stack_layout *layout = naming->layout;
	struct line_table table = { .kind = layout->line_positions_kind,
				    .entry_bytes = layout->line_entry_bytes };
	uint32_t words, position;
	uint64_t code;
	int r;

	if (pc == 0 || !is_known(layout->body_lines) || !is_known(layout->body_line_count) ||
	    !is_known(layout->body_line_positions) || !is_known(layout->line_entry_bytes))
		return 0;
	r = read_member(naming, body, layout->body_code, &code);
	if (r == 0)
		r = read_member_u32(naming, body, layout->body_code_words, &words);
	if (r == 0)
		r = read_member(naming, body, layout->body_lines, &table.entries);
	if (r == 0)
		r = read_member_u32(naming, body, layout->body_line_count, &table.count);
	if (r == 0)
		r = read_member(naming, body, layout->body_line_positions, &table.positions);
	if (r < 0)
		return r;
	if (pc < code || pc - code > (uint64_t)words * CODE_WORD_BYTES)
		return 0;
	/* pc points to the next instruction, except at the first one. */
	position = (uint32_t)((pc - code) / CODE_WORD_BYTES);
	r = line_table_find(naming->reader, &table, position > 0 ? position - 1 : 0,
			    &naming->name->line);
	return r == -ENOENT ? 0 : r;
}

static int read_symbol(const struct naming *naming, uint64_t id, char ret_text[VALUE_TEXT_BYTES])
{
	struct value_snapshot name;
	int r = -EINVAL;

	if (naming->namer->symbols)
		r = ruby_symbols_find_name(naming->namer->symbols, id, &name);
	if (r == 0)
		r = ruby_value_text(&name, NULL, NULL, ret_text);
	return r < 0 ? r : 0;
}

/*
 * Writes the class that defines a method with the separator before the method's name: "Order#",
 * "Order."; "" if it has no name. A singleton class has no name of its own, but the object it is
 * attached to has; other classes have a function's address in that place.
 */
static int read_class(const struct naming *naming, uint64_t class, char *ret_text,
		      size_t text_bytes)
{
	const struct ruby_stack_layout *layout = naming->layout;
	const char *separator = "#";
	struct target_text text;
	uint64_t flags, path;
	uint32_t type;
	int r;

	ret_text[0] = '\0';
	if (!is_known(layout->class_path) || !is_known(layout->class_attached))
		return 0;
	r = read_member(naming, class, 0, &flags);
	if (r == 0 && (flags & RUBY_OBJECT_TYPE_MASK) == RUBY_TYPE_ICLASS)
		r = read_member(naming, class, KLASS_OFFSET, &class);
	if (r == 0)
		r = read_member(naming, class, layout->class_path, &path);
	if (r < 0)
		return r;
	if (!ruby_object_is_address(path)) {
		separator = ".";
		r = read_member(naming, class, layout->class_attached, &class);
		if (r == 0 && !ruby_object_is_address(class))
			return 0;
		if (r == 0)
			r = read_member(naming, class, 0, &flags);
		if (r < 0)
			return r == -EFAULT ? 0 : r;
		type = flags & RUBY_OBJECT_TYPE_MASK;
		if (type != RUBY_TYPE_CLASS && type != RUBY_TYPE_MODULE)
			return 0;
		r = read_member(naming, class, layout->class_path, &path);
		if (r < 0)
			return r;
		if (!ruby_object_is_address(path))
			return 0;
	}
	r = read_string(naming, path, FRAME_TEXT_BYTES_MAX, &text);
	if (r == 0)
		(void)snprintf(ret_text, text_bytes, "%s%s", text.text, separator);
	return r;
}

/*
 * Writes the qualified name of a method entry of type definition_type. 0; -ENOENT: another type;
 * -EINVAL, or an error of the reader or the symbol table.
 */
static int read_method(const struct naming *naming, uint64_t method, uint32_t definition_type,
		       char *ret_text, size_t text_bytes)
{
	const struct ruby_stack_layout *layout = naming->layout;
	uint64_t definition, class, id;
	char class_text[CLASS_TEXT_BYTES], symbol[VALUE_TEXT_BYTES];
	uint32_t type;
	int r;

	r = require_imemo(naming, method, RUBY_IMEMO_METHOD);
	if (r == 0)
		r = read_member(naming, method, layout->method_definition, &definition);
	if (r == 0)
		r = read_member_u32(naming, definition, layout->definition_type, &type);
	if (r < 0)
		return r;
	if ((type & layout->definition_type_mask) != definition_type)
		return -ENOENT;
	r = read_member(naming, definition, layout->definition_original_id, &id);
	if (r == 0)
		r = read_symbol(naming, id, symbol);
	if (r == 0)
		r = read_member(naming, method, layout->method_class, &class);
	if (r == 0)
		r = read_class(naming, class, class_text, sizeof(class_text));
	if (r == 0)
		(void)snprintf(ret_text, text_bytes, "%s%s", class_text, symbol);
	return r;
}

static const char block_label[] = "block ";

/*
 * Parses "block in" or "block (3 levels) in", also after "rescue in" (make_name_for_block(),
 * compile.c).
 */
static uint32_t find_block_depth(const char *label, size_t prefix_bytes)
{
	const char *found = strstr(label, block_label);
	unsigned long depth;

	if (!found || (size_t)(found - label) >= prefix_bytes)
		return 0;
	found += sizeof(block_label) - 1;
	if (*found != '(')
		return 1;
	depth = strtoul(found + 1, NULL, 10);
	return depth <= BLOCK_DEPTH_MAX ? (uint32_t)depth : 0;
}

/*
 * A block that is a method's body takes the method's name, and blocks in it count from there;
 * Ruby's label names the place where the block was written. 1; 0: no such block, or its depth is
 * unknown.
 */
static int read_block_method(const struct naming *naming, const struct ruby_frame *frame,
			     const char *label)
{
	uint32_t level = ruby_frame_method_level(frame);
	char qualified[METHOD_TEXT_BYTES], full[METHOD_TEXT_BYTES + BLOCK_TEXT_BYTES];
	char prefix[BLOCK_TEXT_BYTES] = "";
	int r;

	if (level == 0 || level == RUBY_METHOD_IS_DEEP ||
	    strncmp(label, block_label, sizeof(block_label) - 1) != 0)
		return 0;
	r = read_method(naming, ruby_frame_method(frame), RUBY_DEFINITION_BLOCK, qualified,
			sizeof(qualified));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (level == 2)
		(void)strcpy(prefix, "block in ");
	else if (level > 2)
		(void)snprintf(prefix, sizeof(prefix), "block (%u levels) in ", level - 1);
	(void)snprintf(full, sizeof(full), "%s%s", prefix, qualified);
	put_text(naming->name->label, sizeof(naming->name->label), full);
	naming->name->block_depth = level - 1;
	return 1;
}

/* Sets the label, with the qualified name in place of the base label that it ends with. */
static int read_label(const struct naming *naming, uint64_t body, const struct ruby_frame *frame)
{
	const struct ruby_stack_layout *layout = naming->layout;
	struct frame_name *name = naming->name;
	struct target_text label, base;
	char qualified[METHOD_TEXT_BYTES], full[METHOD_TEXT_BYTES + FRAME_PATH_BYTES];
	uint64_t method = ruby_frame_method(frame);
	size_t prefix_bytes;
	int r;

	r = read_string_member(naming, body, layout->body_label, &label);
	if (r == 0)
		r = read_string_member(naming, body, layout->body_base_label, &base);
	if (r < 0)
		return r;
	/*
	 * Since 3.4 code compiled by eval has this label; Ruby itself shows the label of the
	 * surrounding code.
	 */
	if (!strcmp(label.text, "<compiled>"))
		label = base;
	put_text(name->label, sizeof(name->label), label.text);
	r = read_block_method(naming, frame, label.text);
	if (r != 0)
		return r < 0 ? r : 0;
	if (base.length_bytes > label.length_bytes)
		return 0;
	prefix_bytes = label.length_bytes - base.length_bytes;
	if (strcmp(label.text + prefix_bytes, base.text) != 0)
		return 0;
	name->block_depth = find_block_depth(label.text, prefix_bytes);
	if (method == 0 || !is_known(layout->class_path))
		return 0;
	r = read_method(naming, method, RUBY_DEFINITION_ISEQ, qualified, sizeof(qualified));
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	(void)snprintf(full, sizeof(full), "%.*s%s", (int)prefix_bytes, label.text, qualified);
	put_text(name->label, sizeof(name->label), full);
	return 0;
}

static int read_ruby(const struct naming *naming, const struct ruby_frame *frame)
{
	uint64_t iseq = ruby_frame_object(frame);
	uint64_t body;
	int r;

	r = require_imemo(naming, iseq, RUBY_IMEMO_ISEQ);
	if (r == 0)
		r = read_member(naming, iseq, naming->layout->iseq_body, &body);
	if (r == 0)
		r = read_label(naming, body, frame);
	if (r == 0)
		r = read_path(naming, body);
	if (r == 0)
		r = read_first_line(naming, body);
	if (r == 0)
		r = read_line(naming, body, frame->pc);
	naming->name->is_line_old = ruby_frame_kind(frame) == RUBY_FRAME_COMPILED;
	return r;
}

static int read_frame(const struct naming *naming, const struct ruby_frame *frame)
{
	struct frame_name *name = naming->name;
	char label[METHOD_TEXT_BYTES];
	int r;

	switch ((enum ruby_frame_kind)ruby_frame_kind(frame)) {
	case RUBY_FRAME_RUBY:
	case RUBY_FRAME_COMPILED:
		return read_ruby(naming, frame);
	case RUBY_FRAME_C:
		r = read_method(naming, ruby_frame_object(frame), RUBY_DEFINITION_C, label,
				sizeof(label));
		if (r == 0)
			put_text(name->label, sizeof(name->label), label);
		return r;
	case RUBY_FRAME_GC:
		put_text(name->label, sizeof(name->label), FRAME_COLLECTION);
		return 0;
	case RUBY_FRAME_UNREADABLE:
	case _RUBY_FRAME_KIND_MAX:
	case RUBY_FRAME_KIND_MASK:
		break;
	}
	return -EINVAL;
}

int frame_name_read(const struct frame_namer *namer, const struct memory_reader *reader,
		    const struct ruby_frame *frame, struct frame_name *ret_name)
{
	struct frame_name name = { 0 };
	const struct naming naming = {
		.namer = namer, .layout = namer->layout, .reader = reader, .name = &name
	};
	int r = read_frame(&naming, frame);

	switch (r) {
	case 0:
		break;
	case -EFAULT:
	case -EINVAL:
	case -ENOENT:
	case -E2BIG:
	case -ENODATA:
	case -EAGAIN:
		name = (struct frame_name){ .label = FRAME_UNKNOWN };
		break;
	default:
		return r;
	}
	*ret_name = name;
	return r == -EAGAIN ? r : 0;
}
