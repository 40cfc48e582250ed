/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that runs out. A test that includes this is linked so that what it tests asks here for
 * memory (CMakeLists.txt): so many more times it gets some, and then none; or once none, and then
 * some again, so that what goes on without it is not saved by the next failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that the linker gives (--wrap). */
void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *old, size_t size_bytes);
void *__real_reallocarray(void *old, size_t count, size_t size_bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size_bytes);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t size_bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size_bytes);

static struct {
	size_t left; /* SIZE_MAX: there is always some */
	bool comes_back;
	size_t failures;
} memory_state = { .left = SIZE_MAX };

static inline void memory_fails_after(size_t successes)
{
	memory_state.left = successes;
	memory_state.comes_back = false;
	memory_state.failures = 0;
}

static inline void memory_fails_once_after(size_t successes)
{
	memory_fails_after(successes);
	memory_state.comes_back = true;
}

static inline void memory_never_fails(void)
{
	memory_state.left = SIZE_MAX;
}

/* How often it failed since it was last said when it does. */
static inline size_t memory_failures(void)
{
	return memory_state.failures;
}

static inline int has_memory(void)
{
	if (memory_state.left == SIZE_MAX)
		return 1;
	if (memory_state.left > 0) {
		memory_state.left--;
		return 1;
	}
	memory_state.failures++;
	if (memory_state.comes_back)
		memory_state.left = SIZE_MAX;
	return 0;
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

void *__wrap_reallocarray(void *old, size_t count, size_t size_bytes)
{
	return has_memory() ? __real_reallocarray(old, count, size_bytes) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return has_memory() ? __real_strdup(text) : NULL;
}

char *__wrap_strndup(const char *text, size_t size_bytes)
{
	return has_memory() ? __real_strndup(text, size_bytes) : NULL;
}
