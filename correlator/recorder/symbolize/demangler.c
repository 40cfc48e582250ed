/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/demangler.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPP_LIBRARY "libstdc++.so.6"
#define ELLIPSIS    "…"

enum {
	RUST_HASH_BYTES = 19, /* "::h" and 16 digits, at the end of Rust names */
};

/* Returns malloc(3) memory that the caller owns; NULL = not a mangled name. */
typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *length, int *ret_status);

struct demangler {
	bool was_looked_for;
	void *library;
	demangle_fn demangle; /* NULL = not available */
};

struct demangler *demangler_new(void)
{
	return calloc(1, sizeof(struct demangler));
}

void demangler_free(struct demangler *demangler)
{
	if (!demangler)
		return;
	if (demangler->library)
		(void)dlclose(demangler->library);
	free(demangler);
}

static void look_for(struct demangler *demangler)
{
	if (demangler->was_looked_for)
		return;
	demangler->was_looked_for = true;
	demangler->library = dlopen(CPP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (demangler->library)
		*(void **)&demangler->demangle = dlsym(demangler->library, "__cxa_demangle");
}

/* Counts S (substitutions), T (template parameters), and letters that only look like them. */
static bool may_grow(const char *name)
{
	size_t references = 0;

	for (; *name; name++)
		references += *name == 'S' || *name == 'T';
	return references > DEMANGLER_REFERENCES_MAX;
}

/* Rust names end this way, and otherwise follow the C++ scheme. */
static bool has_rust_hash(const char *text, size_t length)
{
	const char *hash = text + length - RUST_HASH_BYTES;

	return length > RUST_HASH_BYTES && strncmp(hash, "::h", 3) == 0 &&
	       strspn(hash + 3, "0123456789abcdef") == RUST_HASH_BYTES - 3;
}

/*
 * Decodes a mark, such as "$LT$" or "$u20$", into its character. Returns its length; 0 = no mark.
 */
static size_t read_mark(const char *text, char *ret_character)
{
	static const struct {
		const char *mark;
		char character;
	} marks[] = { { "$LT$", '<' }, { "$GT$", '>' }, { "$RF$", '&' }, { "$BP$", '*' },
		      { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' },	 { "$SP$", '@' } };
	unsigned int code;
	int length = 0;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		*ret_character = marks[i].character;
		if (strncmp(text, marks[i].mark, strlen(marks[i].mark)) == 0)
			return strlen(marks[i].mark);
	}
	if (sscanf(text, "$u%2x$%n", &code, &length) != 1 || length == 0 || !isprint((int)code))
		return 0;
	*ret_character = (char)code;
	return (size_t)length;
}

/*
 * In place: decodes Rust's marks for characters that symbols cannot contain, and removes the hash.
 */
static void write_rust(char *text, size_t length)
{
	char *to = text, *end = text + length - RUST_HASH_BYTES, character;
	size_t mark;

	*end = '\0';
	for (char *from = text; from < end; from += mark) {
		bool begins = from == text || from[-1] == ':';

		mark = begins && from[0] == '_' && from[1] == '$';
		from += mark;
		mark = read_mark(from, &character);
		if (mark > 0) {
			*to = character;
		} else if (from[0] == '.' && from[1] == '.') {
			*to++ = ':';
			*to = ':';
			mark = 2;
		} else {
			*to = *from;
			mark = 1;
		}
		to++;
	}
	*to = '\0';
}

static void copy(const char *name, char *ret_text, size_t text_bytes)
{
	size_t room = text_bytes - sizeof(ELLIPSIS);

	if (strlen(name) < text_bytes) {
		(void)strcpy(ret_text, name);
		return;
	}
	/* Do not cut within a character. */
	while (room > 0 && ((unsigned char)name[room] & 0xc0) == 0x80)
		room--;
	(void)snprintf(ret_text, text_bytes, "%.*s" ELLIPSIS, (int)room, name);
}

void demangler_write(struct demangler *demangler, const char *name, char *ret_text,
		     size_t text_bytes)
{
	_cleanup_free_ char *text = NULL;
	int status = 0;

	if (strncmp(name, "_Z", 2) == 0 && !may_grow(name)) {
		look_for(demangler);
		text = demangler->demangle ? demangler->demangle(name, NULL, NULL, &status) : NULL;
	}
	if (text && has_rust_hash(text, strlen(text)))
		write_rust(text, strlen(text));
	copy(text ? text : name, ret_text, text_bytes);
}
