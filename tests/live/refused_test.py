# SPDX-License-Identifier: GPL-2.0-only
"""A program that the kernel refuses: `record` and `doctor` say which, and what the verifier said."""
import os

import harness
from harness import Workload, run_correlator

VERIFIER = "R0 !read_ok"


class RefusedTest(harness.LiveTest):
    def refused(self, program):
        return {**os.environ, "LD_PRELOAD": str(harness.BUILD / "fixtures/refused_program.so"),
                "REFUSED_PROGRAM": program}

    def record(self, program, *arguments):
        with Workload("sequential.rb") as workload:
            return run_correlator("record", "-p", workload.pid, "-o", self.output, "-d", "10ms",
                                  *arguments, env=self.refused(program))

    def check(self, program, *arguments):
        result = self.record(program, *arguments)
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stderr)
        self.assertIn(f"verifier refuses the program {program} (Permission denied)", result.stderr)
        self.assertIn(VERIFIER, result.stderr)
        self.assertNotRegex(result.stderr, "container|lockdown|allow|CAP_")
        self.assertFalse(self.output.exists())
        return result.stderr.splitlines()

    def test_record_says_which_and_the_verifiers_last_lines(self):
        lines = self.check("on_context_change")
        self.assertEqual(VERIFIER, lines[-1].split("error:   ")[1])
        self.assertLessEqual(len(lines), 6, lines)

    def test_in_verbose_it_says_all_of_it(self):
        few, all_of_it = (self.check("on_sched_switch", *more) for more in ((), ("-v",)))
        # The first of the instructions that are not minded: not among the last lines.
        first = "0: (b7) r6 = 0"
        self.assertFalse([line for line in few if first in line], few)
        self.assertTrue([line for line in all_of_it if first in line], all_of_it)

    def test_a_mode_without_the_program_records(self):
        result = self.record("on_context_change", "--lean")
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)

    def test_doctor_tries_what_record_would_load(self):
        result = run_correlator("doctor", env=self.refused("on_context_change"))
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stdout)
        for mode in "exact", "exact with keys otel.", "--no-kernel-split":
            self.assertRegex(result.stdout, rf"FAIL +programs +the verifier refuses "
                                            rf"on_context_change: {mode}: Permission denied\n")
        self.assertRegex(result.stdout, rf"\n +{VERIFIER}\n")
        self.assertRegex(result.stdout, r"ok +programs +loaded and verified: --lean\n")

    def test_doctor_names_what_of_more_is_refused_and_is_content(self):
        result = run_correlator("doctor", env=self.refused("on_sample"))
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stdout)
        self.assertRegex(result.stdout, "note +programs +the verifier refuses on_sample: with --timeline, "
                                        "--syscalls, --io, --stall and --stacks=off-cpu: Permission denied\n")
        for way in "exact", "--timeline", "--syscalls", "--io", "--stall":
            self.assertRegex(result.stdout, rf"ok +programs +loaded and verified: {way}\n")
        self.assertRegex(result.stdout, "note +programs +the verifier refuses on_sample: "
                                        "--stacks=off-cpu: Permission denied\n")


if __name__ == "__main__":
    harness.main()
