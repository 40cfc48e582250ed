# SPDX-License-Identifier: GPL-2.0-only
"""What each request used, against the workload's own measurement of it."""
import harness
import records
from harness import Recording, Workload


class KnownAnswersTest(harness.LiveTest):
    def observe(self, script, *arguments):
        """The workload's truth, its threads' growth by the scheduler, and the records."""
        with Workload(script, *arguments) as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid) as recording:
                truth = workload.run()
                growth_ns = workload.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop())
            return truth, growth_ns, recording.records()

    def check(self, script, *arguments, requests):
        truth, growth_ns, found = self.observe(script, *arguments)
        self.assertEqual(requests, len(truth) - 1)
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found),
                         records.books(found))
        self.check_sum(growth_ns, found)

    def check_sum(self, growth_ns, found):
        """Against /proc/PID/task/*/schedstat, read while the threads slept: it is exact then."""
        sums = records.books(found)
        charged_ns = sums["attributed_ns"] + sums["unattributed_ns"]
        cpu_ns = sum(total["cpu_ns"] for total in records.totals_by(found).values())
        self.assertEqual(charged_ns, cpu_ns)
        self.assertAlmostEqual(charged_ns, growth_ns, delta=records.BALANCE_PART * growth_ns,
                               msg=sums)

    def test_sequential_requests_get_what_they_used(self):
        self.check("sequential.rb", requests=40)

    def test_requests_of_eight_threads_under_the_gvl_get_what_they_used(self):
        self.check("threads.rb", requests=200)

    def test_two_hundred_interleaved_fibers_get_what_they_used(self):
        self.check("fibers.rb", requests=200)

    def test_short_lived_ids_under_gc_stress_and_compaction_are_never_mixed_up(self):
        self.check("churn.rb", requests=75)

    def test_two_recordings_of_one_process_at_a_time_are_both_right(self):
        with Workload("threads.rb") as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid) as first, \
                    Recording(self.folder / "second", "-p", workload.pid, "-i", "300ms") as second:
                truth = workload.run()
                growth_ns = workload.cpu_ns() - before_ns
                for recording in first, second:
                    self.assert_ended_well(recording, recording.stop())
                    found = recording.records()
                    self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
                    self.check_sum(growth_ns, found)


if __name__ == "__main__":
    harness.main()
