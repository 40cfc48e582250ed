/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ELF file's code as a source for x86_trace.h: its bytes, and the slots that its relocations
 * make the loader fill. Owned by the caller; the image is borrowed. Single thread; does not log.
 */
#pragma once

#include <stddef.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/elf/x86_trace.h"

enum {
	ELF_CODE_SLOTS_MAX = 1 << 16, /* a large library has several thousand */
};

struct elf_code {
	const struct elf_image *image;
	struct elf_code_slot *slots; /* sorted by address */
	size_t slot_count;
};

/* 0, -ENOTSUP (not x86-64), -ENOMEM. */
int elf_code_init(struct elf_code *code, const struct elf_image *image);
void elf_code_deinit(struct elf_code *code);
struct x86_code_source elf_code_source(const struct elf_code *code);
