/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/balance.h"

#include <string.h>

#include <correlator/snapshot.h>

void balance_add(struct balance *balance, uint64_t context_hash,
		 const struct account_totals *totals)
{
	if (context_hash >= CONTEXT_HASH_FIRST)
		balance->attributed_ns += account_on_cpu(totals);
	else
		balance->unattributed_ns += account_on_cpu(totals);
}

void balance_overflow(const struct balance *balance, const struct process_books *now,
		      uint64_t window, struct account_totals *ret_totals)
{
	const struct account_totals *after = &now->epochs[window & 1].overflow;
	const struct account_totals *before = &balance->before.epochs[window & 1].overflow;

#define DIFFERENCE(type, name) ret_totals->name = after->name - before->name;
	ACCOUNT_TOTALS(DIFFERENCE, DIFFERENCE)
#undef DIFFERENCE
	for (unsigned int i = 0; i < BLOCKED_REASONS_KEPT; i++)
		ret_totals->blocked_on_ns[i] = after->blocked_on_ns[i] - before->blocked_on_ns[i];
}

/* Growth of the kernel's figure, which may decrease. */
static uint64_t exec_growth(struct balance *balance, const struct process_books *now,
			    uint64_t window)
{
	int64_t grown_ns =
		(int64_t)(now->epochs[window & 1].exec_ns -
			  balance->before.epochs[window & 1].exec_ns - balance->exec_owed_ns);

	balance->exec_owed_ns = grown_ns < 0 ? (uint64_t)-grown_ns : 0;
	return grown_ns < 0 ? 0 : (uint64_t)grown_ns;
}

void balance_close(struct balance *balance, const struct process_books *now, uint64_t window,
		   uint64_t window_ns, struct balance_record *ret_record)
{
	struct account_totals overflow;

	balance_overflow(balance, now, window, &overflow);
	ret_record->window_ns = window_ns;
	ret_record->exec_ns = exec_growth(balance, now, window);
	ret_record->attributed_ns = balance->attributed_ns;
	ret_record->unattributed_ns = balance->unattributed_ns;
	ret_record->overflow_ns = account_on_cpu(&overflow);
	ret_record->residual_ns = (int64_t)(ret_record->exec_ns - ret_record->attributed_ns -
					    ret_record->unattributed_ns - ret_record->overflow_ns);
	for (unsigned int i = 0; i < _COUNTER_MAX; i++)
		ret_record->losses[i] =
			now->losses[i] - balance->before.losses[i] + balance->losses[i];
	ret_record->has_samples = balance->period_ns > 0;
	ret_record->samples = balance->samples;
	ret_record->sampled_ns = balance->samples * balance->period_ns;
	/* The epoch of the other parity is open: it keeps growing while this is read. */
	balance->before.epochs[window & 1] = now->epochs[window & 1];
	memcpy(balance->before.losses, now->losses, sizeof(now->losses));
	balance->attributed_ns = 0;
	balance->unattributed_ns = 0;
	balance->samples = 0;
	memset(balance->losses, 0, sizeof(balance->losses));
}
