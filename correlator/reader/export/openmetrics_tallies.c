/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/openmetrics_tallies.h"

#include <inttypes.h>
#include <string.h>

#include "base/openmetrics.h"
#include "reader/aggregate/syscalls.h"
#include "reader/export/openmetrics_labels.h"

/* The tallies. */
enum {
	OF_SYSCALLS,
	OF_IO,
	OF_WAITS,
};

enum {
	CALLS,
	IN_BYTES,
	OUT_BYTES,
};

enum {
	WAITS,
	WAIT_BLOCKED_NS,
	WAIT_RUN_QUEUE_NS,
	WAIT_CPU_NS, /* of hogs */
};

static size_t put_name(struct record_text text, char ret_name[static TALLY_NAME_BYTES_MAX])
{
	if (text.size_bytes > TALLY_TEXT_BYTES_MAX)
		text.size_bytes = TALLY_TEXT_BYTES_MAX;
	memcpy(ret_name, text.bytes, text.size_bytes);
	return text.size_bytes;
}

static size_t write_file_kind(const struct record_view *record,
			      char ret_name[static TALLY_NAME_BYTES_MAX])
{
	struct record_text on = { "?", 1 };

	(void)record_view_text_at(record, RECORD_PLACE(io, on), &on);
	return put_name(on, ret_name);
}

/* "" if it is a hog. */
static size_t write_wait(const struct record_view *record,
			 char ret_name[static TALLY_NAME_BYTES_MAX])
{
	struct record_text reason = { "?", 1 };
	int64_t blocked_ns = 0, run_queue_ns = 0;

	if (record_view_at(record, RECORD_PLACE(stall, is_hog)))
		return 0;
	(void)record_view_count_at(record, RECORD_PLACE(stall, blocked_ns), &blocked_ns);
	(void)record_view_count_at(record, RECORD_PLACE(stall, run_queue_ns), &run_queue_ns);
	(void)record_view_text_at(record, RECORD_PLACE(stall, blocked_on), &reason);
	if (run_queue_ns > blocked_ns || reason.size_bytes == 0)
		reason = (struct record_text){ "cpu", 3 };
	return put_name(reason, ret_name);
}

static const struct tally_subject io = {
	.kind = RECORD_KIND_IO,
	.write_name = write_file_kind,
	.number_count = 3,
	.places = { [CALLS] = RECORD_PLACE(io, calls),
		    [IN_BYTES] = RECORD_PLACE(io, in_bytes),
		    [OUT_BYTES] = RECORD_PLACE(io, out_bytes) },
	.sort_count = 1,
	.lost_field = "io_lost",
};

static const struct tally_subject waits = {
	.kind = RECORD_KIND_STALL,
	.write_name = write_wait,
	.number_count = 4,
	.places = { [WAITS] = TALLY_RECORDS,
		    [WAIT_BLOCKED_NS] = RECORD_PLACE(stall, blocked_ns),
		    [WAIT_RUN_QUEUE_NS] = RECORD_PLACE(stall, run_queue_ns),
		    [WAIT_CPU_NS] = RECORD_PLACE(stall, cpu_ns) },
	.sort_count = 1,
	.lost_field = "stalls_lost",
};

/* The module that makes the records of each tally. */
static const struct {
	const struct tally_subject *subject;
	const char *module;
} sources[OPENMETRICS_TALLIES] = {
	[OF_SYSCALLS] = { &syscalls_subject, "syscalls" },
	[OF_IO] = { &io, "io" },
	[OF_WAITS] = { &waits, "stall" },
};

/* A metric family: a number of each sum of a tally, or several added up. label NULL: of the sums
 * without a name, else of the others. */
struct family {
	size_t tally; /* OF_... */
	const char *name;
	const char *unit; /* "seconds": the numbers are ns */
	const char *help;
	const char *label;
	size_t first_number;
	size_t number_count;
};

static const struct family families[] = {
	{ OF_SYSCALLS, "correlator_syscall_calls", NULL, "System calls by name (--syscalls).",
	  "syscall", SYSCALLS_CALLS, 1 },
	{ OF_SYSCALLS, "correlator_syscall_seconds", "seconds",
	  "Time inside these, on a CPU or not.", "syscall", SYSCALLS_INSIDE_NS, 1 },
	{ OF_IO, "correlator_io_calls", NULL, "Reads, writes and connects (--io).", "io_on", CALLS,
	  1 },
	{ OF_IO, "correlator_io_in_bytes", "bytes", "Read or received by these.", "io_on", IN_BYTES,
	  1 },
	{ OF_IO, "correlator_io_out_bytes", "bytes", "Written or sent by these.", "io_on",
	  OUT_BYTES, 1 },
	{ OF_WAITS, "correlator_stalls", NULL, "Long waits (--stall).", "blocked_on", WAITS, 1 },
	{ OF_WAITS, "correlator_stall_seconds", "seconds", "How long they were.", "blocked_on",
	  WAIT_BLOCKED_NS, 2 },
	{ OF_WAITS, "correlator_hogs", NULL,
	  "Times that a fiber kept its thread for long (--stall).", NULL, WAITS, 1 },
	{ OF_WAITS, "correlator_hog_seconds", "seconds", "How long it kept it.", NULL,
	  WAIT_BLOCKED_NS, 3 },
};

int openmetrics_tallies_init(struct openmetrics_tallies *tallies, const char *by,
			     const struct filter *filter)
{
	int r = 0;

	for (size_t i = 0; i < OPENMETRICS_TALLIES; i++) {
		struct filter copy = { 0 };

		if (r == 0)
			r = filter_copy(filter, &copy);
		tally_init(&tallies->all[i], sources[i].subject, &copy, by);
	}
	return r;
}

void openmetrics_tallies_deinit(struct openmetrics_tallies *tallies)
{
	for (size_t i = 0; i < OPENMETRICS_TALLIES; i++)
		tally_deinit(&tallies->all[i]);
}

int openmetrics_tallies_add(struct openmetrics_tallies *tallies, const struct recording *recording,
			    const struct record_view *record)
{
	int r = 0;

	for (size_t i = 0; i < OPENMETRICS_TALLIES && r == 0; i++)
		if (record->kind == RECORD_KIND_META ||
		    recording_had_module(recording, sources[i].module))
			r = tally_add(&tallies->all[i], record);
	return r;
}

/* Puts the sample of a sum, if the family has one of it. */
static void put_sample(FILE *out, const struct family *family, const struct tally *tally,
		       const struct tally_group *group, const struct tally_sum *sum,
		       const char *suffix)
{
	struct record_text name = sum->name->text;
	int64_t number = 0;

	if ((name.size_bytes == 0) != (family->label == NULL))
		return;
	for (size_t i = 0; i < family->number_count; i++)
		saturated_add_to(&number, sum->numbers[family->first_number + i]);
	(void)fprintf(out, "%s%s", family->name, suffix);
	openmetrics_labels_begin(out, tally_group_kind_name(group->kind), tally->by,
				 group->kind == TALLY_GROUP ? &group->value : NULL);
	if (family->label)
		openmetrics_labels_put(out, family->label, name);
	(void)fputs("} ", out);
	if (family->unit && strcmp(family->unit, "seconds") == 0)
		openmetrics_put_seconds(out, number);
	else
		(void)fprintf(out, "%" PRId64, number);
	openmetrics_labels_put_time(out, &tally->selection.recording);
}

int openmetrics_tallies_print(struct openmetrics_tallies *tallies, FILE *out)
{
	int r = 0;

	for (size_t i = 0; i < OPENMETRICS_TALLIES && r == 0; i++)
		r = tally_finish(&tallies->all[i]);
	for (size_t i = 0; r == 0 && i < sizeof(families) / sizeof(families[0]); i++) {
		const struct tally *tally = &tallies->all[families[i].tally];
		const char *suffix;

		if (!tally->has_any)
			continue;
		suffix = openmetrics_begin(out, false, OPENMETRICS_COUNTER, families[i].name,
					   families[i].unit, families[i].help);
		for (struct tally_group *group = tally->groups; group; group = group->hh.next)
			for (struct tally_sum *sum = group->sums; sum; sum = sum->next)
				put_sample(out, &families[i], tally, group, sum, suffix);
	}
	return r;
}
