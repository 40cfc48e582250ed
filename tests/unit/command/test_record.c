/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording is asked for by each option. It is not made: what would make it is here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "observe/recording.h"

struct recording {
	int unused;
};

/* What the command does with recordings, and what became of it. */
static struct {
	struct recording recording;
	int start_code, run_code;
	unsigned int starts, runs, frees;
	struct recording_options options;
	struct forwarding_options forward;
	pid_t pids[256];
	char keys[KEYS_MAX][64], names[KEYS_MAX][64];
	size_t alert_count;
} made;

static struct command_result result;

int recording_start(const struct recording_options *options, struct recording **ret_recording)
{
	made.starts++;
	made.options = *options;
	made.forward = *options->forward;
	made.alert_count = options->alerts ? alert_set_count(options->alerts) : 0;
	for (size_t i = 0; i < options->pid_count; i++)
		made.pids[i] = options->pids[i];
	for (size_t i = 0; i < options->keys.count; i++) {
		(void)snprintf(made.keys[i], sizeof(made.keys[i]), "%s", options->keys.names[i]);
		(void)snprintf(made.names[i], sizeof(made.names[i]), "%s",
			       options->keys.record_names[i]);
	}
	if (!made.start_code)
		*ret_recording = &made.recording;
	return made.start_code;
}

int recording_run(struct recording *recording)
{
	assert_ptr_equal(recording, &made.recording);
	made.runs++;
	return made.run_code;
}

void recording_free(struct recording *recording)
{
	made.frees += recording != NULL;
}

/* Its options are those of the line: the result lives until the next one. */
static const struct recording_options *record(const char *line)
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

static void a_pid_alone_is_recorded_by_request_until_it_ends(void **state)
{
	const struct recording_options *options = record("record -p 12");

	(void)state;
	assert_int_equal(options->pid_count, 1);
	assert_int_equal(made.pids[0], 12);
	assert_null(options->command);
	assert_int_equal(options->keys.count, 1);
	assert_string_equal(made.keys[0], "request_id");
	assert_string_equal(options->output, "correlator.msgpack");
	assert_false(options->overwrites);
	assert_null(options->metrics);
	assert_null(options->metrics_by);
	assert_null(options->alerts);
	assert_null(options->on_alert);
	assert_int_equal(options->metrics_series, 100);
	assert_null(options->backlog.spool);
	assert_int_equal(options->backlog.store_bytes_max, 0);
	assert_int_equal(options->interval_ns, 1000000000);
	assert_int_equal(options->duration_ns, 0);
	assert_false(options->is_lean);
	assert_true(options->has_kernel_split);
	assert_true(options->follow_forks);
	assert_false(options->searches);
	assert_null(options->comm);
	assert_null(options->cgroup);
	assert_true(options->budget_percent <= 0);
	assert_false(options->measures_programs);
	assert_int_equal(options->contexts_max, 0);
	assert_int_equal(options->accounts_max, 0);
	assert_int_equal(options->ring_bytes, 0);
	assert_false(options->has_timeline);
	assert_int_equal(options->timeline_bytes, 0);
}

static void a_timeline_is_recorded_with_room_as_asked_for(void **state)
{
	static const char *const wrong[] = { "4095", "1025M", "2G", "4X", "-4K", "" };
	char line[64];

	(void)state;
	assert_true(record("record -p 12 --timeline")->has_timeline);
	assert_int_equal(made.options.timeline_bytes, 0);
	assert_int_equal(record("record -p 12 --timeline --timeline-bytes 4K")->timeline_bytes,
			 4096);
	assert_int_equal(record("record -p 12 --timeline --timeline-bytes 1G")->timeline_bytes,
			 1 << 30);
	refuses("record -p 12 --timeline-bytes 4K", "room for --timeline");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 --timeline --timeline-bytes=%s",
			       wrong[i]);
		refuses(line, "not a size from 4K to 1G");
	}
}

static void nothing_is_sent_unless_asked_for(void **state)
{
	(void)state;
	(void)record("record -p 12");
	assert_int_equal(made.forward.url_count, 0);
	assert_string_equal(made.forward.tag, "correlator.records");
	assert_true(made.forward.ack_timeout_ns == 30000000000);
	assert_true(made.forward.retry_max_ns == 60000000000);
	assert_false(made.forward.is_gzip);
	assert_false(made.forward.has_no_acks);
}

static void each_option_is_asked_for(void **state)
{
	const struct recording_options *options =
		record("record -p 12 -p 13 -i 250ms -d 4s -o some.rec --force --metrics unix:m "
		       "--budget 1.5 --measure --lean --no-kernel-split --no-follow --contexts 17 "
		       "--accounts 18 --ring 19");

	(void)state;
	assert_int_equal(options->pid_count, 2);
	assert_int_equal(made.pids[0], 12);
	assert_int_equal(made.pids[1], 13);
	assert_int_equal(options->interval_ns, 250000000);
	assert_true(options->duration_ns == 4000000000);
	assert_string_equal(options->output, "some.rec");
	assert_true(options->overwrites);
	assert_string_equal(options->metrics, "unix:m");
	assert_true(options->budget_percent > 1.49 && options->budget_percent < 1.51);
	assert_true(options->measures_programs);
	assert_true(options->is_lean);
	assert_false(options->has_kernel_split);
	assert_false(options->follow_forks);
	assert_int_equal(options->contexts_max, 17);
	assert_int_equal(options->accounts_max, 18);
	assert_int_equal(options->ring_bytes, 19);
	assert_false(options->searches);
}

/* What an option besides -p 1 asks for, of what can be asked for by one. */
static void each_option_asks_for_nothing_else(void **state)
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
		NONE = SPLIT | FOLLOW
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
		{ "--no-kernel-split", FOLLOW },
		{ "--no-follow", SPLIT },
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

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct recording_options *options;
		unsigned int found;

		(void)snprintf(line, sizeof(line), "record -p 1 %s", cases[i].option);
		options = record(line);
		found = (options->is_lean ? LEAN : 0) | (options->has_kernel_split ? SPLIT : 0) |
			(options->follow_forks ? FOLLOW : 0) | (options->searches ? SEARCH : 0) |
			(options->comm ? COMM : 0) | (options->cgroup ? CGROUP : 0) |
			(options->measures_programs ? MEASURE : 0) |
			(options->overwrites ? FORCE : 0) | (options->metrics ? METRICS : 0) |
			(options->backlog.spool ? SPOOL : 0) |
			(options->budget_percent > 0 ? BUDGET : 0) |
			(options->duration_ns ? DURATION : 0) |
			(options->contexts_max ? CONTEXTS : 0) |
			(options->accounts_max ? ACCOUNTS : 0) | (options->ring_bytes ? RING : 0) |
			(options->command ? COMMAND : 0) |
			(options->interval_ns != 1000000000 ? INTERVAL : 0);
		if (found != cases[i].asks_for)
			fail_msg("%s: 0x%x, not 0x%x", line, found, cases[i].asks_for);
	}
}

static void keys_are_those_that_are_named_and_no_others(void **state)
{
	const struct recording_options *options =
		record("record -p 1 -k endpoint -k otel.trace_id=trace");

	(void)state;
	assert_int_equal(options->keys.count, 2);
	assert_string_equal(made.keys[0], "endpoint");
	assert_string_equal(made.names[0], "endpoint");
	assert_string_equal(made.keys[1], "otel.trace_id");
	assert_string_equal(made.names[1], "trace");
}

static void every_ruby_is_searched_for_or_those_that_match(void **state)
{
	const struct recording_options *options = record("record --all-ruby");

	(void)state;
	assert_true(options->searches);
	assert_null(options->comm);
	assert_null(options->cgroup);
	options = record("record --comm puma*");
	assert_true(options->searches);
	assert_string_equal(options->comm, "puma*");
	assert_null(options->cgroup);
	options = record("record --cgroup puma.service");
	assert_true(options->searches);
	assert_null(options->comm);
	assert_string_equal(options->cgroup, "puma.service");
}

static void all_behind_the_options_is_the_command(void **state)
{
	static const char *const lines[] = { "record -p 1 -- sleep -p 10",
					     "record -p 1 sleep -p 10" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct recording_options *options = record(lines[i]);

		assert_int_equal(options->pid_count, 1);
		assert_string_equal(options->command[0], "sleep");
		assert_string_equal(options->command[1], "-p");
		assert_string_equal(options->command[2], "10");
		assert_null(options->command[3]);
	}
	assert_string_equal(record("record -- 1234")->command[0], "1234");
	refuses("record 1234", "to observe process 1234 say -p 1234");
	refuses("record 0", "0 is not an option");
}

static void without_a_file_records_are_only_sent(void **state)
{
	const struct recording_options *options =
		record("record -p 1 --forward tcp://127.0.0.1:24224 --forward unix:/run/fluent "
		       "--spool /var/spool/c --spool-max 64M");

	(void)state;
	assert_null(options->output);
	assert_int_equal(made.forward.url_count, 2);
	assert_string_equal(options->backlog.spool, "/var/spool/c");
	assert_int_equal(options->backlog.store_bytes_max, 64 << 20);
	options = record("record -p 1 --forward tcp://127.0.0.1:24224 -o both.rec");
	assert_string_equal(options->output, "both.rec");
	assert_int_equal(made.forward.url_count, 1);
	refuses("record -p 1 --spool /tmp/x", "need --forward");
	refuses("record -p 1 --spool-max 64M", "need --forward");
}

static void a_spool_has_a_size(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "record -p 1 --forward tcp://127.0.0.1:1 --spool-max %s",
			       cases[i].text);
		assert_true(record(line)->backlog.store_bytes_max == cases[i].bytes);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "record -p 1 --forward tcp://127.0.0.1:1 --spool-max %s", wrong[i]);
		refuses(line, "--spool-max");
		assert_non_null(strstr(result.error, wrong[i]));
	}
}

static void a_budget_is_a_part_of_a_cpu(void **state)
{
	static const char *const wrong[] = { "0", "-1", "100.1", "1x", "%", "1%%", "nan", "x" };
	char line[80];

	(void)state;
	assert_true(record("record -p 1 --budget 100")->budget_percent >= 100);
	assert_true(record("record -p 1 --budget 0.5%")->budget_percent < 0.51);
	assert_true(record("record -p 1 --budget 0.5%")->budget_percent > 0.49);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 --budget %s", wrong[i]);
		refuses(line, "not a percentage");
		assert_non_null(strstr(result.error, wrong[i]));
	}
}

static void tables_have_room_for_some_and_not_for_all(void **state)
{
	static const char *const names[] = { "contexts", "accounts", "ring" };
	char line[80];

	(void)state;
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

static void requests_are_counted_by_a_key_that_is_recorded(void **state)
{
	static const struct {
		const char *options, *says;
	} wrong[] = {
		{ "-k request_id -k endpoint --metrics-by endpoint", "for --metrics ADDRESS" },
		{ "--metrics-series 5", "for --metrics ADDRESS" },
		{ "--metrics unix:x --metrics-series 5", "for --metrics-by KEY" },
		{ "--metrics unix:x --metrics-by endpoint", "the key endpoint is not recorded" },
		{ "-k endpoint --metrics unix:x --metrics-by endpoint",
		  "by the key request_id, which is not recorded" },
		{ "-k a=b --metrics unix:x --metrics-by a", "the key a is not recorded" },
		{ "--metrics unix:x --metrics-series 0",
		  "--metrics-series 0: not a number from 1 to 10000" },
		{ "--metrics unix:x --metrics-series 10001", "--metrics-series 10001" },
	};
	const struct recording_options *options =
		record("record -p 1 -k request_id -k route=endpoint --metrics unix:x "
		       "--metrics-by endpoint");
	char line[160];

	(void)state;
	assert_string_equal(options->metrics_by, "endpoint");
	assert_int_equal(options->metrics_series, 100);
	options = record("record -p 1 --metrics unix:x --metrics-by request_id --metrics-series 1");
	assert_int_equal(options->metrics_series, 1);
	options = record(
		"record -p 1 --metrics unix:x --metrics-by request_id --metrics-series 10000");
	assert_int_equal(options->metrics_series, 10000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "record -p 1 %s", wrong[i].options);
		refuses(line, wrong[i].says);
	}
}

/* In place of spaces, which part the words of a line here. */
static void alerts_are_of_what_is_recorded(void **state)
{
	static const struct {
		const char *options, *says;
	} wrong[] = {
		{ "--alert p99(cpu)>50ms\tby\tendpoint",
		  "--alert: the key endpoint is not recorded" },
		{ "-k endpoint --alert p99(cpu)>50ms\tby\tendpoint", "by the key request_id" },
		{ "-k endpoint --alert rate(wall)>50%", "by the key request_id" },
		{ "-k endpoint --alert count(requests)>5", "by the key request_id" },
		{ "--alert p99(cpu)>50", "--alert: a time wants a unit" },
		{ "--on-alert /bin/true", "--on-alert is for --alert" },
		{ "--alert lost>0 --on-alert /nonexistent/x", "not the path of a program" },
	};
	char line[1024] = "record -p 1";
	size_t used = strlen(line);

	(void)state;
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

static void the_place_of_a_mistake_is_pointed_at(void **state)
{
	(void)state;
	refuses("record -p 1 --alert p99(cpu)\x01>>50ms",
		"--alert: not a comparison: >, >=, < or <=\n");
	assert_non_null(strstr(result.error, "  p99(cpu)\\x01>>50ms\n"));
	assert_non_null(strstr(result.error, ":           ^\n"));
	refuses("record -p 1 --alert p99(cpu)>\x01\x01", "a number is wanted");
	assert_non_null(strstr(result.error, ":            ^\n"));
}

static void what_is_wrong_is_refused_before_anything_is_done(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "record", "what to observe?" },
		{ "record -o x.rec", "what to observe?" },
		{ "record -p 0", "not a process ID" },
		{ "record -p x -p 1", "`x` is not a process ID" },
		{ "record -p 1 -k pid", "-k pid" },
		{ "record -p 1 -i 9ms", "--interval 9ms" },
		{ "record -p 1 -d 0", "--duration 0" },
		{ "record -p 1 --forward host", "host" },
		{ "record -p 1 --tag a.b", "--tag is for collectors" },
		{ "record -p 1 --forward tcp://h --compress lz4", "--compress lz4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(cases[i].line, cases[i].says);
	assert_int_equal(record("record -p 1 -i 10ms")->interval_ns, 10000000);
	assert_int_equal(record("record -p 1 -d 1ns")->duration_ns, 1);
}

static void so_many_pids_and_no_more(void **state)
{
	char line[4096] = "record";
	size_t used = strlen(line);

	(void)state;
	for (int pid = 1; pid <= 256; pid++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " -p %d", 1000 + pid);
	assert_int_equal(record(line)->pid_count, 256);
	assert_int_equal(made.pids[255], 1256);
	(void)snprintf(line + used, sizeof(line) - used, " -p 2000");
	refuses(line, "at most 256");
}

static void v_and_q_are_taken_with_it(void **state)
{
	(void)state;
	(void)record("record -p 1 -v");
	assert_false(made.options.is_lean);
	(void)record("record -q -p 1");
}

static void the_exit_status_is_the_recordings(void **state)
{
	(void)state;
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

static void without_memory_it_fails(void **state)
{
	(void)state;
	memset(&made, 0, sizeof(made));
	memory_fails_after(0);
	command_run(command_record, "record -p 1", &result);
	memory_never_fails();
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_int_equal(made.starts, 0);
	assert_non_null(strstr(result.error, "request_id"));
}

/* argp ends the process. */
static void what_is_no_option_is_wrong_usage(void **state)
{
	static const char *const lines[] = { "record -p 1 --no-such-option", "record -p" };

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_option_is_wrong_usage),
		cmocka_unit_test(a_pid_alone_is_recorded_by_request_until_it_ends),
		cmocka_unit_test(a_timeline_is_recorded_with_room_as_asked_for),
		cmocka_unit_test(nothing_is_sent_unless_asked_for),
		cmocka_unit_test(each_option_is_asked_for),
		cmocka_unit_test(each_option_asks_for_nothing_else),
		cmocka_unit_test(keys_are_those_that_are_named_and_no_others),
		cmocka_unit_test(every_ruby_is_searched_for_or_those_that_match),
		cmocka_unit_test(all_behind_the_options_is_the_command),
		cmocka_unit_test(without_a_file_records_are_only_sent),
		cmocka_unit_test(a_spool_has_a_size),
		cmocka_unit_test(a_budget_is_a_part_of_a_cpu),
		cmocka_unit_test(tables_have_room_for_some_and_not_for_all),
		cmocka_unit_test(requests_are_counted_by_a_key_that_is_recorded),
		cmocka_unit_test(alerts_are_of_what_is_recorded),
		cmocka_unit_test(the_place_of_a_mistake_is_pointed_at),
		cmocka_unit_test(what_is_wrong_is_refused_before_anything_is_done),
		cmocka_unit_test(so_many_pids_and_no_more),
		cmocka_unit_test(v_and_q_are_taken_with_it),
		cmocka_unit_test(the_exit_status_is_the_recordings),
		cmocka_unit_test(without_memory_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
