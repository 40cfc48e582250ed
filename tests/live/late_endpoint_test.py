# SPDX-License-Identifier: GPL-2.0-only
"""An endpoint that is set when the request has run for a while: one context, one endpoint."""
import collections

import harness
import records
from harness import Recording, Workload

KEYS = ("-k", "request_id", "-k", "endpoint")
WINDOW = ("-i", "50ms")
# Between the wall clock's reading in the workload and the same instant in the records.
CLOCK_SLACK_NS = 2_000_000
BURNT_NS = 3_000_000
TRACE = f"{7:032x}"
OTEL = ('require "fiddle"',
        f'$library = Fiddle.dlopen("{harness.BUILD}/fixtures/otel_general_dynamic.so"); nil',
        'Fiddle::Function.new($library["otel_publisher_change"], [Fiddle::TYPE_VOIDP] * 3, '
        f'Fiddle::TYPE_VOID).call("{TRACE}", "", ""); nil')


class LateEndpointTest(harness.LiveTest):
    def observe(self, call, *options, before=()):
        workload = self.enter(Workload("driven.rb"))
        for line in (f'require "{harness.FIXTURES / "late.rb"}"', *before):
            workload.evaluate(line)
        recording = self.enter(Recording(self.output, "-p", workload.pid, "--force", *options))
        answer = workload.evaluate(call)
        self.assert_ended_well(recording, recording.stop())
        entries = [(records.wall_ns(when), record)
                   for when, record in records.read_records(self.output)]
        return answer, entries

    def requests(self, entries):
        """{request_id: {end of a window: its records}}"""
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for end_ns, record in entries:
            if record["kind"] == "cpu" and record.get("request_id"):
                found[record["request_id"]][end_ns].append(record)
        return found

    def check_windows(self, answer, entries):
        """In each window one context a request, with one endpoint from the one on that sets it.

        That is the first in which something is charged after that: a thread is written up somewhat
        before its window's end.
        """
        before = after = 0
        for name, windows in self.requests(entries).items():
            endpoint, set_ns = answer["set"][name]
            for found in windows.values():
                tids = [record["tid"] for record in found]
                self.assertEqual(len(set(tids)), len(tids), found)
                got = {record.get("endpoint") for record in found}
                last_ns = max(record["last_ns"] for record in found)
                if last_ns > set_ns + CLOCK_SLACK_NS:
                    self.assertEqual({endpoint}, got, name)
                    after += 1
                else:
                    self.assertIn(got, ({endpoint}, {None}), name)
                    before += got == {None}
        self.assertGreater(before, Late.REQUESTS)
        self.assertGreater(after, 2 * Late.REQUESTS)

    def check_exact(self, *options, before=()):
        answer, entries = self.observe("Late.run", *KEYS, *WINDOW, *options, before=before)
        found = [record for _, record in entries]
        truth = {name: records.Figure(*figures) for name, figures in answer["truth"].items()}
        self.assertEqual(Late.REQUESTS, len(answer["set"]))
        self.check_windows(answer, entries)
        totals = records.totals_by(found)
        # In OpenTelemetry's context and none of Ruby's.
        totals.pop(None, None)
        self.assertEqual([], records.wrong_requests(truth, totals, found))
        self.assertEqual(0, records.books(found)["contexts_lost"])
        self.assertEqual([], records.unbalanced(found, records.TOLERANCE_NS))
        return found

    def test_a_request_has_one_endpoint_from_the_window_on_that_sets_it(self):
        self.check_exact()

    def test_so_it_has_beside_opentelemetrys_context(self):
        found = self.check_exact("-k", "otel.trace_id", before=OTEL)
        traces = {(record["request_id"], record.get("otel.trace_id"))
                  for record in records.of_kind(found, "cpu") if record.get("request_id")}
        # Of the main thread, where the fibers are.
        self.assertEqual({(f"fiber-{number}", TRACE) for number in range(6)},
                         {(name, trace) for name, trace in traces if trace})

    def test_so_it_has_without_probes(self):
        answer, entries = self.observe("Late.run", *KEYS, *WINDOW, "--lean")
        found = [record for _, record in entries]
        self.check_windows(answer, entries)
        self.assertEqual([], records.unbalanced(found, records.TOLERANCE_NS))

    def test_of_two_values_the_one_seen_last_is_in_the_records(self):
        _, entries = self.observe("Late.change(%w[/a /b])", *KEYS, "-i", "10s")
        found = [record for _, record in entries if record.get("request_id") == "changed"]
        self.assertEqual(["/b"], [record["endpoint"] for record in found])
        self.assertGreater(found[0]["cpu_ns"], 2 * BURNT_NS)

    def check_split(self, call, *keys):
        _, entries = self.observe(call, *keys, "-i", "10s")
        cpu_ns = {record["endpoint"]: record["cpu_ns"] for _, record in entries
                  if record["kind"] == "cpu" and record.get("endpoint")}
        self.assertEqual({"/a", "/b"}, set(cpu_ns))
        for endpoint in cpu_ns:
            self.assertGreater(cpu_ns[endpoint], BURNT_NS, endpoint)

    def test_recorded_alone_it_is_what_contexts_are_known_by(self):
        self.check_split("Late.change(%w[/a /b])", "-k", "endpoint")

    def test_beside_a_key_that_is_no_requests_it_is_part_of_what_they_are_known_by(self):
        self.check_split("Late.change(%w[/a /b])", "-k", "endpoint", "-k", "tenant")

    def test_contexts_without_a_request_id_are_known_by_it(self):
        for request_id in ("nil", '""', "false"):
            with self.subTest(request_id=request_id):
                self.check_split(f"Late.change(%w[/a /b], request_id: {request_id})", *KEYS)


class Late:
    """What fixtures/late.rb runs."""
    REQUESTS = 3 * 4 + 6


if __name__ == "__main__":
    harness.main()
