/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/alerting.h"

#include "base/clock.h"
#include "base/log.h"

enum {
	LINE_BYTES = 1024,
	LINES_MAX = 16, /* log lines per window */
};

/* State while the changes of a window are reported. */
struct telling {
	struct alerting *alerting;
	struct output *output;
	size_t change_count;
	int error;
};

void alerting_init(struct alerting *alerting, struct alert_set *set, const char *program)
{
	alerting->set = set;
	alert_program_init(&alerting->program, program);
}

void alerting_deinit(struct alerting *alerting)
{
	alert_program_deinit(&alerting->program);
}

static const char *state_of(const struct alert_change *change)
{
	return change->is_firing ? "firing" : "resolved";
}

static int take_record(struct output *output, const struct alert_change *change)
{
	const struct alert_expression *expression = change->expression;
	struct alert_record record = {
		.expression = expression->text,
		.state = state_of(change),
		.by_key = change->value_of_key ? expression->key : NULL,
		.by_value = change->value_of_key,
		.has_value = change->has_value,
		.value = change->value,
		.threshold = expression->limit,
		.unit = alert_unit_name(expression->unit),
		.since_ns = change->since_ns,
	};

	return output_add(output, change->wall_ns, &record);
}

static void tell(void *user, const struct alert_change *change)
{
	struct telling *telling = user;
	char line[LINE_BYTES];
	int r = take_record(telling->output, change);

	if (telling->error == 0)
		telling->error = r;
	if (telling->change_count++ < LINES_MAX) {
		alert_change_print(change, line, sizeof(line));
		log_warning("alert %s: %s", state_of(change), line);
	}
	alert_program_add(&telling->alerting->program, change, clock_monotonic_ns());
}

int alerting_end_window(struct alerting *alerting, struct output *output,
			const struct alert_window *window, bool is_last)
{
	struct telling telling = { .alerting = alerting, .output = output };
	int r;

	if (!alerting->set)
		return 0;
	r = alert_set_end_window(alerting->set, window, is_last, tell, &telling);
	if (r < 0)
		log_warning("no memory: requests are missing in what alerts look at");
	if (telling.change_count > LINES_MAX)
		log_warning("alerts: %zu more changes in this window: their records say them",
			    telling.change_count - LINES_MAX);
	return telling.error;
}
