/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"

#define NS_PER_HOUR (3600 * NS_PER_S)

void filter_deinit(struct filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++)
		free(filter->conditions[i].key);
	*filter = (struct filter){ 0 };
}

/* key and wanted share one allocation. */
static char *copy_key(const struct filter_condition *condition)
{
	size_t size_bytes =
		(size_t)(condition->wanted - condition->key) + strlen(condition->wanted) + 1;
	char *key = malloc(size_bytes);

	return key ? memcpy(key, condition->key, size_bytes) : NULL;
}

int filter_copy(const struct filter *filter, struct filter *ret_filter)
{
	struct filter copy = *filter;

	for (copy.condition_count = 0; copy.condition_count < filter->condition_count;
	     copy.condition_count++) {
		const struct filter_condition *from = &filter->conditions[copy.condition_count];
		struct filter_condition *to = &copy.conditions[copy.condition_count];

		to->key = copy_key(from);
		if (!to->key) {
			filter_deinit(&copy);
			return -ENOMEM;
		}
		to->wanted = to->key + (from->wanted - from->key);
	}
	*ret_filter = copy;
	return 0;
}

void filter_describe(const struct filter_condition *condition, char ret_text[static 256])
{
	(void)snprintf(ret_text, 256, "%s%c%s", condition->key, condition->is_pattern ? '~' : '=',
		       condition->wanted);
}

int filter_add(struct filter *filter, const char *text)
{
	size_t key_bytes = strcspn(text, "=~");
	struct filter_condition condition = { .is_pattern = text[key_bytes] == '~' };
	char *copy;

	if (key_bytes == 0 || !text[key_bytes])
		return -EINVAL;
	if (filter->condition_count == FILTER_CONDITIONS_MAX)
		return -E2BIG;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	copy[key_bytes] = '\0';
	condition.key = copy;
	condition.wanted = copy + key_bytes + 1;
	filter->conditions[filter->condition_count++] = condition;
	return 0;
}

static uint64_t parse_fraction(const char *text, const char **ret_rest)
{
	uint64_t ns = 0, unit = NS_PER_S / 10;

	for (; *text >= '0' && *text <= '9'; text++, unit /= 10)
		ns += unit * (uint64_t)(*text - '0');
	*ret_rest = text;
	return ns;
}

/* Parses "10:15:00.25". Returns NULL if it is not a time of day. */
static const char *parse_time_of_day(const char *text, struct tm *tm, uint64_t *ret_fraction_ns)
{
	const char *rest = strptime(text, "%H:%M:%S", tm);

	*ret_fraction_ns = 0;
	if (rest && *rest == '.')
		*ret_fraction_ns = parse_fraction(rest + 1, &rest);
	return rest;
}

int filter_parse_time(const char *text, struct filter_time *ret_time)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	uint64_t fraction_ns = 0;
	int day = tm.tm_mday;

	*ret_time = (struct filter_time){ .is_set = true };
	if (rest) {
		if (*rest == 'T' || *rest == ' ')
			rest = parse_time_of_day(rest + 1, &tm, &fraction_ns);
		if (!rest || (*rest && strcmp(rest, "Z") != 0) || tm.tm_year < 70)
			return -EINVAL;
		ret_time->ns = (uint64_t)timegm(&tm) * NS_PER_S + fraction_ns;
		/* The 30th of February does not exist: timegm would make it the 2nd of March. */
		return tm.tm_mday == day ? 0 : -EINVAL;
	}
	rest = parse_time_of_day(text, &tm, &fraction_ns);
	if (rest) {
		ret_time->is_of_day = true;
		ret_time->ns =
			(uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * NS_PER_S +
			fraction_ns;
		return *rest ? -EINVAL : 0;
	}
	ret_time->is_relative = true;
	return duration_parse(text, &ret_time->ns);
}

/* The wall clock at ns since local midnight, days after the day of now_ns. */
static int64_t on_day(uint64_t ns, uint64_t now_ns, int days)
{
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm tm = { 0 };

	(void)localtime_r(&now, &tm);
	tm.tm_mday += days;
	tm.tm_hour = (int)(ns / NS_PER_HOUR);
	tm.tm_min = 0;
	tm.tm_sec = (int)(ns % NS_PER_HOUR / NS_PER_S);
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * (int64_t)NS_PER_S + (int64_t)(ns % NS_PER_S);
}

static uint64_t nearest_time(uint64_t ns, uint64_t now_ns)
{
	int64_t half_day_ns = 12 * (int64_t)NS_PER_HOUR;
	int64_t nearest_ns = on_day(ns, now_ns, 0);

	if (nearest_ns < (int64_t)now_ns - half_day_ns)
		nearest_ns = on_day(ns, now_ns, 1);
	else if (nearest_ns > (int64_t)now_ns + half_day_ns)
		nearest_ns = on_day(ns, now_ns, -1);
	return nearest_ns > 0 ? (uint64_t)nearest_ns : 0;
}

static void resolve(struct filter_time *time, uint64_t first_ns)
{
	if (time->is_relative)
		time->ns += first_ns;
	if (time->is_of_day)
		time->ns = nearest_time(time->ns, first_ns);
	time->is_relative = time->is_of_day = false;
}

bool filter_is_in_time(struct filter *filter, const struct record_view *record)
{
	resolve(&filter->since, record->wall_ns);
	resolve(&filter->until, record->wall_ns);
	return (!filter->since.is_set || record->wall_ns > filter->since.ns) &&
	       (!filter->until.is_set || record->wall_ns <= filter->until.ns);
}

static bool does_match(const struct filter_condition *condition, struct record_text value)
{
	char text[RECORD_VIEW_TEXT_BYTES_MAX + 1];

	if (!condition->is_pattern)
		return record_text_is(value, condition->wanted);
	memcpy(text, value.bytes, value.size_bytes);
	text[value.size_bytes] = '\0';
	return fnmatch(condition->wanted, text, FNM_NOESCAPE) == 0;
}

static struct record_text value_of(const struct filter_condition *condition,
				   const struct record_view *record, struct record_text comm,
				   char number[static 24])
{
	struct record_text value = { 0 };
	int64_t count;

	if (strcmp(condition->key, "comm") == 0)
		return comm;
	if (record_view_text(record, condition->key, &value))
		return value;
	if (record_view_count(record, condition->key, &count)) {
		(void)snprintf(number, 24, "%" PRId64, count);
		value = (struct record_text){ number, strlen(number) };
	}
	return value;
}

bool filter_wants(const struct filter *filter, const struct record_view *record,
		  struct record_text comm)
{
	char number[24];

	for (size_t i = 0; i < filter->condition_count; i++) {
		const struct filter_condition *condition = &filter->conditions[i];
		struct record_text value = value_of(condition, record, comm, number);

		if (value.size_bytes == 0 || !does_match(condition, value))
			return false;
	}
	return true;
}
