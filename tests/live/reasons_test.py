# SPDX-License-Identifier: GPL-2.0-only
"""On what a request was blocked: each wait of fixtures/reasons.rb has one reason, and all of its time."""
import collections
import json

import harness
import records
from harness import Recording, Workload

REASONS = ("disk", "network", "poll", "pipe", "futex", "sleep", "child", "fault", "other")
FIELDS = {reason: f"blocked_{reason}_ns" for reason in REASONS}
KEYS = ("-k", "request_id")
# The Ruby's own work beside a wait of WAIT_MS: 1 %.
WAIT_MS = 100
TOLERANCE_NS = 1_000_000
# On a busy machine, a thread that wakes up waits for the GVL.
LOCK_NS = 10_000_000
TOLERANCE_PART = 0.01
# Between the script's clock and those of the CPUs that it ran on.
CLOCKS_NS = 50_000


class Waiting:
    """What a workload of known waits says."""

    def environment(self, changes):
        return {**super().environment(changes), "GROUND_TRUTH": "off"}

    def run_and_read(self):
        """The objects that it prints."""
        self.say("go")
        said = []
        for line in self.process.stdout:
            if line == "done\n":
                return said
            said.append(json.loads(line))
        raise RuntimeError("the workload ended in the middle")

    def run(self):
        """{request_id: (ns that it took at least, at most)}"""
        return {request["request_id"]: (request["inside_ns"], request["around_ns"])
                for request in self.run_and_read()}


class Waiter(Waiting, Workload):
    pass


def by_request(found):
    sums = collections.defaultdict(collections.Counter)
    for record in records.of_kind(found, "cpu"):
        sums[record.get("request_id")].update(
            {name: value for name, value in record.items() if name.endswith("_ns")})
    return sums


class ReasonsTest(harness.LiveTest):
    def observe(self, *options):
        with Waiter("reasons.rb", environment={"WAIT_MS": str(WAIT_MS)}) as workload:
            with Recording(self.output, "-p", workload.pid, *KEYS, *options) as recording:
                truth = workload.run()
                self.assert_ended_well(recording, recording.stop())
        return truth, recording.records()

    def assert_reasons_are_right(self, truth, found):
        """All of the time asleep, but for what the Ruby does beside it, and a wait for its lock afterwards."""
        self.assertLessEqual(14, len(truth))
        self.assertEqual(set(truth), set(truth) & set(by_request(found)))
        for request in truth:
            with self.subTest(request=request):
                sums = by_request(found)[request]
                self.assertGreater(sums["blocked_ns"], 0, (request, truth[request], dict(sums)))
                field = FIELDS[request.split("-")[0]]
                lock_ns = min(LOCK_NS, sums["blocked_futex_ns"]) if field != "blocked_futex_ns" else 0
                self.assertAlmostEqual(sums["blocked_ns"] - lock_ns, sums[field],
                                       delta=max(TOLERANCE_NS, TOLERANCE_PART * sums["blocked_ns"]), msg=dict(sums))

    def assert_lengths_are_right(self, truth, found):
        """By the script's clock, which it reads inside of the request and around it."""
        for request, (inside_ns, around_ns) in truth.items():
            with self.subTest(request=request):
                sums = by_request(found)[request]
                other_ns = sums["cpu_ns"] + sums["run_queue_ns"] + sums["stolen_ns"]
                self.assertGreaterEqual(sums["blocked_ns"], inside_ns - other_ns - CLOCKS_NS)
                self.assertLessEqual(sums["blocked_ns"], around_ns - other_ns + CLOCKS_NS)

    def assert_sums_are_right(self, found):
        """In each record, to the nanosecond; one that is 0 is not there."""
        self.assertEqual({True}, {record["blocked_reasons"]
                                  for record in records.of_kind(found, "meta")})
        for record in records.of_kind(found, "cpu"):
            parts = [record[field] for field in FIELDS.values() if field in record]
            self.assertEqual(record["blocked_ns"], sum(parts), record)
            self.assertNotIn(0, parts)

    def test_each_wait_is_of_its_reason(self):
        truth, found = self.observe()
        self.assert_sums_are_right(found)
        self.assert_reasons_are_right(truth, found)

    def test_it_is_as_long_as_the_wait(self):
        truth, found = self.observe()
        self.assert_lengths_are_right(truth, found)

    def test_so_it_is_without_probes(self):
        truth, found = self.observe("--lean")
        self.assert_sums_are_right(found)
        self.assert_reasons_are_right(truth, found)

    def test_a_wait_over_many_windows_is_of_its_reason_in_each(self):
        truth, found = self.observe("-i", "10ms")
        self.assert_sums_are_right(found)
        self.assert_reasons_are_right(truth, found)

    def test_slices_say_the_same(self):
        """Of what a slice is the sleep: by reason as long as the accounts say."""
        _, found = self.observe("--timeline")
        self.assert_sums_are_right(found)
        accounts, slices = collections.Counter(), collections.Counter()
        for record in records.of_kind(found, "cpu"):
            for reason, field in FIELDS.items():
                accounts[record["tid"], record["request_id"], reason] += record.get(field, 0)
        for piece in records.of_kind(found, "slice"):
            if piece["state"] in ("blocked", "uninterruptible"):
                slices[piece["tid"], piece["request_id"], piece["blocked_on"]] += \
                    piece["end_ns"] - piece["start_ns"]
            else:
                self.assertNotIn("blocked_on", piece)
        self.assertEqual(+accounts, +slices)


if __name__ == "__main__":
    harness.main()
