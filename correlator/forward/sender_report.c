#include "forward/sender_report.h"

#include "base/clock.h"

/* After so long without a new kind of failure, the known ones are news again. */
#define CALM_NS (60 * NS_PER_S)

bool sender_report_failure(struct sender_report *report, enum failure_kind kind, uint64_t now_ns)
{
	uint32_t bit = 1U << kind;

	if (kind == FAILURE_CANCELLED || (report->said_kinds & bit))
		return false;
	if (report->said_kinds == 0)
		report->said_ns = now_ns;
	report->said_kinds |= bit;
	report->has_failed = true;
	return true;
}

bool sender_report_success(struct sender_report *report, uint64_t now_ns)
{
	bool is_news = !report->has_delivered || report->has_failed;

	if (report->said_kinds && now_ns - report->said_ns >= CALM_NS)
		report->said_kinds = 0;
	report->has_failed = false;
	report->has_delivered = true;
	return is_news;
}
