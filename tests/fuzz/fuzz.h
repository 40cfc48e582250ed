/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share. Each fuzz_NAME.c has one LLVMFuzzerTestOneInput and is built twice:
 * with libFuzzer, and with replay.c, which runs the files of corpus/NAME through it as a unit test.
 * A target states what must hold with FUZZ_REQUIRE: a crash, a leak, a hang and a broken promise
 * fail alike.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#define FUZZ_REQUIRE(condition)                                                                \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			(void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
				      #condition);                                             \
			abort();                                                               \
		}                                                                              \
	} while (0)

/* What is left of the input. */
struct fuzz_input {
	const uint8_t *data;
	size_t size_bytes;
};

/* Copies the next bytes; zeros where the input has ended. */
static inline void fuzz_take(struct fuzz_input *input, void *buffer, size_t size_bytes)
{
	size_t taken = size_bytes < input->size_bytes ? size_bytes : input->size_bytes;

	memset(buffer, 0, size_bytes);
	if (taken == 0)
		return;
	memcpy(buffer, input->data, taken);
	input->data += taken;
	input->size_bytes -= taken;
}

static inline uint8_t fuzz_take_u8(struct fuzz_input *input)
{
	uint8_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz_take_u64(struct fuzz_input *input)
{
	uint64_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}
