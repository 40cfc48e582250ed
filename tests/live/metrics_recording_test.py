#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""--metrics of what is recorded at the same time: both say the same, by the plain reference of tests/report/oracle."""
import bisect
import collections
import sys

import harness
from harness import Recording, Workload
from prometheus_client.parser import text_string_to_metric_families as parse

sys.path.append(str(harness.SOURCE / "tests" / "report" / "oracle"))
import alerts
import rule

# The text has nine digits after the point, and is read as a double.
ROUNDING_SECONDS = 1e-6
COSTS = ("cpu", "user", "kernel", "run_queue", "blocked")
BOOKS = ("exec", "attributed", "unattributed", "overflow")
# Longer than the rest after which a request counts again.
REST_SECONDS = 3.5
RETURNING = 'Correlator.with(request_id: "returning", endpoint: "GET /returning") { Workload.spin_ms(4) }; nil'
LINES = (
    RETURNING,
    # Endpoints that are known late, within a window and some windows later.
    '3.times { |i| Correlator.with(request_id: "late-#{i}") { Workload.spin_ms(3 + 80 * i); sleep(0.08 * i); '
    'Correlator.update(endpoint: "GET /late"); Workload.spin_ms(2) } }; nil',
    # Endpoints that change, in one window and in several, to one that others have.
    'Correlator.with(request_id: "in one", endpoint: "GET /a") { Workload.spin_ms(1); '
    'Correlator.update(endpoint: "GET /b"); Workload.spin_ms(1) }; nil',
    '2.times { |i| Correlator.with(request_id: "changing-#{i}", endpoint: "GET /a") { Workload.spin_ms(30); '
    'sleep(0.15); Correlator.update(endpoint: "GET /b"); Workload.spin_ms(20); sleep(0.15); '
    'Correlator.update(endpoint: i == 0 ? "GET /a" : "GET /c"); Workload.spin_ms(10) } }; nil',
    # An endpoint that is gone again in the last windows.
    'Correlator.with(request_id: "gone", endpoint: "GET /gone") { Workload.spin_ms(20); sleep(0.4); '
    'Correlator.update(endpoint: ""); Workload.spin_ms(20) }; nil',
    # Requests without one, and one that is of no request.
    '4.times { |i| Correlator.with(request_id: "none-#{i}") { Workload.spin_ms(7 ** i / 10) } }; nil',
    'Correlator.with(endpoint: "GET /nobody") { Workload.spin_ms(5) }; Workload.spin_ms(5)',
    # Threads: of one request, of which one alone knows the endpoint, and of one each.
    'Correlator.with(request_id: "shared") { Thread.new(&Correlator.inherit { Workload.spin_ms(130) }).tap { '
    'Correlator.update(endpoint: "GET /shared"); Workload.spin_ms(5) }.join }; nil',
    'Array.new(4) { |i| Thread.new { 5.times { |j| Correlator.with(request_id: "#{i}-#{j}", endpoint: "GET /#{j}") { '
    'Workload.spin_ms(1 + i); sleep(0.02) } } } }.each(&:join); nil',
    # Processes: requests of their own, and one of both.
    'Process.wait(fork { 3.times { |i| Correlator.with(request_id: "child-#{i}", endpoint: "GET /child") { '
    'Workload.spin_ms(120) } }; exit! }); nil',
    'Correlator.with(request_id: "both", endpoint: "GET /before") { fork { Workload.spin_ms(150); exit! }; '
    'Workload.spin_ms(10); Correlator.update(endpoint: "GET /after"); Process.wait; sleep(0.4); '
    'Workload.spin_ms(5) }; nil',
    f"sleep({REST_SECONDS}); nil",
    RETURNING,
)


class MetricsRecordingTest(harness.LiveTest):
    def test_metrics_are_the_figures_of_the_recording(self):
        samples, recording = self.observe("100ms")
        self.check_processes(samples, recording)
        requests = self.requests_by_endpoint(recording)
        self.check_requests(requests, recording)
        for figure, value_of in (("cpu", lambda costs: costs.get("cpu_ns")), ("wall", rule.Costs.wall_ns)):
            values = {endpoint: [value_of(request.costs) for request in found] for endpoint, found in requests.items()}
            self.check_histogram(samples, f"correlator_request_{figure}_seconds", values)

    def observe(self, interval):
        """What the metrics have at the end, {name: [sample]}, and the recording, as the reference reads it."""
        workload = self.enter(Workload("driven.rb"))
        path = self.folder / "correlator.prom"
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", interval, "-k", "request_id", "-k",
                                         "endpoint", "--metrics", f"file:{path}", "--metrics-by", "endpoint"))
        for line in LINES:
            workload.evaluate(line)
        self.assert_ended_well(recording, recording.stop())
        samples = collections.defaultdict(list)
        for family in parse(path.read_text()):
            for sample in family.samples:
                samples[sample.name].append(sample)
        return samples, rule.Recording([list(rule.unpack(self.output.read_bytes()))])

    def assert_seconds(self, ns, seconds, what):
        self.assertAlmostEqual(ns / 1e9, seconds, delta=ROUNDING_SECONDS, msg=what)

    def check_processes(self, samples, recording):
        """Each process has the sums of its records; one that no page had is part of those that ended. Records of a child
        that come before its fork record are among the others: it had no place yet."""
        expected, others, known = collections.defaultdict(collections.Counter), collections.Counter(), set()
        for record in recording.records:
            if record.kind == "process":
                known.add(record.fields["pid"])
            for name in {"cpu": COSTS, "balance": BOOKS}.get(record.kind, ()):
                sums = expected[str(record.fields["pid"])] if record.fields["pid"] in known else others
                sums[name] += record.fields[f"{name}_ns"]
        self.assertEqual(3, len(expected))
        for name in COSTS + BOOKS:
            found = {sample.labels["pid"]: sample.value
                     for sample in samples[f"correlator_process_{name}_seconds_total"]}
            unseen = [sums[name] for pid, sums in expected.items() if pid not in found]
            wanted = {pid: expected[pid][name] for pid in expected if pid in found}
            wanted |= {"ended": sum(unseen), "others": others[name]}
            for pid, seconds in found.items():
                self.assert_seconds(wanted[pid], seconds, f"{name} of {pid}")

    def requests_by_endpoint(self, recording):
        """Those that have ended, one that came back after a rest twice, by the last endpoint that they had."""
        windows, = alerts.windows_by_recorder(recording).values()
        found = collections.defaultdict(list)
        for _, _, requests, _ in alerts.ended_requests(windows, "endpoint"):
            for request in requests:
                found[request.value].append(request)
        return found

    def check_requests(self, requests, recording):
        """The requests of the test are those that the report counts, and one of them comes again."""
        table = recording.select().table(("endpoint",))
        counts = {"" if place == rule.WITHOUT_KEY else place[0]: len(row.requests)
                  for place, row in table.rows.items() if row.requests}
        self.assertEqual(counts | {"GET /returning": 2}, {value: len(found) for value, found in requests.items()})
        self.assertEqual({"GET /late": 3, "GET /a": 1, "GET /b": 1, "GET /c": 1, "GET /gone": 1, "": 4,
                          "GET /shared": 1, "GET /child": 3, "GET /after": 1, "GET /returning": 1}
                         | {f"GET /{j}": 4 for j in range(5)}, counts)

    def check_histogram(self, samples, name, values):
        counts = {sample.labels["endpoint"]: sample.value for sample in samples[f"{name}_count"]}
        self.assertEqual({endpoint: len(found) for endpoint, found in values.items()},
                         {endpoint: count for endpoint, count in counts.items() if count})
        for sample in samples[f"{name}_sum"]:
            endpoint = sample.labels["endpoint"]
            self.assert_seconds(sum(values.get(endpoint, ())), sample.value, f"{name} of {endpoint!r}")
        for sample in samples[f"{name}_bucket"]:
            endpoint, bound_ns = sample.labels["endpoint"], float(sample.labels["le"]) * 1e9
            self.assertEqual(bisect.bisect_right(sorted(values.get(endpoint, ())), bound_ns), sample.value,
                             f"{name} of {endpoint!r} up to {bound_ns} ns")


if __name__ == "__main__":
    harness.main()
