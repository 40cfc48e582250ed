/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording is asked for by each option. It is not made: what would make it is here. */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "unit_test.h"

#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "recorder/observe/recorder.h"

UNIT_TEST_ALONE;

struct recorder {
	int unused;
};

/* What the command does with recordings, and what became of it. */
static struct {
	struct recorder recording;
	int start_code, run_code;
	unsigned int starts, runs, frees;
	struct recorder_options options;
	struct forwarding_options forward;
	pid_t pids[256];
	char keys[KEYS_MAX][64], names[KEYS_MAX][64];
	size_t alert_count;
} made;

static struct command_result result;

int recorder_start(const struct recorder_options *options, struct recorder **ret_recording)
{
	made.starts++;
	made.options = *options;
	made.forward = *options->output.forward;
	made.alert_count = options->output.alerts ? alert_set_count(options->output.alerts) : 0;
	for (size_t i = 0; i < options->targets.pid_count; i++)
		made.pids[i] = options->targets.pids[i];
	for (size_t i = 0; i < options->targets.keys.count; i++) {
		(void)snprintf(made.keys[i], sizeof(made.keys[i]), "%s",
			       options->targets.keys.names[i]);
		(void)snprintf(made.names[i], sizeof(made.names[i]), "%s",
			       options->targets.keys.record_names[i]);
	}
	if (!made.start_code)
		*ret_recording = &made.recording;
	return made.start_code;
}

int recorder_run(struct recorder *recording)
{
	assert_ptr_equal(recording, &made.recording);
	made.runs++;
	return made.run_code;
}

void recorder_free(struct recorder *recording)
{
	made.frees += recording != NULL;
}

/* Its options are those of the line: the result lives until the next one. */
static const struct recorder_options *record(const char *line)
{
	memset(&made, 0, sizeof(made));
	command_run(command_record, line, &result);
	assert_int_equal(made.starts, 1);
	assert_int_equal(made.runs, 1);
	assert_int_equal(made.frees, 1);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_string_equal(result.error, "");
	assert_string_equal(result.output, "");
	return &made.options;
}

static void refuses(const char *line, const char *says)
{
	memset(&made, 0, sizeof(made));
	command_run(command_record, line, &result);
	if (result.code != EXIT_CODE_USAGE || made.starts || !strstr(result.error, says))
		fail_msg("%s: code %d, said: %s", line, result.code, result.error);
}

TEST(record_with_pid_only_uses_defaults)
{
	const struct recorder_options *options = record("record -p 12");

	assert_int_equal(options->targets.pid_count, 1);
	assert_int_equal(made.pids[0], 12);
	assert_null(options->targets.command);
	assert_int_equal(options->targets.keys.count, 2);
	assert_string_equal(made.keys[0], "request_id");
	assert_string_equal(made.keys[1], "endpoint");
	assert_string_equal(options->output.file, "correlator.msgpack");
	assert_false(options->output.overwrites);
	assert_null(options->output.metrics);
	assert_null(options->output.metrics_by);
	assert_null(options->output.alerts);
	assert_null(options->on_alert);
	assert_int_equal(options->output.metrics_series, 100);
	assert_null(options->output.backlog.spool);
	assert_int_equal(options->output.backlog.store_bytes_max, 0);
	assert_int_equal(options->interval_ns, 1000000000);
	assert_int_equal(options->duration_ns, 0);
	assert_false(options->is_lean);
	assert_true(options->has_kernel_split);
	assert_true(options->targets.follow_forks);
	assert_true(options->has_children);
	assert_false(options->targets.searches);
	assert_null(options->targets.comm);
	assert_null(options->targets.cgroup);
	assert_true(options->budget_percent <= 0);
	assert_false(options->measures_programs);
	assert_int_equal(options->contexts_max, 0);
	assert_int_equal(options->accounts_max, 0);
	assert_int_equal(options->ring_bytes, 0);
	assert_false(options->has_timeline);
	assert_int_equal(options->timeline_bytes, 0);
	assert_int_equal(options->stacks_hz, 0);
	assert_false(options->counts_syscalls);
	assert_int_equal(options->stall_least_ns, 0);
}

TEST(record_stacks_accepts_rate_from_1_to_1000)
{
	static const char *const wrong[] = { "0", "1001", "-1", "99Hz", "1.5", "" };
	char line[64];

	assert_int_equal(record("record -p 12 --stacks")->stacks_hz, 99);
	assert_int_equal(record("record -p 12 --stacks=1")->stacks_hz, 1);
	assert_int_equal(record("record -p 12 --stacks=1000")->stacks_hz, 1000);
	assert_false(record("record -p 12 --stacks=1000")->has_wait_stacks);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 --stacks=%s", wrong[i]);
		refuses(line, "not a number from 1 to 1000");
	}
}

TEST(record_stacks_accepts_off_cpu_with_optional_rate)
{
	static const struct {
		const char *line;
		uint32_t hz;
	} right[] = {
		{ "record -p 12 --stacks=off-cpu", 99 },
		{ "record -p 12 --stacks=7,off-cpu", 7 },
		{ "record -p 12 --stacks=1000,off-cpu", 1000 },
	};
	static const char *const wrong[] = { ",off-cpu",
					     "0,off-cpu",
					     "1001,off-cpu",
					     "7off-cpu,",
					     "off-cpu,7",
					     "7,,off-cpu",
					     "x,off-cpu",
					     "7off-cpu",
					     ",",
					     "99999999999999999999,off-cpu" };

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		const struct recorder_options *options = record(right[i].line);

		assert_true(options->has_wait_stacks);
		assert_int_equal(options->stacks_hz, right[i].hz);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "record -p 1 --stacks=%s", wrong[i]);
		refuses(line, "not a number from 1 to 1000, off-cpu, or both");
	}
}

TEST(record_native_stacks_accepts_leaf_full_or_off)
{
	assert_true(record("record -p 12")->has_native);
	assert_true(record("record -p 12 --native-stacks=leaf")->has_native);
	assert_false(record("record -p 12 --native-stacks off")->has_native);
	assert_false(record("record -p 12")->has_callers);
	assert_true(record("record -p 12 --native-stacks=full")->has_native);
	assert_true(record("record -p 12 --native-stacks=full")->has_callers);
	refuses("record -p 1 --native-stacks=all", "--native-stacks=all: not leaf, full or off");
}

TEST(record_syscalls_conflicts_with_no_kernel_split)
{
	assert_true(record("record -p 12 --syscalls")->counts_syscalls);
	assert_int_equal(record("record -p 12 --stall")->stall_least_ns, 5 * NS_PER_MS);
	assert_int_equal(record("record -p 12 --stall=100us")->stall_least_ns, 100 * NS_PER_US);
	refuses("record -p 12 --stall=99us", "--stall 99us");
	refuses("record -p 12 --syscalls --no-kernel-split", "which --no-kernel-split leaves out");
}

TEST(record_timeline_accepts_size_in_range)
{
	static const char *const wrong[] = { "4095", "1025M", "2G", "4X", "-4K", "" };
	char line[64];

	assert_true(record("record -p 12 --timeline")->has_timeline);
	assert_int_equal(made.options.timeline_bytes, 0);
	assert_int_equal(record("record -p 12 --timeline --timeline-bytes 4K")->timeline_bytes,
			 4096);
	assert_int_equal(record("record -p 12 --timeline --timeline-bytes 1G")->timeline_bytes,
			 1 << 30);
	refuses("record -p 12 --timeline-bytes 4K", "--timeline-bytes needs --timeline");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 --timeline --timeline-bytes=%s",
			       wrong[i]);
		refuses(line, "not a size from 4K to 1G");
	}
}

TEST(record_forwards_nothing_by_default)
{
	(void)record("record -p 12");
	assert_int_equal(made.forward.url_count, 0);
	assert_string_equal(made.forward.tag, "correlator.records");
	assert_true(made.forward.ack_timeout_ns == 30000000000);
	assert_true(made.forward.retry_max_ns == 60000000000);
	assert_false(made.forward.is_gzip);
	assert_false(made.forward.has_no_acks);
}

TEST(record_passes_each_option_to_recorder)
{
	const struct recorder_options *options =
		record("record -p 12 -p 13 -i 250ms -d 4s --metrics unix:m -o some.rec --force "
		       "--budget 1.5 --measure --lean --no-kernel-split --no-children --no-follow "
		       "--contexts 17 "
		       "--accounts 18 --ring 19");

	assert_int_equal(options->targets.pid_count, 2);
	assert_int_equal(made.pids[0], 12);
	assert_int_equal(made.pids[1], 13);
	assert_int_equal(options->interval_ns, 250000000);
	assert_true(options->duration_ns == 4000000000);
	assert_string_equal(options->output.file, "some.rec");
	assert_true(options->output.overwrites);
	assert_string_equal(options->output.metrics, "unix:m");
	assert_true(options->budget_percent > 1.49 && options->budget_percent < 1.51);
	assert_true(options->measures_programs);
	assert_true(options->is_lean);
	assert_false(options->has_kernel_split);
	assert_false(options->targets.follow_forks);
	assert_false(options->has_children);
	assert_int_equal(options->contexts_max, 17);
	assert_int_equal(options->accounts_max, 18);
	assert_int_equal(options->ring_bytes, 19);
	assert_false(options->targets.searches);
}

/* What an option besides -p 1 asks for, of what can be asked for by one. */
TEST(record_options_set_only_their_own_fields)
{
	enum {
		LEAN = 1 << 0,
		SPLIT = 1 << 1,
		FOLLOW = 1 << 2,
		SEARCH = 1 << 3,
		COMM = 1 << 4,
		CGROUP = 1 << 5,
		MEASURE = 1 << 6,
		FORCE = 1 << 7,
		METRICS = 1 << 8,
		SPOOL = 1 << 9,
		BUDGET = 1 << 10,
		DURATION = 1 << 11,
		CONTEXTS = 1 << 12,
		ACCOUNTS = 1 << 13,
		RING = 1 << 14,
		COMMAND = 1 << 15,
		INTERVAL = 1 << 16,
		CHILDREN = 1 << 17,
		NONE = SPLIT | FOLLOW | CHILDREN
	};
	static const struct {
		const char *option;
		unsigned int asks_for;
	} cases[] = {
		{ "-p 2", NONE },
		{ "-k tenant", NONE },
		{ "-i 2s", NONE | INTERVAL },
		{ "-d 1s", NONE | DURATION },
		{ "-v", NONE },
		{ "-q", NONE },
		{ "-o x", NONE },
		{ "--tag a --forward unix:/x", NONE },
		{ "--lean", NONE | LEAN },
		{ "--no-kernel-split", FOLLOW | CHILDREN },
		{ "--no-children", SPLIT | FOLLOW },
		{ "--no-follow", SPLIT | CHILDREN },
		{ "--all-ruby", NONE | SEARCH },
		{ "--comm x", NONE | SEARCH | COMM },
		{ "--cgroup x", NONE | SEARCH | CGROUP },
		{ "--budget 1", NONE | BUDGET },
		{ "--measure", NONE | MEASURE },
		{ "--contexts 64", NONE | CONTEXTS },
		{ "--accounts 64", NONE | ACCOUNTS },
		{ "--ring 64", NONE | RING },
		{ "--force", NONE | FORCE },
		{ "--metrics unix:x", NONE | METRICS },
		{ "--forward unix:/x --spool y", NONE | SPOOL },
		{ "-- true", NONE | COMMAND },
	};
	char line[80];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct recorder_options *options;
		unsigned int found;

		(void)snprintf(line, sizeof(line), "record -p 1 %s", cases[i].option);
		options = record(line);
		found = (options->is_lean ? LEAN : 0) | (options->has_kernel_split ? SPLIT : 0) |
			(options->targets.follow_forks ? FOLLOW : 0) |
			(options->targets.searches ? SEARCH : 0) |
			(options->targets.comm ? COMM : 0) |
			(options->targets.cgroup ? CGROUP : 0) |
			(options->measures_programs ? MEASURE : 0) |
			(options->output.overwrites ? FORCE : 0) |
			(options->output.metrics ? METRICS : 0) |
			(options->output.backlog.spool ? SPOOL : 0) |
			(options->budget_percent > 0 ? BUDGET : 0) |
			(options->duration_ns ? DURATION : 0) |
			(options->contexts_max ? CONTEXTS : 0) |
			(options->accounts_max ? ACCOUNTS : 0) | (options->ring_bytes ? RING : 0) |
			(options->targets.command ? COMMAND : 0) |
			(options->has_children ? CHILDREN : 0) |
			(options->interval_ns != 1000000000 ? INTERVAL : 0);
		if (found != cases[i].asks_for)
			fail_msg("%s: 0x%x, not 0x%x", line, found, cases[i].asks_for);
	}
}

TEST(record_keys_replace_defaults_and_may_be_renamed)
{
	const struct recorder_options *options =
		record("record -p 1 -k endpoint -k otel.trace_id=trace");

	assert_int_equal(options->targets.keys.count, 2);
	assert_string_equal(made.keys[0], "endpoint");
	assert_string_equal(made.names[0], "endpoint");
	assert_string_equal(made.keys[1], "otel.trace_id");
	assert_string_equal(made.names[1], "trace");
}

TEST(record_searches_all_ruby_or_matching_processes)
{
	const struct recorder_options *options = record("record --all-ruby");

	assert_true(options->targets.searches);
	assert_null(options->targets.comm);
	assert_null(options->targets.cgroup);
	options = record("record --comm puma*");
	assert_true(options->targets.searches);
	assert_string_equal(options->targets.comm, "puma*");
	assert_null(options->targets.cgroup);
	options = record("record --cgroup puma.service");
	assert_true(options->targets.searches);
	assert_null(options->targets.comm);
	assert_string_equal(options->targets.cgroup, "puma.service");
}

TEST(record_passes_remaining_arguments_as_command)
{
	static const char *const lines[] = { "record -p 1 -- sleep -p 10",
					     "record -p 1 sleep -p 10" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct recorder_options *options = record(lines[i]);

		assert_int_equal(options->targets.pid_count, 1);
		assert_string_equal(options->targets.command[0], "sleep");
		assert_string_equal(options->targets.command[1], "-p");
		assert_string_equal(options->targets.command[2], "10");
		assert_null(options->targets.command[3]);
	}
	assert_string_equal(record("record -- 1234")->targets.command[0], "1234");
	refuses("record 1234", "to observe process 1234 say -p 1234");
	refuses("record 0", "0 is not an option");
}

TEST(record_with_forward_writes_no_file_unless_requested)
{
	const struct recorder_options *options =
		record("record -p 1 --forward tcp://127.0.0.1:24224 --forward unix:/run/fluent "
		       "--spool /var/spool/c --spool-max 64M");

	assert_null(options->output.file);
	assert_int_equal(made.forward.url_count, 2);
	assert_string_equal(options->output.backlog.spool, "/var/spool/c");
	assert_int_equal(options->output.backlog.store_bytes_max, 64 << 20);
	options = record("record -p 1 --forward tcp://127.0.0.1:24224 -o both.rec");
	assert_string_equal(options->output.file, "both.rec");
	assert_int_equal(made.forward.url_count, 1);
	refuses("record -p 1 --spool /tmp/x", "need --forward");
	refuses("record -p 1 --spool-max 64M", "need --forward");
}

TEST(record_spool_max_accepts_size_in_range)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "1048576", 1 << 20 },	     { "1024K", 1 << 20 },
		{ "1M", 1 << 20 },	     { "1025K", 1025 * 1024 },
		{ "3G", UINT64_C(3) << 30 }, { "1024G", UINT64_C(1) << 40 },
	};
	static const char *const wrong[] = { "1048575", "1023K", "0", "1025G", "-5M", "5T", "1MB",
					     "M", "1.5M", "x", "1099511627777",
					     /* Of so many K nothing would be left. */
					     "18014398509481985K", "99999999999999999999" };
	char line[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "record -p 1 --forward tcp://127.0.0.1:1 --spool-max %s",
			       cases[i].text);
		assert_true(record(line)->output.backlog.store_bytes_max == cases[i].bytes);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "record -p 1 --forward tcp://127.0.0.1:1 --spool-max %s", wrong[i]);
		refuses(line, "--spool-max");
		assert_non_null(strstr(result.error, wrong[i]));
	}
}

TEST(record_output_max_limits_file_size)
{
	assert_true(record("record -p 1")->output.bytes_max == 0);
	assert_true(record("record -p 1 --output-max 2G")->output.bytes_max == UINT64_C(2) << 30);
	assert_true(
		record("record -p 1 --forward unix:/x -o a --output-max 1M")->output.bytes_max ==
		1 << 20);
	refuses("record -p 1 --output-max 1023K", "--output-max");
	refuses("record -p 1 --forward unix:/x --output-max 1M", "--output-max needs -o FILE");
}

TEST(record_spool_max_ignores_stale_errno)
{
	assert_int_equal(record("record --spool-max 64M --forward unix:/x -p 1")
				 ->output.backlog.store_bytes_max,
			 64 << 20);
}

TEST(record_budget_accepts_percentage_up_to_100)
{
	static const char *const wrong[] = { "0", "-1", "100.1", "1x", "%", "1%%", "nan", "x" };
	char line[80];

	assert_true(record("record -p 1 --budget 100")->budget_percent >= 100);
	assert_true(record("record -p 1 --budget 0.5%")->budget_percent < 0.51);
	assert_true(record("record -p 1 --budget 0.5%")->budget_percent > 0.49);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 --budget %s", wrong[i]);
		refuses(line, "not a percentage");
		assert_non_null(strstr(result.error, wrong[i]));
	}
}

TEST(record_table_sizes_reject_values_out_of_range)
{
	static const char *const names[] = { "contexts", "accounts", "ring" };
	char line[80];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		static const char *const wrong[] = { "15", "16777217", "x" };

		for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++) {
			(void)snprintf(line, sizeof(line), "record -p 1 --%s %s", names[i],
				       wrong[at]);
			refuses(line, line + strlen("record -p 1 "));
			assert_non_null(strstr(result.error, "from 16 to 16777216"));
		}
		(void)snprintf(line, sizeof(line), "record -p 1 --%s 16", names[i]);
		(void)record(line);
		(void)snprintf(line, sizeof(line), "record -p 1 --%s 16777216", names[i]);
		(void)record(line);
	}
	assert_int_equal(made.options.ring_bytes, 16777216);
}

TEST(record_metrics_by_requires_recorded_key)
{
	static const struct {
		const char *options, *says;
	} wrong[] = {
		{ "-k request_id -k endpoint --metrics-by endpoint", "need --metrics ADDRESS" },
		{ "--metrics-series 5", "need --metrics ADDRESS" },
		{ "--metrics unix:x --metrics-series 5", "needs --metrics-by KEY" },
		{ "--metrics unix:x --metrics-by tenant",
		  "--metrics-by: the key tenant is not recorded: -k request_id -k tenant" },
		{ "-k endpoint --metrics unix:x --metrics-by endpoint",
		  "by the key request_id, which is not recorded" },
		{ "-k a=b --metrics unix:x --metrics-by a", "the key a is not recorded" },
		{ "--metrics unix:x --metrics-series 0",
		  "--metrics-series 0: not a number from 1 to 10000" },
		{ "--metrics unix:x --metrics-series 10001", "--metrics-series 10001" },
	};
	const struct recorder_options *options =
		record("record -p 1 -k request_id -k route=endpoint --metrics unix:x "
		       "--metrics-by endpoint");
	char line[160];

	assert_string_equal(options->output.metrics_by, "endpoint");
	assert_int_equal(options->output.metrics_series, 100);
	options = record("record -p 1 --metrics unix:x --metrics-by request_id --metrics-series 1");
	assert_int_equal(options->output.metrics_series, 1);
	options = record(
		"record -p 1 --metrics unix:x --metrics-by request_id --metrics-series 10000");
	assert_int_equal(options->output.metrics_series, 10000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 %s", wrong[i].options);
		refuses(line, wrong[i].says);
	}
}

/* In place of spaces, which part the words of a line here. */
TEST(record_alerts_require_recorded_keys)
{
	static const struct {
		const char *options, *says;
	} wrong[] = {
		{ "--alert p99(cpu)>50ms\tby\ttenant", "--alert: the key tenant is not recorded" },
		{ "--alert sum(cpu)>5s\tby\te", "--alert: the key e is not recorded" },
		{ "--alert lost>0 --alert sum(cpu)>5s\tby\ttenant", "the key tenant is not" },
		{ "--alert sum(cpu)>5s\tby\ttenant --alert lost>0", "the key tenant is not" },
		{ "--alert p99(cpu)>50 --alert lost>0", "--alert: a time wants a unit" },
		{ "-k endpoint --alert p99(cpu)>50ms\tby\tendpoint", "by the key request_id" },
		{ "-k endpoint --alert rate(wall)>50%", "by the key request_id" },
		{ "-k endpoint --alert count(requests)>5", "by the key request_id" },
		{ "--alert p99(cpu)>50", "--alert: a time wants a unit" },
		{ "--on-alert /bin/true", "--on-alert needs --alert" },
		{ "--alert lost>0 --on-alert /nonexistent/x", "not the path of a program" },
	};
	char line[1024] = "record -p 1";
	size_t used = strlen(line);

	(void)record("record -p 1 -k endpoint -k request_id --alert p99(cpu)>50ms\tby\tendpoint");
	assert_int_equal(made.alert_count, 1);
	(void)record("record -p 1 -k endpoint --alert lost>0 --alert sum(cpu)>5s\tby\tendpoint");
	assert_int_equal(made.alert_count, 2);
	assert_string_equal(record("record -p 1 --alert lost>0 --on-alert /bin/true")->on_alert,
			    "/bin/true");
	(void)record("record -p 1 --alert max(wall)>1s");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char wrong_line[160];

		(void)snprintf(wrong_line, sizeof(wrong_line), "record -p 1 %s", wrong[i].options);
		refuses(wrong_line, wrong[i].says);
	}
	for (int i = 0; i < 16; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " --alert lost>%d", i);
	(void)record(line);
	assert_int_equal(made.alert_count, 16);
	(void)snprintf(line + used, sizeof(line) - used, " --alert lost>16");
	refuses(line, "--alert: at most 16");
}

TEST(record_alert_error_points_at_column)
{
	refuses("record -p 1 --alert p99(cpu)\x01>>50ms",
		"--alert: not a comparison: >, >=, < or <=\n");
	assert_non_null(strstr(result.error, "  p99(cpu)\\x01>>50ms\n"));
	assert_non_null(strstr(result.error, ":           ^\n"));
	refuses("record -p 1 --alert max(cpu)>1s\tby\t\xc3\xa9\tx", "only `for DURATION'");
	assert_non_null(strstr(result.error, "  max(cpu)>1s\\x09by\\x09\xc3\xa9\\x09x\n"));
	assert_non_null(strstr(result.error, ":                             ^\n"));
	refuses("record -p 1 --alert p99(cpu)>\x01\x01", "a number is wanted");
	assert_non_null(strstr(result.error, ":            ^\n"));
}

TEST(record_rejects_invalid_arguments_before_start)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "record", "nothing to observe" },
		{ "record -o x.rec", "nothing to observe" },
		{ "record -p 0", "not a process ID" },
		{ "record -p x -p 1", "`x` is not a process ID" },
		{ "record -p 1 -k pid", "-k pid" },
		{ "record -p 1 -i 9ms", "--interval 9ms" },
		{ "record -p 1 --first-window 9ms", "--first-window 9ms" },
		{ "record -p 1 -d 0", "--duration 0" },
		{ "record -p 1 --forward host", "host" },
		{ "record -p 1 --tag a.b", "--tag needs a collector" },
		{ "record -p 1 --forward tcp://h --compress lz4", "--compress lz4" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(cases[i].line, cases[i].says);
	assert_int_equal(record("record -p 1 -i 10ms")->interval_ns, 10000000);
	assert_int_equal(record("record -p 1 --first-window 10ms")->first_window_ns, 10000000);
	assert_int_equal(record("record -p 1 -d 1ns")->duration_ns, 1);
}

TEST(record_rejects_more_than_256_pids)
{
	char line[4096] = "record";
	size_t used = strlen(line);

	for (int pid = 1; pid <= 256; pid++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " -p %d", 1000 + pid);
	assert_int_equal(record(line)->targets.pid_count, 256);
	assert_int_equal(made.pids[255], 1256);
	(void)snprintf(line + used, sizeof(line) - used, " -p 2000");
	refuses(line, "at most 256");
}

TEST(record_accepts_verbose_and_quiet)
{
	(void)record("record -p 1 -v");
	assert_false(made.options.is_lean);
	(void)record("record -q -p 1");
}

TEST(record_returns_exit_status_of_recorder)
{
	memset(&made, 0, sizeof(made));
	made.run_code = 42;
	command_run(command_record, "record -p 1", &result);
	assert_int_equal(result.code, 42);
	assert_int_equal(made.frees, 1);
	memset(&made, 0, sizeof(made));
	made.start_code = EXIT_CODE_NO_TARGET;
	command_run(command_record, "record -p 1", &result);
	assert_int_equal(result.code, EXIT_CODE_NO_TARGET);
	assert_int_equal(made.runs, 0);
	assert_int_equal(made.frees, 0);
}

TEST(record_fails_without_memory_before_start)
{
	memset(&made, 0, sizeof(made));
	memory_fails_after(0);
	command_run(command_record, "record -p 1", &result);
	memory_never_fails();
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_int_equal(made.starts, 0);
	assert_non_null(strstr(result.error, "request_id"));
	memory_fails_after(0);
	command_run(command_record, "record -p 1 --config /dev/null", &result);
	memory_never_fails();
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
}

/* A configuration file of these lines, in /tmp; it is the caller's to unlink. */
static const char *configure(const char *lines)
{
	static char path[] = "/tmp/record-XXXXXX";
	FILE *file;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	assert_true(fprintf(file, "[record]\n%s", lines) > 0);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* What the command is asked for, or says, with a file of these lines. */
static const struct recorder_options *record_configured(const char *lines, const char *options)
{
	const char *path = configure(lines);
	char line[256];

	(void)snprintf(line, sizeof(line), "record --config %s %s", path, options);
	memset(&made, 0, sizeof(made));
	command_run(command_record, line, &result);
	assert_int_equal(unlink(path), 0);
	return &made.options;
}

TEST(record_configuration_file_sets_options)
{
	const struct recorder_options *options = record_configured(
		"all-ruby = yes\nkey = request_id\nkey = endpoint\ninterval = 250ms\n"
		"alert = p99(cpu) > 50ms for 30s by endpoint\nalert = lost > 0\n"
		"forward = tcp://127.0.0.1:24224\nforward = unix:/x\ntag = a.b\nno-ack = yes\n"
		"spool-max = 64M\nlean = yes\nno-follow = no\nstacks = yes\nsyscalls = yes\npid = 12\n",
		"");

	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_string_equal(result.error, "");
	assert_true(options->targets.searches);
	assert_int_equal(options->targets.keys.count, 2);
	assert_string_equal(made.keys[1], "endpoint");
	assert_int_equal(options->interval_ns, 250000000);
	assert_int_equal(made.alert_count, 2);
	assert_int_equal(made.forward.url_count, 2);
	assert_true(made.forward.has_no_acks);
	assert_int_equal(options->output.backlog.store_bytes_max, 64 << 20);
	assert_true(options->is_lean);
	assert_true(options->targets.follow_forks);
	assert_int_equal(options->stacks_hz, 99);
	assert_true(options->counts_syscalls);
	assert_int_equal(made.pids[0], 12);
	assert_null(options->output.file);
}

TEST(record_command_line_overrides_configuration_file)
{
	static const char lines[] = "pid = 12\nkey = a\nkey = b\ninterval = 250ms\nstacks = 7\n"
				    "forward = unix:/x\nforward = unix:/y\nlean = no\n"
				    "retry-max = 5s\n";
	const struct recorder_options *options = record_configured(
		lines, "-p 13 -k c -i 2s --stacks=9 --forward unix:/z --lean --retry-max 6s");

	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_int_equal(options->targets.pid_count, 1);
	assert_int_equal(made.pids[0], 13);
	assert_int_equal(options->targets.keys.count, 1);
	assert_string_equal(made.keys[0], "c");
	assert_int_equal(options->interval_ns, 2000000000);
	assert_int_equal(options->stacks_hz, 9);
	assert_int_equal(made.forward.url_count, 1);
	assert_true(made.forward.retry_max_ns == 6000000000);
	assert_true(options->is_lean);
}

TEST(record_reports_configuration_error_with_line_number)
{
	static const struct {
		const char *lines, *says;
	} cases[] = {
		{ "pid = 1\ninterval = 9ms\n", ":3: --interval 9ms: not a time" },
		{ "tag = a b\npid = 1\n", ":2: --tag a b: a tag is" },
		{ "alert = p99(cpu) > 50\n", ":2:         " },
		{ "pid = 1\nmetrics-series = 5\n", " sets pid (line 2), metrics-series (line 3)" },
		{ "outptu = x\n", ":2: outptu: no such option: is output meant?" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)record_configured(cases[i].lines, "");
		if (result.code != EXIT_CODE_USAGE || made.starts ||
		    !strstr(result.error, cases[i].says))
			fail_msg("%s: code %d, said: %s", cases[i].lines, result.code,
				 result.error);
	}
	/* A line that is wrong is said once. */
	(void)record_configured("pid = 1\ninterval = 9ms\n", "");
	assert_null(strstr(result.error, " sets "));
	(void)record_configured("pid = 1\ntag = a b\n", "");
	assert_null(strstr(result.error, " sets "));
}

/* A value that an option may take that is said to take this. */
static const char *sample(const char *argument)
{
	static const struct {
		const char *argument, *sample;
	} samples[] = {
		{ "", "yes" },
		{ "PID", "12" },
		{ "TIME", "1s" },
		{ "TIME|pNN", "p99" },
		{ "N", "100" },
		{ "HZ", "99" },
		{ "FRAMES", "leaf" },
		{ "SIZE", "1M" },
		{ "BYTES", "4096" },
		{ "PERCENT", "2" },
		{ "URL", "unix:/x" },
		{ "EXPRESSION", "lost>0" },
		{ "PROGRAM", "/bin/true" },
		{ "gzip", "gzip" },
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		if (strcmp(argument, samples[i].argument) == 0)
			return samples[i].sample;
	}
	return "x";
}

/* Once, and twice if it may be. */
static void check_option(const char *name, const char *argument, bool is_repeatable)
{
	const char *value = sample(argument);
	char lines[256];

	(void)snprintf(lines, sizeof(lines), "%s = %s\n", name, value);
	(void)record_configured(lines, "-- true");
	if (strstr(result.error, ":2: "))
		fail_msg("%s", result.error);
	(void)snprintf(lines, sizeof(lines), "%s = %s\n%s = %s\n", name, value, name, value);
	(void)record_configured(lines, "-- true");
	if (is_repeatable ==
	    (strstr(result.error, ":3: ") && strstr(result.error, " is set in line 2 already")))
		fail_msg("%s twice, repeatable %d: %s", name, is_repeatable, result.error);
	log_set_level(LOG_LEVEL_INFO);
}

struct offered {
	char name[64], argument[64];
	bool is_repeatable;
};

/* The options of --help; help is changed. Returns how many. */
static size_t read_help(char *help, struct offered ret_offered[static 128])
{
	char *rest = NULL;
	size_t count = 0;

	for (char *line = strtok_r(help, "\n", &rest); line && count < 128;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t blanks = strspn(line, " ");

		if (blanks <= 6 && line[blanks] == '-') {
			const char *name = line + blanks + (line[blanks + 1] == '-' ? 0 : 4);

			memset(&ret_offered[count], 0, sizeof(ret_offered[count]));
			(void)sscanf(name, "--%63[a-z0-9-]%*[[=]%63[^] \n]",
				     ret_offered[count].name, ret_offered[count].argument);
			count++;
		}
		if (count > 0 && (strstr(line, "(repeatable") || strstr(line, "; twice:")))
			ret_offered[count - 1].is_repeatable = true;
	}
	return count;
}

/* One that is added finds itself in the file, and in here. */
TEST(record_configuration_file_accepts_each_option_of_help)
{
	static const char *const others[] = { "help", "usage", "config" };
	struct offered offered[128];
	struct command_result help;
	size_t count;

	command_run_apart(command_record, "record --help", &help);
	count = read_help(help.output, offered);
	assert_in_range(count, 40, 127);
	for (size_t i = 0; i < count; i++) {
		bool is_other = false;

		for (size_t j = 0; j < sizeof(others) / sizeof(others[0]); j++)
			is_other |= strcmp(offered[i].name, others[j]) == 0;
		if (!is_other)
			check_option(offered[i].name, offered[i].argument,
				     offered[i].is_repeatable);
	}
}

/* argp ends the process. */
TEST(record_unknown_or_incomplete_option_exits_with_usage)
{
	static const char *const lines[] = { "record -p 1 --no-such-option", "record -p" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			command_run(command_record, lines[i], &result);
			_exit(EXIT_CODE_OK);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EXIT_CODE_USAGE);
	}
}
