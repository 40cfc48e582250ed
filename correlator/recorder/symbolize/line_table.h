/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps a position in an iseq's code to its line, by the iseq's own table in the target. Owns
 * nothing; any thread; does not log. Facts: succ_index_lookup() and get_insn_info() of iseq.c,
 * v2_7_4 to v4_0_1; ruby_stack_layout.h.
 */
#pragma once

#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

#include "recorder/target/proc/memory_reader.h"

struct line_table {
	uint64_t entries; /* address of iseq_insn_info_entry[count] */
	uint64_t positions; /* address of the positions, in the format kind */
	uint32_t count;
	uint32_t kind; /* enum ruby_line_positions */
	uint32_t entry_bytes;
};

/*
 * Finds the line of a position, which is in words of code: at most some 20 reads. 0; -ENOENT: none;
 * -EINVAL: the table is invalid; an error of the reader.
 */
int line_table_find(const struct memory_reader *reader, const struct line_table *table,
		    uint32_t position, uint32_t *ret_line);
