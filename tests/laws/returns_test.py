# SPDX-License-Identifier: GPL-2.0-only
"""Contexts that come back after long: WebSockets, long polls, periodic jobs.

Whoever has not been heard of for some windows is forgotten, and may come back in that very instant.
None of its time may go to nobody, on a busy machine neither. A request's CPU is right within the
larger of 100 us and 1 %, as that of any other (records.py).
"""
import law
from law import harness, records


class ReturnsTest(law.LawTest):
    def check(self, script, *arguments, requests, options):
        """Nothing is unknown; returns the requests whose CPU is wrong."""
        self.enter(law.Load())
        with harness.Workload(script, *arguments) as workload:
            recording = self.record("-p", str(workload.pid), *options)
            truth = workload.run()
            found = self.finish(recording)
        unknown = law.with_flag(found, "unknown")
        wrong = records.wrong_requests(truth, records.totals_by(found), found)
        print(f"{len(unknown)} of {len(records.of_kind(found, 'cpu'))} records unknown, "
              f"{law.cpu_ns(unknown) / 1e6:.1f} of {law.cpu_ns(found) / 1e6:.0f} ms, "
              f"{len(wrong)} of {len(truth) - 1} requests wrong, {law.losses(records.books(found))}",
              flush=True)
        self.assertEqual(requests, len(truth) - 1)
        self.assert_balanced(found)
        self.assertEqual([], unknown)
        self.assertEqual(0, records.books(found)["contexts_lost"])
        return wrong

    def test_three_thousand_fibers_that_take_turns(self):
        """A turn of all takes several windows: each fiber's context is forgotten in between."""
        self.assertEqual([], self.check("fibers.rb", "3000", "8", requests=3000,
                                        options=("-i", "200ms")))

    def test_fibers_and_jobs_that_rest_for_four_windows(self):
        self.assertEqual([], self.check("returns.rb", requests=200, options=("-i", "100ms")))

    def test_without_probes_no_context_is_lost_either(self):
        """How far their figures may be off, modes_test.py tells."""
        self.check("returns.rb", requests=200, options=("-i", "100ms", "--lean"))


if __name__ == "__main__":
    law.main()
