/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code of Ruby's accessors as real builds have it: text files in fixtures/ruby_code, whose
 * lines are `function NAME ADDRESS SIZE`, `tls ADDRESS` and `slot ADDRESS FUNCTION` (what the
 * loader writes), and `code ADDRESS BYTES`, all in hex.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/target/elf/x86_trace.h"

enum {
	RUBY_CODE_PIECES_MAX = 256,
	RUBY_CODE_PIECE_BYTES_MAX = 256,
};

struct ruby_code_piece {
	uint64_t address;
	size_t size_bytes;
	uint8_t bytes[RUBY_CODE_PIECE_BYTES_MAX];
};

struct ruby_code_slot {
	uint64_t address;
	enum x86_slot_kind kind;
	uint64_t function;
};

struct ruby_code_function {
	char name[64];
	uint64_t address;
	uint64_t size_bytes;
};

struct ruby_code {
	struct ruby_code_piece pieces[RUBY_CODE_PIECES_MAX];
	size_t piece_count;
	struct ruby_code_slot slots[RUBY_CODE_PIECES_MAX];
	size_t slot_count;
	struct ruby_code_function functions[32];
	size_t function_count;
};

/* Byte by byte: pieces follow each other. */
static size_t ruby_code_read(const void *context, uint64_t address, uint8_t *buffer,
			     size_t size_bytes)
{
	const struct ruby_code *code = (const struct ruby_code *)context;
	size_t count = 0;

	for (size_t i = 0; i < code->piece_count && count < size_bytes; i++) {
		const struct ruby_code_piece *piece = &code->pieces[i];

		if (address + count - piece->address >= piece->size_bytes)
			continue;
		buffer[count] = piece->bytes[address + count - piece->address];
		count++;
		i = (size_t)-1;
	}
	return count;
}

static enum x86_slot_kind ruby_code_slot(const void *context, uint64_t address,
					 uint64_t *ret_function)
{
	const struct ruby_code *code = (const struct ruby_code *)context;

	for (size_t i = 0; i < code->slot_count; i++) {
		if (code->slots[i].address != address)
			continue;
		*ret_function = code->slots[i].function;
		return code->slots[i].kind;
	}
	return X86_SLOT_NONE;
}

static inline struct x86_code_source ruby_code_source(const struct ruby_code *code)
{
	return (struct x86_code_source){ .context = code,
					 .read = ruby_code_read,
					 .slot = ruby_code_slot };
}

static inline void ruby_code_add(struct ruby_code *code, uint64_t address, const char *hex)
{
	struct ruby_code_piece *piece = &code->pieces[code->piece_count++];
	unsigned int byte;

	*piece = (struct ruby_code_piece){ .address = address };
	for (; sscanf(hex, " %2x", &byte) == 1; hex += 2 + (hex[2] == ' '))
		piece->bytes[piece->size_bytes++] = (uint8_t)byte;
}

static inline void ruby_code_add_slot(struct ruby_code *code, uint64_t address,
				      enum x86_slot_kind kind, uint64_t function)
{
	code->slots[code->slot_count++] = (struct ruby_code_slot){ address, kind, function };
}

static inline void ruby_code_add_line(struct ruby_code *code, const char *line)
{
	struct ruby_code_function *function = &code->functions[code->function_count];
	unsigned long address, other;
	int text = 0;

	if (sscanf(line, "function %63s %lx %lx", function->name, &address, &other) == 3) {
		function->address = address;
		function->size_bytes = other;
		code->function_count++;
	} else if (sscanf(line, "tls %lx", &address) == 1) {
		ruby_code_add_slot(code, address, X86_SLOT_TLS, 0);
	} else if (sscanf(line, "slot %lx %lx", &address, &other) == 2) {
		ruby_code_add_slot(code, address, X86_SLOT_FUNCTION, other);
	} else if (sscanf(line, "code %lx %n", &address, &text) == 1) {
		ruby_code_add(code, address, line + text);
	}
}

/* False: there is no such file. */
static inline bool ruby_code_load(struct ruby_code *code, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024];

	*code = (struct ruby_code){ 0 };
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		ruby_code_add_line(code, line);
	(void)fclose(file);
	return true;
}
