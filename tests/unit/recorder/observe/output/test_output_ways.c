/* SPDX-License-Identifier: GPL-2.0-only */
/* Which way a record goes: to a file, to collectors, into the sums, and what is said of it. */
#include "unit_test.h"

#include "recorder/observe/output/output.h"

#include "failing_memory.h"
#include "record/check.h"
#include "recorder/observe/fake_kernel.h"

UNIT_TEST_ALONE;

enum {
	WALL_NS = 77
};

#define DRAIN_NS (5 * NS_PER_S)

/* recorder/forward/forwarding.h, recorder/forward/sender.h, recorder/queue/backlog.h,
 * recorder/queue/sink.h, recorder/metrics/metrics_server.h: what each was told is in fake.told. */
static struct fake_ways {
	int forwarding_error, start_error, backlog_error, server_error, check_error, open_error;
	int append_error, close_error;
	struct sink_file file; /* as it was opened */
	struct sink_status sink;
	struct backlog_status backlog;
	struct sender_status sender;
	struct gap backlog_gap, sink_gap;
	unsigned int backlog_gaps, sink_gaps; /* how many there are to take */
	unsigned int gaps_by_settling; /* each call of backlog_settle adds these */
	size_t appended_bytes, written_bytes; /* the last time */
	uint8_t appended[32768], written[4096];
	int sink_fd; /* -1 = nothing waits */
	unsigned int waits; /* until nothing does */
	uint64_t due_ns;
	struct metrics published;
} ways;

int forwarding_new(const struct forwarding_options *options, struct forwarding **ret_forwarding)
{
	(void)options;
	tell("collectors checked");
	*ret_forwarding = ways.forwarding_error ? NULL : (struct forwarding *)&ways;
	return ways.forwarding_error;
}

void forwarding_free(struct forwarding *forwarding)
{
	if (forwarding)
		tell("collectors forgotten");
}

int forwarding_start(const struct forwarding *forwarding, const struct chunk_source *source,
		     uint64_t give_up_ns, struct sender **ret_sender)
{
	(void)forwarding;
	(void)source;
	assert_int_equal(give_up_ns, 0);
	tell("sender started");
	*ret_sender = ways.start_error ? NULL : (struct sender *)&ways;
	return ways.start_error;
}

const char *forwarding_names(const struct forwarding *forwarding)
{
	assert_non_null(forwarding);
	return "tcp://collector";
}

void sender_stop(struct sender *sender, uint64_t drain_ns)
{
	assert_non_null(sender);
	assert_int_equal(drain_ns, DRAIN_NS);
	tell("sender stopped");
}

void sender_free(struct sender *sender)
{
	if (sender)
		tell("sender freed");
}

void sender_get_status(struct sender *sender, struct sender_status *ret_status)
{
	assert_non_null(sender);
	*ret_status = ways.sender;
}

int backlog_new(const struct backlog_options *options, struct backlog **ret_backlog)
{
	(void)options;
	tell("queue opened");
	*ret_backlog = ways.backlog_error ? NULL : (struct backlog *)&ways;
	return ways.backlog_error;
}

void backlog_free(struct backlog *backlog)
{
	if (backlog)
		tell("queue freed");
}

struct chunk_source backlog_source(struct backlog *backlog)
{
	assert_non_null(backlog);
	return (struct chunk_source){ 0 };
}

int backlog_append(struct backlog *backlog, const void *entries, size_t size_bytes)
{
	assert_non_null(backlog);
	assert_true(size_bytes > 0 && size_bytes <= sizeof(ways.appended));
	ways.appended_bytes = size_bytes;
	memcpy(ways.appended, entries, size_bytes);
	tell("queued");
	return ways.append_error;
}

void backlog_seal(struct backlog *backlog)
{
	assert_non_null(backlog);
	tell("queue sealed");
}

void backlog_settle(struct backlog *backlog)
{
	assert_non_null(backlog);
	ways.backlog_gaps += ways.gaps_by_settling;
	tell("queue settled");
}

bool backlog_take_gap(struct backlog *backlog, struct gap *ret_gap)
{
	assert_non_null(backlog);
	if (!ways.backlog_gaps)
		return false;
	ways.backlog_gaps--;
	*ret_gap = ways.backlog_gap;
	ways.backlog_gap.total_dropped_records++;
	return true;
}

void backlog_get_status(struct backlog *backlog, struct backlog_status *ret_status)
{
	assert_non_null(backlog);
	*ret_status = ways.backlog;
}

int sink_check(const struct sink_file *file)
{
	tell("%s checked%s", file->path, file->overwrites ? ", to be overwritten" : "");
	return ways.check_error;
}

int sink_open(const struct sink_file *file, struct sink **ret_sink)
{
	ways.file = *file;
	tell("%s opened%s", file->path, file->overwrites ? ", to be overwritten" : "");
	*ret_sink = ways.open_error ? NULL : (struct sink *)&ways;
	return ways.open_error;
}

void sink_write(struct sink *sink, const void *entries, size_t size_bytes, size_t records)
{
	assert_non_null(sink);
	/* A file begins with a check of nothing. */
	if (size_bytes == CHECK_BYTES && !records)
		return;
	assert_int_equal(records > 0, size_bytes > 0);
	assert_true(size_bytes <= sizeof(ways.written));
	ways.written_bytes = size_bytes;
	if (size_bytes)
		memcpy(ways.written, entries, size_bytes);
	tell("written");
}

void sink_flush(struct sink *sink)
{
	assert_non_null(sink);
	tell("flushed");
	if (ways.waits && --ways.waits == 0)
		ways.sink_fd = -1;
}

int sink_fd(const struct sink *sink)
{
	assert_non_null(sink);
	return ways.sink_fd;
}

uint64_t sink_due_ns(const struct sink *sink)
{
	assert_non_null(sink);
	return ways.due_ns;
}

bool sink_take_gap(struct sink *sink, struct gap *ret_gap)
{
	assert_non_null(sink);
	if (!ways.sink_gaps)
		return false;
	ways.sink_gaps--;
	*ret_gap = ways.sink_gap;
	return true;
}

void sink_get_status(const struct sink *sink, struct sink_status *ret_status)
{
	assert_non_null(sink);
	*ret_status = ways.sink;
}

int sink_close(struct sink *sink, struct sink_status *ret_status)
{
	if (sink && ret_status)
		*ret_status = ways.sink;
	if (sink)
		tell("file closed");
	return sink ? ways.close_error : 0;
}

int metrics_server_new(const char *address, const struct metrics *metrics,
		       struct metrics_server **ret_server)
{
	(void)metrics;
	tell("sums at %s", address);
	*ret_server = ways.server_error ? NULL : (struct metrics_server *)&ways;
	return ways.server_error;
}

void metrics_server_free(struct metrics_server *server)
{
	if (server)
		tell("sums freed");
}

void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics)
{
	assert_non_null(server);
	ways.published = *metrics;
	tell("sums published");
}

uint64_t metrics_server_pages(const struct metrics_server *server)
{
	assert_non_null(server);
	return 0;
}

uint64_t metrics_server_cpu_ns(const struct metrics_server *server)
{
	assert_ptr_equal(server, &ways);
	return 77;
}

static struct forwarding_options forward;
static struct output_options options;
static struct output output;

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	memset(&ways, 0, sizeof(ways));
	memset(&output, 0, sizeof(output));
	ways.sink_fd = -1;
	forward = (struct forwarding_options){ .url_count = 1 };
	options = (struct output_options){
		.file = "/file", .overwrites = true, .forward = &forward, .metrics = "unix:/metrics"
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	output_deinit(&output);
	return 0;
}

static void begin_again(void **state)
{
	(void)tear_down(state);
	(void)set_up(state);
}

static int begin(void)
{
	int code = output_prepare(&output, &options);

	return code == EXIT_CODE_OK ? output_open(&output, WALL_NS) : code;
}

static void begin_well(void)
{
	assert_int_equal(begin(), EXIT_CODE_OK);
	fake.told[0] = '\0';
}

static void only_to_a_file(void)
{
	options.forward = NULL;
	options.metrics = NULL;
}

static void only_to_collectors(void)
{
	options.file = NULL;
	options.metrics = NULL;
}

static void expect_told(const char *told)
{
	assert_string_equal(fake.told, told);
	fake.told[0] = '\0';
}

static void expect_said(const char *said)
{
	assert_string_equal(fake.said, said);
	fake.said[0] = '\0';
}

static void add_one(void)
{
	struct gap_record record = { .reason = "none" };

	assert_int_equal(output_add(&output, WALL_NS, &record), 0);
}

static bool has(const uint8_t *bytes, size_t size_bytes, const char *text)
{
	return memmem(bytes, size_bytes, text, strlen(text)) != NULL;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(output_name_lists_all_destinations)
{
	begin_well();
	assert_string_equal(output.name, "/file and tcp://collector");
	begin_again(state);
	only_to_a_file();
	options.file = "-";
	begin_well();
	assert_string_equal(output.name, "standard output");
	begin_again(state);
	only_to_collectors();
	begin_well();
	assert_string_equal(output.name, "tcp://collector");
	begin_again(state);
	forward.url_count = 0;
	begin_well();
	assert_string_equal(output.name, "/file");
}

FIXTURE_TEST(output_opens_file_last)
{
	assert_int_equal(begin(), EXIT_CODE_OK);
	assert_true(output.is_open);
	expect_told("collectors checked\n/file checked, to be overwritten\nsums at unix:/metrics\n"
		    "queue opened\nsender started\n/file opened, to be overwritten\n");
	output_deinit(&output);
	expect_told("sender freed\nqueue freed\ncollectors forgotten\nfile closed\nsums freed\n");
}

/* A new file begins with what is to be known of the processes. */
FIXTURE_TEST(output_starts_rotated_file_with_current_heads)
{
	struct process_record record = { .common.pid = 7,
					 .event = PROCESS_EVENT_FOUND,
					 .comm = "a" };
	size_t size_bytes = 0, limited_bytes;

	only_to_a_file();
	begin_well();
	assert_true(ways.file.bytes_max == 0);
	begin_again(state);
	options.bytes_max = 1 << 20;
	begin_well();
	assert_true(ways.file.bytes_max == 1 << 20);
	assert_int_equal(output_add(&output, 1, &record), 0);
	assert_non_null(ways.file.head(ways.file.user, &size_bytes));
	assert_true(size_bytes > (size_t)2 * CHECK_BYTES);
	record.event = PROCESS_EVENT_EXIT;
	assert_int_equal(output_add(&output, 1, &record), 0);
	(void)ways.file.head(ways.file.user, &limited_bytes);
	assert_int_equal(limited_bytes, 0);
	assert_false(output_begins_anew(&output));
	ways.sink.files = 2;
	assert_true(output_begins_anew(&output));
	assert_false(output_begins_anew(&output));
	options.bytes_max = 0;
}

FIXTURE_TEST(output_open_failure_returns_exit_code_and_keeps_file)
{
	int *const errors[] = { &ways.forwarding_error, &ways.check_error, &ways.server_error,
				&ways.backlog_error, &ways.start_error };
	static const struct {
		int error, code;
	} files[] = {
		{ -EINTR, EXIT_CODE_INTERRUPTED },
		{ -ENOTTY, EXIT_CODE_USAGE },
		{ -EIO, EXIT_CODE_FAILURE },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin_again(state);
		*errors[i] = -EIO;
		assert_int_equal(begin(), EXIT_CODE_FAILURE);
		assert_null(strstr(fake.told, "/file opened"));
		assert_false(output.is_open);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		begin_again(state);
		ways.open_error = files[i].error;
		assert_int_equal(begin(), files[i].code);
		assert_false(output.is_open);
	}
}

static void add_request(const char *id)
{
	struct record_key keys[] = { { "request_id", id }, { "endpoint", "/a" } };
	struct cpu_record record = { .keys = keys, .keys_count = 2, .cpu_ns = 7 };

	assert_int_equal(output_add(&output, WALL_NS, &record), 0);
}

/* That are counted, as they are given out. */
static uint64_t requests_published(void)
{
	const struct request_figures *figures = ways.published.requests;
	uint64_t count = 0;

	assert_non_null(figures);
	assert_string_equal(figures->label, "endpoint");
	for (size_t i = 0; i < figures->series_count; i++)
		count += figures->series[i].cpu.count;
	return count;
}

FIXTURE_TEST(output_counts_requests_in_metrics_after_they_end)
{
	int windows = 0;

	options.metrics_by = "endpoint";
	options.metrics_series = 5;
	only_to_a_file();
	options.metrics = "unix:/metrics";
	assert_int_equal(begin(), EXIT_CODE_OK);
	add_request("r1");
	do {
		assert_int_equal(output_write(&output, WALL_NS + (uint64_t)windows * NS_PER_S), 0);
		output_publish(&output);
		assert_true(++windows < 100);
	} while (requests_published() == 0);
	assert_true(windows > 1);
	add_request("r2");
	assert_int_equal(output_write(&output, WALL_NS + (uint64_t)windows * NS_PER_S), 0);
	assert_int_equal(requests_published(), 1);
	assert_int_equal(output_close(&output, NULL, NULL), 0);
	assert_int_equal(requests_published(), 2);
}

FIXTURE_TEST(output_opens_nothing_without_memory_for_requests)
{
	options.metrics_by = "endpoint";
	options.metrics_series = 5;
	assert_int_equal(output_prepare(&output, &options), EXIT_CODE_OK);
	memory_fails_after(0);
	assert_int_equal(output_open(&output, WALL_NS), EXIT_CODE_FAILURE);
	memory_never_fails();
	assert_null(strstr(fake.told, "sums at"));
	assert_non_null(strstr(fake.said, "cannot serve metrics"));
	assert_false(output.is_open);
}

FIXTURE_TEST(output_writes_each_record_to_every_destination_once)
{
	begin_well();
	add_one();
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\nqueued\n");
	assert_int_equal(ways.written_bytes, ways.appended_bytes);
	assert_memory_equal(ways.written, ways.appended, ways.written_bytes);
	/* Nothing is no chunk. */
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\n");
	assert_int_equal(ways.written_bytes, 0);
	expect_said("");
	add_one();
	ways.append_error = -EBADMSG;
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_said("cannot keep records to be sent\n");
}

FIXTURE_TEST(output_forgets_records_after_mark)
{
	size_t first;

	begin_well();
	assert_int_equal(output_mark(&output), 0);
	add_one();
	first = output_mark(&output);
	assert_true(first > 0);
	add_one();
	output_forget(&output, first);
	assert_int_equal(output_write(&output, WALL_NS), 0);
	assert_int_equal(ways.written_bytes, first + CHECK_BYTES);
}

FIXTURE_TEST(output_publishes_metrics_from_records)
{
	struct process_record process = { .common.pid = 7,
					  .event = PROCESS_EVENT_FOUND,
					  .comm = "puma" };
	struct cpu_record cpu = { .common.pid = 7, .cpu_ns = 30 };
	struct balance_record balance = { .common.pid = 7, .exec_ns = 50 };
	struct self_record self = { .own_cpu_ns = 9 };

	begin_well();
	assert_int_equal(output_add(&output, WALL_NS, &process), 0);
	assert_int_equal(output_add(&output, WALL_NS, &cpu), 0);
	assert_int_equal(output_add(&output, WALL_NS, &balance), 0);
	assert_int_equal(output_add(&output, WALL_NS, &self), 0);
	output_publish(&output);
	assert_int_equal(ways.published.start_wall_ns, WALL_NS);
	assert_int_equal(ways.published.process_count, 1);
	assert_string_equal(ways.published.processes[0].comm, "puma");
	assert_int_equal(ways.published.processes[0].costs.sums[COST_CPU], 30);
	assert_int_equal(ways.published.processes[0].exec_ns, 50);
	assert_int_equal(ways.published.own_cpu_ns, 9);
	assert_int_equal(output_asked_cpu_ns(&output), 77);
	begin_again(state);
	only_to_a_file();
	begin_well();
	assert_int_equal(output_asked_cpu_ns(&output), 0);
	output_publish(&output);
	expect_told("");
}

#define LOST "records for tcp://collector are lost (the disk): "

FIXTURE_TEST(output_reports_gaps_to_collectors_and_logs_once_a_minute)
{
	begin_well();
	ways.backlog_gap = (struct gap){ .dropped_records = 2,
					 .total_dropped_records = 5,
					 .reason = "the disk" };
	ways.backlog_gaps = 1;
	add_one();
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\nqueued\nqueued\n");
	assert_true(has(ways.appended, ways.appended_bytes, "the disk"));
	assert_false(has(ways.written, ways.written_bytes, "the disk"));
	expect_said(LOST "5 so far\n");
	ways.backlog_gaps = 1;
	fake.now_ns += 60 * NS_PER_S - 1;
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_said("");
	ways.backlog_gaps = 1;
	fake.now_ns += 1;
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_said(LOST "7 so far\n");
	/* Each process has a record, and all go at once; each total is of the instant when the gap
	 * was taken, because more may be dropped between two of them. */
	ways.backlog_gaps = 2;
	ways.backlog_gap.pid = 4711;
	fake.told[0] = '\0';
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\nqueued\n");
	assert_true(has(ways.appended, ways.appended_bytes, "\xa3pid\xcd\x12\x67"));
	assert_true(has(ways.appended, ways.appended_bytes, "total_dropped_records\x08"));
	assert_true(has(ways.appended, ways.appended_bytes, "total_dropped_records\x09"));
	/* With many processes it takes some windows. */
	ways.backlog_gaps = 65;
	for (unsigned int left = 1; left <= 1; left--) {
		assert_int_equal(output_write(&output, WALL_NS), 0);
		assert_int_equal(ways.backlog_gaps, left);
	}
	/* What was told is not told again. */
	fake.told[0] = '\0';
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\n");
}

FIXTURE_TEST(output_writes_gap_record_to_file_that_dropped_records)
{
	begin_well();
	ways.sink_gap = (struct gap){ .dropped_records = 2, .reason = "the reader" };
	ways.sink_gaps = 1;
	add_one();
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("written\nqueued\nwritten\n");
	assert_true(has(ways.written, ways.written_bytes, "the reader"));
	assert_false(has(ways.appended, ways.appended_bytes, "the reader"));
}

FIXTURE_TEST(output_ends_without_reader_unless_another_destination_exists)
{
	only_to_a_file();
	begin_well();
	assert_int_equal(output_write(&output, WALL_NS), 0);
	assert_int_equal(output_continue(&output), 0);
	ways.sink.is_over = true;
	assert_int_equal(output_write(&output, WALL_NS), -EPIPE);
	assert_int_equal(output_continue(&output), -EPIPE);
	for (int is_collector = 0; is_collector < 2; is_collector++) {
		begin_again(state);
		if (is_collector)
			options.metrics = NULL;
		else
			options.forward = NULL;
		begin_well();
		ways.sink.is_over = true;
		assert_int_equal(output_write(&output, WALL_NS), 0);
		expect_said("the reader of /file is gone: the recording goes on without it\n");
		assert_int_equal(output_continue(&output), 0);
		expect_said("");
	}
}

FIXTURE_TEST(output_reports_file_descriptor_and_deadline)
{
	struct self_record self = { 0 };

	begin_well();
	ways.sink_fd = 7;
	ways.due_ns = 99;
	ways.sink = (struct sink_status){ .dropped_records = 1, .failures = 2, .waiting_bytes = 3 };
	assert_int_equal(output_fd(&output), 7);
	assert_int_equal(output_due_ns(&output), 99);
	assert_int_equal(output_continue(&output), 0);
	expect_told("flushed\n");
	output_fill_writing(&output, &self);
	assert_true(self.has_output);
	assert_int_equal(self.output_dropped_records, 1);
	assert_int_equal(self.output_failures, 2);
	assert_int_equal(self.output_waiting_bytes, 3);
	begin_again(state);
	only_to_collectors();
	begin_well();
	self.has_output = false;
	assert_int_equal(output_fd(&output), -1);
	assert_true(output_due_ns(&output) == UINT64_MAX);
	assert_int_equal(output_continue(&output), 0);
	assert_int_equal(output_write(&output, WALL_NS), 0);
	expect_told("");
	output_fill_writing(&output, &self);
	assert_false(self.has_output);
}

FIXTURE_TEST(output_reports_delivery_in_record_and_metrics)
{
	struct delivery_figures delivery = { 0 };
	struct sender_status status;

	begin_well();
	ways.sender = (struct sender_status){ .sent_chunks = 1, .acked_records = 2 };
	ways.backlog = (struct backlog_status){ .queued_records = 3, .store_bytes = 4 };
	output_fill_delivery(&output, &status, &delivery);
	assert_true(delivery.is_there);
	assert_int_equal(delivery.sent_chunks, 1);
	assert_int_equal(delivery.acked_records, 2);
	assert_int_equal(delivery.queued_records, 3);
	assert_int_equal(delivery.spool_bytes, 4);
	assert_null(delivery.last_error);
	assert_true(output.metrics.has_forward);
	assert_int_equal(output.metrics.sender.acked_records, 2);
	assert_int_equal(output.metrics.backlog.queued_records, 3);
	(void)strcpy(ways.sender.last_error, "refused");
	output_fill_delivery(&output, &status, &delivery);
	assert_string_equal(delivery.last_error, "refused");
	begin_again(state);
	only_to_a_file();
	begin_well();
	delivery.is_there = false;
	output_fill_delivery(&output, &status, &delivery);
	assert_false(delivery.is_there);
}

static unsigned int patience;

static bool ends(void *user, int fd)
{
	assert_ptr_equal(user, &patience);
	assert_int_equal(fd, ways.sink_fd);
	return patience-- == 0;
}

/* What is sent meanwhile is sealed first. */
FIXTURE_TEST(output_close_waits_for_reader_while_sending)
{
	begin_well();
	ways.sink_fd = 7;
	ways.waits = 2;
	ways.sink_gap.reason = "the reader";
	ways.sink_gaps = 1;
	patience = 5;
	assert_int_equal(output_close(&output, ends, &patience), 0);
	expect_told("queue sealed\nflushed\nflushed\nwritten\nqueue settled\nsender stopped\n"
		    "queue sealed\nqueue settled\nfile closed\n");
	expect_said("waiting for the reader of /file\n"
		    "delivered 0 records, 0 of 0 chunks sent again, 0 records refused, "
		    "0 dropped\n");
	begin_again(state);
	only_to_a_file();
	begin_well();
	ways.sink_fd = 7;
	patience = 1;
	assert_int_equal(output_close(&output, ends, &patience), 0);
	expect_told("flushed\nfile closed\n");
	begin_again(state);
	only_to_a_file();
	begin_well();
	assert_int_equal(output_close(&output, ends, &patience), 0);
	expect_said("");
}

FIXTURE_TEST(output_close_queues_gap_for_records_dropped_while_settling)
{
	only_to_collectors();
	begin_well();
	ways.backlog_gap.reason = "the disk";
	ways.gaps_by_settling = 1;
	(void)output_close(&output, ends, &patience);
	expect_told("queue sealed\nqueue settled\nsender stopped\n"
		    "queue sealed\nqueue settled\nqueued\n"
		    "queue sealed\nqueue settled\nqueued\n"
		    "queue sealed\nqueue settled\nqueued\n");
}

FIXTURE_TEST(output_close_fails_on_file_error_but_not_on_gone_reader)
{
	begin_well();
	ways.close_error = -EIO;
	assert_int_equal(output_close(&output, ends, &patience), -EIO);
	begin_again(state);
	begin_well();
	ways.close_error = -EPIPE;
	assert_int_equal(output_close(&output, ends, &patience), 0);
}

static void close_with(uint64_t queued_records, uint64_t kept_records, uint64_t dropped_records,
		       int expected)
{
	ways.backlog.queued_records = queued_records;
	ways.backlog.kept_records = kept_records;
	ways.backlog.dropped_records = dropped_records;
	assert_int_equal(output_close(&output, ends, &patience), expected);
}

FIXTURE_TEST(output_close_fails_on_undelivered_records_unless_in_file)
{
	only_to_collectors();
	options.backlog.spool = "/spool";
	begin_well();
	close_with(5, 5, 0, 0);
	expect_said("delivered 0 records, 0 of 0 chunks sent again, 0 records refused, 0 dropped\n"
		    "5 records wait in /spool: correlator forward /spool --to URL\n");
	begin_again(state);
	only_to_collectors();
	options.backlog.spool = "/spool";
	begin_well();
	(void)strcpy(ways.sender.last_error, "refused");
	close_with(5, 2, 0, -EIO);
	assert_non_null(strstr(fake.said, "2 records wait in /spool: "));
	assert_non_null(strstr(fake.said,
			       "\n3 records were not delivered, and could not all be kept in "
			       "/spool: refused\n"));
	/* What is kept without a spool goes with us. */
	begin_again(state);
	only_to_collectors();
	begin_well();
	close_with(5, 5, 0, -EIO);
	assert_non_null(strstr(fake.said, "\n5 records were not delivered\n"));
	begin_again(state);
	only_to_collectors();
	forward.has_no_acks = true;
	begin_well();
	close_with(0, 0, 1, -EIO);
	assert_non_null(strstr(fake.said, "handed over, unacknowledged, 0 records"));
	begin_again(state);
	begin_well();
	close_with(5, 0, 1, 0);
	begin_again(state);
	begin_well();
	ways.sink.is_over = true;
	assert_int_equal(output_write(&output, WALL_NS), 0);
	close_with(5, 0, 0, -EIO);
}
