/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stolen_debts.h"

#include <stdlib.h>

#include "base/hash_table.h"

enum {
	UNMET_MAX_NS = 1000 * 1000 * 1000
};

struct debt {
	uint64_t thread_serial;
	int64_t owed_ns;
	uint64_t unmet_ns; /* time without an account */
	UT_hash_handle hh;
};

struct stolen_debts {
	struct debt *debts; /* uthash, by thread */
};

struct stolen_debts *stolen_debts_new(void)
{
	return calloc(1, sizeof(struct stolen_debts));
}

void stolen_debts_free(struct stolen_debts *debts)
{
	struct debt *debt, *next;

	if (!debts)
		return;
	HASH_ITER(hh, debts->debts, debt, next) {
		HASH_DEL(debts->debts, debt);
		free(debt);
	}
	free(debts);
}

static struct debt *add(struct stolen_debts *debts, uint64_t thread_serial)
{
	struct debt *debt = calloc(1, sizeof(*debt));

	if (!debt)
		return NULL;
	debt->thread_serial = thread_serial;
	HASH_ADD(hh, debts->debts, thread_serial, sizeof(debt->thread_serial), debt);
	if (!debt->hh.tbl)
		free(TAKE_PTR(debt));
	return debt;
}

uint64_t stolen_debts_settle(struct stolen_debts *debts, uint64_t thread_serial, int64_t stolen_ns)
{
	struct debt *debt;

	HASH_FIND(hh, debts->debts, &thread_serial, sizeof(thread_serial), debt);
	if (debt)
		stolen_ns -= debt->owed_ns;
	if (stolen_ns < 0 && !debt)
		debt = add(debts, thread_serial);
	if (debt) {
		debt->owed_ns = stolen_ns < 0 ? -stolen_ns : 0;
		debt->unmet_ns = 0;
	}
	return stolen_ns < 0 ? 0 : (uint64_t)stolen_ns;
}

void stolen_debts_end_window(struct stolen_debts *debts, uint64_t window_ns)
{
	struct debt *debt, *next;

	HASH_ITER(hh, debts->debts, debt, next) {
		if (debt->owed_ns > 0 && debt->unmet_ns < UNMET_MAX_NS) {
			debt->unmet_ns += window_ns;
			continue;
		}
		HASH_DEL(debts->debts, debt);
		free(debt);
	}
}
