/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The separate debug file of a stripped file, as the process sees it. It is searched for in the
 * order of GDB's manual ("Debugging Information in Separate Files"):
 *
 * 1. by build ID: /usr/lib/debug/.build-id/ab/cdef0123.debug;
 * 2. by the name in the file's section .gnu_debuglink: in the file's own folder, in .debug there,
 *    and in the same folder below /usr/lib/debug.
 *
 * It must have the file's build ID; if the file has none, the CRC-32 that .gnu_debuglink states.
 * Single thread; does not log.
 */
#pragma once

#include <sys/types.h>

#include "recorder/target/elf/elf_functions.h"
#include "recorder/target/elf/elf_image.h"

/*
 * Replaces the functions of image, a file of process pid at path, by those of its debug file, if
 * there is one with a .symtab. Frees what was read of the file (elf_image_rest()).
 */
void debug_file_replace(const struct elf_image *image, pid_t pid, const char *path,
			struct elf_functions **functions);
