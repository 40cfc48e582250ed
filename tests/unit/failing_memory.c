/* SPDX-License-Identifier: GPL-2.0-only */
#include "failing_memory.h"

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

void memory_fails_after(size_t successes)
{
	memory_state.left = successes;
	memory_state.comes_back = false;
	memory_state.failures = 0;
}

void memory_fails_once_after(size_t successes)
{
	memory_fails_after(successes);
	memory_state.comes_back = true;
}

void memory_never_fails(void)
{
	memory_state.left = SIZE_MAX;
}

size_t memory_failures(void)
{
	return memory_state.failures;
}

bool has_memory(void)
{
	if (memory_state.left == SIZE_MAX)
		return true;
	if (memory_state.left > 0) {
		memory_state.left--;
		return true;
	}
	memory_state.failures++;
	if (memory_state.comes_back)
		memory_state.left = SIZE_MAX;
	return false;
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
