#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""--metrics: what a scraper reads is what the records say, in a form that others' parsers take."""
import http.client
import json
import socket
import subprocess

import harness
import records
from harness import EXIT_OK, Recording, Workload
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
from prometheus_client.parser import text_string_to_metric_families as parse_classic

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMTOOL = harness.BUILD / "promtool" / "promtool"
# The text has nine digits after the point, and is read as a double.
ROUNDING_SECONDS = 1e-6


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=harness.DEADLINE_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class MetricsTest(harness.LiveTest):
    def scrape(self, path):
        connection = UnixConnection(path)
        connection.request("GET", "/metrics", headers={"Accept": OPENMETRICS})
        response = connection.getresponse()
        self.assertEqual((200, OPENMETRICS), (response.status, response.getheader("Content-Type")))
        text = response.read().decode()
        connection.close()
        return {sample.name + str(sorted(sample.labels.items())): sample.value
                for family in parse(text) for sample in family.samples}, text

    def test_a_scraper_reads_totals_while_it_runs(self):
        workload = self.enter(Workload("sequential.rb"))
        path = self.folder / "metrics"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "50ms",
                                         "--metrics", f"unix:{path}"))
        truth = workload.run()
        cpu = "correlator_process_cpu_seconds_total" + str(self.labels(workload))
        work_seconds = sum(truth.values()) * (1 - records.TOLERANCE_PART) / 1e9
        found, text = harness.await_true(lambda: self.seen(path, cpu, work_seconds),
                                         "all the work in the totals")
        self.assert_ended_well(recording, recording.stop())
        self.assertFalse(path.exists(), "the socket is left behind")
        for request in filter(None, truth):
            self.assertNotIn(request, text)
        self.assertLess(0, found["correlator_own_cpu_seconds_total[]"])

    def seen(self, path, name, value):
        found, text = self.scrape(path)
        return (found, text) if found.get(name, 0) >= value else None

    def labels(self, workload):
        return [("comm", "ruby"), ("pid", str(workload.pid))]

    def test_a_process_that_ended_keeps_its_series_and_is_in_no_other(self):
        """What it used before a scrape is no growth after it."""
        workload = self.enter(Workload("driven.rb"))
        path = self.folder / "metrics"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "50ms", "--metrics", f"unix:{path}"))
        # Stolen time is not the child's CPU.
        child = workload.evaluate("$child = fork { Workload.spin_ms(200); sleep }")
        name = f"correlator_process_cpu_seconds_total[('comm', 'ruby'), ('pid', '{child}')]"
        ended = "correlator_process_cpu_seconds_total[('comm', ''), ('pid', 'ended')]"
        before, _ = harness.await_true(lambda: self.seen(path, name, 0.1), "the child's CPU")
        workload.evaluate("Process.kill(:KILL, $child); Process.wait($child)")
        windows = "correlator_windows_total[]"
        after, _ = harness.await_true(lambda: self.seen(path, windows, before[windows] + 5), "some windows")
        self.assert_ended_well(recording, recording.stop())
        self.assertGreaterEqual(after[name], before[name])
        self.assertEqual(0, after[ended])

    def test_a_textfile_has_the_sums_of_the_records(self):
        workload = self.enter(Workload("sequential.rb"))
        path = self.folder / "correlator.prom"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "100ms",
                                         "--metrics", f"file:{path}"))
        workload.run()
        self.assert_ended_well(recording, recording.stop())
        self.assertEqual([path.name, self.output.name],
                         sorted(file.name for file in self.folder.iterdir()))
        values = {sample.name + str(sorted(sample.labels.items())): sample.value
                  for family in parse_classic(path.read_text()) for sample in family.samples}
        found = recording.records()
        for kind, names in (("cpu", ("cpu", "user", "kernel", "run_queue", "blocked")),
                            ("balance", ("exec", "attributed", "unattributed"))):
            for name in names:
                sum_ns = sum(record[f"{name}_ns"] for record in records.of_kind(found, kind))
                value = values[f"correlator_process_{name}_seconds_total{self.labels(workload)}"]
                self.assertAlmostEqual(sum_ns / 1e9, value, delta=ROUNDING_SECONDS)
        self.check(path.read_text())

    def test_requests_are_counted_once_by_the_value_of_a_key(self):
        hostile = 'GET "/x\\"\n{le="1"} $(true)'
        workload = self.enter(Workload("driven.rb"))
        path = self.folder / "correlator.prom"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "50ms", "-k", "request_id",
                                         "-k", "endpoint", "--metrics", f"file:{path}", "--metrics-by",
                                         "endpoint", "--metrics-series", "3"))
        for number, endpoint in enumerate([*["GET /fast"] * 5, hostile, *["GET /slow"] * 2, "GET /late",
                                           "GET /later"]):
            workload.evaluate(f"Correlator.with(request_id: 'r-{number}', endpoint: {json.dumps(endpoint)}"
                              f".gsub('#', '')) {{ Workload.spin_ms({150 if 'slow' in endpoint else 2}) }}; nil")
        self.assert_ended_well(recording, recording.stop())
        families = {family.name: family for family in parse_classic(path.read_text())}
        found = recording.records()
        # A control character is written as in the records.
        shown = {hostile.replace("\n", "\\x0a"): 1, "GET /fast": 5, "GET /slow": 2, "other": 2}
        for name in "cpu", "wall":
            family = families[f"correlator_request_{name}_seconds"]
            self.assertEqual("histogram", family.type)
            counts = {sample.labels["endpoint"]: sample.value for sample in family.samples
                      if sample.name.endswith("_count")}
            self.assertEqual(shown, counts)
        sums = {sample.labels["endpoint"]: sample.value
                for sample in families["correlator_request_cpu_seconds"].samples if sample.name.endswith("_sum")}
        for endpoint, seconds in sums.items():
            values = {"GET /late", "GET /later"} if endpoint == "other" else {endpoint}
            sum_ns = sum(record["cpu_ns"] for record in records.of_kind(found, "cpu")
                         if record.get("endpoint") in values)
            self.assertAlmostEqual(sum_ns / 1e9, seconds, delta=ROUNDING_SECONDS)
            for name in "user", "kernel", "run_queue", "blocked", "blocked_sleep", "blocked_futex":
                sum_ns = sum(record.get(f"{name}_ns", 0) for record in records.of_kind(found, "cpu")
                             if record.get("endpoint") in values)
                counter = {sample.labels["endpoint"]: sample.value
                           for sample in families[f"correlator_request_{name}_seconds"].samples}
                self.assertAlmostEqual(sum_ns / 1e9, counter[endpoint], delta=ROUNDING_SECONDS, msg=name)
        below = {sample.labels["endpoint"]: sample.value
                 for sample in families["correlator_request_cpu_seconds"].samples
                 if sample.labels.get("le") == "0.1"}
        self.assertEqual({**shown, "GET /slow": 0}, below)
        self.check(path.read_text())

    def test_long_waits_and_what_was_read_are_those_of_the_records(self):
        workload = self.enter(Workload("driven.rb"))
        path = self.folder / "correlator.prom"
        # It publishes with its first context.
        workload.evaluate("Correlator.with(request_id: 'first') {}; nil")
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "50ms", "--metrics", f"file:{path}",
                                         "--metrics-by", "endpoint", "--stall=1ms", "--io"))
        for number, endpoint in enumerate(("E", "E", "F")):
            workload.evaluate(f"Correlator.with(request_id: 'r-{number}', endpoint: '{endpoint}') "
                              "{ sleep 0.005; File.read('/etc/passwd'); IO.pipe { |i, o| o << 'xyz'; i.getc } }; nil")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        shown = {(sample.name, sample.labels["endpoint"], sample.labels.get("io_on")): sample.value
                 for family in parse_classic(path.read_text()) for sample in family.samples
                 if "endpoint" in sample.labels}
        for endpoint in "E", "F":
            stalls = [stall for stall in records.of_kind(found, "stall") if stall.get("endpoint") == endpoint]
            self.assertLess(0, len(stalls))
            self.assertEqual(len(stalls), shown["correlator_request_stalls_total", endpoint, None])
            self.assertAlmostEqual(sum(stall["blocked_ns"] + stall["run_queue_ns"] for stall in stalls) / 1e9,
                                   shown["correlator_request_stall_seconds_total", endpoint, None],
                                   delta=ROUNDING_SECONDS)
            for on in "file", "pipe":
                for field, name in (("io_calls", "io_calls"), ("in_bytes", "io_in_bytes"),
                                    ("out_bytes", "io_out_bytes")):
                    told = sum(io[field] for io in records.of_kind(found, "io")
                               if (io.get("endpoint"), io["io_on"]) == (endpoint, on))
                    self.assertEqual(told, shown[f"correlator_request_{name}_total", endpoint, on])
        self.assertEqual(2 * 3, shown["correlator_request_io_out_bytes_total", "E", "pipe"])
        self.check(path.read_text())

    def test_a_scraper_reads_histograms_of_what_has_ended_while_it_runs(self):
        workload = self.enter(Workload("driven.rb"))
        path = self.folder / "metrics"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "200ms", "-k", "request_id",
                                         "-k", "endpoint", "--metrics", f"unix:{path}",
                                         "--metrics-by", "endpoint"))
        workload.evaluate("Correlator.with(request_id: 'r', endpoint: 'E') { Workload.spin_ms(5) }; nil")
        count = "correlator_request_cpu_seconds_count[('endpoint', 'E')]"
        found, text = harness.await_true(lambda: self.seen(path, count, 1), "the request to be counted")
        self.assertEqual(1, found[count])
        self.assertNotIn('"r"', text)
        self.assert_ended_well(recording, recording.stop())

    def check(self, text):
        """What Prometheus' own checker says of it. Unless it could not be fetched."""
        if PROMTOOL.exists():
            check = subprocess.run([PROMTOOL, "check", "metrics"], input=text,
                                   capture_output=True, text=True)
            self.assertEqual((0, "", ""), (check.returncode, check.stdout, check.stderr))

    def test_before_the_first_window_there_are_zeros_for_who_asks_for_no_format(self):
        workload = self.enter(Workload("sequential.rb"))
        path = self.folder / "metrics"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "60s",
                                         "--metrics", f"unix:{path}"))
        connection = UnixConnection(path)
        connection.request("GET", "/metrics", headers={"Accept": "*/*"})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        recording.stop()
        self.assertEqual("text/plain; version=0.0.4; charset=utf-8",
                         response.getheader("Content-Type"))
        values = {sample.name: (sample.labels, sample.value)
                  for family in parse_classic(text) for sample in family.samples}
        version = harness.run_correlator("--version").stdout.split()[-1]
        self.assertEqual(({"version": version}, 1), values["correlator_build_info"])
        self.assertEqual(({}, 0), values["correlator_windows_total"])
        self.check(text)


if __name__ == "__main__":
    harness.main()
