/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/alert_arguments.h"

#include <errno.h>
#include <string.h>

#include "base/display.h"
#include "base/log.h"
#include "base/text.h"

/* Logs the expression, and below it a mark at the error. */
static int explain(const char *text, const struct alert_error *error)
{
	char shown[2 * ALERT_TEXT_BYTES], before[2 * ALERT_TEXT_BYTES];

	(void)text_escape(text, error->offset, 0, before, sizeof(before));
	(void)text_escape(text, strlen(text), 0, shown, sizeof(shown));
	(void)log_error(EINVAL, "--alert: %s", error->message);
	(void)log_error(EINVAL, "  %s", shown);
	return log_error(EINVAL, "  %*s^", (int)display_columns(before), "");
}

int alert_arguments_add(struct alert_set **set, const char *text)
{
	struct alert_expression expression;
	struct alert_error error;
	int r;

	if (alert_expression_parse(text, &expression, &error) < 0)
		return explain(text, &error);
	if (!*set)
		*set = alert_set_new();
	r = *set ? alert_set_add(*set, &expression) : -ENOMEM;
	if (r == -E2BIG)
		return log_error(EINVAL, "--alert: at most %d of them", ALERTS_MAX);
	return r < 0 ? log_error_errno(r, "--alert") : 0;
}
