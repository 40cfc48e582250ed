# SPDX-License-Identifier: GPL-2.0-only
"""record --stacks of Ractors, interpreted and compiled: the methods of each one's request have their shares.

Tolerance: 3 sigma of the number of samples, and two points for what calls the methods. Three Ractors that collect garbage
all the time have stacks whose methods may have been collected before they were named (frames_collected); the busier the
machine, the more. So the windows count in which all methods have their names.
"""
import math

import harness
import records
from harness import Recording, Workload
from stacks_test import HZ, SAMPLES, SHARES, counts_of_places, placed

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
                workload.run(lambda: placed(SAMPLES, *REQUESTS)(recording.records_so_far()))
                self.assert_ended_well(recording, recording.stop())
        return recording.records()

    def assert_shares_are_right(self, found):
        counts = counts_of_places(found)
        for request in REQUESTS:
            total = sum(counts[request][place] for place in SHARES)
            self.assertGreater(total, 0.8 * sum(counts[request].values()), counts[request])
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
