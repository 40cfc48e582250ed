/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/past_alerts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "base/text.h"
#include "reader/query/selection.h"

/* A recorder, identified by the prefix of its record IDs. */
struct told_recorder {
	struct past_alerts *alerts; /* owner */
	struct alert_set *set;
	struct alert_window window; /* the open window; end_ns 0: none */
	char host[PAST_HOST_BYTES];
	UT_hash_handle hh;
	size_t id_bytes;
	char id[]; /* not NUL-terminated */
};

struct past_alerts {
	const struct alert_set *expressions;
	past_alert_fn on_change;
	void *user;
	struct told_recorder *recorders; /* uthash */
	struct selection selection;
	uint64_t seed;
};

int past_alerts_new(const struct alert_set *set, struct filter *filter, past_alert_fn on_change,
		    void *user, struct past_alerts **ret_alerts)
{
	struct past_alerts *alerts = calloc(1, sizeof(*alerts));

	if (!alerts)
		return -ENOMEM;
	alerts->expressions = set;
	alerts->on_change = on_change;
	alerts->user = user;
	alerts->seed = random_seed();
	selection_init(&alerts->selection, sizeof(struct selection_request));
	selection_take_filter(&alerts->selection, filter);
	*ret_alerts = alerts;
	return 0;
}

static void free_recorder(struct told_recorder *recorder)
{
	alert_set_free(recorder->set);
	free(recorder);
}

void past_alerts_free(struct past_alerts *alerts)
{
	struct told_recorder *recorder, *next;

	if (!alerts)
		return;
	HASH_ITER(hh, alerts->recorders, recorder, next) {
		HASH_DELETE(hh, alerts->recorders, recorder);
		free_recorder(recorder);
	}
	selection_deinit(&alerts->selection);
	free(alerts);
}

static int copy_expressions(struct alert_set *set, const struct alert_set *from)
{
	int r = set ? 0 : -ENOMEM;

	for (size_t i = 0; i < alert_set_count(from) && r == 0; i++)
		r = alert_set_add(set, alert_set_expression(from, i));
	return r;
}

static void name_host(struct told_recorder *recorder, const struct record_view *record)
{
	struct record_text host = { "", 0 };

	(void)record_view_text(record, RECORD_FIELD(common, host_name), &host);
	(void)text_escape(host.bytes, host.size_bytes, 0, recorder->host, sizeof(recorder->host));
}

static int add_recorder(struct past_alerts *alerts, struct record_text id, unsigned int hash,
			const struct record_view *record, struct told_recorder **ret_recorder)
{
	struct told_recorder *recorder;
	int r;

	if (HASH_COUNT(alerts->recorders) == PAST_RECORDERS_MAX)
		return -E2BIG;
	recorder = calloc(1, sizeof(*recorder) + id.size_bytes);
	if (!recorder)
		return -ENOMEM;
	recorder->alerts = alerts;
	memcpy(recorder->id, id.bytes, id.size_bytes);
	recorder->id_bytes = id.size_bytes;
	name_host(recorder, record);
	recorder->set = alert_set_new();
	r = copy_expressions(recorder->set, alerts->expressions);
	if (r == 0) {
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, alerts->recorders, recorder->id, recorder->id_bytes,
					    hash, recorder);
		r = recorder->hh.tbl ? 0 : -ENOMEM;
	}
	if (r < 0)
		free_recorder(recorder);
	else
		*ret_recorder = recorder;
	return r;
}

/* BOOT:PID:START:NUMBER, without NUMBER. */
static struct record_text recorder_id(const struct record_view *record)
{
	struct record_text id = { "", 0 };

	(void)record_view_text(record, RECORD_FIELD(common, record_id), &id);
	while (id.size_bytes > 0 && id.bytes[id.size_bytes - 1] != ':')
		id.size_bytes--;
	return id;
}

static int find_recorder(struct past_alerts *alerts, const struct record_view *record,
			 struct told_recorder **ret_recorder)
{
	struct record_text id = recorder_id(record);
	unsigned int hash = hash_table_key(alerts->seed, id.bytes, id.size_bytes);

	HASH_FIND_BYHASHVALUE(hh, alerts->recorders, id.bytes, id.size_bytes, hash, *ret_recorder);
	return *ret_recorder ? 0 : add_recorder(alerts, id, hash, record, ret_recorder);
}

static void on_change(void *user, const struct alert_change *change)
{
	const struct told_recorder *recorder = user;

	recorder->alerts->on_change(recorder->alerts->user, recorder->host, change);
}

static int end_window(struct told_recorder *recorder, bool is_last)
{
	if (!recorder->window.end_ns)
		return 0;
	return alert_set_end_window(recorder->set, &recorder->window, is_last, on_change, recorder);
}

/* All records of a window have the same time: the window's end. */
static int follow_window(struct told_recorder *recorder, const struct record_view *record)
{
	int64_t length_ns = 0;
	uint64_t end_ns = record->wall_ns;
	int r;

	if (end_ns == recorder->window.end_ns)
		return 0;
	r = end_window(recorder, false);
	(void)record_view_count(record, RECORD_FIELD(cpu, window_ns), &length_ns);
	recorder->window.end_ns = end_ns;
	recorder->window.clock_set_ns = record->clock_set_ns;
	recorder->window.start_ns = (uint64_t)length_ns < end_ns ? end_ns - (uint64_t)length_ns : 0;
	return r;
}

const struct recording *past_alerts_recording(const struct past_alerts *alerts)
{
	return &alerts->selection.recording;
}

int past_alerts_add(struct past_alerts *alerts, const struct record_view *record)
{
	bool has_window = record->kind == RECORD_KIND_CPU || record->kind == RECORD_KIND_BALANCE ||
			  record->kind == RECORD_KIND_SELF;
	struct told_recorder *recorder = NULL;
	int r;

	r = selection_admit(&alerts->selection, record);
	if (r <= 0 || (!has_window && record->kind != RECORD_KIND_GAP))
		return r < 0 ? r : 0;
	r = find_recorder(alerts, record, &recorder);
	if (r == 0 && has_window)
		r = follow_window(recorder, record);
	return r < 0 ? r : alert_set_add_view(recorder->set, record);
}

int past_alerts_finish(struct past_alerts *alerts)
{
	struct told_recorder *recorder, *next;
	int r = 0;

	HASH_ITER(hh, alerts->recorders, recorder, next) {
		int ended = end_window(recorder, true);

		r = r < 0 ? r : ended;
	}
	return r;
}
