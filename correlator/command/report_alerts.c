/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_alerts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/print.h"
#include "command/recorded_keys.h"
#include "command/streams.h"
#include "reader/aggregate/past_alerts.h"
#include "reader/query/input.h"
#include "reader/query/recording.h"
#include "record/record_reader.h"

#define REQUEST_ID "request_id"

enum {
	LINE_BYTES = 1024
};

struct looking {
	struct past_alerts *alerts;
	bool has_fired;
	bool is_damaged;
	int write_error; /* errno of the first write that failed; 0 = none */
};

/* Prints "2026-11-22T10:15:00.123Z web-1 firing: ...", unbuffered: the records may come from a
 * pipe. */
static void print_change(void *user, const char *host, const struct alert_change *change)
{
	struct looking *looking = user;
	time_t seconds = (time_t)(change->wall_ns / NS_PER_S);
	unsigned int ms = (unsigned int)(change->wall_ns % NS_PER_S / NS_PER_MS);
	char line[LINE_BYTES], when[32] = "?";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	alert_change_print(change, line, sizeof(line));
	print_line(stdout, "%s.%03uZ %s %s: %s", when, ms, host,
		   change->is_firing ? "firing" : "resolved", line);
	if (fflush(stdout) != 0 && looking->write_error == 0)
		looking->write_error = errno;
	looking->has_fired |= change->is_firing;
}

static int refuse(const struct record_reader *reader, int error)
{
	if (error == -E2BIG)
		return log_error(error, "%s: of more than %d recorders", record_reader_name(reader),
				 PAST_RECORDERS_MAX);
	return log_error_errno(error, "cannot look at %s", record_reader_name(reader));
}

static int look_at(void *context, struct record_reader *reader, const struct record_view *record)
{
	struct looking *looking = context;
	int r = past_alerts_add(looking->alerts, record);

	if (r < 0)
		return refuse(reader, r);
	return ferror(stdout) ? 1 : 0;
}

static int check_key(const struct recording *recording, const char *key, const char *advice)
{
	return recording_has_key(recording, key) ? 0 : recorded_keys_refuse(recording, key, advice);
}

/* A key that no record has is most likely a slip, unless nothing tells which keys there are. */
static int check_keys(const struct recording *recording, const struct alert_set *set)
{
	int r = 0;

	if (recording->cpu_record_count == 0 && recording->key_count == 0)
		return 0;
	for (size_t i = 0; i < alert_set_count(set) && r == 0; i++) {
		const struct alert_expression *expression = alert_set_expression(set, i);

		if (expression->key[0])
			r = check_key(recording, expression->key, "choose with `by' in --alert");
		if (r == 0 && alert_expression_is_of_requests(expression))
			r = check_key(recording, REQUEST_ID, "requests are told apart by it");
	}
	return r;
}

static int look(struct looking *looking, const struct alert_set *set, char *const *paths,
		size_t path_count)
{
	int r = 0;

	for (size_t i = 0; i < path_count && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(paths[i], INPUT_STEADY, true, look_at, looking, &file);
		looking->is_damaged |= file.damaged_places > 0;
	}
	if (r < 0)
		return r;
	if (!past_alerts_recording(looking->alerts)->record_count)
		return log_error(ENODATA, "no records to look at");
	if (check_keys(past_alerts_recording(looking->alerts), set) < 0)
		return -ENOENT;
	r = past_alerts_finish(looking->alerts);
	if (r < 0)
		return log_error_errno(r, "cannot look at them");
	return streams_finish_flushed_output("the alerts", looking->write_error);
}

int report_alerts(const struct alert_set *set, struct filter *filter, char *const *paths,
		  size_t path_count)
{
	_cleanup_(past_alerts_freep) struct past_alerts *alerts = NULL;
	struct looking looking = { 0 };
	int r;

	if (past_alerts_new(set, filter, print_change, &looking, &alerts) < 0) {
		(void)log_error_errno(ENOMEM, "cannot look at them");
		return EXIT_CODE_FAILURE;
	}
	looking.alerts = alerts;
	r = look(&looking, set, paths, path_count);
	if (r < 0)
		return EXIT_CODE_FAILURE;
	if (looking.has_fired)
		return EXIT_CODE_ALERT;
	return looking.is_damaged ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
