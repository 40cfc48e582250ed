# SPDX-License-Identifier: GPL-2.0-only
"""record --stacks of Ractors, interpreted and compiled: the methods of each one's request have their shares.

Tolerance: 3 sigma of the number of samples, and two points for what calls the methods. Three Ractors that collect garbage
all the time have stacks whose methods may have been collected before they were named (frames_collected); the busier the
machine, the more. They have no name at all, and say nothing of the shares.
"""
import collections
import math

import harness
import records
from harness import Recording, Workload
from stacks_test import HZ, SAMPLES, sampled, stacks_of

SHARES = {"seventy": 0.7, "twenty": 0.2, "ten": 0.1}
REQUESTS = "ractor-0", "ractor-1", "ractor-2"


class RactorsTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        with Workload("driven.rb") as ruby:
            if ruby.evaluate("RUBY_VERSION") < "3.0":
                self.skipTest("before Ruby 3.0 there are no Ractors")
            self.has_yjit = ruby.evaluate("!!defined?(RubyVM::YJIT)")

    def observe(self, **environment):
        with Workload("ractors.rb", environment={"GROUND_TRUTH": "off", **environment}) as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", f"--stacks={HZ}") as recording:
                workload.run(lambda: sampled(SAMPLES, *REQUESTS)(recording.records_so_far()))
                self.assert_ended_well(recording, recording.stop())
        return recording.records()

    def assert_shares_are_right(self, found):
        counts = collections.defaultdict(collections.Counter)
        for request, stack in stacks_of(found):
            if not any(frame["frame_kind"] == "ruby" for frame in stack):
                continue
            place = next((name for frame in stack if (name := frame["name"].rpartition("#")[2]) in SHARES), None)
            counts[request][place] += 1
        for request in REQUESTS:
            total = sum(counts[request][place] for place in SHARES)
            self.assertGreater(total, 0.9 * sum(counts[request].values()), counts[request])
            for place, share in SHARES.items():
                sigma = math.sqrt(share * (1 - share) / total)
                self.assertAlmostEqual(share, counts[request][place] / total, delta=3 * sigma + 0.02, msg=request)
        self.assertEqual([], records.unbalanced(found))

    def test_methods_have_their_shares(self):
        self.assert_shares_are_right(self.observe())

    def test_so_have_compiled_ones(self):
        if not self.has_yjit:
            self.skipTest("this Ruby was built without YJIT, as Debian builds those after 3.1")
        self.assert_shares_are_right(self.observe(RUBYOPT="--yjit"))


if __name__ == "__main__":
    harness.main()
