/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/totals.h"

#include <assert.h>
#include <errno.h>

int totals_init(struct totals *totals, const char *const *by_names, size_t by_count)
{
	assert(by_count <= TOTALS_GROUPINGS_MAX);
	*totals = (struct totals){ 0 };
	recording_init(&totals->recording);
	request_set_init(&totals->inherited_requests);
	for (size_t i = 0; i < by_count; i++) {
		int r = grouping_init(&totals->groupings[i], by_names[i]);

		if (r < 0) {
			totals_deinit(totals);
			return r;
		}
		totals->grouping_count++;
	}
	return 0;
}

void totals_deinit(struct totals *totals)
{
	for (size_t i = 0; i < totals->grouping_count; i++)
		grouping_deinit(&totals->groupings[i]);
	recording_deinit(&totals->recording);
	request_set_deinit(&totals->inherited_requests);
	*totals = (struct totals){ 0 };
}

static bool has_flag(const struct record_view *record, const char *name)
{
	const struct record_field *flags = record_view_find(record, RECORD_FIELD(cpu, flags));

	for (size_t i = 0; flags && i < flags->item_count; i++) {
		if (record_text_is(flags->items[i], name))
			return true;
	}
	return false;
}

/* A context is in force when any key has a value: time under none has request_id "" alone. */
static bool has_context(const struct record_view *record)
{
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (recording_is_key_field(field) && field->text.size_bytes > 0)
			return true;
	}
	return false;
}

static int add_inherited(struct totals *totals, const struct record_view *record,
			 const struct costs *costs)
{
	int r;

	costs_add(&totals->inherited, costs);
	r = request_set_add(&totals->inherited_requests, 0, record);
	return r < 0 ? r : 0;
}

/* Returns whether the record is of a context that is known. */
static bool add_attribution(struct totals *totals, const struct record_view *record,
			    const struct costs *costs)
{
	costs_add(&totals->all, costs);
	if (has_flag(record, "overflow")) {
		costs_add(&totals->overflow, costs);
		return false;
	}
	if (has_flag(record, "unknown") || !has_context(record)) {
		costs_add(&totals->unattributed, costs);
		return false;
	}
	return true;
}

static int add_cpu(struct totals *totals, const struct record_view *record)
{
	struct record_text comm = recording_comm(&totals->recording, record);
	struct costs costs = costs_of_record(record);
	bool is_attributed = add_attribution(totals, record, &costs);
	int r = 0;

	if (is_attributed && has_flag(record, "inherited"))
		r = add_inherited(totals, record, &costs);
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++) {
		struct grouping *grouping = &totals->groupings[i];

		if (is_attributed || grouping->has_all_time)
			r = grouping_add(grouping, record, &costs, comm);
	}
	return r;
}

int totals_add(struct totals *totals, const struct record_view *record)
{
	int r = 0;

	/* First, because it may be refused. */
	if (record->kind == RECORD_KIND_BALANCE)
		r = books_add_balance(&totals->books, record);
	if (r == 0)
		r = recording_add(&totals->recording, record);
	if (r < 0)
		return r;
	switch (record->kind) {
	case RECORD_KIND_CPU:
		return add_cpu(totals, record);
	case RECORD_KIND_GAP:
		books_add_gap(&totals->books, record);
		return 0;
	case RECORD_KIND_SELF:
		own_cost_add(&totals->own_cost, record);
		return 0;
	default:
		return 0;
	}
}

/* No record of unattributed time means 0 of it, but only in columns that others measured. */
void totals_finish(struct totals *totals)
{
	if (totals->all.record_count == 0)
		totals->all.missing = UINT32_MAX;
	if (totals->unattributed.record_count == 0)
		totals->unattributed.missing = totals->all.missing;
	if (totals->overflow.record_count == 0)
		totals->overflow.missing = totals->all.missing;
}

bool totals_cpu_percent(const struct totals *totals, const struct costs *costs, double *ret_percent)
{
	uint64_t duration_ns = recording_duration_ns(&totals->recording);

	if (!costs_has(costs, COST_CPU) || duration_ns == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)duration_ns;
	return true;
}

bool totals_machine_percent(const struct totals *totals, const struct costs *costs,
			    double *ret_percent)
{
	double percent;

	if (totals->recording.cpu_count == 0 || totals->recording.has_several_hosts ||
	    !totals_cpu_percent(totals, costs, &percent))
		return false;
	*ret_percent = percent / (double)totals->recording.cpu_count;
	return true;
}

bool totals_match_books(const struct totals *totals)
{
	if (totals->books.balance_count == 0)
		return true;
	if (totals->all.record_count == 0)
		return books_charged_ns(&totals->books) == 0;
	return costs_has(&totals->all, COST_CPU) &&
	       totals->all.sums[COST_CPU] == books_charged_ns(&totals->books);
}
