/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/elf_functions.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	/* Functions inspected before an address: one function may contain parts of another. */
	LOOK_BACK = 16,
};

struct function {
	uint64_t start;
	uint64_t size_bytes; /* > 0 */
	uint32_t name; /* offset in texts */
	uint8_t binding; /* STB_GLOBAL, ... */
};

struct elf_functions {
	struct function *list; /* by start, then by preference */
	size_t count;
	size_t capacity;
	char *texts; /* each with its NUL */
	size_t text_bytes;
	size_t text_capacity;
	bool are_all;
};

void elf_functions_free(struct elf_functions *functions)
{
	if (!functions)
		return;
	free(functions->list);
	free(functions->texts);
	free(functions);
}

static void forget(struct elf_functions *functions)
{
	free(functions->list);
	free(functions->texts);
	memset(functions, 0, sizeof(*functions));
}

/* 0, -ENOSPC (a bound is exceeded), or -ENOMEM. */
static int add_text(struct elf_functions *functions, const char *name, size_t size_bytes)
{
	size_t wanted = functions->text_bytes + size_bytes;

	if (size_bytes > ELF_FUNCTION_NAME_BYTES || wanted > ELF_FUNCTIONS_TEXT_BYTES_MAX)
		return -ENOSPC;
	if (array_reserve(&functions->texts, &functions->text_capacity, wanted) < 0)
		return -ENOMEM;
	memcpy(functions->texts + functions->text_bytes, name, size_bytes);
	functions->text_bytes = wanted;
	return 0;
}

/* 0, -E2BIG (too many functions), or -ENOMEM. */
static int add(struct elf_functions *functions, const struct elf_function *found)
{
	uint32_t name = (uint32_t)functions->text_bytes;
	int r;

	if (functions->count == ELF_FUNCTIONS_MAX)
		return -E2BIG;
	if (array_reserve(&functions->list, &functions->capacity, functions->count + 1) < 0)
		return -ENOMEM;
	r = add_text(functions, found->name, strlen(found->name) + 1);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	functions->list[functions->count++] = (struct function){ .start = found->value,
								 .size_bytes = found->size_bytes,
								 .name = name,
								 .binding = found->binding };
	return 0;
}

static int read_table(struct elf_functions *functions, const struct elf_image *image,
		      bool is_dynamic)
{
	struct elf_function found;
	size_t cursor = 0;
	int r = 0;

	while (r == 0 && elf_image_next_function(image, is_dynamic, &cursor, &found))
		r = add(functions, &found);
	if (r < 0)
		forget(functions);
	return r == -E2BIG ? 0 : r;
}

static int binding_rank(uint8_t binding)
{
	return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct function *a = left, *b = right;
	const struct elf_functions *functions = context;
	const char *a_name = functions->texts + a->name, *b_name = functions->texts + b->name;
	size_t a_marks = strspn(a_name, "_"), b_marks = strspn(b_name, "_");

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a_marks != b_marks)
		return a_marks < b_marks ? -1 : 1;
	if (a->binding != b->binding)
		return binding_rank(a->binding) - binding_rank(b->binding);
	return strcmp(a_name, b_name);
}

int elf_functions_read(const struct elf_image *image, struct elf_functions **ret_functions)
{
	_cleanup_(elf_functions_freep) struct elf_functions *functions =
		calloc(1, sizeof(*functions));
	int r = functions ? 0 : -ENOMEM;

	if (r == 0)
		r = read_table(functions, image, false);
	if (r == 0)
		functions->are_all = functions->count > 0;
	if (r == 0 && !functions->are_all)
		r = read_table(functions, image, true);
	elf_image_rest(image);
	if (r < 0)
		return r;
	if (functions->count > 0)
		qsort_r(functions->list, functions->count, sizeof(*functions->list), compare,
			functions);
	*ret_functions = TAKE_PTR(functions);
	return 0;
}

bool elf_functions_are_all(const struct elf_functions *functions)
{
	return functions->are_all;
}

size_t elf_functions_count(const struct elf_functions *functions)
{
	return functions->count;
}

size_t elf_functions_size_bytes(const struct elf_functions *functions)
{
	return sizeof(*functions) + functions->capacity * sizeof(*functions->list) +
	       functions->text_capacity;
}

const char *elf_functions_find(const struct elf_functions *functions, uint64_t virtual_address)
{
	size_t end = array_count_up_to(functions->list, functions->count, sizeof(*functions->list),
				       virtual_address);
	const struct function *best = NULL;

	/* The one that starts last wins; among equal starts the preferred one is visited last. */
	for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
		const struct function *function = &functions->list[i];

		if (best && function->start != best->start)
			break;
		if (virtual_address - function->start < function->size_bytes)
			best = function;
	}
	return best ? functions->texts + best->name : NULL;
}
