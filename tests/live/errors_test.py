# SPDX-License-Identifier: GPL-2.0-only
"""What cannot be recorded is refused with its reason and the exit code for it."""
import os
import shutil
import stat
import subprocess

import harness
from harness import Process, Workload, run_correlator

# Larger than any pid can be: the kernel's PID_MAX_LIMIT is 4194304.
NO_PID = 4194305


class RefusalTest(harness.LiveTest):
    def check(self, code, *arguments, says=(), **options):
        result = run_correlator(*arguments, **options)
        self.assertEqual(code, result.returncode, result.stderr)
        for text in says:
            self.assertIn(text, result.stderr)
        return result

    def test_a_process_that_is_not_there(self):
        self.check(harness.EXIT_NO_TARGET, "record", "-p", NO_PID, "-o", self.output,
                   says=[str(NO_PID)])
        self.assertFalse(self.output.exists())

    def test_a_process_that_is_not_ruby(self):
        with Process(["sleep", "600"]) as sleeper:
            self.check(harness.EXIT_NO_TARGET, "record", "-p", sleeper.pid, "-o", self.output,
                       says=[str(sleeper.pid), "(sleep)", "not Ruby"])
        self.assertFalse(self.output.exists())

    def test_ruby_without_the_gem_and_what_to_add(self):
        with Process(["ruby", "-e", "$stdout.syswrite(\"\\n\"); gets"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE) as ruby:
            ruby.process.stdout.readline()
            self.check(harness.EXIT_NO_TARGET, "record", "-p", ruby.pid, "-o", self.output, "-d",
                       "200ms", says=[str(ruby.pid), "waiting for it to load", "gem `correlator`",
                                      "no context was published"])

    def test_records_for_a_terminal(self):
        controller, terminal = os.openpty()
        self.addCleanup(os.close, controller)
        self.addCleanup(os.close, terminal)
        with Workload("sequential.rb") as workload:
            self.check(harness.EXIT_USAGE, "record", "-p", workload.pid, "-o", "-",
                       says=["terminal", "-o FILE"], stdout=terminal)

    def test_a_user_without_privileges(self):
        # The build folder may be out of that user's reach.
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        os.chmod(binary, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        with Workload("sequential.rb") as workload:
            result = subprocess.run(
                [binary, "record", "-p", str(workload.pid), "-o", self.output],
                user=harness.NOBODY, group=harness.NOBODY, extra_groups=[], text=True,
                capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stderr)
        self.assertIn("CAP_BPF", result.stderr)
        self.assertIn("CAP_PERFMON", result.stderr)
        self.assertFalse(self.output.exists())


class UsageTest(harness.LiveTest):
    def check(self, *arguments, says=()):
        result = run_correlator(*arguments)
        self.assertEqual(harness.EXIT_USAGE, result.returncode, result.stderr)
        self.assertEqual("", result.stdout)
        for text in says:
            self.assertIn(text, result.stderr)

    def test_nothing_to_observe(self):
        self.check("record", says=["-p PID"])

    def test_an_unknown_option(self):
        self.check("record", "--no-such-option")

    def test_an_unknown_command(self):
        self.check("frobnicate", says=["frobnicate"])

    def test_a_pid_that_is_none(self):
        for text in "", "0", "-1", "12x", "99999999999999999999":
            with self.subTest(text):
                self.check("record", f"--pid={text}", says=["not a process ID"])

    def test_a_time_that_is_none(self):
        for option in "--interval", "--duration":
            for text in "", "-1s", "fast", "5 parsecs":
                with self.subTest(option=option, text=text):
                    self.check("record", "-p", os.getpid(), f"{option}={text}", says=[option])

    def test_an_interval_that_is_too_short(self):
        self.check("record", "-p", os.getpid(), "-i", "1ms", says=["of at least 10.00 ms"])

    def test_keys_that_records_cannot_have(self):
        for key in "pid", "cpu_ns", "kind", "message", "timestamp", "host", "a=log", "", "=", "a=":
            with self.subTest(key):
                self.check("record", "-p", os.getpid(), "-k", key, says=["-k"])

    def test_a_reserved_key_is_told_how_to_get_another_name(self):
        self.check("record", "-p", os.getpid(), "-k", "user_ns", says=["-k user_ns=NAME"])

    def test_two_keys_of_one_name_and_more_keys_than_fit(self):
        self.check("record", "-p", os.getpid(), "-k", "a", "-k", "b=a", says=["`a`"])
        keys = [word for number in range(9) for word in ("-k", f"key_{number}")]
        self.check("record", "-p", os.getpid(), *keys, says=["at most 8"])


class OutputTest(harness.LiveTest):
    def test_a_full_disk_is_named(self):
        with Workload("sequential.rb") as workload:
            result = run_correlator("record", "-p", workload.pid, "-o", "/dev/full", "-d", "100ms")
        self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
        self.assertIn("/dev/full", result.stderr)
        self.assertIn("No space left", result.stderr)

    def test_a_folder_that_is_not_there_is_named(self):
        path = self.folder / "missing" / "out.msgpack"
        with Workload("sequential.rb") as workload:
            result = run_correlator("record", "-p", workload.pid, "-o", path)
        self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
        self.assertIn(str(path), result.stderr)

    def test_a_recording_is_for_its_owner_only(self):
        with Workload("sequential.rb") as workload:
            run_correlator("record", "-p", workload.pid, "-o", self.output, "-d", "10ms")
        self.assertEqual(0o600, stat.S_IMODE(self.output.stat().st_mode))

    def test_a_command_that_cannot_be_run_is_named(self):
        result = run_correlator("record", "-o", self.output, "--", "/no/such/command")
        self.assertEqual(127, result.returncode, result.stderr)
        self.assertIn("/no/such/command", result.stderr)


if __name__ == "__main__":
    harness.main()
