/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two windows of a map that charges go to beside their account, for who has included two_tasks.h
 * and the programs. Defined before: CHARGED_MAP, the map that has both; CHARGED_KEY and
 * CHARGED_SUMS, the types of what is in them. One account is there; no other one is opened.
 */
#pragma once

enum {
	ROWS = 64
};

struct row {
	CHARGED_KEY key;
	CHARGED_SUMS sums;
};

static struct {
	struct row rows[2][ROWS];
	size_t counts[2];
	bool is_full, has_no_epochs;
	struct account_key opened;
	struct account account;
} bench;

static struct thread_state *const thread = &kernel.states[0];

static void *find_row(size_t window, const CHARGED_KEY *key)
{
	for (size_t i = 0; i < bench.counts[window]; i++)
		if (memcmp(&bench.rows[window][i].key, key, sizeof(*key)) == 0)
			return &bench.rows[window][i].sums;
	return NULL;
}

static void *charged_find(const void *map, const void *key)
{
	if (map == &CHARGED_MAP)
		return bench.has_no_epochs ? NULL : &bench.rows[*(const uint32_t *)key];
	for (size_t window = 0; window < 2; window++)
		if (map == &bench.rows[window])
			return find_row(window, key);
	if (map == &accounts)
		return &bench.opened;
	if (map == &bench.opened)
		return memcmp(map, key, sizeof(bench.opened)) == 0 ? &bench.account : NULL;
	return NULL;
}

__attribute__((noipa)) static long charged_update(const void *map, const void *key,
						  const void *value, uint64_t flags)
{
	size_t window = map == &bench.rows[1];
	struct row *row = &bench.rows[window][bench.counts[window]];

	if (map == &bench.opened)
		return -E2BIG;
	if (map != &bench.rows[window])
		return 1;
	assert_int_equal(flags, BPF_NOEXIST);
	if (bench.is_full)
		return -E2BIG;
	assert_in_range(bench.counts[window]++, 0, ROWS - 1);
	row->key = *(const CHARGED_KEY *)key;
	row->sums = *(const CHARGED_SUMS *)value;
	return 0;
}

static void open_account(uint64_t context_hash)
{
	bench.opened = (struct account_key){ .context_hash = context_hash,
					     .thread_serial = thread->serial,
					     .life = LIFE };
}

/* The thread is in no context, of which it is known, and has that account. */
static void begin_charges(void **state)
{
	(void)begin_two_tasks(state);
	memset(&bench, 0, sizeof(bench));
	native_session.accounts_max = 100;
	native_session.contexts_max = 100;
	kernel.current.se.cfs_rq = &kernel.cfs;
	kernel.find = charged_find;
	kernel.update = charged_update;
	thread->serial = 6;
	thread->config.family = FAMILY;
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_NONE;
	open_account(CONTEXT_HASH_NONE);
}
