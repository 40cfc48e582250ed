# SPDX-License-Identifier: GPL-2.0-only
"""
What must hold on each kernel, run in the guest: checks.py CHECK..., each a class of tests here or of
a module of live/ or laws/ (books_test.BooksTest), or one test of it.
Emulation is slow and uneven, so nothing here depends on how long something takes: IDs, sums and
counts are compared, and of the requests' CPU times the median.
"""
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "live"), str(TESTS / "laws")]

import books_test
import harness
import otel
import records
from files_test import Files
from harness import Recording, Workload, run_correlator

MODES = {"exact": (), "lean": ("--lean",), "without split": ("--no-kernel-split",)}
# Of the median request: an attribution that is wrong is wrong by whole requests.
MEDIAN_PART = 0.05
TRACES = tuple(letter * 32 for letter in "abc")
SPIN_NS = 30_000_000
REQUESTS = 20
DEPLOYS = 5
CHILDREN = 60


class ReleasesTest(Files):
    """Files with probes, which must be let go."""

    def test_containers_over_one_image(self):
        self.check_containers()

    def test_deploys_do_not_add_up(self):
        self.check_deploys(DEPLOYS)


class KernelTest(harness.LiveTest):
    def record(self, *arguments, **options):
        return self.enter(Recording(self.output, *arguments, **options))

    def end(self, recording, code=None):
        self.assert_ended_well(recording, recording.stop() if code is None else code)
        found = recording.records()
        sums = records.books(found)
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"], sums)
        return found

    def check_sum(self, found, growth_ns, pid=None):
        """Against /proc/PID/task/*/schedstat, read while the threads slept: to the nanosecond."""
        sums = records.books(found, pid)
        self.assertEqual(growth_ns, sums["attributed_ns"] + sums["unattributed_ns"], sums)
        self.assertEqual(growth_ns, sum(total["cpu_ns"] for total in
                                        records.totals_by(found, pid=pid).values()))

    def check_ids(self, expected, found, pid=None):
        self.assertEqual(set(expected) - {records.NOBODY},
                         set(records.totals_by(found, pid=pid)) - {records.NOBODY, None})

    def check_answers(self, truth, found):
        totals = records.totals_by(found)
        errors = [abs(totals[name]["cpu_ns"] - cpu_ns) / cpu_ns for name, cpu_ns in truth.items()
                  if name != records.NOBODY]
        self.assertLess(statistics.median(errors), MEDIAN_PART, sorted(errors))

    def check_threads(self, mode):
        with Workload("threads.rb", "4") as workload:
            before_ns = workload.cpu_ns()
            recording = self.record("-p", workload.pid, *MODES[mode])
            truth = workload.run()
            growth_ns = workload.cpu_ns() - before_ns
            found = self.end(recording)
        self.check_ids(truth, found)
        self.check_sum(found, growth_ns)
        self.check_answers(truth, found)

    def test_requests_of_threads(self):
        self.check_threads("exact")

    def test_requests_of_threads_lean(self):
        self.check_threads("lean")

    def test_requests_of_threads_without_split(self):
        self.check_threads("without split")

    def check_calls(self, mode):
        with Workload("bare.rb") as workload:
            workload.evaluate('require "correlator"')
            workload.evaluate('requests("warm-up", 1)')
            recording = self.record("-p", workload.pid, *MODES[mode])
            workload.evaluate(f'fibers("fiber", {REQUESTS}); requests("plain", {REQUESTS})')
            found = self.end(recording)
        for prefix in "fiber", "plain":
            self.assert_calls(found, prefix, REQUESTS)

    def test_system_calls_of_requests_and_fibers(self):
        self.check_calls("exact")

    def test_system_calls_of_requests_and_fibers_lean(self):
        self.check_calls("lean")

    def test_opentelemetry(self):
        with otel.OtelWorkload() as workload:
            workload.do(otel.ROUTE_AND_USER)
            before_ns = harness.parked_cpu_ns(workload.pid)
            recording = self.record("-p", workload.pid, "-k", "otel.trace_id", "-k", "otel.user")
            for user, trace in enumerate(TRACES):
                workload.do(f"swap {trace} - 1=user-{user}", f"spin {SPIN_NS // 1_000_000}")
            growth_ns = harness.parked_cpu_ns(workload.pid) - before_ns
            found = self.end(recording)
        self.check_sum(found, growth_ns)
        got = otel.contexts_of(found, "otel.trace_id", "otel.user")
        self.assertEqual({(trace, f"user-{user}") for user, trace in enumerate(TRACES)},
                         {values for values, cpu_ns in got.items()
                          if any(values) and cpu_ns > SPIN_NS / 2}, got)

    def test_ruby_beside_opentelemetry(self):
        with Workload("threads.rb", "2") as workload:
            recording = self.record("-p", workload.pid, "-k", "request_id", "-k", "otel.trace_id")
            truth = workload.run()
            found = self.end(recording)
        self.check_ids(truth, found)

    def test_a_command(self):
        recording, lines = harness.boot_until_seen(self.record, self.folder)
        found = self.end(recording, recording.wait())
        self.check_ids({json.loads(line)["request_id"] for line in lines[:-1]}, found)
        self.assertEqual(["found", "exec", "load", "exit"],
                         [record["event"] for record in records.of_kind(found, "process")])

    def test_forks(self):
        with Workload("driven.rb", environment={"GROUND_TRUTH": "off"}) as workload:
            workload.evaluate(f'require "{harness.FIXTURES / "laws.rb"}"')
            before_ns = workload.cpu_ns()
            recording = self.record("-p", workload.pid)
            self.assertEqual(4, workload.evaluate("Laws.forks(4, 10)"))
            children = workload.evaluate("Laws.workers(2)")
            workload.evaluate("Laws.work")
            growth_ns = {pid: harness.parked_cpu_ns(pid) for pid in children}
            growth_ns[workload.pid] = workload.cpu_ns() - before_ns
            found = self.end(recording)
            workload.evaluate("Laws.dismiss")
        for pid, used_ns in growth_ns.items():
            self.check_sum(found, used_ns, pid)
        for pid in children:
            self.check_ids({f"worker-{pid}"}, found, pid)
        self.check_ids({*(f"worker-{pid}" for pid in children),
                        *(f"child-{number}" for number in range(4))}, found)

    def test_forks_that_end_side_by_side(self):
        """None reads, on its way out, what another one has at its addresses."""
        with Workload("driven.rb", environment={"GROUND_TRUTH": "off"}) as workload:
            workload.evaluate(f'require "{harness.FIXTURES / "laws.rb"}"')
            recording = self.record("-p", workload.pid, "-i", "10ms")
            self.assertEqual(CHILDREN, workload.evaluate(f"Laws.forks_at_once({CHILDREN}, 5)"))
            found = self.end(recording)
        sums = records.books(found)
        # A probe that meets books that are held, on a preemptible kernel, leaves one to be found.
        self.assertLessEqual(sums["changes_unseen"], sums["boundaries_busy"], sums)
        names = collections.defaultdict(set)
        for record in records.of_kind(found, "cpu"):
            if record.get("request_id"):
                names[record["pid"]].add(record["request_id"])
        self.assertEqual(sorted([f"child-{number}"] for number in range(CHILDREN)),
                         sorted(map(sorted, names.values())))

    def test_all_ruby(self):
        with Workload("threads.rb", "2") as early:
            before_ns = early.cpu_ns()
            recording = self.record("--all-ruby")
            with Workload("sequential.rb", "8") as late:
                recording.await_message(f"found process {late.pid} ")
                truths = {workload.pid: workload.run() for workload in (early, late)}
                growth_ns = early.cpu_ns() - before_ns
                found = self.end(recording)
        self.check_sum(found, growth_ns, early.pid)
        self.check_ids(truths[early.pid], found, early.pid)
        self.assertLessEqual({name for name in truths[late.pid] if name},
                             set(records.totals_by(found, pid=late.pid)))


class DoctorTest(harness.LiveTest):
    def test_doctor_of_a_process(self):
        """Which asks all that is asked without one, too."""
        with Workload("threads.rb", "1") as workload:
            doctor = run_correlator("doctor", "-p", workload.pid)
        self.assertEqual(harness.EXIT_OK, doctor.returncode, doctor.stdout)
        for mode in "exact", "exact with keys otel.", "--lean", "--no-kernel-split":
            self.assertRegex(doctor.stdout, rf"ok +programs +loaded and verified: {mode}\n")
        self.assertRegex(doctor.stdout, "ok +programs +loaded and verified: with --timeline")
        self.assertRegex(doctor.stdout, r"ok +probe site +correlator_state_apply.*emulated")


class LawsTest(books_test.BooksTest):
    """Of the laws what compares sums: emulated, a CPU may stand still between two clocks' readings.
    So each has three chances in one guest, and says when it took another."""

    CHANCES = 3

    def run(self, result=None):
        for _ in range(self.CHANCES - 1):
            trial = unittest.TestResult()
            super().run(trial)
            if trial.wasSuccessful():
                result.startTest(self)
                result.addSuccess(self)
                result.stopTest(self)
                return result
            print("\n".join(text for _, text in trial.failures + trial.errors))
            print(f"guest: again  {self.id().partition('.')[2]}", flush=True)
        return super().run(result)

    def check_wall(self, *_):
        pass


class PreemptibleTest(unittest.TestCase):
    """That what was asked for on the kernel's command line is in force."""

    def test_the_kernel_is_fully_preemptible(self):
        debug = pathlib.Path("/sys/kernel/debug")
        subprocess.run(["mount", "-t", "debugfs", "debug", debug], check=True)
        self.assertIn("(full)", (debug / "sched/preempt").read_text())


class RefusedTest(harness.LiveTest):
    """A kernel that is too old: it lacks task storage."""

    def check(self, result, *says):
        output = result.stdout + result.stderr
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, output)
        for text in says:
            self.assertRegex(output, text)
        self.assertNotRegex(output, "container or|lockdown")

    def test_doctor_names_what_is_missing(self):
        self.check(run_correlator("doctor"),
                   "FAIL +task storage +missing: needs a kernel of 5.15 or newer", "FAIL +programs")

    def test_record_names_what_is_missing(self):
        for mode in MODES.values():
            with Workload("threads.rb", "1") as workload:
                self.check(run_correlator("record", "-p", workload.pid, "-o", self.output, *mode),
                           "lacks task storage: needs a kernel of 5.15 or newer")
            self.assertFalse(self.output.exists())


class Verdicts(unittest.TestResult):
    """Says what came of each check as soon as it has come, for the reader of the console."""

    def startTest(self, test):
        super().startTest(test)
        self.start = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        troubles = [text for failed, text in self.failures + self.errors
                    if test in (failed, getattr(failed, "test_case", None))]
        print("\n".join(troubles))
        print(f"guest: {'FAILED' if troubles else 'ok':6} {test.id().partition('.')[2]} "
              f"({time.monotonic() - self.start:.1f} s)", flush=True)


def main(*names):
    verdicts = Verdicts()
    for name in names:
        module = None if name.partition(".")[0].endswith("_test") else sys.modules["__main__"]
        unittest.defaultTestLoader.loadTestsFromName(name, module).run(verdicts)
    print(f"guest: {verdicts.testsRun} checks, "
          f"{len(verdicts.failures) + len(verdicts.errors)} failed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
