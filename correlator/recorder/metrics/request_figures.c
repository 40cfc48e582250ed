/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/request_figures.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "base/text.h"
#include "requests/request_charge.h"
#include "requests/request_tracker.h"

/* Three to four per factor of ten, matching the spread of a web server's requests. */
const struct metrics_bucket metrics_buckets[METRICS_BUCKETS] = {
	{ 100000, "0.0001" },	 { 250000, "0.00025" },	  { 500000, "0.0005" },
	{ 1000000, "0.001" },	 { 2500000, "0.0025" },	  { 5000000, "0.005" },
	{ 10000000, "0.01" },	 { 25000000, "0.025" },	  { 50000000, "0.05" },
	{ 100000000, "0.1" },	 { 250000000, "0.25" },	  { 500000000, "0.5" },
	{ 1000000000, "1.0" },	 { 2500000000, "2.5" },	  { 5000000000, "5.0" },
	{ 10000000000, "10.0" }, { 30000000000, "30.0" }, { 60000000000, "60.0" },
	{ 0, "+Inf" },
};

/* The series of a value. */
struct place {
	size_t index;
	uint32_t pid; /* the process whose request had the value first */
	uint64_t used_ns; /* last use, by the tracker's clock */
	UT_hash_handle hh;
	struct place *prev, *next; /* by last use */
	char value[METRICS_VALUE_BYTES];
};

/* A process that has places. */
struct owner {
	uint32_t pid;
	size_t places;
	UT_hash_handle hh;
};

struct request_metrics {
	char *key;
	struct request_tracker *tracker;
	struct place *places; /* uthash; includes METRICS_OTHER's */
	struct place *oldest; /* utlist, without METRICS_OTHER's: least recently used first */
	struct owner *owners; /* uthash */
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

/* Keeps letters, digits and _, no digit first; other labels are le, of buckets, and io_on. */
static void name_label(const char *key, char ret_label[static METRICS_LABEL_BYTES])
{
	size_t length = 0;

	if (isdigit((unsigned char)key[0]) || strcmp(key, "le") == 0 || strcmp(key, "io_on") == 0)
		ret_label[length++] = '_';
	for (; *key && length < METRICS_LABEL_BYTES - 1; key++) {
		bool is_plain = (*key & 0x80) == 0 && isalnum((unsigned char)*key);

		ret_label[length++] = is_plain ? *key : '_';
	}
	ret_label[length] = '\0';
}

static struct place *find_place(const struct request_metrics *metrics, const char *value)
{
	size_t value_bytes = strlen(value);
	struct place *place;

	HASH_FIND_BYHASHVALUE(hh, metrics->places, value, value_bytes,
			      hash_table_key(metrics->seed, value, value_bytes), place);
	return place;
}

/* False: out of memory. */
static bool add_place(struct request_metrics *metrics, struct place *place)
{
	size_t value_bytes = strlen(place->value);

	HASH_ADD_BYHASHVALUE(hh, metrics->places, value, value_bytes,
			     hash_table_key(metrics->seed, place->value, value_bytes), place);
	return place->hh.tbl != NULL;
}

static struct owner *find_owner(const struct request_metrics *metrics, uint32_t pid)
{
	struct owner *owner;

	HASH_FIND(hh, metrics->owners, &pid, sizeof(pid), owner);
	return owner;
}

/* NULL: out of memory. */
static struct owner *need_owner(struct request_metrics *metrics, uint32_t pid)
{
	struct owner *owner = find_owner(metrics, pid);

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->pid = pid;
	HASH_ADD(hh, metrics->owners, pid, sizeof(owner->pid), owner);
	if (owner->hh.tbl)
		return owner;
	free(owner);
	return NULL;
}

static void leave_owner(struct request_metrics *metrics, struct owner *owner)
{
	if (owner->places)
		return;
	HASH_DEL(metrics->owners, owner);
	free(owner);
}

static void add_histogram(struct metrics_histogram *to, const struct metrics_histogram *from)
{
	for (int i = 0; i < METRICS_BUCKETS; i++)
		to->counts[i] += from->counts[i];
	to->count += from->count;
	to->sum_ns += from->sum_ns;
}

static void add_waits(struct metrics_waits *waits, uint64_t count, uint64_t sum_ns)
{
	waits->count += count;
	waits->sum_ns += sum_ns;
}

static void add_io(struct metrics_io *to, const struct metrics_io *from)
{
	to->calls += from->calls;
	to->in_bytes += from->in_bytes;
	to->out_bytes += from->out_bytes;
}

static void add_series(struct request_series *to, const struct request_series *from)
{
	add_histogram(&to->cpu, &from->cpu);
	add_histogram(&to->wall, &from->wall);
	cost_counters_add_all(&to->costs, &from->costs);
	saturated_add_to(&to->parked_ns, from->parked_ns);
	add_waits(&to->stalls, from->stalls.count, from->stalls.sum_ns);
	add_waits(&to->hogs, from->hogs.count, from->hogs.sum_ns);
	for (int on = 0; on < _IO_ON_MAX; on++)
		add_io(&to->io[on], &from->io[on]);
}

/* Adds the series to METRICS_OTHER, and moves the last series to its index. */
static void remove_place(struct request_metrics *metrics, struct place *place)
{
	struct request_figures *figures = metrics->figures;
	struct request_series *series = &figures->series[place->index];
	struct request_series *last = &figures->series[figures->series_count - 1];
	struct owner *owner = find_owner(metrics, place->pid);

	add_series(&figures->series[0], series);
	if (series != last) {
		find_place(metrics, last->value)->index = place->index;
		*series = *last;
	}
	figures->series_count--;
	owner->places--;
	leave_owner(metrics, owner);
	DL_DELETE(metrics->oldest, place);
	HASH_DEL(metrics->places, place);
	free(place);
}

static struct owner *largest_owner(const struct request_metrics *metrics)
{
	struct owner *owner, *next, *largest = metrics->owners;

	HASH_ITER(hh, metrics->owners, owner, next) {
		if (owner->places > largest->places)
			largest = owner;
	}
	return largest;
}

/* Makes room for a value of process pid. False: the process has its share already. */
static bool make_room(struct request_metrics *metrics, uint32_t pid)
{
	const struct owner *own = find_owner(metrics, pid);
	size_t owners = HASH_COUNT(metrics->owners) + !own;
	struct place *place;

	if (metrics->figures->series_count <= metrics->figures->series_max)
		return true;
	if ((own ? own->places : 0) >= metrics->figures->series_max / owners)
		return false;
	DL_SEARCH_SCALAR(metrics->oldest, place, pid, largest_owner(metrics)->pid);
	remove_place(metrics, place);
	return true;
}

/* NULL: out of memory. */
static struct place *new_place(struct request_metrics *metrics, const char *value)
{
	struct request_figures *figures = metrics->figures;
	struct request_series *series = &figures->series[figures->series_count];
	_cleanup_free_ struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	(void)strcpy(place->value, value);
	place->index = figures->series_count;
	if (!add_place(metrics, place))
		return NULL;
	memset(series, 0, sizeof(*series));
	(void)strcpy(series->value, value);
	figures->series_count++;
	return TAKE_PTR(place);
}

/* NULL: no place for the value. */
static struct place *give_place(struct request_metrics *metrics, const char *value, uint32_t pid)
{
	struct owner *owner = make_room(metrics, pid) ? need_owner(metrics, pid) : NULL;
	struct place *place;

	if (!owner)
		return NULL;
	place = new_place(metrics, value);
	if (!place) {
		leave_owner(metrics, owner);
		return NULL;
	}
	place->pid = pid;
	owner->places++;
	DL_APPEND(metrics->oldest, place);
	return place;
}

static void use(struct request_metrics *metrics, struct place *place)
{
	place->used_ns = request_tracker_now_ns(metrics->tracker);
	DL_DELETE(metrics->oldest, place);
	DL_APPEND(metrics->oldest, place);
}

/*
 * METRICS_OTHER's series if the value cannot have its own. Compares escaped text: values that look
 * the same are one.
 */
static struct request_series *find_series(struct request_metrics *metrics, struct record_text text,
					  uint32_t pid)
{
	char value[METRICS_VALUE_BYTES];
	struct place *place;

	(void)text_escape(text.bytes, text.size_bytes, 0, value, sizeof(value));
	place = find_place(metrics, value);
	if (!place)
		place = give_place(metrics, value, pid);
	if (!place || place->index == 0)
		return &metrics->figures->series[0];
	use(metrics, place);
	return &metrics->figures->series[place->index];
}

static void remove_idle(struct request_metrics *metrics)
{
	uint64_t now_ns = request_tracker_now_ns(metrics->tracker);

	while (metrics->oldest && now_ns >= metrics->oldest->used_ns + METRICS_IDLE_NS)
		remove_place(metrics, metrics->oldest);
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
	if (!new_place(metrics, METRICS_OTHER))
		return -ENOMEM;
	*ret_metrics = TAKE_PTR(metrics);
	return 0;
}

void request_metrics_free(struct request_metrics *metrics)
{
	struct place *place, *next_place;
	struct owner *owner, *next_owner;

	if (!metrics)
		return;
	HASH_ITER(hh, metrics->places, place, next_place) {
		HASH_DEL(metrics->places, place);
		free(place);
	}
	HASH_ITER(hh, metrics->owners, owner, next_owner) {
		HASH_DEL(metrics->owners, owner);
		free(owner);
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

static void count_request(struct request_series *series, const struct costs *costs)
{
	int64_t ns;

	if (costs_has(costs, COST_CPU))
		count(&series->cpu, costs->sums[COST_CPU]);
	if (costs_wall_ns(costs, &ns))
		count(&series->wall, ns);
	if (costs_parked_ns(costs, &ns))
		saturated_add_to(&series->parked_ns, ns);
	cost_counters_add(&series->costs, costs);
}

static void count_windows(struct request_metrics *metrics)
{
	const struct ended_request *request;
	struct request_window window;

	while (request_tracker_next_window(metrics->tracker, &window))
		;

	while ((request = request_tracker_next_ended(metrics->tracker)))
		count_request(find_series(metrics, request->value, request->pid), &request->costs);
}

int request_metrics_add_cpu(struct request_metrics *metrics, const struct cpu_record *record)
{
	struct request_charge charge = request_charge_of_record(record, metrics->key);

	return request_tracker_add(metrics->tracker, &charge);
}

/* The series of a record's request; NULL = it is of none. */
static struct request_series *series_of(struct request_metrics *metrics,
					const struct record_key *keys, size_t count, uint32_t flags,
					uint32_t pid)
{
	if (flags & (CPU_RECORD_OVERFLOW | CPU_RECORD_UNKNOWN) ||
	    request_key_value(keys, count, REQUEST_ID).size_bytes == 0)
		return NULL;
	return find_series(metrics, request_key_value(keys, count, metrics->key), pid);
}

void request_metrics_add_stall(struct request_metrics *metrics, const struct stall_record *record)
{
	struct request_series *series = series_of(metrics, record->keys, record->keys_count,
						  record->flags, record->common.pid);

	metrics->figures->has_stalls = true;
	if (series)
		add_waits(record->is_hog ? &series->hogs : &series->stalls, 1,
			  record->cpu_ns + record->blocked_ns + record->run_queue_ns);
}

static enum io_on io_on_of(const char *name)
{
#define IS_NAMED(ON, on)            \
	if (strcmp(name, #on) == 0) \
		return IO_ON_##ON;
	IO_ONS(IS_NAMED)
#undef IS_NAMED
	return IO_ON_OTHER;
}

void request_metrics_add_io(struct request_metrics *metrics, const struct io_record *record)
{
	const struct metrics_io io = { record->calls, record->in_bytes, record->out_bytes };
	struct request_series *series = series_of(metrics, record->keys, record->keys_count,
						  record->flags, record->common.pid);

	metrics->figures->has_io = true;
	if (series)
		add_io(&series->io[io_on_of(record->on)], &io);
}

void request_metrics_end_window(struct request_metrics *metrics, uint64_t end_ns)
{
	const struct request_window window = { end_ns, end_ns };

	request_tracker_end_window(metrics->tracker, &window);
	count_windows(metrics);
	remove_idle(metrics);
}

void request_metrics_finish(struct request_metrics *metrics)
{
	request_tracker_finish(metrics->tracker);
	count_windows(metrics);
}

const struct request_figures *request_metrics_figures(const struct request_metrics *metrics)
{
	return metrics->figures;
}
