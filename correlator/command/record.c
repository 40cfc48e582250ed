/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/stacks.h>

#include "base/duration.h"
#include "base/first_process.h"
#include "base/log.h"
#include "base/rights.h"
#include "command/alert_arguments.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/configuration.h"
#include "command/forward_arguments.h"
#include "recorder/metrics/request_figures.h"
#include "recorder/observe/output/alert_program.h"
#include "recorder/observe/process/key_options.h"
#include "recorder/observe/recorder.h"
#include "recorder/observe/window/usual_waits.h"

enum {
	PIDS_MAX = 256,
	OPTION_FORCE = 0x100,
	OPTION_LEAN,
	OPTION_NO_KERNEL_SPLIT,
	OPTION_NO_CHILDREN,
	OPTION_NO_FOLLOW,
	OPTION_ALL_RUBY,
	OPTION_COMM,
	OPTION_CGROUP,
	OPTION_BUDGET,
	OPTION_FIRST_WINDOW,
	OPTION_MEASURE,
	OPTION_CONTEXTS,
	OPTION_ACCOUNTS,
	OPTION_RING,
	OPTION_STACKS,
	OPTION_NATIVE_STACKS,
	OPTION_SYSCALLS,
	OPTION_IO,
	OPTION_STALL,
	OPTION_TIMELINE,
	OPTION_TIMELINE_BYTES,
	OPTION_METRICS,
	OPTION_METRICS_BY,
	OPTION_ALERT,
	OPTION_ON_ALERT,
	OPTION_METRICS_SERIES,
	OPTION_FORWARD,
	OPTION_SPOOL,
	OPTION_SPOOL_MAX,
	OPTION_OUTPUT_MAX,
	OPTION_CONFIG,
};

#define DEFAULT_INTERVAL "1s"
#define DEFAULT_STALL	 "5ms"
#define STALL_LEAST_NS	 (100 * NS_PER_US)

struct arguments {
	struct recorder_options recording;
	struct forward_arguments forward;
	pid_t pids[PIDS_MAX];
	bool is_failed; /* an option was refused; the reason was logged */
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Observe this process and its children (repeatable)", 1 },
	{ "all-ruby", OPTION_ALL_RUBY, NULL, 0,
	  "Observe every Ruby process of the machine that publishes contexts, and new ones as they "
	  "appear",
	  1 },
	{ "comm", OPTION_COMM, "PATTERN", 0,
	  "Like --all-ruby, but only processes whose name matches (a shell pattern: 'puma*')", 1 },
	{ "cgroup", OPTION_CGROUP, "PATTERN", 0,
	  "Like --all-ruby, but only processes in this cgroup or below it (a path or a pattern: "
	  "puma.service)",
	  1 },
	{ "key", 'k', "KEY[=NAME]", 0,
	  "Record this key of the context, under NAME (repeatable; default " REQUEST_KEY
	  " and " LATE_KEY
	  "): a Ruby symbol, or otel.trace_id, otel.span_id or otel.ATTRIBUTE of OpenTelemetry's "
	  "context. Beside " REQUEST_KEY ", " LATE_KEY
	  " may be set late: all records of the request in that window have it",
	  1 },
	{ "no-children", OPTION_NO_CHILDREN, NULL, 0,
	  "Do not attribute the programs that a request starts (system, backticks, spawn): by "
	  "default they belong to the request until they end",
	  1 },
	{ "no-follow", OPTION_NO_FOLLOW, NULL, 0, "Do not observe child processes", 1 },
	{ "output", 'o', "FILE", 0,
	  "Write records to FILE, - for a pipe (default " COMMAND_RECORDING ")", 2 },
	{ "force", OPTION_FORCE, NULL, 0,
	  "Overwrite FILE even if it is not empty (never a file that another recorder is writing)",
	  2 },
	{ "output-max", OPTION_OUTPUT_MAX, "SIZE", 0,
	  "Limit FILE to SIZE: when it holds half of that, it is renamed to FILE.1, which "
	  "replaces the previous one, and a new FILE begins; each can be read on its own "
	  "(default: no limit)",
	  2 },
	{ "forward", OPTION_FORWARD, "URL", 0,
	  "Send records to this collector; with -o, to FILE as well: tcp://HOST:PORT, "
	  "tls://HOST:PORT or unix:PATH, by the Fluent Forward protocol (repeatable: the next "
	  "one is used when one fails)",
	  2 },
	{ "spool", OPTION_SPOOL, "DIR", 0,
	  "Keep records that are not sent yet in this directory, across crashes and restarts", 2 },
	{ "spool-max", OPTION_SPOOL_MAX, "SIZE", 0,
	  "Limit the spool to SIZE; when it is full, the processes that use more than their "
	  "share lose their oldest records (default 256M)",
	  2 },
	{ "interval", 'i', "TIME", 0, "Length of a window (default " DEFAULT_INTERVAL ")", 2 },
	{ "first-window", OPTION_FIRST_WINDOW, "TIME", 0,
	  "Limit the length of the first window, for a reader that waits for figures", 2 },
	{ "duration", 'd', "TIME", 0,
	  "Stop after TIME (default: when the target ends, or on Ctrl-C)", 2 },
	{ "stacks", OPTION_STACKS, "HZ", OPTION_ARG_OPTIONAL,
	  "Also sample Ruby stacks, HZ times per second on each CPU (default 99, 1 to 1000), "
	  "each with its context; HZ,off-cpu (or off-cpu) also records in which stack each "
	  "thread waited, and for exactly how long; needs Linux 5.17",
	  2 },
	{ "native-stacks", OPTION_NATIVE_STACKS, "FRAMES", 0,
	  "Native frames on top of the Ruby frames of a sample: leaf, the native function that "
	  "runs (default); full, also the functions that called it, up to Ruby; or off",
	  2 },
	{ "timeline", OPTION_TIMELINE, NULL, 0,
	  "Also record every slice of time: when each thread ran, on which CPU, waited for a CPU "
	  "or slept, and which thread woke it. For short recordings: each switch makes one or "
	  "two records",
	  2 },
	{ "syscalls", OPTION_SYSCALLS, NULL, 0,
	  "Also count the system calls of each context by name, with the time spent in each; "
	  "each call of an observed thread costs about 70 ns more",
	  2 },
	{ "io", OPTION_IO, NULL, 0,
	  "Also count what each context reads and writes by system calls: calls and bytes, by "
	  "files, pipes and the peers of sockets, and how long connects and answers of DNS take; "
	  "each such call costs about 210 ns more on a file and 450 ns on a socket",
	  2 },
	{ "stall", OPTION_STALL, "TIME|pNN", OPTION_ARG_OPTIONAL,
	  "Also record each wait of a request that lasts TIME or longer (default 5ms, at least "
	  "100us): for how long and on what, in which system call and on which file or peer, and "
	  "which thread and request ended it; and each fiber that keeps its thread for TIME or "
	  "longer. p99 (p50 to p99): the longest 1 % of each endpoint, if they last 1 ms",
	  2 },
	{ "metrics", OPTION_METRICS, "ADDRESS", 0,
	  "Serve totals for monitoring: unix:PATH or tcp://127.0.0.1:PORT (over HTTP), or "
	  "file:PATH.prom (for node_exporter)",
	  2 },
	{ "metrics-by", OPTION_METRICS_BY, "KEY", 0,
	  "Also serve histograms of the CPU and wall time of requests, by the value of a "
	  "recorded key",
	  2 },
	{ "metrics-series", OPTION_METRICS_SERIES, "N", 0,
	  "Limit the histograms to N values, shared between processes (default 100): the rest "
	  "count as \"other\", as do values without a request for an hour",
	  2 },
	{ "alert", OPTION_ALERT, "EXPRESSION", 0,
	  "Log and record when EXPRESSION begins to hold and when it ends (repeatable): a "
	  "measure of requests or of the books, such as 'p99(cpu) > 50ms for 30s by endpoint', "
	  "'unattributed > 20%', 'lost > 0'",
	  2 },
	{ "on-alert", OPTION_ON_ALERT, "PROGRAM", 0,
	  "Also run PROGRAM, without arguments, with CORRELATOR_ALERT_EXPRESSION, _STATE, "
	  "_VALUE, _GROUP, ... in its environment",
	  2 },
	{ "lean", OPTION_LEAN, NULL, 0,
	  "Place no uprobes, for servers with very many fiber switches; ambiguous_ns bounds the "
	  "error if the gem publishes the contexts",
	  3 },
	{ "no-kernel-split", OPTION_NO_KERNEL_SPLIT, NULL, 0,
	  "Attach no system call tracepoints, which slow down every process of the machine; user "
	  "and kernel time are not told apart",
	  3 },
	{ "budget", OPTION_BUDGET, "PERCENT", 0,
	  "Limit our own cost (process and kernel programs) to PERCENT of one CPU: above it, "
	  "processes become lean, the most expensive first, then the user/kernel split ends",
	  3 },
	{ "measure", OPTION_MEASURE, NULL, 0,
	  "Have the kernel time each run of our programs, for the report (two clock readings per "
	  "run); otherwise the report estimates it from samples",
	  3 },
	{ "contexts", OPTION_CONTEXTS, "N", 0,
	  "Size of the map of contexts: those of a window, and those that are still in force "
	  "(default 32768)",
	  4 },
	{ "accounts", OPTION_ACCOUNTS, "N", 0,
	  "Size of the map of accounts, one per thread and context in a window (default 32768)",
	  4 },
	{ "ring", OPTION_RING, "BYTES", 0, "Size of the event ring in bytes (default 262144)", 4 },
	{ "timeline-bytes", OPTION_TIMELINE_BYTES, "SIZE", 0,
	  "Size of the ring of slices; four times as much memory holds those of a window. Slices "
	  "without room count as slices_lost (default 8M)",
	  4 },
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Read options from FILE: one per line under [record], such as all-ruby = yes or "
	  "interval = 1s; the command line takes precedence",
	  4 },
	ARGUMENTS_VERBOSITY(4),
	{ 0 },
};

static const char documentation[] =
	"Attaches to a running Ruby process, without stopping or changing it, and records which "
	"request used the CPU."
	"\vTIME is a number with a unit: 500ms, 10s (seconds without one), 2m.\n\n"
	"EXAMPLES\n"
	"  correlator record -p 1234 -d 10s -o puma.msgpack\n"
	"  correlator record -p 1234 -k request_id -k endpoint -k trace_id\n"
	"  correlator record -p 1234 -k otel.trace_id -k otel.http.route\n"
	"  correlator record -p 1234 -o - | correlator report -\n"
	"  correlator record -o boot.msgpack -- bundle exec puma\n"
	"  correlator record -p 1234 -- sleep 10\n"
	"  correlator record -p 1234 --timeline -d 5s -o slices.msgpack\n"
	"  correlator record -p 1234 --stacks -d 1m -o stacks.msgpack\n"
	"  correlator record -p 1234 --syscalls -o calls.msgpack\n"
	"  correlator record -p 1234 --io -o io.msgpack\n"
	"  correlator record -p 1234 --stall=20ms -o stalls.msgpack\n"
	"  correlator record -p 1234 --stall=p99 -o unusual.msgpack\n"
	"  correlator record -p 1234 --forward tcp://127.0.0.1:24224 --spool /var/lib/correlator\n"
	"  correlator record -p 1234 --metrics unix:m --metrics-by endpoint\n"
	"  correlator record -p 1234 --alert 'p99(cpu) > 50ms for 30s by endpoint'\n"
	"  correlator record --all-ruby --cgroup '*.service' --budget 1 -o day.msgpack\n"
	"  correlator record --all-ruby -o days.msgpack --output-max 2G\n"
	"  correlator record --config /etc/correlator/record.conf --interval 10s\n\n"
	"Needs root, or CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE for other users' processes (where "
	"kernel.yama.ptrace_scope is 1, for all). Before Linux 6.6 uprobes need CAP_SYS_ADMIN as well: "
	"without it a recording is made as with --lean, and says so. "
	"Exit status: 0 ok, 1 failure, 2 usage, 3 kernel or privilege lacks something, 4 no such "
	"target, 130 interrupted before anything was written. With COMMAND, if nothing of ours "
	"failed, its own: 128 + N if signal N killed it, 127 no such command, 126 it cannot be run.";

static int parse_percent(const char *text, double *ret_percent)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(value > 0 && value <= 100))
		return log_error(EINVAL, "--budget %s: not a percentage such as 1 or 0.5", text);
	*ret_percent = value;
	return 0;
}

/* Size of a map in entries, or of the ring in bytes: 16 to 2^24. */
static int parse_size(const char *name, const char *text, uint32_t *ret_size)
{
	const uint64_t minimum = 16, maximum = 1UL << 24;
	uint64_t size;

	if (arguments_parse_number(text, minimum, maximum, &size) < 0)
		return log_error(EINVAL, "--%s %s: not a number from %" PRIu64 " to %" PRIu64, name,
				 text, minimum, maximum);
	*ret_size = (uint32_t)size;
	return 0;
}

/* A size in bytes, or with K, M or G. bounds: minimum and maximum as text. */
static int parse_bytes(const char *name, const char *text, uint64_t minimum, uint64_t maximum,
		       const char *bounds, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit && value <= maximum)
		value <<= 10 * (unit - units + 1);
	if (errno || end == text || text[0] == '-' || (*end && !unit) || (unit && end[1]) ||
	    value < minimum || value > maximum)
		return log_error(EINVAL, "--%s %s: not a size from %s", name, text, bounds);
	*ret_bytes = value;
	return 0;
}

static int parse_ring(const char *text, uint32_t *ret_bytes)
{
	uint64_t bytes;

	if (parse_bytes("timeline-bytes", text, 1 << 12, 1 << 30, "4K to 1G", &bytes) < 0)
		return -EINVAL;
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

/* "HZ", "off-cpu" or "HZ,off-cpu". */
static int parse_stacks(const char *text, struct recorder_options *recording)
{
	const char *comma = text ? strchr(text, ',') : NULL;
	const char *last = comma ? comma + 1 : text;
	size_t length = text ? strlen(text) : 0;
	uint64_t hz = STACKS_HZ_DEFAULT;
	char number[16] = "";

	recording->has_wait_stacks = last && strcmp(last, "off-cpu") == 0;
	if (recording->has_wait_stacks)
		length = comma ? (size_t)(comma - text) : 0;
	if (length < sizeof(number) && length > 0)
		memcpy(number, text, length);
	if ((comma || (text && !recording->has_wait_stacks)) &&
	    arguments_parse_number(number, 1, STACKS_HZ_MAX, &hz) < 0)
		return log_error(EINVAL,
				 "--stacks=%s: not a number from 1 to %d, off-cpu, or both: "
				 "99,off-cpu",
				 text, STACKS_HZ_MAX);
	recording->stacks_hz = (uint32_t)hz;
	return 0;
}

static int parse_native_stacks(const char *text, struct recorder_options *recording)
{
	bool is_full = strcmp(text, "full") == 0;

	if (!is_full && strcmp(text, "leaf") != 0 && strcmp(text, "off") != 0)
		return log_error(EINVAL, "--native-stacks=%s: not leaf, full or off", text);
	recording->has_native = strcmp(text, "off") != 0;
	recording->has_callers = is_full;
	return 0;
}

/* A time, or pNN: a percentile of each endpoint. */
static int parse_stall(const char *text, struct recorder_options *recording)
{
	uint64_t percentile;

	recording->stall_percentile = 0;
	if (text[0] != 'p')
		return arguments_parse_time("stall", text, STALL_LEAST_NS,
					    &recording->stall_least_ns);
	if (arguments_parse_number(text + 1, USUAL_WAITS_PERCENTILE_MIN, USUAL_WAITS_PERCENTILE_MAX,
				   &percentile) < 0)
		return log_error(EINVAL, "--stall=%s: not a percentile from p%d to p%d", text,
				 USUAL_WAITS_PERCENTILE_MIN, USUAL_WAITS_PERCENTILE_MAX);
	recording->stall_percentile = (uint32_t)percentile;
	recording->stall_least_ns = USUAL_WAITS_LEAST_NS;
	return 0;
}

static int parse_series(const char *text, size_t *ret_count)
{
	uint64_t count;

	if (arguments_parse_number(text, 1, METRICS_SERIES_MAX, &count) < 0)
		return log_error(EINVAL, "--metrics-series %s: not a number from 1 to %d", text,
				 METRICS_SERIES_MAX);
	*ret_count = (size_t)count;
	return 0;
}

/* Refuses a number in place of a command: the user means a process. */
static int check_command(const char *name)
{
	uint64_t pid;

	if (arguments_parse_number(name, 0, UINT64_MAX, &pid) < 0)
		return 0;
	return log_error(EINVAL,
			 "%s is not an option: to observe process %s say -p %s, to start a command "
			 "of that name -- %s",
			 name, name, name, name);
}

/* Options for records and outputs. -ENOENT: another option. */
static int parse_output_option(struct arguments *arguments, int key, char *text)
{
	struct recorder_options *recording = &arguments->recording;

	switch (key) {
	case 'o':
		recording->output.file = text;
		return 0;
	case OPTION_FORCE:
		recording->output.overwrites = true;
		return 0;
	case OPTION_METRICS:
		recording->output.metrics = text;
		return 0;
	case OPTION_METRICS_BY:
		recording->output.metrics_by = text;
		return 0;
	case OPTION_ALERT:
		return alert_arguments_add(&recording->output.alerts, text);
	case OPTION_ON_ALERT:
		recording->on_alert = text;
		return alert_program_check(text);
	case OPTION_METRICS_SERIES:
		return parse_series(text, &recording->output.metrics_series);
	case OPTION_FORWARD:
		return forward_arguments_add_url(&arguments->forward, text);
	case OPTION_STACKS:
		return parse_stacks(text, recording);
	case OPTION_NATIVE_STACKS:
		return parse_native_stacks(text, recording);
	case OPTION_SYSCALLS:
		recording->counts_syscalls = true;
		return 0;
	case OPTION_IO:
		recording->counts_io = true;
		return 0;
	case OPTION_STALL:
		return parse_stall(text ? text : DEFAULT_STALL, recording);
	case OPTION_TIMELINE:
		recording->has_timeline = true;
		return 0;
	case OPTION_TIMELINE_BYTES:
		return parse_ring(text, &recording->timeline_bytes);
	case OPTION_OUTPUT_MAX:
		return parse_bytes("output-max", text, 1 << 20, 1ULL << 40, "1M to 1024G",
				   &recording->output.bytes_max);
	case OPTION_SPOOL:
		recording->output.backlog.spool = text;
		return 0;
	case OPTION_SPOOL_MAX:
		/* At least one large chunk must fit. */
		return parse_bytes("spool-max", text, 1 << 20, 1ULL << 40, "1M to 1024G",
				   &recording->output.backlog.store_bytes_max);
	default:
		return -ENOENT;
	}
}

/* Options that take a time. -ENOENT: another option. */
static int parse_time_option(struct recorder_options *recording, int key, const char *text)
{
	switch (key) {
	case 'i':
		return arguments_parse_time("interval", text, ARGUMENTS_TIME_MIN_NS,
					    &recording->interval_ns);
	case OPTION_FIRST_WINDOW:
		return arguments_parse_time("first-window", text, ARGUMENTS_TIME_MIN_NS,
					    &recording->first_window_ns);
	case 'd':
		return arguments_parse_time("duration", text, 1, &recording->duration_ns);
	default:
		return -ENOENT;
	}
}

static int parse_option(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct recorder_options *recording = &arguments->recording;
	int r = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->forward;
		break;
	case 'p':
		r = arguments_add_pid(text, arguments->pids, PIDS_MAX,
				      &arguments->recording.targets.pid_count);
		break;
	case 'k':
		r = key_options_add(&recording->targets.keys, text);
		break;
	case OPTION_LEAN:
		recording->is_lean = true;
		break;
	case OPTION_NO_KERNEL_SPLIT:
		recording->has_kernel_split = false;
		break;
	case OPTION_NO_CHILDREN:
		recording->has_children = false;
		break;
	case OPTION_NO_FOLLOW:
		recording->targets.follow_forks = false;
		break;
	case OPTION_ALL_RUBY:
		recording->targets.searches = true;
		break;
	case OPTION_COMM:
		recording->targets.searches = true;
		recording->targets.comm = text;
		break;
	case OPTION_CGROUP:
		recording->targets.searches = true;
		recording->targets.cgroup = text;
		break;
	case OPTION_BUDGET:
		r = parse_percent(text, &recording->budget_percent);
		break;
	case OPTION_MEASURE:
		recording->measures_programs = true;
		break;
	case OPTION_CONTEXTS:
		r = parse_size("contexts", text, &recording->contexts_max);
		break;
	case OPTION_ACCOUNTS:
		r = parse_size("accounts", text, &recording->accounts_max);
		break;
	case OPTION_RING:
		r = parse_size("ring", text, &recording->ring_bytes);
		break;
	case OPTION_CONFIG:
		/* Read before (configuration.h). */
		break;
	case ARGP_KEY_ARGS:
		recording->targets.command = state->argv + state->next;
		r = state->quoted ? 0 : check_command(recording->targets.command[0]);
		state->next = state->argc;
		break;
	case ARGP_KEY_ARG:
		/* Makes argp pass all of them as ARGP_KEY_ARGS. */
		return ARGP_ERR_UNKNOWN;
	default:
		if (arguments_take_verbosity(key))
			break;
		r = parse_time_option(recording, key, text);
		if (r == -ENOENT)
			r = parse_output_option(arguments, key, text);
		if (r == -ENOENT)
			return ARGP_ERR_UNKNOWN;
	}
	arguments->is_failed |= r != 0;
	return 0;
}

static bool has_key(const struct key_options *keys, const char *name)
{
	for (size_t i = 0; i < keys->count; i++)
		if (strcmp(keys->record_names[i], name) == 0)
			return true;
	return false;
}

static int check_key(const struct recorder_options *recording, const char *option, const char *key)
{
	return has_key(&recording->targets.keys, key)
		       ? 0
		       : log_error(EINVAL, "%s: the key %s is not recorded: -k %s -k %s", option,
				   key, recording->targets.keys.record_names[0], key);
}

/* Percentiles and histograms of requests need their ID. */
static int check_requests(const struct recorder_options *recording, const char *option)
{
	return has_key(&recording->targets.keys, REQUEST_KEY)
		       ? 0
		       : log_error(EINVAL,
				   "%s: requests are told apart by the key " REQUEST_KEY
				   ", which is not recorded: -k " REQUEST_KEY,
				   option);
}

static int check_stall(const struct recorder_options *recording)
{
	return recording->stall_percentile
		       ? check_key(recording, "--stall=pNN (of its endpoint)", LATE_KEY)
		       : 0;
}

static int check_metrics(const struct recorder_options *recording)
{
	if ((recording->output.metrics_by || recording->output.metrics_series) &&
	    !recording->output.metrics)
		return log_error(EINVAL,
				 "--metrics-by and --metrics-series need --metrics ADDRESS");
	if (recording->output.metrics_series && !recording->output.metrics_by)
		return log_error(EINVAL, "--metrics-series needs --metrics-by KEY");
	if (!recording->output.metrics_by)
		return 0;
	if (check_key(recording, "--metrics-by", recording->output.metrics_by) < 0)
		return -EINVAL;
	return check_requests(recording, "--metrics-by");
}

static int check_alerts(const struct recorder_options *recording)
{
	size_t count = recording->output.alerts ? alert_set_count(recording->output.alerts) : 0;
	int r = 0;

	if (recording->on_alert && !count)
		return log_error(EINVAL, "--on-alert needs --alert EXPRESSION");
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct alert_expression *expression =
			alert_set_expression(recording->output.alerts, i);

		if (expression->key[0])
			r = check_key(recording, "--alert", expression->key);
		if (r == 0 && alert_expression_is_of_requests(expression))
			r = check_requests(recording, "--alert");
	}
	return r;
}

static int check(struct arguments *arguments)
{
	struct recorder_options *recording = &arguments->recording;

	if (arguments->is_failed || forward_arguments_check(&arguments->forward) < 0)
		return EXIT_CODE_USAGE;
	if ((recording->output.backlog.spool || recording->output.backlog.store_bytes_max) &&
	    !arguments->forward.options.url_count) {
		(void)log_error(EINVAL, "--spool and --spool-max need --forward URL");
		return EXIT_CODE_USAGE;
	}
	if (recording->output.bytes_max && !recording->output.file &&
	    arguments->forward.options.url_count) {
		(void)log_error(EINVAL, "--output-max needs -o FILE");
		return EXIT_CODE_USAGE;
	}
	if (recording->timeline_bytes && !recording->has_timeline) {
		(void)log_error(EINVAL, "--timeline-bytes needs --timeline");
		return EXIT_CODE_USAGE;
	}
	if ((recording->counts_syscalls || recording->counts_io) && !recording->has_kernel_split) {
		(void)log_error(EINVAL,
				"--%s counts at the tracepoints of system calls, which "
				"--no-kernel-split leaves out",
				recording->counts_syscalls ? "syscalls" : "io");
		return EXIT_CODE_USAGE;
	}
	if (!recording->output.file && !arguments->forward.options.url_count)
		recording->output.file = COMMAND_RECORDING;
	if (!recording->targets.pid_count && !recording->targets.command &&
	    !recording->targets.searches) {
		(void)log_error(EINVAL, "nothing to observe: give -p PID, --all-ruby or -- "
					"COMMAND; see correlator record --help");
		return EXIT_CODE_USAGE;
	}
	if (!recording->targets.keys.count &&
	    (key_options_add(&recording->targets.keys, REQUEST_KEY) < 0 ||
	     key_options_add(&recording->targets.keys, LATE_KEY) < 0))
		return EXIT_CODE_FAILURE;
	if (check_stall(recording) < 0 || check_metrics(recording) < 0 ||
	    check_alerts(recording) < 0)
		return EXIT_CODE_USAGE;
	if (!recording->output.metrics_series)
		recording->output.metrics_series = METRICS_SERIES;
	return EXIT_CODE_OK;
}

/* Parses the command line and the file that it names. */
static int parse(int argc, char **argv, struct configuration *configuration,
		 struct arguments *arguments)
{
	static const struct argp_child children[] = {
		{ &forward_arguments_argp, 0, "Sending:", 4 },
		{ 0 },
	};
	static const struct argp parser = { options,	   parse_option, "[-- COMMAND [ARG]...]",
					    documentation, children,	 NULL,
					    NULL };
	static const int repeatable[] = { 'p', 'k', 'v', OPTION_FORWARD, OPTION_ALERT, 0 };
	static const struct configuration_form form = {
		.parser = &parser,
		.section = "record",
		.option = OPTION_CONFIG,
		.repeatable = repeatable,
	};
	int code, r;

	argp_err_exit_status = EXIT_CODE_USAGE;
	r = configuration_parse(configuration, &form, argc, argv, arguments);
	if (r < 0)
		return r == -ENOMEM ? EXIT_CODE_FAILURE : EXIT_CODE_USAGE;
	code = check(arguments);
	if (code == EXIT_CODE_USAGE && !arguments->is_failed && !arguments->forward.is_failed)
		configuration_explain(configuration);
	return code;
}

int command_record(int argc, char **argv)
{
	struct arguments arguments = {
		.recording = { .has_kernel_split = true,
			       .targets.follow_forks = true,
			       .has_native = true,
			       .has_children = true },
	};
	_cleanup_(configuration_deinit) struct configuration configuration = { 0 };
	_cleanup_(recorder_freep) struct recorder *recording = NULL;
	int code;

	arguments.recording.targets.pids = arguments.pids;
	arguments.recording.output.forward = &arguments.forward.options;
	forward_arguments_init(&arguments.forward);
	(void)duration_parse(DEFAULT_INTERVAL, &arguments.recording.interval_ns);
	code = parse(argc, argv, &configuration, &arguments);
	/* Orphans of the command become children of process 1. */
	if (!code && arguments.recording.targets.command && first_process_leave() < 0)
		code = EXIT_CODE_FAILURE;
	rights_raise();
	if (!code)
		code = recorder_start(&arguments.recording, &recording);
	if (!code)
		code = recorder_run(recording);
	recorder_free(TAKE_PTR(recording));
	key_options_deinit(&arguments.recording.targets.keys);
	alert_set_free(arguments.recording.output.alerts);
	return code;
}
