/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where a process's Ruby keeps its frames (correlator/ruby_stack_layout.h), without a table
 * of versions, in independent ways: from the code of functions that libruby exports
 * (ruby_accessors.h), and from the live process (ruby_behaviour.h). A field is taken only if two
 * ways agree, except for a few that the process alone proves. A layout is returned only if all
 * fields that a walk needs are taken; the others may be unknown in it. Costs some 50 ms, once at
 * attach. Single thread; does not log.
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
	RUBY_STACK_DISAGREED = 1, /* the ways contradict each other; see the remarks */
	RUBY_STACK_MISSING = 2, /* one of them finds too little; see the remarks */
};

/* Results of each way, for doctor. */
struct ruby_stack_report {
	enum ruby_stack_state state;
	uint32_t frames_seen; /* in the process */
	uint32_t iseqs_seen;
	uint32_t by_code; /* fields found in the code of functions */
	uint32_t by_process; /* fields found in the process */
	uint32_t agreed; /* fields on which two ways agree */
	size_t remark_count;
	/* The field, and what each way found; text without control characters. */
	char remarks[RUBY_STACK_REMARKS_MAX][RUBY_STACK_REMARK_BYTES];
};

/*
 * 0: *ret_report is set, and *ret_layout if the state is RUBY_STACK_AGREED; -EAGAIN: the data of
 * the process is inconsistent now, as during startup; -ENOMEM; or an error of the reader.
 */
int ruby_stack_finder_find(const struct ruby_stack_object *object,
			   const struct memory_reader *reader, struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report);
