/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/metrics/metrics_server.h"
#include "recorder/metrics/metrics_text.h"

static char folder[] = "/tmp/test_metrics.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void add_process(struct metrics *metrics, uint32_t pid, enum process_event event,
			const char *comm)
{
	metrics_add_process(metrics, &(struct process_record){
					     .common.pid = pid, .event = event, .comm = comm });
}

static void add_cpu(struct metrics *metrics, uint32_t pid, bool has_split, uint64_t user_ns)
{
	metrics_add_cpu(metrics, &(struct cpu_record){ .common.pid = pid,
						       .has_kernel_split = has_split,
						       .cpu_ns = user_ns,
						       .user_ns = user_ns });
}

static char *text_of(const struct metrics *metrics, enum metrics_format format)
{
	size_t size_bytes;
	char *text;

	assert_int_equal(metrics_text(metrics, format, &text, &size_bytes), 0);
	assert_int_equal(strlen(text), size_bytes);
	return text;
}

static void expect(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no `%s` in\n%s", line, text);
}

TEST(metrics_text_names_counters_as_each_format_requires)
{
	struct metrics metrics;
	_cleanup_free_ char *open = NULL, *classic = NULL;

	metrics_init(&metrics, "1.2", 5000000001);
	add_process(&metrics, 8, PROCESS_EVENT_FOUND, "pum\xc3\xa4");
	add_process(&metrics, 7, PROCESS_EVENT_FOUND, "puma \"a\\b\"\n");
	add_cpu(&metrics, 7, true, 1500000000);
	metrics_add_balance(&metrics,
			    &(struct balance_record){ .common.pid = 7, .residual_ns = -20 });
	open = text_of(&metrics, METRICS_FORMAT_OPENMETRICS);
	expect(open, "# TYPE correlator_process_user_seconds counter\n");
	expect(open, "# UNIT correlator_process_user_seconds seconds\n");
	expect(open, "correlator_process_user_seconds_total{pid=\"7\",comm=\"puma "
		     "\\\"a\\\\b\\\"\\\\x0a\"} 1.500000000\n");
	expect(open, "correlator_process_residual_seconds{pid=\"7\",comm=\"puma "
		     "\\\"a\\\\b\\\"\\\\x0a\"} -0.000000020\n");
	expect(open, "correlator_process_cpu_seconds_total{pid=\"8\",comm=\"pum\xc3\xa4\"} ");
	expect(open, "correlator_start_time_seconds 5.000000001\n");
	assert_string_equal(open + strlen(open) - 6, "# EOF\n");
	assert_null(strstr(open, "forward"));
	classic = text_of(&metrics, METRICS_FORMAT_CLASSIC);
	expect(classic, "# TYPE correlator_process_user_seconds_total counter\n");
	assert_null(strstr(classic, "# EOF"));
	assert_null(strstr(classic, "# UNIT"));
}

TEST(metrics_text_omits_unmeasured_series)
{
	struct metrics metrics;
	_cleanup_free_ char *text = NULL;

	metrics_init(&metrics, "1", 0);
	add_process(&metrics, 7, PROCESS_EVENT_FOUND, "puma");
	add_cpu(&metrics, 7, false, 5);
	text = text_of(&metrics, METRICS_FORMAT_OPENMETRICS);
	expect(text, "correlator_process_cpu_seconds_total{pid=\"7\",comm=\"puma\"} 0.000000005\n");
	assert_null(strstr(text, "user_seconds_total{"));
	assert_null(strstr(text, "programs"));
}

/* Series are bounded, and the sum over them never falls. */
TEST(metrics_folds_excess_processes_and_sums_ended_ones)
{
	struct metrics metrics;
	uint64_t sum_ns = 0;

	metrics_init(&metrics, "1", 0);
	for (uint32_t pid = 1; pid <= 2 * METRICS_PROCESSES_MAX; pid++) {
		add_process(&metrics, pid, PROCESS_EVENT_FORK, "worker");
		add_cpu(&metrics, pid, true, pid);
		if (pid % 2)
			add_process(&metrics, pid, PROCESS_EVENT_EXIT, "worker");
	}
	for (size_t i = 0; i < metrics.process_count; i++)
		sum_ns += metrics.processes[i].costs.sums[COST_CPU];
	sum_ns += metrics.others.costs.sums[COST_CPU] + metrics.ended.costs.sums[COST_CPU];
	assert_int_equal(sum_ns, METRICS_PROCESSES_MAX * (2 * METRICS_PROCESSES_MAX + 1));
	assert_true(metrics.process_count <= METRICS_PROCESSES_MAX);
	assert_int_equal(metrics.others.costs.sums[COST_CPU], 0);
	add_process(&metrics, 1000, PROCESS_EVENT_FORK, "one more");
	add_cpu(&metrics, 1000, true, 3);
	add_process(&metrics, 1000, PROCESS_EVENT_EXIT, "one more");
	assert_int_equal(metrics.others.costs.sums[COST_CPU], 3);
}

/* As long as there is one; and whoever had none stays among the others. */
TEST(metrics_process_keeps_its_series_until_it_ends)
{
	const uint32_t last = METRICS_PROCESSES_MAX;
	struct metrics metrics;

	metrics_init(&metrics, "1", 0);
	for (uint32_t pid = 1; pid <= last + 1; pid++) {
		add_process(&metrics, pid, PROCESS_EVENT_FORK, "worker");
		add_cpu(&metrics, pid, true, 100 + pid);
	}
	assert_int_equal(metrics.process_count, METRICS_PROCESSES_MAX);
	for (uint32_t pid = 1; pid <= last; pid++)
		assert_int_equal(metrics.processes[pid - 1].costs.sums[COST_CPU], 100 + pid);
	assert_int_equal(metrics.others.costs.sums[COST_CPU], 100 + last + 1);
	/* The last one takes the place of who ends. */
	add_process(&metrics, 2, PROCESS_EVENT_EXIT, "worker");
	assert_int_equal(metrics.process_count, METRICS_PROCESSES_MAX - 1);
	assert_int_equal(metrics.ended.costs.sums[COST_CPU], 102);
	assert_int_equal(metrics.processes[1].pid, last);
	assert_int_equal(metrics.processes[1].costs.sums[COST_CPU], 100 + last);
	add_process(&metrics, last + 1, PROCESS_EVENT_EXEC, "worker");
	assert_int_equal(metrics.process_count, METRICS_PROCESSES_MAX - 1);
	add_process(&metrics, last, PROCESS_EVENT_EXEC, "another");
	assert_int_equal(metrics.process_count, METRICS_PROCESSES_MAX - 1);
	assert_string_equal(metrics.processes[1].comm, "another");
	assert_string_equal(metrics.processes[0].comm, "worker");
	assert_int_equal(metrics.processes[1].costs.sums[COST_CPU], 100 + last);
	add_process(&metrics, 2, PROCESS_EVENT_FORK, "worker");
	assert_int_equal(metrics.processes[last - 1].costs.sums[COST_CPU], 0);
}

static void pass(struct metrics *metrics, uint64_t ns)
{
	metrics_add_self(metrics, &(struct self_record){ .window_ns = ns });
}

/* The last figures of a process are on the next page, and none are told twice. */
TEST(metrics_keeps_series_of_rendered_process_after_its_end)
{
	struct metrics metrics;

	metrics_init(&metrics, "1", 0);
	add_process(&metrics, 7, PROCESS_EVENT_FOUND, "puma");
	add_process(&metrics, 8, PROCESS_EVENT_FORK, "sh");
	add_cpu(&metrics, 7, true, 5);
	add_cpu(&metrics, 8, true, 30);
	metrics_set_pages(&metrics, 3);
	metrics_tell(&metrics);
	/* No page was made since. */
	add_process(&metrics, 8, PROCESS_EVENT_EXIT, "sh");
	assert_int_equal(metrics.ended.costs.sums[COST_CPU], 30);
	assert_int_equal(metrics.process_count, 1);
	metrics_set_pages(&metrics, 4);
	pass(&metrics, 1);
	add_process(&metrics, 7, PROCESS_EVENT_EXIT, "puma");
	assert_int_equal(metrics.ended.costs.sums[COST_CPU], 30);
	pass(&metrics, METRICS_ENDED_NS - 1);
	assert_int_equal(metrics.process_count, 1);
	assert_int_equal(metrics.processes[0].costs.sums[COST_CPU], 5);
	pass(&metrics, 1);
	assert_int_equal(metrics.process_count, 0);
	assert_int_equal(metrics.ended.costs.sums[COST_CPU], 30);
}

TEST(metrics_starts_new_series_for_reused_pid)
{
	struct metrics metrics;

	metrics_init(&metrics, "1", 0);
	add_process(&metrics, 7, PROCESS_EVENT_FOUND, "puma");
	add_cpu(&metrics, 7, true, 5);
	metrics_tell(&metrics);
	metrics_set_pages(&metrics, 1);
	add_process(&metrics, 7, PROCESS_EVENT_EXIT, "puma");
	add_process(&metrics, 7, PROCESS_EVENT_FORK, "other");
	add_cpu(&metrics, 7, true, 2);
	assert_int_equal(metrics.process_count, 1);
	assert_int_equal(metrics.processes[0].costs.sums[COST_CPU], 2);
	assert_string_equal(metrics.processes[0].comm, "other");
	assert_false(metrics.processes[0].is_ended);
}

TEST(metrics_when_full_evicts_first_ended_process)
{
	struct metrics metrics;

	metrics_init(&metrics, "1", 0);
	for (uint32_t pid = 1; pid <= METRICS_PROCESSES_MAX; pid++)
		add_process(&metrics, pid, PROCESS_EVENT_FORK, "worker");
	metrics_tell(&metrics);
	metrics_set_pages(&metrics, 1);
	pass(&metrics, 1);
	add_process(&metrics, 9, PROCESS_EVENT_EXIT, "worker");
	pass(&metrics, 1);
	add_process(&metrics, 5, PROCESS_EVENT_EXIT, "worker");
	add_process(&metrics, 100, PROCESS_EVENT_FORK, "new");
	assert_int_equal(metrics.process_count, METRICS_PROCESSES_MAX);
	assert_int_equal(metrics.processes[8].pid, 100);
	add_process(&metrics, 101, PROCESS_EVENT_FORK, "new");
	assert_int_equal(metrics.processes[4].pid, 101);
	add_process(&metrics, 102, PROCESS_EVENT_FORK, "new");
	add_cpu(&metrics, 102, true, 3);
	assert_int_equal(metrics.others.costs.sums[COST_CPU], 3);
}

/* A sample a second, of windows that are shorter. */
TEST(metrics_extrapolates_program_time_to_unsampled_windows)
{
	const struct self_program program = { "on_switch", 10, 500 };
	struct self_record without = { .window_ns = 1000 };
	struct self_record with = {
		.window_ns = 2000, .has_programs = true, .programs = &program, .programs_count = 1
	};
	struct metrics metrics;

	metrics_init(&metrics, "1.2", 0);
	metrics_add_self(&metrics, &without);
	assert_false(metrics.has_programs);
	metrics_add_self(&metrics, &without);
	metrics_add_self(&metrics, &with);
	assert_true(metrics.has_programs);
	assert_int_equal(metrics.programs_ns, 1000);
	metrics_add_self(&metrics, &with);
	assert_int_equal(metrics.programs_ns, 1500);
	/* One without a length has nothing to be taken for. */
	metrics_add_self(&metrics, &without);
	with.window_ns = 0;
	metrics_add_self(&metrics, &with);
	assert_int_equal(metrics.programs_ns, 2000);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = 10 };

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

/* Closes fd. Until the server does: its answer in static memory. */
static const char *ask(int fd, const char *request)
{
	static char answer[65536];
	size_t size = 0;
	ssize_t got;

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	while ((got = recv(fd, answer + size, sizeof(answer) - 1 - size, 0)) > 0)
		size += (size_t)got;
	answer[size] = '\0';
	assert_int_equal(close(fd), 0);
	return answer;
}

static struct metrics_server *serve(const char *name, char ret_path[static 64])
{
	struct metrics_server *server;
	struct metrics metrics;
	char address[80];

	(void)snprintf(ret_path, 64, "%s/%s", folder, name);
	(void)snprintf(address, sizeof(address), "unix:%s", ret_path);
	metrics_init(&metrics, "1.2", 0);
	assert_int_equal(metrics_server_new(address, &metrics, &server), 0);
	return server;
}

TEST(metrics_server_answers_in_requested_format)
{
	char path[64];
	struct metrics_server *server = serve("socket", path);
	struct stat status;
	const char *answer;

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	answer = ask(connect_to(path), "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: "
				       "application/openmetrics-text\r\n\r\n");
	expect(answer, "HTTP/1.0 200 OK\r\n");
	expect(answer, "version=\"1.2\"");
	expect(answer, "Content-Type: application/openmetrics-text; version=1.0.0; "
		       "charset=utf-8\r\n");
	expect(answer, "# EOF\n");
	answer = ask(connect_to(path), "GET / HTTP/1.0\r\nAccept: text/plain\r\n\r\n");
	expect(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	assert_null(strstr(answer, "# EOF\n"));
	expect(ask(connect_to(path), "GET /metricsx HTTP/1.0\r\n\r\n"), " 404 ");
	expect(ask(connect_to(path), "POST / HTTP/1.0\r\n\r\n"), " 405 ");
	answer = ask(connect_to(path), "HEAD /metrics HTTP/1.0\r\n\r\n");
	expect(answer, "200 OK");
	assert_null(strstr(answer, "correlator_"));
	metrics_server_free(server);
	assert_int_equal(access(path, F_OK), -1);
}

/* How long its body says it is, and is. */
static void measure(const char *answer, size_t *ret_said_bytes, size_t *ret_bytes)
{
	static const char name[] = "\r\nContent-Length: ";
	const char *said = strstr(answer, name), *body = strstr(answer, "\r\n\r\n");

	assert_true(said && body && said < body);
	*ret_said_bytes = strtoul(said + sizeof(name) - 1, NULL, 10);
	*ret_bytes = strlen(body + 4);
}

TEST(metrics_server_content_length_matches_body)
{
	static const struct {
		const char *request, *status;
	} cases[] = {
		{ "GET /metrics HTTP/1.0\r\n\r\n", " 200 " },
		{ "GET /metrics?name=x HTTP/1.0\r\n\r\n", " 200 " },
		{ "GET /metrics\n\n", " 200 " },
		{ "GET /?\r\n\r\n", " 200 " },
		{ "GET metrics HTTP/1.0\r\n\r\n", " 404 " },
		{ "HEAD /x HTTP/1.0\r\n\r\n", " 404 " },
		{ "GETS /metrics HTTP/1.0\r\n\r\n", " 405 " },
		{ "\r\n\r\n", " 405 " },
	};
	char path[64];
	struct metrics_server *server = serve("socket", path);
	size_t said_bytes, bytes, whole_bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *answer = ask(connect_to(path), cases[i].request);

		expect(answer, cases[i].status);
		measure(answer, &said_bytes, &bytes);
		assert_int_equal(said_bytes, bytes);
		if (strcmp(cases[i].status, " 200 ") != 0)
			expect(answer, "GET /metrics\n");
	}
	/* What would come, but does not. */
	measure(ask(connect_to(path), "GET / HTTP/1.0\r\n\r\n"), &whole_bytes, &bytes);
	measure(ask(connect_to(path), "HEAD / HTTP/1.0\r\n\r\n"), &said_bytes, &bytes);
	assert_int_equal(said_bytes, whole_bytes);
	assert_int_equal(bytes, 0);
	metrics_server_free(server);
}

/* NULL: no such header. */
static void expect_format(const char *path, const char *accept, const char *type)
{
	char request[512];

	(void)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: x\r\n%s%s%sX: y\r\n\r\n",
		       accept ? "aCCept:" : "", accept ? accept : "", accept ? "\r\n" : "");
	expect(ask(connect_to(path), request), type);
}

TEST(metrics_server_selects_most_preferred_format)
{
	static const char newer[] = "Content-Type: application/openmetrics-text;";
	static const char older[] = "Content-Type: text/plain; version=0.0.4;";
	char path[64];
	struct metrics_server *server = serve("socket", path);

	/* curl, browsers, and what promtool is fed by. */
	expect_format(path, NULL, older);
	expect_format(path, " */*", older);
	expect_format(path, "", older);
	expect_format(path, " text/html,application/xhtml+xml,*/*;q=0.8", older);
	/* Prometheus 2.42 and 2.53, and Prometheus told to ask for text alone. */
	expect_format(path,
		      "application/openmetrics-text;version=1.0.0,"
		      "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;"
		      "q=0.5,*/*;q=0.1",
		      newer);
	expect_format(path,
		      "application/openmetrics-text;version=1.0.0;q=0.5,"
		      "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;"
		      "q=0.3,*/*;q=0.2",
		      newer);
	expect_format(path, "text/plain;q=0.5,application/openmetrics-text;q=0.5", newer);
	expect_format(path, "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", older);
	expect_format(path, " application/openmetrics-text ; q=0.3 , text/plain; q=0.4", older);
	expect_format(path, "application/openmetrics-text; \tq=0.3, text/plain", older);
	expect_format(path, "application/openmetrics-text;v=1; q=0.3, text/plain;q=0.4", older);
	expect_format(path, "application/openmetrics-text;q=0", older);
	expect_format(path, "application/openmetrics-textual", older);
	expect_format(path, "x/y\r\nX: application/openmetrics-text", older);
	expect_format(path, ",,;,;q,application/openmetrics-text;;q", newer);
	metrics_server_free(server);
}

TEST(metrics_server_serves_others_beside_hostile_scrapers)
{
	char path[64], huge[8192];
	struct metrics_server *server = serve("socket", path);
	struct metrics metrics;
	int silent[6];

	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "GET /", 5);
	huge[sizeof(huge) - 1] = '\0';
	/* It may reset the connection with the rest of this unread. */
	(void)ask(connect_to(path), huge);
	/* They say nothing: each has its seconds. */
	for (size_t i = 0; i < 6; i++)
		silent[i] = connect_to(path);
	expect(ask(connect_to(path), "GET / HTTP/1.0\r\n\r\n"), "200 OK");
	metrics_init(&metrics, "1.3", 0);
	for (size_t i = 0; i < 1000; i++)
		metrics_server_publish(server, &metrics);
	expect(ask(connect_to(path), "GET / HTTP/1.0\r\n\r\n"), "version=\"1.3\"");
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(close(silent[i]), 0);
	metrics_server_free(server);
}

TEST(metrics_server_replaces_stale_socket_but_not_one_in_use)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct metrics_server *server, *second;
	const struct metrics some = { .tool_version = "1.0" };
	char path[64], text[80];

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(close(fd), 0);
	server = serve("socket", path);
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	/* It waits for that, and takes nothing away. */
	assert_int_equal(metrics_server_new(text, &some, &second), 0);
	metrics_server_free(second);
	expect(ask(connect_to(path), "GET /metrics HTTP/1.0\r\n\r\n"), "correlator_build");
	metrics_server_free(server);
}

/* What is given out is a copy of what was there when it was published. */
TEST(metrics_server_serves_request_figures_as_published)
{
	struct record_key keys[] = { { "request_id", "r" }, { "endpoint", "E" } };
	struct request_metrics *requests;
	struct metrics_server *server;
	struct metrics metrics;
	char path[64], address[80];
	const char *answer;

	assert_int_equal(request_metrics_new("endpoint", 3, &requests), 0);
	metrics_init(&metrics, "1.5", 0);
	metrics.requests = request_metrics_figures(requests);
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(address, sizeof(address), "unix:%s", path);
	assert_int_equal(metrics_server_new(address, &metrics, &server), 0);
	assert_int_equal(request_metrics_add_cpu(
				 requests, &(struct cpu_record){ .keys = keys, .keys_count = 2 }),
			 0);
	request_metrics_finish(requests);
	answer = ask(connect_to(path), "GET / HTTP/1.0\r\n\r\n");
	expect(answer, "correlator_request_cpu_seconds_count{endpoint=\"other\"} 0\n");
	assert_null(strstr(answer, "endpoint=\"E\""));
	metrics_server_publish(server, &metrics);
	answer = ask(connect_to(path), "GET / HTTP/1.0\r\n\r\n");
	expect(answer, "correlator_request_cpu_seconds_count{endpoint=\"E\"} 1\n");
	metrics_server_free(server);
	request_metrics_free(requests);
}

TEST(metrics_server_accepts_only_loopback_addresses)
{
	static const char *const bad[] = { "",	    "tcp://0.0.0.0:1",	 "tcp://127.0.0.1", "unix:",
					   "file:", "tcp://127.0.0.1:x", "http://x:1" };
	const struct metrics some = { .tool_version = "1.0" };
	struct metrics_server *server;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(metrics_server_new(bad[i], &some, &server), -EINVAL);
	assert_int_equal(metrics_server_new("tcp://127.0.0.1:0", &some, &server), 0);
	metrics_server_free(server);
	assert_int_equal(metrics_server_new("tcp://[::1]:0", &some, &server), 0);
	metrics_server_free(server);
}

TEST(metrics_server_writes_complete_textfile)
{
	char path[64], address[80], content[65536];
	struct metrics_server *server;
	struct metrics metrics;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/x.prom", folder);
	(void)snprintf(address, sizeof(address), "file:%s", path);
	metrics_init(&metrics, "1.4", 0);
	assert_int_equal(metrics_server_new(address, &metrics, &server), 0);
	metrics_server_free(server);
	file = fopen(path, "r");
	assert_non_null(file);
	content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
	expect(content,
	       "# TYPE correlator_build_info gauge\ncorrelator_build_info{version=\"1.4\"} 1");
	assert_int_equal(unlink(path), 0);
}

TEST_GROUP(setup, teardown)
