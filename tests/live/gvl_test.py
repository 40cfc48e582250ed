# SPDX-License-Identifier: GPL-2.0-only
"""
How long each request waited for the GVL, against what another extension of the process counts with
hooks and a clock of its own. That takes Ruby 3.3. Up to 3.1 the waits are told from outside, by their
futex, against the clocks of fixtures/gvl.rb. tests/matrix has the Rubies.
"""
import csv
import io
import json

import harness
import records
from harness import EXIT_OK, Recording, Workload, run_correlator

TOLERANCE_NS = 100_000
TOLERANCE_PART = 0.02
LIMIT_NS = 5_000_000  # of --stall: shorter waits have no record of their own


def sums_of(found):
    return records.known_sums_by_request(found, "run_queue_ns", "blocked_ns", "gvl_ns", "gvl_waits")


class GvlTest(harness.LiveTest):
    def start(self, watch=True, environment=None):
        workload = self.enter(Workload("driven.rb", environment=environment))
        # gvl_truth's; in a container it is beside the gem.
        workload.evaluate(f'$LOAD_PATH.push("{harness.BUILD}/ruby/test").size')
        version = workload.evaluate("RUBY_VERSION")
        self.tells, self.shows = version >= "3.3", version < "3.2"
        if watch:
            workload.evaluate("Correlator.watch_vm!")
        return workload

    def start_or_skip(self, **options):
        workload = self.start(**options)
        if not self.tells and not self.shows:
            self.skipTest("Ruby 3.2 neither says nor shows for which thread it waits")
        workload.evaluate("load File.join(File.dirname($0), 'gvl.rb')")
        return workload

    def check(self, truth, found):
        sums = sums_of(found)
        for request, ((least_ns, least), (most_ns, most)) in truth.items():
            charged = sums[request]
            slack_ns = max(TOLERANCE_NS, TOLERANCE_PART * least_ns)
            # By the clock a wait is longer by what was stolen from its thread, which is no time off the CPU.
            self.assertGreaterEqual(charged["gvl_ns"], least_ns - slack_ns - records.stolen_ns(found, request),
                                    (request, truth))
            self.assertLessEqual(charged["gvl_ns"], most_ns + slack_ns, (request, truth))
            self.assertLessEqual(charged["gvl_ns"],
                                 charged["run_queue_ns"] + charged["blocked_ns"], request)
            if self.tells:
                self.assertIn(charged["gvl_waits"], range(least, most + 1), (request, truth))
        self.assertEqual(0, records.books(found).get("gvl_implausible", 0))
        return sums

    def check_beside(self, spinners, way, arguments=(), **options):
        workload = self.start_or_skip(**options)
        if self.shows and way not in ("compute", "outside"):
            self.skipTest("before Ruby 3.3 no clock can be read where these waits begin")
        truth, found = self.observe_lines(
            workload,
            *(f'beside({spinners}) {{ [request("{way}-{number}", "{way}", 0.6)] }}'
              for number in range(2)), arguments=arguments)
        return truth, self.check(truth, found)

    def test_waits_of_a_request_that_computes_beside_one_that_spins(self):
        truth, _ = self.check_beside(1, "compute")
        self.assertGreater(truth["compute-0"][0][0], 100_000_000)

    def test_beside_two(self):
        self.check_beside(2, "compute")

    def test_beside_eight(self):
        self.check_beside(8, "compute")

    def test_waits_after_sleeping(self):
        truth, sums = self.check_beside(1, "sleep")
        self.assertGreater(sums["sleep-0"]["blocked_ns"], 100_000_000)

    def test_waits_after_a_call_of_an_extension(self):
        _, sums = self.check_beside(1, "outside")
        self.assertGreater(sums["outside-0"]["gvl_ns"], 100_000_000)

    def test_waits_after_reading_a_pipe(self):
        self.check_beside(2, "pipe")

    def test_waits_that_another_thread_begins(self):
        self.check_beside(2, "queue")

    def test_sleep_and_other_waits_beside_nobody_are_none(self):
        workload = self.start_or_skip()
        truth, found = self.observe_lines(
            workload, *(f'beside(0) {{ [request("{way}", "{way}", 1.0)] }}'
                        for way in ("sleep", "pipe", "queue", "outside")))
        # The clocks of older Rubies tell a sleep in Ruby from such a wait no better.
        sums = self.check(truth, found) if self.tells else sums_of(found)
        self.assertLess(sums["sleep"]["gvl_ns"], 50_000_000)
        for request in truth:
            charged = sums[request]
            self.assertGreater(charged["blocked_ns"], 40_000_000, request)
            # The other end of a pipe or a queue holds the GVL for as long as it takes to write.
            self.assertLess(charged["gvl_ns"], 0.1 * charged["blocked_ns"], request)

    def test_waits_that_span_windows_are_charged_once(self):
        self.check_beside(8, "compute", arguments=["-i", "50ms"])

    def test_waits_of_a_lean_recording(self):
        workload = self.start_or_skip()
        truth, found = self.observe_lines(
            workload, 'beside(2) { [request("lean", "compute", 1.0)] }', arguments=["--lean"])
        charged = sums_of(found)["lean"]
        # Where a context ends is found at the next boundary that reads.
        self.assertAlmostEqual(charged["gvl_ns"], truth["lean"][0][0],
                               delta=max(truth["lean"][1][0] - truth["lean"][0][0],
                                         0.02 * truth["lean"][0][0]) + 1_000_000)

    def test_requests_that_wait_for_each_other(self):
        workload = self.start_or_skip()
        truth, found = self.observe_lines(
            workload, 'beside(0) { Array.new(4) { |n| request("r-#{n}", "compute", 0.8) } }')
        self.check(truth, found)

    def test_short_threads_leave_nothing_to_the_next(self):
        workload = self.start_or_skip()
        way = "sleep" if self.tells else "outside"
        truth, found = self.observe_lines(workload, *(
            f'beside(1) {{ Array.new(8) {{ |n| request("{turn}-#{{n}}", "{way}", 0.1) }} }}'
            for turn in range(3)))
        self.check(truth, found)

    def test_a_long_wait_says_how_much_of_it_was_for_the_gvl(self):
        workload = self.start_or_skip()
        truth, found = self.observe_lines(
            workload, 'beside(2) { [request("compute", "compute", 0.6)] }',
            '{"nap" => [Correlator.with(request_id: "nap") { sleep 0.05 }]}', arguments=["--stall"])
        waits = {request: [stall for stall in records.of_kind(found, "stall") if stall["request_id"] == request]
                 for request in truth}
        for stall in waits["compute"] + waits["nap"]:
            self.assertLessEqual(stall.get("gvl_ns", 0), stall["blocked_ns"] + stall["run_queue_ns"], stall)
        self.assertLess(0, len(waits["nap"]))
        self.assertEqual([], [stall for stall in waits["nap"] if "gvl_ns" in stall])
        in_all = sums_of(found)["compute"]
        of_long = sum(stall.get("gvl_ns", 0) for stall in waits["compute"])
        self.assertLess(100_000_000, of_long)
        self.assertLessEqual(of_long, in_all["gvl_ns"] + TOLERANCE_NS * len(waits["compute"]))
        self.assertGreaterEqual(of_long, in_all["gvl_ns"] - LIMIT_NS * in_all["gvl_waits"])
        shown = run_correlator("report", "--stalls", "--by", "request_id", self.output).stdout
        self.assertRegex(shown, r"request_id .* for the GVL\n")
        self.assertRegex(shown, r"\ncompute +\S+ ms +GVL ")

    def test_a_forked_child(self):
        workload = self.start_or_skip()
        truth, found = self.observe_lines(workload, "; ".join([
            "reader, writer = IO.pipe",
            "child = fork { writer.puts JSON.generate(beside(2) { "
            '[request("child", "compute", 0.6)] }); writer.close; exit!(true) }',
            "writer.close", "answer = JSON.parse(reader.read)", "Process.wait(child)", "answer"]))
        self.check(truth, found)

    def test_threads_that_share_native_ones_are_charged_no_more_than_these_waited(self):
        workload = self.start_or_skip(environment={"RUBY_MN_THREADS": "1"})
        _, found = self.observe_lines(
            workload, 'beside(2) { Array.new(3) { |n| request("r-#{n}", "compute", 0.6) } }')
        for request, charged in sums_of(found).items():
            if "gvl_ns" in charged:
                self.assertLessEqual(charged["gvl_ns"],
                                     charged["run_queue_ns"] + charged["blocked_ns"], request)
        self.assertEqual(0, records.books(found).get("gvl_implausible", 0))

    def test_what_is_not_counted_is_absent_and_shown_as_not_measured(self):
        workload = self.start(watch=False)
        if self.shows:
            self.skipTest("up to Ruby 3.1 they are always counted")
        recording = self.enter(Recording(self.output, "-p", workload.pid))
        workload.evaluate('Correlator.with(request_id: "r") { sleep 0.01 }')
        self.assert_ended_well(recording, recording.stop())
        self.assertEqual([], [record for record in recording.records() if "gvl_ns" in record])
        shown = run_correlator("report", "--columns", "cpu,gvl", self.output).stdout
        self.assertRegex(shown, r"\n *request_id +cpu +gvl\n")
        self.assertRegex(shown, r"\nr +\S+ \S+ +-\n")
        self.assertNotIn("gvl", run_correlator("report", self.output).stdout)

    def test_doctor_says_whether_they_are_counted_and_what_to_do(self):
        workload = self.start(watch=False)
        asked = run_correlator("doctor", "-p", workload.pid).stdout
        if self.tells:
            self.assertRegex(asked, r"note +GVL +waits .* not counted: `Correlator.watch_vm!'")
        elif self.shows:
            self.assertRegex(asked, r"ok +GVL +waits for it are told from outside")
        else:
            self.assertRegex(asked, r"note +GVL +waits .* not counted: Ruby \S+ does not tell")
        workload.evaluate("Correlator.watch_vm!")
        asked = run_correlator("doctor", "-p", workload.pid).stdout
        self.assertEqual(self.tells or self.shows, "ok    GVL" in asked, asked)

    def test_the_report_shows_them(self):
        truth, sums = self.check_beside(1, "compute")
        shown = run_correlator("report", self.output).stdout
        self.assertRegex(shown, r"\brequest_id\b.* gvl\b")
        answer = json.loads(run_correlator("report", "--format", "json", self.output).stdout)
        rows = {group["key"]: group for group in answer["rows"]}
        for request in truth:
            self.assertEqual(sums[request]["gvl_ns"], rows[request]["gvl_ns"])
            self.assertEqual(sums[request]["gvl_waits"], rows[request]["gvl_waits"])
        lines = list(csv.DictReader(io.StringIO(
            run_correlator("report", "--format", "csv", self.output).stdout)))
        self.assertEqual({request: str(sums[request]["gvl_ns"]) for request in truth},
                         {line["request_id"]: line["gvl_ns"] for line in lines
                          if line["request_id"] in truth})
        story = run_correlator("report", "--request", "compute-0", self.output)
        self.assertEqual(EXIT_OK, story.returncode, story.stderr)
        self.assertRegex(story.stdout, r"\ngvl +\S+ \S+ of the two above .* \d+ times\n")


if __name__ == "__main__":
    harness.main()
