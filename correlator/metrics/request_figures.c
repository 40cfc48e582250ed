/* SPDX-License-Identifier: GPL-2.0-only */
#include "metrics/request_figures.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "base/text.h"
#include "requests/request_charge.h"
#include "requests/request_tracker.h"

/* Three to four for each factor of ten, as requests of a web server spread. */
const struct metrics_bucket metrics_buckets[METRICS_BUCKETS] = {
	{ 100000, "0.0001" },	 { 250000, "0.00025" },	  { 500000, "0.0005" },
	{ 1000000, "0.001" },	 { 2500000, "0.0025" },	  { 5000000, "0.005" },
	{ 10000000, "0.01" },	 { 25000000, "0.025" },	  { 50000000, "0.05" },
	{ 100000000, "0.1" },	 { 250000000, "0.25" },	  { 500000000, "0.5" },
	{ 1000000000, "1.0" },	 { 2500000000, "2.5" },	  { 5000000000, "5.0" },
	{ 10000000000, "10.0" }, { 30000000000, "30.0" }, { 60000000000, "60.0" },
	{ 0, "+Inf" },
};

/* Which series a value has. */
struct place {
	size_t index;
	UT_hash_handle hh;
	char value[METRICS_VALUE_BYTES];
};

struct request_metrics {
	char *key;
	struct request_tracker *tracker;
	struct place *places; /* uthash */
	uint64_t seed;
	struct request_figures *figures;
};

static size_t room_bytes(size_t series_max)
{
	return sizeof(struct request_figures) + (series_max + 1) * sizeof(struct request_series);
}

void request_figures_assign(struct request_figures *figures, const struct request_figures *from)
{
	memcpy(figures, from, sizeof(*from) + from->series_count * sizeof(from->series[0]));
}

struct request_figures *request_figures_copy(const struct request_figures *from)
{
	struct request_figures *figures = calloc(1, room_bytes(from->series_max));

	if (figures)
		request_figures_assign(figures, from);
	return figures;
}

/* Letters, digits and _, no digit first; le is a bucket's. */
static void name_label(const char *key, char ret_label[static METRICS_LABEL_BYTES])
{
	size_t length = 0;

	if (isdigit((unsigned char)key[0]) || strcmp(key, "le") == 0)
		ret_label[length++] = '_';
	for (; *key && length < METRICS_LABEL_BYTES - 1; key++) {
		bool is_plain = (*key & 0x80) == 0 && isalnum((unsigned char)*key);

		ret_label[length++] = is_plain ? *key : '_';
	}
	ret_label[length] = '\0';
}

/* NULL: no memory, or no room. */
static struct request_series *add_series(struct request_metrics *metrics, const char *value,
					 size_t value_bytes, unsigned int hash)
{
	struct request_figures *figures = metrics->figures;
	struct request_series *series = &figures->series[figures->series_count];
	_cleanup_free_ struct place *place = NULL;

	if (figures->series_count > figures->series_max)
		return NULL;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	memcpy(place->value, value, value_bytes);
	place->index = figures->series_count;
	HASH_ADD_BYHASHVALUE(hh, metrics->places, value, value_bytes, hash, place);
	if (!place->hh.tbl)
		return NULL;
	place = NULL;
	memset(series, 0, sizeof(*series));
	memcpy(series->value, value, value_bytes);
	figures->series_count++;
	return series;
}

/* The others' where it cannot have one of its own. By the text that is given out: two that look the
 * same are one. */
static struct request_series *find_series(struct request_metrics *metrics, struct record_text text)
{
	char value[METRICS_VALUE_BYTES];
	size_t value_bytes = text_escape(text.bytes, text.size_bytes, 0, value, sizeof(value));
	unsigned int hash = hash_table_key(metrics->seed, value, value_bytes);
	struct request_series *series;
	struct place *place;

	HASH_FIND_BYHASHVALUE(hh, metrics->places, value, value_bytes, hash, place);
	if (place)
		return &metrics->figures->series[place->index];
	series = add_series(metrics, value, value_bytes, hash);
	return series ? series : &metrics->figures->series[0];
}

int request_metrics_new(const char *key, size_t series_max, struct request_metrics **ret_metrics)
{
	_cleanup_(request_metrics_freep) struct request_metrics *metrics =
		calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->seed = random_seed();
	metrics->key = strdup(key);
	metrics->tracker = request_tracker_new(REQUESTS_OPEN_MAX);
	metrics->figures = calloc(1, room_bytes(series_max));
	if (!metrics->key || !metrics->tracker || !metrics->figures)
		return -ENOMEM;
	metrics->figures->series_max = series_max;
	name_label(key, metrics->figures->label);
	(void)find_series(metrics, (struct record_text){ METRICS_OTHER, strlen(METRICS_OTHER) });
	if (!metrics->figures->series_count)
		return -ENOMEM;
	*ret_metrics = TAKE_PTR(metrics);
	return 0;
}

void request_metrics_free(struct request_metrics *metrics)
{
	struct place *place, *next;

	if (!metrics)
		return;
	HASH_ITER(hh, metrics->places, place, next) {
		HASH_DELETE(hh, metrics->places, place);
		free(place);
	}
	request_tracker_free(metrics->tracker);
	free(metrics->figures);
	free(metrics->key);
	free(metrics);
}

static void count(struct metrics_histogram *histogram, int64_t ns)
{
	int bucket = 0;

	while (bucket < METRICS_BUCKETS - 1 && (uint64_t)ns > metrics_buckets[bucket].ns)
		bucket++;
	histogram->counts[bucket]++;
	histogram->count++;
	histogram->sum_ns += (uint64_t)ns;
}

static void count_ended(struct request_metrics *metrics)
{
	const struct ended_request *request;

	while ((request = request_tracker_next_ended(metrics->tracker))) {
		struct request_series *series = find_series(metrics, request->value);
		int64_t wall_ns;

		if (costs_has(&request->costs, COST_CPU))
			count(&series->cpu, request->costs.sums[COST_CPU]);
		if (costs_wall_ns(&request->costs, &wall_ns))
			count(&series->wall, wall_ns);
	}
}

int request_metrics_add_cpu(struct request_metrics *metrics, const struct cpu_record *record)
{
	struct request_charge charge = request_charge_of_record(record, metrics->key);

	return request_tracker_add(metrics->tracker, &charge);
}

void request_metrics_end_window(struct request_metrics *metrics, uint64_t wall_ns)
{
	request_tracker_end_window(metrics->tracker, wall_ns);
	count_ended(metrics);
}

void request_metrics_finish(struct request_metrics *metrics)
{
	request_tracker_finish(metrics->tracker);
	count_ended(metrics);
}

const struct request_figures *request_metrics_figures(const struct request_metrics *metrics)
{
	return metrics->figures;
}
