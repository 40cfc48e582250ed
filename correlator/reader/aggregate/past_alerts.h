/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts over recordings: what would have fired while they were made, recorder by recorder, since
 * each has windows of its own. Records that are there twice are looked at once. Bounded, with at
 * most PAST_RECORDERS_MAX recorders; the tables are keyed. Single thread.
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
	PAST_HOST_BYTES = 128, /* of a host's name, escaped and cut */
};

struct past_alerts;

/* host: who recorded it, printable. */
typedef void (*past_alert_fn)(void *user, const char *host, const struct alert_change *change);

/* set: the expressions, borrowed; it is not fed itself. Takes the filter, of whose span of time
 * it is. 0 or -ENOMEM. */
int past_alerts_new(const struct alert_set *set, struct filter *filter, past_alert_fn on_change,
		    void *user, struct past_alerts **ret_alerts);
void past_alerts_free(struct past_alerts *alerts);
DEFINE_CLEANUP(struct past_alerts *, past_alerts_free);

/* The processes, keys and modes that the records tell of. Borrowed. */
const struct recording *past_alerts_recording(const struct past_alerts *alerts);

/* A record of any kind, in the order in which each recorder wrote them. 0; -E2BIG: too many
 * recorders; -ENOMEM. */
int past_alerts_add(struct past_alerts *alerts, const struct record_view *record);
/* After the last one. 0 or -ENOMEM. */
int past_alerts_finish(struct past_alerts *alerts);
