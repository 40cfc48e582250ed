# SPDX-License-Identifier: GPL-2.0-only
"""What doctor says of processes, and its exit codes."""
import os
import shutil
import subprocess

import harness
from harness import Process, Workload, run_correlator


class DoctorTest(harness.LiveTest):
    def check(self, code, *arguments, says=(), **options):
        result = run_correlator("doctor", *arguments, **options)
        output = result.stdout + result.stderr
        self.assertEqual(code, result.returncode, output)
        for pattern in says:
            self.assertRegex(output, pattern)
        return output

    def test_this_machine_has_all_that_is_needed(self):
        output = self.check(harness.EXIT_OK, says=[
            r"ok +kernel +" + os.uname().release, r"ok +BTF", r"ok +CAP_BPF", r"ok +sched_switch",
            r"ok +run-queue time", r"ok +atomic operations", r"ok +programs +loaded and verified",
            r"ok +--timeline +adds ", r"ok +--stacks=off-cpu +adds "])
        self.assertNotIn("FAIL", output)

    def test_a_process_with_the_gem_has_all_that_is_needed(self):
        with Workload("sequential.rb") as workload:
            output = self.check(harness.EXIT_OK, "-p", workload.pid, says=[
                rf"Process {workload.pid} \(ruby", r"ok +Ruby +\d+\.\d+\.\d+", r"ok +symbol table",
                r"ok +frames +of \d+ bytes; .* agree on \d+ figures",
                r"ok +thread-local +ruby_profiler_state in .*correlator\.so", r"ok +TLS model.*as the loader's own list has it",
                r"ok +probe site +correlator_state_apply.*emulated", r"ok +key +request_id = ID",
                r"ok +key +endpoint = ID", r"ok +key +trace_id = ID"])
        self.assertNotIn("FAIL", output)

    def test_keys_that_are_asked_for_are_looked_up(self):
        with Workload("sequential.rb") as workload:
            output = self.check(harness.EXIT_OK, "-p", workload.pid, "-k", "endpoint", "-k",
                                "never_heard_of", says=[r"ok +key +endpoint = ID",
                                                        r"note +key +never_heard_of is not"])
        self.assertNotIn("trace_id", output)

    def test_a_process_that_is_not_ruby(self):
        with Process(["sleep", "600"]) as sleeper:
            self.check(harness.EXIT_NO_TARGET, "-p", sleeper.pid, says=[r"FAIL +Ruby.*not a Ruby"])

    def test_ruby_without_the_gem_and_what_to_add(self):
        with Process(["ruby", "-e", "$stdout.syswrite(\"\\n\"); gets"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE) as ruby:
            ruby.process.stdout.readline()
            self.check(harness.EXIT_NO_TARGET, "-p", ruby.pid, says=[
                r"ok +Ruby", r"FAIL +thread-local.*gem `correlator`"])

    def test_a_process_that_is_not_there(self):
        self.check(harness.EXIT_NO_TARGET, "-p", 4194305, says=["no process 4194305"])

    def test_a_user_without_privileges_is_told_what_to_grant(self):
        # The build folder may be out of that user's reach.
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        os.chmod(binary, 0o755)
        result = subprocess.run([binary, "doctor"], user=harness.NOBODY, group=harness.NOBODY,
                                extra_groups=[], text=True, capture_output=True,
                                timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stdout)
        self.assertRegex(result.stdout, r"FAIL +CAP_BPF.*setcap")

    def test_bad_arguments(self):
        for arguments in ("--no-such-option",), ("-p", "x"), ("-k", "pid"):
            with self.subTest(arguments):
                self.check(harness.EXIT_USAGE, *arguments)


if __name__ == "__main__":
    harness.main()
