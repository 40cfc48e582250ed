# SPDX-License-Identifier: GPL-2.0-only
"""`record --stacks=off-cpu`: in which code each request waited, to the nanosecond.

Tolerance: between two sums of the records none; of a wait by the script's own clock 1 ms and 1 %, for what
the Ruby does beside it, and, where it waits for a CPU, too, that. By that clock a wait goes on until its thread runs
again, with a hypervisor's theft in front of it and the CPU that the request uses: both are no wait, and are taken off
as its account has them.
"""
import collections
import json
import os
import re

import harness
import records
from harness import Recording, read_records, run_correlator
from files_test import Served
from reasons_test import TOLERANCE_NS, TOLERANCE_PART, Waiter, by_request
from stacks_test import frames_of, stack_of

KEYS = ("-k", "request_id")
PLACES = ["nap", "lock", "pop", "read_pipe", "select"]
SLOW = "slow_file"
WAIT_MS = 50


def off_cpu_ns(record):
    return record.get("blocked_ns", 0) + record.get("run_queue_ns", 0)


def line_of(place):
    """That of fixtures/off_cpu.rb in which it waits."""
    script = (harness.FIXTURES / "off_cpu.rb").read_text()
    begin = re.search(rf"^  def {place}\b", script, re.MULTILINE).start()
    return script.count("\n", 0, script.index("measured {", begin)) + 1


class OffCpuTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.places, self.served = PLACES, None
        if os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.serve_slow_file()

    def serve_slow_file(self):
        content = self.folder / "content"
        content.write_bytes(b"x")
        self.served = self.enter(Served(self.folder / "slow", SLOW, content))
        self.places = PLACES + [SLOW]

    def observe(self, *options, wait_ms=WAIT_MS):
        environment = {"WAIT_MS": str(wait_ms)}
        if self.served:
            self.served.say(f"late {wait_ms}")
            environment["SLOW_FILE"] = str(self.folder / "slow" / SLOW)
        with Waiter("off_cpu.rb", environment=environment) as workload:
            with Recording(self.output, "-p", workload.pid, *KEYS, "--stacks=off-cpu",
                           *options) as recording:
                truth = workload.run()
                self.assert_ended_well(recording, recording.stop())
            self.pid = workload.pid
        return truth, recording.records()

    def assert_waits_are_the_accounts(self, found):
        """Of each thread in each context in each window, blocked and run queue each for itself."""
        sums = {kind: collections.defaultdict(collections.Counter) for kind in ("cpu", "sample")}
        for at_ns, record in read_records(self.output):
            if record["kind"] in sums and "samples" not in record:
                key = at_ns, record["pid"], record.get("tid"), record.get("request_id")
                sums[record["kind"]][key].update({name: record.get(name, 0)
                                                  for name in ("blocked_ns", "run_queue_ns")})
        charged = {key: dict(counter) for key, counter in sums["cpu"].items() if any(counter.values())}
        self.assertEqual(charged, {key: dict(counter) for key, counter in sums["sample"].items()})
        self.assertGreater(len(charged), 5)
        books = records.books(found)
        self.assertEqual(0, books["stacks_full"])
        self.assertEqual(0, books["residual_ns"])
        # Those of a clock, which may meet a boundary; of waits nothing is lost here.
        self.assertLess(books["samples_lost"], 20)

    def waits_of(self, found):
        """{request: {its methods, with their lines, as a set: ns}}, without the kernel's functions."""
        frames, waits = frames_of(found), collections.defaultdict(collections.Counter)
        for record in records.of_kind(found, "sample"):
            if "samples" not in record:
                # Since Ruby 3.4 with the module.
                methods = frozenset((frame["name"].replace("Places.", ""), frame.get("line"))
                                    for frame in stack_of(frames, record["stack_id"])
                                    if frame["frame_kind"] != "kernel")
                waits[record.get("request_id")][methods] += off_cpu_ns(record)
        return waits

    @staticmethod
    def waited_ns(waits, place):
        return sum(ns for methods, ns in waits.items() if (place, line_of(place)) in methods)

    def assert_places_are_right(self, truth, found):
        waits, accounts = self.waits_of(found), by_request(found)
        missed = {name: count for name, count in records.books(found).items() if name.startswith("frames") and count}
        on_cpu_ns = {request: sums["cpu_ns"] + sums["stolen_ns"] for request, sums in accounts.items()}
        for place in self.places:
            with self.subTest(place=place):
                inside_ns, around_ns = truth[place]
                there_ns = self.waited_ns(waits[place], place)
                tolerance_ns = TOLERANCE_NS + TOLERANCE_PART * inside_ns
                self.assertGreater(there_ns, inside_ns - on_cpu_ns[place] - tolerance_ns,
                                   (waits[place], missed))
                self.assertLess(there_ns, around_ns + tolerance_ns, waits[place])
                # All of the request's time asleep, but for its way in and out, is in that method. It may wait for
                # a CPU anywhere.
                elsewhere_ns = sum(ns for methods, ns in waits[place].items() if place not in dict(methods))
                self.assertLess(elsewhere_ns, tolerance_ns + accounts[place]["run_queue_ns"], waits[place])
        for fiber in "first", "second":
            nap_ns = self.waited_ns(waits[fiber], "nap")
            self.assertGreater(nap_ns, 2 * 0.99 * WAIT_MS * 1e6 - on_cpu_ns[fiber], waits[fiber])

    def test_over_all_stacks_it_is_the_accounts(self):
        _, found = self.observe()
        self.assert_waits_are_the_accounts(found)

    def test_each_wait_is_in_the_method_that_waits(self):
        truth, found = self.observe()
        self.assert_places_are_right(truth, found)

    def test_so_it_is_over_windows_that_are_shorter_than_the_wait(self):
        """What sleeps on is told in each window, by frames that were told where it began."""
        truth, found = self.observe("-i", "100ms", wait_ms=450)
        self.assert_waits_are_the_accounts(found)
        self.assert_places_are_right(truth, found)
        frames = frames_of(found)
        naps = [record for record in records.of_kind(found, "sample")
                if record.get("request_id") == "nap" and "samples" not in record and
                any(frame["name"] in ("nap", "Places.nap") for frame in stack_of(frames, record["stack_id"]))]
        # As many as a busy machine makes windows.
        self.assertGreaterEqual(len(naps), 2)
        # One sleep, whatever Ruby's timers make of it.
        self.assertLess(sum(record.get("waits", 0) for record in naps), len(naps))

    def test_so_it_is_of_contexts_that_are_found_at_boundaries(self):
        truth, found = self.observe("--lean")
        self.assert_waits_are_the_accounts(found)
        self.assert_places_are_right(truth, found)

    def test_so_it_is_beside_a_timeline_and_system_calls(self):
        truth, found = self.observe("--timeline", "--syscalls")
        self.assert_waits_are_the_accounts(found)
        self.assert_places_are_right(truth, found)

    def test_the_kernels_frames_end_where_it_leaves_the_cpu(self):
        _, found = self.observe()
        frames, ends = frames_of(found), collections.Counter()
        for record in records.of_kind(found, "sample"):
            # Who was asleep when the recording began is in no stack that was seen.
            if "samples" not in record and record.get("request_id"):
                kernel = [frame["name"] for frame in stack_of(frames, record["stack_id"])
                          if frame["frame_kind"] == "kernel"]
                ends[kernel[0] if kernel else None] += off_cpu_ns(record)
        self.assertGreater(ends["__schedule"], 0.99 * sum(ends.values()), ends)

    def test_below_the_kernels_frames_is_the_native_function_that_called_it(self):
        _, found = self.observe()
        frames, callers = frames_of(found), collections.defaultdict(collections.Counter)
        for record in records.of_kind(found, "sample"):
            if "samples" not in record and record.get("request_id"):
                names = [frame["name"] for frame in stack_of(frames, record["stack_id"])
                         if frame["frame_kind"] == "native"]
                # It may wait for a CPU anywhere.
                callers[record["request_id"]][names[0] if names else None] += record.get("blocked_ns", 0)
        # As the C library of each machine calls them, if it has more than the names of what it exports.
        for place, function in (("select", r"(p?select|ppoll|^libc)"), (SLOW, r"(read|^libc)")):
            if place in self.places:
                there_ns = sum(ns for name, ns in callers[place].items() if re.search(function, name or ""))
                self.assertGreater(there_ns, 0.8 * sum(callers[place].values()), callers[place])

    def test_the_report_has_the_same_sums(self):
        _, found = self.observe()
        report = run_correlator("report", "--stacks", "--off-cpu", "-f", "json", self.output)
        said = json.loads(report.stdout)
        expected = sum(off_cpu_ns(record) for record in records.of_kind(found, "cpu"))
        self.assertEqual(expected, said["all"]["off_cpu_ns"])
        self.assertEqual(expected, said["all"]["off_cpu_in_stacks_ns"])
        nap = run_correlator("report", "--stacks", "--off-cpu", "--where", "request_id=nap", "-f",
                             "json", self.output)
        said = json.loads(nap.stdout)
        method, = [row for row in said["methods"] if row["name"].endswith("nap") and
                   not row["name"].startswith("block")]
        accounts = by_request(found)["nap"]
        for_cpu_percent = 100 * accounts["run_queue_ns"] / off_cpu_ns(accounts)
        self.assertGreater(method["share_percent"], 95 - for_cpu_percent)


if __name__ == "__main__":
    harness.main()
