/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts that look at the same records: of a recording that is made, or of one that is read. Each
 * record of a window goes in, in any order, then its end. Pure, single thread.
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

/* 0; -E2BIG: ALERTS_MAX are there; -ENOMEM. */
int alert_set_add(struct alert_set *set, const struct alert_expression *expression);
size_t alert_set_count(const struct alert_set *set);
const struct alert_expression *alert_set_expression(const struct alert_set *set, size_t index);

/* A record of any kind as it is written, or as it was read. 0 or -ENOMEM. */
int alert_set_add_record(struct alert_set *set, enum record_kind kind, const void *record);
int alert_set_add_view(struct alert_set *set, const struct record_view *view);

/* The window is over: tells what has changed. is_last: requests that are still open have ended;
 * they are in percentiles, means and maxima, but in no count of a window. 0 or -ENOMEM: some of
 * them are missing. */
int alert_set_end_window(struct alert_set *set, const struct alert_window *window, bool is_last,
			 alert_change_fn on_change, void *user);

/* One line of a change, without its end: "p99(cpu) > 50ms by endpoint: endpoint=GET /cpu: is
 * at 61.2 ms". */
void alert_change_print(const struct alert_change *change, char *ret_text, size_t text_bytes);
