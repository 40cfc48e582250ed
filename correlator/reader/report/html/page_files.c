/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_files.h"

/* The assembler includes the files as they are. PAGE_FOLDER: their folder at build time. */
#define EMBED(name)                                                        \
	__asm__(".pushsection .rodata\n"                                   \
		"page_" #name "_begin:\n"                                  \
		".incbin \"" PAGE_FOLDER "/page." #name "\"\n"             \
		"page_" #name "_end:\n"                                    \
		".popsection");                                            \
	extern const char page_##name##_begin[], page_##name##_end[];      \
	struct page_file page_file_##name(void)                            \
	{                                                                  \
		return (struct page_file){                                 \
			page_##name##_begin,                               \
			(size_t)(page_##name##_end - page_##name##_begin), \
		};                                                         \
	}                                                                  \
	_Static_assert(1, "")

EMBED(html);
EMBED(css);
EMBED(js);
