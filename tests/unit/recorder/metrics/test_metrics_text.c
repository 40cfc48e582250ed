/* SPDX-License-Identifier: GPL-2.0-only */
/* Each series: its name, type and unit in both formats, and the figure that it stands for. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/metrics/metrics_text.h"

UNIT_TEST_ALONE;

/* One sample; families in the order in which they are given out. */
struct row {
	const char *family;
	const char *type;
	const char *unit; /* NULL = a number of things */
	const char *labels;
	const char *value;
};

#define WORKER "{pid=\"7\",comm=\"worker\"}"
#define LEAN   "{pid=\"8\",comm=\"lean\"}"
#define OTHERS "{pid=\"others\",comm=\"\"}"
#define ENDED  "{pid=\"ended\",comm=\"\"}"

/* Each window adds the same again. What ended had as much as the worker; the others, nothing. */
#define FIGURE(name, type, worker)                                                      \
	{ "process_" name "_seconds", type, "seconds", WORKER, worker },                \
		{ "process_" name "_seconds", type, "seconds", LEAN, "0.000000000" },   \
		{ "process_" name "_seconds", type, "seconds", OTHERS, "0.000000000" }, \
	{                                                                               \
		"process_" name "_seconds", type, "seconds", ENDED, worker              \
	}
#define DROPPED(labels, count)                                                    \
	{                                                                         \
		"forward_process_dropped_records", "counter", NULL, labels, count \
	}
/* Only of those that it was measured of. */
#define PART(name, unit, worker)                                \
	{ "process_" name, "counter", unit, WORKER, worker },   \
	{                                                       \
		"process_" name, "counter", unit, ENDED, worker \
	}
#define PART_TIME(name, worker) PART(name "_seconds", "seconds", worker)

static const struct row of_processes[] = {
	FIGURE("cpu", "counter", "2.000000002"),
	PART_TIME("user", "4.000000004"),
	PART_TIME("kernel", "6.000000006"),
	FIGURE("run_queue", "counter", "8.000000008"),
	FIGURE("blocked", "counter", "10.000000010"),
	FIGURE("stolen", "counter", "0.000000040"),
	PART("syscalls", NULL, "42"),
	PART_TIME("blocked_disk", "0.000000002"),
	PART_TIME("blocked_network", "0.000000004"),
	PART_TIME("blocked_poll", "0.000000006"),
	PART_TIME("blocked_pipe", "0.000000008"),
	PART_TIME("blocked_futex", "0.000000010"),
	PART_TIME("blocked_sleep", "0.000000012"),
	PART_TIME("blocked_child", "0.000000014"),
	PART_TIME("blocked_fault", "0.000000016"),
	PART_TIME("blocked_other", "0.000000018"),
	PART_TIME("gvl", "0.000000044"),
	PART("gvl_waits", NULL, "46"),
	PART_TIME("gc", "0.000000048"),
	PART("gc_runs", NULL, "50"),
	FIGURE("exec", "counter", "12.000000012"),
	FIGURE("attributed", "counter", "14.000000014"),
	FIGURE("unattributed", "counter", "16.000000016"),
	FIGURE("overflow", "counter", "18.000000018"),
	FIGURE("residual", "gauge", "-20.000000020"),
};

static const struct row of_the_rest[] = {
	{ "windows", "counter", NULL, "", "2" },
	{ "own_cpu_seconds", "counter", "seconds", "", "22.000000022" },
	{ "own_programs_seconds", "counter", "seconds", "", "0.000000024" },
	{ "own_resident_memory_bytes", "gauge", "bytes", "", "13" },
	{ "contexts", "gauge", NULL, "", "14" },
	{ "contexts_limit", "gauge", NULL, "", "15" },
	{ "accounts", "gauge", NULL, "", "16" },
	{ "accounts_limit", "gauge", NULL, "", "17" },
	{ "processes", "gauge", NULL, "", "18" },
	{ "processes_limit", "gauge", NULL, "", "19" },
	{ "output_dropped_records", "counter", NULL, "", "20" },
	{ "output_failures", "counter", NULL, "", "21" },
	{ "output_waiting_bytes", "gauge", "bytes", "", "22" },
	{ "forward_sent_chunks", "counter", NULL, "", "23" },
	{ "forward_resent_chunks", "counter", NULL, "", "24" },
	{ "forward_acked_chunks", "counter", NULL, "", "25" },
	{ "forward_acked_records", "counter", NULL, "", "26" },
	{ "forward_acked_bytes", "counter", "bytes", "", "27" },
	{ "forward_rejected_records", "counter", NULL, "", "28" },
	{ "forward_dropped_records", "counter", NULL, "", "29" },
	DROPPED(WORKER, "16"),
	DROPPED(LEAN, "0"),
	DROPPED(OTHERS, "12"),
	DROPPED(ENDED, "16"),
	{ "forward_failures", "counter", NULL, "", "30" },
	{ "forward_delivering", "gauge", NULL, "", "1" },
	{ "backlog_records", "gauge", NULL, "", "31" },
	{ "backlog_bytes", "gauge", "bytes", "", "32" },
	{ "backlog_memory_bytes", "gauge", "bytes", "", "33" },
	{ "spool_bytes", "gauge", "bytes", "", "34" },
	{ "forward_last_failure", "gauge", NULL, "{kind=\"silent\"}", "1" },
};

#define SECONDS(count) ((uint64_t)(count)*1000000001)

static void add_window(struct metrics *metrics, uint32_t pid)
{
	struct balance_record balance = { .common.pid = pid,
					  .exec_ns = SECONDS(6),
					  .attributed_ns = SECONDS(7),
					  .unattributed_ns = SECONDS(8),
					  .overflow_ns = SECONDS(9),
					  .residual_ns = -(int64_t)SECONDS(10) };

	for (size_t i = 0; i < _COUNTER_MAX; i++)
		balance.losses[i] = 100 + i;
	metrics_add_cpu(metrics, &(struct cpu_record){ .common.pid = pid,
						       .has_kernel_split = true,
						       .cpu_ns = SECONDS(1),
						       .user_ns = SECONDS(2),
						       .kernel_ns = SECONDS(3),
						       .run_queue_ns = SECONDS(4),
						       .blocked_ns = SECONDS(5),
						       .stolen_ns = 20,
						       .has_syscalls = true,
						       .syscalls = 21,
						       .blocked_disk_ns = 1,
						       .blocked_network_ns = 2,
						       .blocked_poll_ns = 3,
						       .blocked_pipe_ns = 4,
						       .blocked_futex_ns = 5,
						       .blocked_sleep_ns = 6,
						       .blocked_child_ns = 7,
						       .blocked_fault_ns = 8,
						       .blocked_other_ns = 9,
						       .has_gvl = true,
						       .gvl_ns = 22,
						       .gvl_waits = 23,
						       .has_gc = true,
						       .gc_ns = 24,
						       .gc_runs = 25 });
	metrics_add_balance(metrics, &balance);
	metrics_add_gap(metrics, &(struct gap_record){ .common.pid = pid,
						       .dropped_records = 8,
						       .process_dropped_records = 80 });
}

static void begin_process(struct metrics *metrics, uint32_t pid, const char *comm)
{
	metrics_add_process(metrics, &(struct process_record){ .common.pid = pid,
							       .event = PROCESS_EVENT_FOUND,
							       .comm = comm });
}

static void fill(struct metrics *metrics)
{
	const struct self_program programs[] = { { "one", 1, 4 }, { "two", 2, 8 } };
	const struct self_record self = { .window_ns = 1000,
					  .own_cpu_ns = SECONDS(11),
					  .own_rss_bytes = 13,
					  .contexts = { 14, 15 },
					  .accounts = { 16, 17 },
					  .processes = { 18, 19 },
					  .has_programs = true,
					  .programs = programs,
					  .programs_count = 2,
					  .has_output = true,
					  .output_dropped_records = 20,
					  .output_failures = 21,
					  .output_waiting_bytes = 22 };

	metrics_init(metrics, "1.2", SECONDS(1600000000));
	begin_process(metrics, 6, "gone");
	begin_process(metrics, 8, "lean");
	begin_process(metrics, 7, "worker");
	for (int window = 0; window < 2; window++) {
		add_window(metrics, 7);
		add_window(metrics, 6);
		metrics_add_self(metrics, &self);
		/* Correlator's own, and what a file misses. */
		metrics_add_gap(metrics, &(struct gap_record){ .common.pid = 4711,
							       .dropped_records = 6,
							       .process_dropped_records = 6 });
		metrics_add_gap(metrics,
				&(struct gap_record){ .common.pid = 7, .dropped_records = 1000 });
	}
	metrics_add_process(metrics, &(struct process_record){ .common.pid = 6,
							       .event = PROCESS_EVENT_EXIT,
							       .comm = "gone" });
	metrics_set_forward(metrics,
			    &(struct sender_status){ .sent_chunks = 23,
						     .resent_chunks = 24,
						     .acked_chunks = 25,
						     .acked_records = 26,
						     .acked_bytes = 27,
						     .rejected_records = 28,
						     .failures = 30,
						     .is_delivering = true,
						     .last_failure = FAILURE_SILENT },
			    &(struct backlog_status){ .dropped_records = 29,
						      .queued_records = 31,
						      .queued_bytes = 32,
						      .memory_bytes = 33,
						      .store_bytes = 34 });
}

/* The same by the table, without what explains a family to people. */
static void put_row(FILE *file, const struct row *row, const struct row *before, bool is_classic)
{
	const char *suffix = strcmp(row->type, "counter") == 0 ? "_total" : "";

	if (!before || strcmp(before->family, row->family) != 0) {
		(void)fprintf(file, "# TYPE correlator_%s%s %s\n", row->family,
			      is_classic ? suffix : "", row->type);
		if (row->unit && !is_classic)
			(void)fprintf(file, "# UNIT correlator_%s %s\n", row->family, row->unit);
	}
	(void)fprintf(file, "correlator_%s%s%s %s\n", row->family, suffix, row->labels, row->value);
}

static void put_rows(FILE *file, const struct row *rows, size_t count, bool is_classic)
{
	for (size_t i = 0; i < count; i++)
		put_row(file, &rows[i], i ? &rows[i - 1] : NULL, is_classic);
}

static char *expected_text(bool is_classic)
{
	static const char *const counters[] = {
#define COUNTER_NAME(name, field, kind, text) field,
		COUNTER_LIST(COUNTER_NAME)
#undef COUNTER_NAME
	};
	struct row loss = { "losses", "counter", NULL, NULL, NULL };
	char *text = NULL, labels[128], value[32];
	size_t size_bytes;
	FILE *file = open_memstream(&text, &size_bytes);

	assert_non_null(file);
	(void)fprintf(file, "# TYPE correlator_build%s\ncorrelator_build_info{version=\"1.2\"} 1\n",
		      is_classic ? "_info gauge" : " info");
	put_row(file,
		&(struct row){ "start_time_seconds", "gauge", "seconds", "",
			       "1600000001.600000000" },
		NULL, is_classic);
	put_rows(file, of_processes, sizeof(of_processes) / sizeof(of_processes[0]), is_classic);
	for (size_t i = 0; i < _COUNTER_MAX; i++) {
		(void)snprintf(labels, sizeof(labels), "{counter=\"%s\"}", counters[i]);
		/* Of two windows, of two processes. */
		(void)snprintf(value, sizeof(value), "%zu", 4 * (100 + i));
		loss.labels = labels;
		loss.value = value;
		put_row(file, &loss, i ? &loss : NULL, is_classic);
	}
	put_rows(file, of_the_rest, sizeof(of_the_rest) / sizeof(of_the_rest[0]), is_classic);
	(void)fputs(is_classic ? "" : "# EOF\n", file);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* Takes out what explains a family to people: each has it, once, by the name of its type. */
static void take_help(char *text)
{
	char *line;
	size_t name_bytes;

	while ((line = strstr(text, "# HELP "))) {
		char *next = strchr(line, '\n') + 1;

		name_bytes = strcspn(line + 7, " ");
		assert_true(next - line > (ptrdiff_t)name_bytes + 10);
		assert_memory_equal(next, "# TYPE ", 7);
		assert_memory_equal(next + 7, line + 7, name_bytes + 1);
		memmove(line, next, strlen(next) + 1);
	}
}

TEST(metrics_text_prints_each_figure_under_its_name)
{
	struct metrics metrics;

	fill(&metrics);
	for (int is_classic = 0; is_classic <= 1; is_classic++) {
		_cleanup_free_ char *text = NULL, *expected = expected_text(is_classic);
		size_t size_bytes;

		assert_int_equal(metrics_text(&metrics,
					      is_classic ? METRICS_FORMAT_CLASSIC
							 : METRICS_FORMAT_OPENMETRICS,
					      &text, &size_bytes),
				 0);
		assert_int_equal(strlen(text), size_bytes);
		take_help(text);
		assert_string_equal(text, expected);
	}
}

TEST(metrics_text_omits_series_without_data)
{
	static const char *const absent[] = { "programs", "resident",	  "limit", "output_",
					      "forward_", "last_failure", "spool" };
	struct metrics metrics;
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;

	metrics_init(&metrics, "1.2", 0);
	metrics_add_self(&metrics, &(struct self_record){ .window_ns = 1000 });
	assert_int_equal(metrics_text(&metrics, METRICS_FORMAT_CLASSIC, &text, &size_bytes), 0);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_null(strstr(text, absent[i]));
	assert_null(strstr(text, "process_user_seconds_total{"));
	metrics_set_forward(&metrics, &(struct sender_status){ .sent_chunks = 1 },
			    &(struct backlog_status){ 0 });
	free(TAKE_PTR(text));
	assert_int_equal(metrics_text(&metrics, METRICS_FORMAT_CLASSIC, &text, &size_bytes), 0);
	assert_non_null(strstr(text, "forward_delivering 0\n"));
	assert_null(strstr(text, "last_failure"));
}

/* What a text is written to: it may not be had, or take nothing. */
static const char *instead_of_memory;

FILE *open_memstream(char **ret_text, size_t *ret_size_bytes)
{
	FILE *(*real)(char **, size_t *);

	if (instead_of_memory)
		return fopen(instead_of_memory, "we");
	*(void **)&real = dlsym(RTLD_NEXT, "open_memstream");
	return real(ret_text, ret_size_bytes);
}

TEST(metrics_text_fails_without_memory)
{
	static const char *const kinds[] = { "/nonexistent/file", "/dev/full" };
	struct metrics metrics;
	char *text = NULL;
	size_t size_bytes = 77;

	metrics_init(&metrics, "1.2", 0);
	for (size_t i = 0; i < 2; i++) {
		instead_of_memory = kinds[i];
		assert_int_equal(metrics_text(&metrics, METRICS_FORMAT_CLASSIC, &text, &size_bytes),
				 -ENOMEM);
		instead_of_memory = NULL;
		assert_null(text);
		assert_int_equal(size_bytes, 77);
	}
}
