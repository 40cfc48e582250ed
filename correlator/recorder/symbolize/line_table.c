/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/line_table.h"

#include <errno.h>
#include <stddef.h>

enum {
	/* struct succ_index_table: 9 ranks of 7 bits in each of six words, then blocks. */
	RANKS_PER_WORD = 9,
	RANK_BITS = 7,
	IMMEDIATE_POSITIONS = 54,
	BLOCKS_OFFSET = 48,
	BLOCK_POSITIONS = 512,
	BLOCK_BYTES = 80,
	SMALL_RANK_BITS = 9,
	WORD_BITS = 64,
	/* An int in the table; a file has fewer lines. */
	LINE_MAX_SANE = 0x7fffffff,
};

struct succinct_block {
	uint32_t rank;
	uint32_t padding;
	uint64_t small_ranks;
	uint64_t bits[BLOCK_POSITIONS / WORD_BITS];
};

_Static_assert(sizeof(struct succinct_block) == BLOCK_BYTES, "as the target has it");

/* Number of entries that begin at or before the position. */
static int find_rank(const struct memory_reader *reader, uint64_t table, uint32_t position,
		     uint64_t *ret_rank)
{
	struct succinct_block block;
	uint32_t in_block, word;
	uint64_t ranks;
	int r;

	if (position < IMMEDIATE_POSITIONS) {
		r = memory_read_u64(reader, table + position / RANKS_PER_WORD * sizeof(ranks),
				    &ranks);
		if (r == 0)
			*ret_rank = ranks >> (position % RANKS_PER_WORD * RANK_BITS) &
				    ((1 << RANK_BITS) - 1);
		return r;
	}
	position -= IMMEDIATE_POSITIONS;
	r = memory_read(reader,
			table + BLOCKS_OFFSET +
				(uint64_t)(position / BLOCK_POSITIONS) * BLOCK_BYTES,
			&block, sizeof(block));
	if (r < 0)
		return r;
	in_block = position % BLOCK_POSITIONS;
	word = in_block / WORD_BITS;
	*ret_rank = (uint64_t)block.rank +
		    (uint64_t)__builtin_popcountll(block.bits[word]
						   << (WORD_BITS - 1 - in_block % WORD_BITS));
	if (word > 0)
		*ret_rank += block.small_ranks >> ((word - 1) * SMALL_RANK_BITS) &
			     ((1 << SMALL_RANK_BITS) - 1);
	return 0;
}

/* find_rank for an ascending list, by binary search. */
static int search_list(const struct memory_reader *reader, const struct line_table *table,
		       uint32_t position, uint64_t *ret_rank)
{
	uint64_t low = 0, high = table->count; /* low <= rank <= high */
	uint32_t at;
	int r;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		r = memory_read(reader, table->positions + middle * sizeof(at), &at, sizeof(at));
		if (r < 0)
			return r;
		if (at <= position)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_rank = low;
	return 0;
}

int line_table_find(const struct memory_reader *reader, const struct line_table *table,
		    uint32_t position, uint32_t *ret_line)
{
	uint64_t rank = 1;
	uint32_t line;
	int r = 0;

	if (table->count == 0)
		return -ENOENT;
	if (table->count > 1) {
		if (table->kind == RUBY_LINE_POSITIONS_SUCCINCT)
			r = find_rank(reader, table->positions, position, &rank);
		else if (table->kind == RUBY_LINE_POSITIONS_LIST)
			r = search_list(reader, table, position, &rank);
		else
			return -ENOENT;
	}
	if (r < 0)
		return r;
	if (rank < 1 || rank > table->count)
		return -EINVAL;
	r = memory_read(reader, table->entries + (rank - 1) * table->entry_bytes, &line,
			sizeof(line));
	if (r < 0)
		return r;
	if (line > LINE_MAX_SANE)
		return -EINVAL;
	*ret_line = line;
	return 0;
}
