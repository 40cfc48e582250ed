# SPDX-License-Identifier: GPL-2.0-only
"""
How much of its CPU time each request collected garbage, and how many collections it set off, against
what another extension of the process counts with hooks of its own and the thread's CPU clock, and
against Ruby's own figures. tests/matrix has the other Rubies.
"""
import csv
import io
import json

import harness
import records
from harness import EXIT_OK, Recording, Workload, run_correlator

TOLERANCE_NS = 100_000
TOLERANCE_PART = 0.02


def sums_of(found):
    return records.known_sums_by_request(found, "user_ns", "kernel_ns", "gc_ns", "gc_runs")


class GcTest(harness.LiveTest):
    def start(self, watch=True, **options):
        workload = self.enter(Workload("driven.rb", **options))
        # gc_truth's; in a container it is beside the gem.
        workload.evaluate(f'$LOAD_PATH.push("{harness.BUILD}/ruby/test").size')
        if watch:
            self.assertIs(True, workload.evaluate("Correlator.watch_vm!"))
            # Its hooks are to be on both sides of the gem's.
            workload.evaluate("load File.join(File.dirname($0), 'gc.rb')")
        return workload

    def check(self, truth, found):
        sums = sums_of(found)
        for record in records.of_kind(found, "cpu"):
            self.assertLessEqual(record.get("gc_ns", 0), record["user_ns"] + record["kernel_ns"])
        for request, (least_ns, most_ns, runs, count, ms, _) in truth.items():
            charged = sums[request]
            said = f"{request}: {charged} truth {truth[request]}"
            slack_ns = max(TOLERANCE_NS, TOLERANCE_PART * least_ns)
            self.assertGreaterEqual(charged["gc_ns"], least_ns - slack_ns, said)
            # Inside of a step that no switch interrupts, theft cannot be told from running.
            self.assertLessEqual(charged["gc_ns"], most_ns + slack_ns + records.stolen_ns(found, request),
                                 said)
            self.assertEqual([runs, count], [charged["gc_runs"]] * 2, said)
            # Ruby's own is in whole milliseconds, and reads the clock by system calls at each step.
            if ms is not None and ms > 100:
                self.assertAlmostEqual(charged["gc_ns"] / 1e6, ms, delta=1 + TOLERANCE_PART * ms,
                                       msg=said)
        self.assertEqual(0, records.books(found).get("gc_implausible", 0))
        return sums

    def check_one(self, way, times, arguments=()):
        workload = self.start()
        truth, found = self.observe_lines(workload, f'collect("{way}", "{way}", {times})',
                                          arguments=arguments)
        return truth, self.check(truth, found)

    def test_what_allocating_sets_off_in_steps(self):
        truth, _ = self.check_one("allocate", 20)
        self.assertGreaterEqual(truth["allocate"][2], 20)

    def test_collections_that_are_asked_for(self):
        self.check_one("start", 10)

    def test_minor_collections(self):
        self.check_one("minor", 20)

    def test_compaction(self):
        self.check_one("compact", 5)

    def test_fibers_of_one_request(self):
        self.check_one("fibers", 4)

    def test_a_request_that_allocates_nothing_has_none(self):
        _, sums = self.check_one("none", 1)
        self.assertEqual(0, sums["none"]["gc_ns"])

    def test_time_off_the_cpu_in_the_middle_of_one_is_not_counted(self):
        workload = self.start()
        # Both on one CPU.
        workload.evaluate('system("taskset", "-cp", "0", Process.pid.to_s, out: File::NULL)')
        truth, found = self.observe_lines(workload, 'collect("beside", "beside", 60)')
        self.check(truth, found)
        _, most_ns, _, _, _, wall_ns = truth["beside"]
        self.assertGreater(wall_ns, 1.2 * most_ns)

    def test_collections_that_span_windows(self):
        workload = self.start()
        # 2 million live objects: each takes longer than a window.
        workload.evaluate("$kept = Array.new(2_000_000) { Object.new }; 0")
        truth, found = self.observe_lines(workload, 'collect("long", "start", 4)',
                                          arguments=["-i", "20ms"])
        self.check(truth, found)
        self.assertGreater(truth["long"][0], 100_000_000)
        windows = [record for record in records.of_kind(found, "cpu")
                   if record["request_id"] == "long" and record["gc_ns"]]
        self.assertGreater(len(windows), 4)

    def test_of_a_lean_recording(self):
        self.check_one("allocate", 10, arguments=["--lean"])

    def test_it_is_the_requests_whose_allocation_set_it_off(self):
        workload = self.start()
        truth, found = self.observe_lines(workload, *(
            f'collect("{turn}-{way}", "{way}", {times})'
            for turn in range(5) for way, times in (("start", 2), ("none", 1), ("allocate", 2))))
        sums = self.check(truth, found)
        self.assertEqual([0] * 5, [sums[f"{turn}-none"]["gc_ns"] for turn in range(5)])

    def test_threads_and_short_ones_leave_nothing_to_the_next(self):
        workload = self.start()
        truth, found = self.observe_lines(workload, *(
            f'collect_apart(["{turn}-a", "start", 2], ["{turn}-b", "allocate", 2])'
            for turn in range(3)))
        self.check(truth, found)

    def test_a_forked_child(self):
        workload = self.start()
        truth, found = self.observe_lines(workload, "; ".join([
            "GC.start", "reader, writer = IO.pipe",
            'child = fork { writer.puts JSON.generate(collect("child", "allocate", 5)); '
            "writer.close; exit!(true) }",
            "writer.close", "answer = JSON.parse(reader.read)", "Process.wait(child)", "answer"]))
        self.check(truth, found)

    def test_threads_that_share_native_ones(self):
        workload = self.start(environment={"RUBY_MN_THREADS": "1"})
        if workload.evaluate("RUBY_VERSION") < "3.3":
            self.skipTest("before Ruby 3.3 none are shared")
        truth, found = self.observe_lines(
            workload, 'collect_apart(*Array.new(6) { |n| ["r-#{n}", "start", 2] })')
        self.check(truth, found)

    def test_what_is_not_counted_is_absent_and_shown_as_not_measured(self):
        workload = self.start(watch=False)
        recording = self.enter(Recording(self.output, "-p", workload.pid))
        workload.evaluate('Correlator.with(request_id: "r") { GC.start }')
        self.assert_ended_well(recording, recording.stop())
        self.assertEqual([], [record for record in recording.records() if "gc_ns" in record])
        shown = run_correlator("report", "--columns", "cpu,gc", self.output).stdout
        self.assertRegex(shown, r"\n *request_id +cpu +gc\n")
        self.assertRegex(shown, r"\nr +\S+ \S+ +-\n")
        self.assertNotRegex(run_correlator("report", self.output).stdout, r"\bgc\b")

    def test_doctor_says_whether_they_are_timed_and_what_to_do(self):
        workload = self.start(watch=False)
        asked = run_correlator("doctor", "-p", workload.pid).stdout
        self.assertRegex(asked, r"note +GC +collections are not timed: `Correlator.watch_vm!'")
        workload.evaluate("Correlator.watch_vm!")
        self.assertRegex(run_correlator("doctor", "-p", workload.pid).stdout, r"ok +GC +collections are timed")

    def test_they_are_counted_from_when_that_is_asked_for(self):
        workload = self.start(watch=False)
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "100ms"))
        workload.evaluate('Correlator.with(request_id: "before") { GC.start }')
        workload.evaluate("Correlator.watch_vm!")
        workload.evaluate("load File.join(File.dirname($0), 'gc.rb')")
        # Whether counters are kept is asked once a window.
        truth = workload.evaluate('sleep 0.3; collect("found", "none", 1); collect("after", "start", 5)')
        self.assert_ended_well(recording, recording.stop())
        sums = self.check(truth, recording.records())
        self.assertNotIn("gc_ns", sums["before"])

    def test_the_report_shows_them(self):
        truth, sums = self.check_one("start", 5)
        shown = run_correlator("report", self.output).stdout
        self.assertRegex(shown, r"\brequest_id\b.* gc\b")
        answer = json.loads(run_correlator("report", "--format", "json", self.output).stdout)
        rows = {group["key"]: group for group in answer["rows"]}
        self.assertEqual(sums["start"]["gc_ns"], rows["start"]["gc_ns"])
        self.assertEqual(sums["start"]["gc_runs"], rows["start"]["gc_runs"])
        lines = list(csv.DictReader(io.StringIO(
            run_correlator("report", "--format", "csv", self.output).stdout)))
        self.assertEqual([str(sums["start"]["gc_ns"])],
                         [line["gc_ns"] for line in lines if line["request_id"] == "start"])
        story = run_correlator("report", "--request", "start", self.output)
        self.assertEqual(EXIT_OK, story.returncode, story.stderr)
        self.assertRegex(story.stdout, r"\ngc +\S+ \S+ of the cpu .* 5 collections set off\n")


if __name__ == "__main__":
    harness.main()
