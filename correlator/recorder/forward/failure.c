/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

/* An ack this long after the first logged failure makes all kinds of failures news again. */
#define CALM_NS (60 * NS_PER_S)
/*
 * A failure that lasts this long is logged even if known; otherwise the last log line would be
 * "delivering".
 */
#define LASTING_NS (5 * NS_PER_S)

void failure_set(struct failure *failure, enum failure_kind kind, const char *format, ...)
{
	va_list args;

	if (failure->kind != FAILURE_NONE)
		return;
	failure->kind = kind;
	va_start(args, format);
	(void)vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
}

const char *failure_kind_name(enum failure_kind kind)
{
	static const char *const names[_FAILURE_KIND_MAX] = {
		[FAILURE_NONE] = "none",
		[FAILURE_INTERNAL] = "internal",
		[FAILURE_CANCELLED] = "cancelled",
		[FAILURE_RESOLVE] = "resolve",
		[FAILURE_CONNECT] = "connect",
		[FAILURE_TLS] = "tls",
		[FAILURE_NO_HELLO] = "no_hello",
		[FAILURE_KEY_WANTED] = "key_wanted",
		[FAILURE_KEY_REFUSED] = "key_refused",
		[FAILURE_IMPOSTOR] = "impostor",
		[FAILURE_STALLED] = "stalled",
		[FAILURE_SILENT] = "silent",
		[FAILURE_CLOSED] = "closed",
		[FAILURE_REFUSED] = "refused",
		[FAILURE_WRONG_ACK] = "wrong_ack",
		[FAILURE_GARBAGE] = "garbage",
	};

	return names[kind];
}

bool failure_is_refusal(const struct failure *failure)
{
	return failure->kind == FAILURE_CLOSED || failure->kind == FAILURE_REFUSED;
}

bool failure_report_failed(struct failure_report *report, enum failure_kind kind, uint64_t now_ns)
{
	uint32_t bit = 1U << kind;

	if (kind == FAILURE_CANCELLED)
		return false;
	if (!report->failing_ns)
		report->failing_ns = now_ns;
	if ((report->said_kinds & bit) &&
	    (report->has_failed || now_ns - report->failing_ns < LASTING_NS))
		return false;
	if (report->said_kinds == 0)
		report->said_ns = now_ns;
	report->said_kinds |= bit;
	report->has_failed = true;
	return true;
}

bool failure_report_acked(struct failure_report *report, uint64_t now_ns)
{
	bool is_news = !report->has_delivered || report->has_failed;

	if (report->said_kinds && now_ns - report->said_ns >= CALM_NS)
		report->said_kinds = 0;
	report->has_failed = false;
	report->has_delivered = true;
	report->failing_ns = 0;
	return is_news;
}
