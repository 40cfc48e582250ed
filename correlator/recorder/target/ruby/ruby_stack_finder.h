/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where a process's Ruby keeps its frames (correlator/ruby_stack_layout.h), without a table
 * of versions, in independent ways: the code of what libruby exports (ruby_accessors.h), and what
 * is seen in the process (ruby_behaviour.h). A figure is taken only if two of them agree, and a
 * layout is given only if all that a walk needs are; what else is not agreed on is unknown in it.
 * Costs some 50 ms, once at attach. Single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_id_table.h"

enum {
	RUBY_STACK_REMARKS_MAX = 8,
	RUBY_STACK_REMARK_BYTES = 160,
};

/* The Ruby of a process. All borrowed. */
struct ruby_stack_object {
	const struct elf_image *image; /* libruby, or a static ruby */
	uint64_t bias; /* where it is loaded */
	const struct ruby_data_range *ranges; /* its data */
	size_t range_count;
	enum string_layout string_layout;
	bool is_musl; /* shape of the DTV */
};

enum ruby_stack_state {
	RUBY_STACK_AGREED = 0,
	RUBY_STACK_DISAGREED = 1, /* the ways say different things; see the remarks */
	RUBY_STACK_MISSING = 2, /* one of them says too little; see the remarks */
};

/* What each way came to, for doctor. */
struct ruby_stack_report {
	enum ruby_stack_state state;
	uint32_t frames_seen; /* in the process */
	uint32_t iseqs_seen;
	uint32_t by_code; /* figures that the functions gave */
	uint32_t by_process; /* that the process showed */
	uint32_t agreed; /* that two ways agree on */
	size_t remark_count;
	/* Which figure, and which way said what of it; text without control characters. */
	char remarks[RUBY_STACK_REMARKS_MAX][RUBY_STACK_REMARK_BYTES];
};

/*
 * 0: report is set, and layout if its state is RUBY_STACK_AGREED; -EAGAIN: what is in the process
 * does not hold together now, as while it starts; -ENOMEM; or an error of the reader.
 */
int ruby_stack_finder_find(const struct ruby_stack_object *object,
			   const struct memory_reader *reader, struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report);
