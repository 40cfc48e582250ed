# SPDX-License-Identifier: GPL-2.0-only
"""`record --timeline` tells the fibers of one request apart: each has as much CPU as its own clock says.

A fiber's slices begin and end with the probes that are passed on the way to it and from it: they are no less
than its clock says that is read inside of its turns, and no more than that which is read around them. How far
apart those two are is the machine's affair. Tolerance: 5 % less, for what is stolen, and for what it had begun
before the first look at it; 1 % more, for the scheduler's clock that is read ahead in between.
"""
import collections
import json

import harness
import records
from harness import Recording, Workload

KEYS = ("-k", "request_id", "-k", "endpoint")
FIBER_PART = 0.05
MORE_PART = 0.01


class FibersTest(harness.LiveTest):
    def observe_fibers(self, *arguments):
        """What three fibers of one request say that they have burned, and what its slices say."""
        with Workload("fibers_of_one.rb", *arguments,
                      environment={"GROUND_TRUTH": "off"}) as workload:
            with Recording(self.output, "-p", workload.pid, *KEYS, "--timeline") as recording:
                workload.say("go")
                said = json.loads(workload.process.stdout.readline())
                self.assertEqual("done\n", workload.process.stdout.readline())
                self.assert_ended_well(recording, recording.stop())
            found = recording.records()
        self.assertEqual(0, records.books(found)["slices_lost"])
        sums = collections.Counter()
        for piece in records.of_kind(found, "slice"):
            if piece.get("request_id") == "shared":
                sums[piece.get("fiber", 0)] += piece.get("cpu_ns", 0)
            else:
                self.assertNotIn("fiber", piece)
        # What it has begun before the first look at it ended.
        self.assertLess(sums.pop(0, 0), FIBER_PART * said["cpu_ns"][0])
        return said, sums

    def assert_is_what_fibers_burned(self, said, sums):
        for least_ns, most_ns, sum_ns in zip(said["cpu_ns"], said["most_ns"], sums):
            self.assertGreater(sum_ns, (1 - FIBER_PART) * least_ns)
            self.assertLess(sum_ns, (1 + MORE_PART) * most_ns)

    def test_fibers_that_have_borrowed_a_requests_context_are_told_apart(self):
        said, sums = self.observe_fibers()
        # That which resumes them has the lowest number.
        parent, *own = sorted(sums)
        self.assertEqual(3, len(own), sums)
        self.assert_is_what_fibers_burned(said, [sums[number] for number in own])
        self.assertLess(sums[parent], (1 + MORE_PART) * said["rest_ns"])

    def test_a_fiber_that_sets_contexts_of_its_own_stays_the_same(self):
        said, sums = self.observe_fibers("own")
        self.assertEqual(3, len(sums), sums)
        self.assert_is_what_fibers_burned(said, [sums[number] for number in sorted(sums)])


if __name__ == "__main__":
    harness.main()
