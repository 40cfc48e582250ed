/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that runs out. A test that includes this is linked so that what it tests asks here for
 * memory (CMakeLists.txt): so many more times it gets some, and then none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Names that the linker gives (--wrap). */
void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *old, size_t size_bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size_bytes);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size_bytes);

static size_t memory_left = SIZE_MAX;

static inline void memory_fails_after(size_t successes)
{
	memory_left = successes;
}

static inline void memory_never_fails(void)
{
	memory_left = SIZE_MAX;
}

static inline int has_memory(void)
{
	if (memory_left == SIZE_MAX)
		return 1;
	if (memory_left == 0)
		return 0;
	memory_left--;
	return 1;
}

void *__wrap_malloc(size_t size_bytes)
{
	return has_memory() ? __real_malloc(size_bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t size_bytes)
{
	return has_memory() ? __real_calloc(count, size_bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t size_bytes)
{
	return has_memory() ? __real_realloc(old, size_bytes) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return has_memory() ? __real_strdup(text) : NULL;
}

char *__wrap_strndup(const char *text, size_t size_bytes)
{
	return has_memory() ? __real_strndup(text, size_bytes) : NULL;
}
