/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts over recordings: which would have fired while they were made, for each recorder
 * separately, since each has its own windows. Duplicate records count once. Bounded: at most
 * PAST_RECORDERS_MAX recorders; the hash tables are keyed. Single thread.
 */
#pragma once

#include <stdint.h>

#include "alert/alert_set.h"
#include "base/cleanup.h"
#include "reader/query/filter.h"
#include "reader/query/recording.h"
#include "record/record_view.h"

enum {
	PAST_RECORDERS_MAX = 256,
	PAST_HOST_BYTES = 128, /* of a host name, escaped and cut */
};

struct past_alerts;

/* host: where it was recorded, printable. */
typedef void (*past_alert_fn)(void *user, const char *host, const struct alert_change *change);

/* set: the expressions, borrowed; records are not added to it. Takes ownership of the filter, whose
 * span of time applies. Returns 0 or -ENOMEM. */
int past_alerts_new(const struct alert_set *set, struct filter *filter, past_alert_fn on_change,
		    void *user, struct past_alerts **ret_alerts);
void past_alerts_free(struct past_alerts *alerts);
DEFINE_CLEANUP(struct past_alerts *, past_alerts_free);

/* The processes, keys and modes found in the records. Borrowed. */
const struct recording *past_alerts_recording(const struct past_alerts *alerts);

/* Adds a record of any kind; those of a recorder come in the order in which it wrote them. Returns
 * 0; -E2BIG: too many recorders; -ENOMEM. */
int past_alerts_add(struct past_alerts *alerts, const struct record_view *record);
/* Call after the last record. Returns 0 or -ENOMEM. */
int past_alerts_finish(struct past_alerts *alerts);
