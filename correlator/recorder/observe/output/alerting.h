/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alerts during a recording: each change is a line in the log, a record, and a run of the
 * --on-alert program. output.h passes the records to the alerts. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "alert/alert_set.h"
#include "recorder/observe/output/alert_program.h"
#include "recorder/observe/output/output.h"

struct alerting {
	struct alert_set *set; /* borrowed; NULL = there are none */
	struct alert_program program;
};

void alerting_init(struct alerting *alerting, struct alert_set *set, const char *program);
void alerting_deinit(struct alerting *alerting);

/*
 * Call once all records of a window were taken: evaluates the alerts, and adds a record for each
 * change. 0 or -errno (logged).
 */
int alerting_end_window(struct alerting *alerting, struct output *output,
			const struct alert_window *window, bool is_last);
