/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts on the same records, of a recording that is being made or read back. The caller adds each
 * record of a window, in any order, then ends the window. Pure, single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/alert.h"
#include "base/cleanup.h"
#include "record/record_view.h"

enum {
	ALERTS_MAX = 16
};

struct alert_set;

struct alert_set *alert_set_new(void); /* NULL: no memory */
void alert_set_free(struct alert_set *set);
DEFINE_CLEANUP(struct alert_set *, alert_set_free);

/* 0; -E2BIG: ALERTS_MAX alerts are in the set; -ENOMEM. */
int alert_set_add(struct alert_set *set, const struct alert_expression *expression);
size_t alert_set_count(const struct alert_set *set);
const struct alert_expression *alert_set_expression(const struct alert_set *set, size_t index);

/* Adds a record of any kind, as written or as read back. 0 or -ENOMEM. */
int alert_set_add_record(struct alert_set *set, enum record_kind kind, const void *record);
int alert_set_add_view(struct alert_set *set, const struct record_view *view);

/*
 * Ends the window and reports changes to on_change. is_last: requests that are still open have
 * ended; they are part of percentiles, means and maxima, but not of counts, sums and rates of a
 * window. 0, or -ENOMEM: some of them are missing.
 */
int alert_set_end_window(struct alert_set *set, const struct alert_window *window, bool is_last,
			 alert_change_fn on_change, void *user);

/* Prints one line for a change, without its end: "p99(cpu) > 50ms by endpoint: endpoint=GET
 * /cpu: is at 61.2 ms". */
void alert_change_print(const struct alert_change *change, char *ret_text, size_t text_bytes);
