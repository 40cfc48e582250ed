/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/demangler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/hash_table.h"
#include "recorder/target/proc/agent.h"

#define ELLIPSIS "…"

/* A mangled name, and what it means; two strings in one allocation. */
struct known_name {
	const char *text;
	UT_hash_handle hh;
	char name[];
};

struct demangler {
	struct known_name *names; /* uthash, by name */
};

struct demangler *demangler_new(void)
{
	return calloc(1, sizeof(struct demangler));
}

static void forget(struct demangler *demangler)
{
	struct known_name *known, *next;

	HASH_ITER(hh, demangler->names, known, next) {
		HASH_DEL(demangler->names, known);
		free(known);
	}
}

void demangler_free(struct demangler *demangler)
{
	if (!demangler)
		return;
	forget(demangler);
	free(demangler);
}

/* Where the library's output goes; the rest is dropped. */
struct output {
	char *text;
	size_t used_bytes;
	size_t size_bytes;
};

/* A demangle_callbackref. */
static void add(const char *text, size_t length, void *user)
{
	struct output *output = user;
	size_t room = output->size_bytes - 1 - output->used_bytes;

	if (length > room)
		length = room;
	memcpy(output->text + output->used_bytes, text, length);
	output->used_bytes += length;
	output->text[output->used_bytes] = '\0';
}

/*
 * Runs in the agent. Rust's older scheme is also a name of C++, but for its hash, so Rust comes
 * first.
 */
static int demangle(int fd, const void *name, void *ret_text)
{
	struct output output = { ret_text, 0, AGENT_DATA_BYTES };

	(void)fd;
	if (rust_demangle_callback(name, 0, add, &output))
		return 0;
	output.used_bytes = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, add, &output) ? 0
										       : -EINVAL;
}

/* 0; -EPIPE: it kept the library busy; -EINVAL: it is no name of C++ or Rust; -errno. */
static int ask(const char *name, char ret_text[static AGENT_DATA_BYTES])
{
	const struct agent_call call = { .function = demangle,
					 .input = name,
					 .input_bytes = strlen(name) + 1,
					 .output = ret_text,
					 .output_bytes = AGENT_DATA_BYTES };
	int r = call.input_bytes <= AGENT_DATA_BYTES ? agent_call(0, NULL, -1, &call) : -E2BIG;

	ret_text[AGENT_DATA_BYTES - 1] = '\0';
	return r;
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* Without memory it is not cached. */
static void remember(struct demangler *demangler, const char *name, const char *text)
{
	size_t name_bytes = strlen(name) + 1, text_bytes = strlen(text) + 1;
	struct known_name *known = malloc(sizeof(*known) + name_bytes + text_bytes);

	if (!known)
		return;
	if (HASH_COUNT(demangler->names) >= DEMANGLER_NAMES_MAX)
		forget(demangler);
	memcpy(known->name, name, name_bytes);
	known->text = memcpy(known->name + name_bytes, text, text_bytes);
	HASH_ADD_KEYPTR(hh, demangler->names, known->name, name_bytes - 1, known);
	if (!known->hh.tbl)
		free(known);
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

bool demangler_write(struct demangler *demangler, const char *name, bool may_ask, char *ret_text,
		     size_t text_bytes)
{
	char text[AGENT_DATA_BYTES];
	struct known_name *known;
	int r;

	HASH_FIND_STR(demangler->names, name, known);
	if (known || !may_ask || !is_mangled(name)) {
		copy(known ? known->text : name, ret_text, text_bytes);
		return true;
	}
	r = ask(name, text);
	if (r == 0 || r == -EINVAL || r == -EPIPE)
		remember(demangler, name, r == 0 ? text : name);
	copy(r == 0 ? text : name, ret_text, text_bytes);
	return r != -EPIPE;
}
