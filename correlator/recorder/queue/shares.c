/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/shares.h"

#include <stdlib.h>

#include <utlist.h>

struct share *shares_find(struct shares *shares, uint32_t pid)
{
	struct share *share;

	if (!pid)
		return &shares->nobody;
	HASH_FIND(hh, shares->by_pid, &pid, sizeof(pid), share);
	return share;
}

struct share *shares_get(struct shares *shares, uint32_t pid)
{
	struct share *share = shares_find(shares, pid);

	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->pid = pid;
	HASH_ADD(hh, shares->by_pid, pid, sizeof(share->pid), share);
	if (share->hh.tbl)
		return share;
	free(share);
	return NULL;
}

static void forget(struct shares *shares, struct share *share)
{
	HASH_DEL(shares->by_pid, share);
	free(share);
}

static bool has_untold(const struct share *share)
{
	return share->gap.dropped_records || share->gap.dropped_segments;
}

static bool is_remembered(const struct shares *shares, const struct share *share)
{
	return share != &shares->nobody && !share->queued_bytes && !has_untold(share) &&
	       share->dropped_records;
}

/* Takes a share off the remembered list, because it is used again. */
static void wake(struct shares *shares, struct share *share)
{
	if (!is_remembered(shares, share))
		return;
	DL_DELETE(shares->remembered, share);
	shares->remembered_count--;
}

/* Remembers or forgets a share with nothing queued and nothing to report. */
static void rest(struct shares *shares, struct share *share)
{
	if (share == &shares->nobody || share->queued_bytes || has_untold(share))
		return;
	if (!share->dropped_records)
		return forget(shares, share);
	DL_APPEND(shares->remembered, share);
	if (++shares->remembered_count <= SHARES_REMEMBERED_MAX)
		return;
	share = shares->remembered;
	DL_DELETE(shares->remembered, share);
	shares->remembered_count--;
	forget(shares, share);
}

void shares_add(struct shares *shares, struct share *share, uint64_t size_bytes)
{
	if (!size_bytes)
		return;
	wake(shares, share);
	shares->count += !share->queued_bytes;
	shares->queued_bytes += size_bytes;
	share->queued_bytes += size_bytes;
}

void shares_take(struct shares *shares, struct share *share, uint64_t size_bytes)
{
	shares->queued_bytes -= size_bytes;
	share->queued_bytes -= size_bytes;
	if (!size_bytes || share->queued_bytes)
		return;
	shares->count--;
	shares_join(shares, share);
	rest(shares, share);
}

bool shares_is_above(const struct shares *shares, const struct share *share)
{
	return share->queued_bytes * shares->count > shares->queued_bytes;
}

void shares_part(struct shares *shares, struct share *share)
{
	unsigned int best = 1;

	for (unsigned int lane = 2; lane < SHARES_LANES; lane++)
		if (shares->lane_users[lane] < shares->lane_users[best])
			best = lane;
	shares->lanes_in_use += !shares->lane_users[best]++;
	share->lane = best;
}

void shares_join(struct shares *shares, struct share *share)
{
	if (!share->lane)
		return;
	shares->lanes_in_use -= !--shares->lane_users[share->lane];
	share->lane = 0;
}

void shares_lose(struct shares *shares, uint32_t pid, const struct gap *lost)
{
	struct share *share = shares_get(shares, pid);

	if (!share)
		share = &shares->nobody;
	wake(shares, share);
	if (!has_untold(share))
		DL_APPEND(shares->untold, share);
	gap_add(&share->gap, lost);
	share->dropped_records += lost->dropped_records;
}

bool shares_take_gap(struct shares *shares, struct gap *ret_gap)
{
	struct share *share = shares->untold;

	if (!share)
		return false;
	DL_DELETE(shares->untold, share);
	*ret_gap = share->gap;
	ret_gap->pid = share->pid;
	ret_gap->pid_dropped_records = share->pid ? share->dropped_records : 0;
	share->gap = (struct gap){ 0 };
	rest(shares, share);
	return true;
}

void shares_deinit(struct shares *shares)
{
	struct share *share, *next;

	HASH_ITER(hh, shares->by_pid, share, next)
		forget(shares, share);
}
