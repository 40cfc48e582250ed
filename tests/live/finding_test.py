#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A process is found whatever it looks like, and what is lacking on our side is not told of it."""
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import harness
import records
from harness import (EXIT_FAILURE, EXIT_NO_TARGET, EXIT_OK, EXIT_UNSUPPORTED, Process, Recording, Workload,
                     run_correlator)

GEM = harness.BUILD / "ruby" / "lib" / "correlator" / "correlator.so"
# A child that publishes, of a process that does not.
WORKER = ('there, back = IO.pipe, IO.pipe; $worker = fork { require "correlator"; back[1].puts; there[0].gets; '
          'requests("worker", 5); sleep }; back[0].gets; $writer = there[1]; $worker')
# Ruby in a thread of a process whose leader has exited; Linux's exit(2), which ends one thread.
LEADERLESS = """
require "correlator"
require "fiddle"
$stdout.sync = true
Thread.new do
  sleep 0.001 until File.read("/proc/#{$$}/stat")[/.*\\) (.)/, 1] == "Z"
  puts "ready"
  number = 0
  loop { Correlator.with(request_id: "r-#{number += 1}") { 50_000.times {} }; sleep 0.001 }
end
exit_number = { "x86_64" => 60 }.fetch(RbConfig::CONFIG["host_cpu"], 93)
Fiddle::Function.new(Fiddle.dlopen(nil)["syscall"], [-Fiddle::TYPE_LONG, Fiddle::TYPE_LONG],
                     Fiddle::TYPE_LONG).call(exit_number, 0)
"""


class FindingTest(harness.LiveTest):
    def check(self, code, *arguments, says=(), **options):
        result = run_correlator(*arguments, **options)
        self.assertEqual(code, result.returncode, result.stderr)
        for text in says:
            self.assertIn(text, result.stderr)
        return result

    def record_until(self, *options, is_enough):
        # What an earlier one has written would be enough at once: it stays until there are records of this one.
        self.output.unlink(missing_ok=True)
        with Recording(self.output, "-i", "100ms", *options) as recording:
            harness.await_true(lambda: is_enough(recording.records_so_far()), "requests to be recorded")
            self.assert_ended_well(recording, recording.stop())
        return recording

    def test_a_master_of_which_only_the_workers_publish(self):
        master = self.enter(Workload("bare.rb"))
        worker = master.evaluate(WORKER)
        self.addCleanup(master.evaluate, "Process.kill(:KILL, $worker); Process.wait($worker)")
        with Recording(self.output, "-p", master.pid, "-i", "100ms") as recording:
            master.evaluate("$writer.puts")
            harness.await_true(lambda: len(records.calls_of(recording.records_so_far(), "worker")) == 5, "the requests")
            self.assert_ended_well(recording, recording.stop())
        self.assertNotIn("no context", recording.messages)
        self.assertEqual({worker}, {record["pid"] for record in records.of_kind(recording.records(), "cpu")
                                    if record.get("request_id")})

    def test_a_thread_is_said_to_be_one_and_of_which_process(self):
        workload = self.enter(Workload("bare.rb"))
        workload.evaluate("$thread = Thread.new { sleep }; nil")
        thread = harness.await_true(lambda: [int(task.name) for task in pathlib.Path(
            f"/proc/{workload.pid}/task").iterdir() if int(task.name) != workload.pid], "a thread")[0]
        says = [f"{thread} is no process, but a thread of process {workload.pid}: use -p {workload.pid}"]
        self.check(EXIT_NO_TARGET, "record", "-p", thread, "-o", self.output, says=says)
        self.assertFalse(self.output.exists())

    def test_a_gem_in_shared_memory(self):
        folder = self.enter(tempfile.TemporaryDirectory(dir="/dev/shm")).name
        (pathlib.Path(folder) / "correlator").mkdir()
        shutil.copy(GEM, pathlib.Path(folder) / "correlator")
        workload = self.enter(Workload("bare.rb"))
        workload.evaluate(f'$LOAD_PATH.unshift("{folder}"); require "correlator"')
        with Recording(self.output, "-p", workload.pid) as recording:
            workload.evaluate('requests("shm", 5)')
            self.assert_ended_well(recording, recording.stop())
        self.assert_calls(recording.records(), "shm", 5)
        self.assertEqual(0, records.books(recording.records())["changes_unseen"])

    def test_a_process_whose_leader_has_exited(self):
        program = self.folder / f"finding-{os.getpid()}"
        program.symlink_to(shutil.which("ruby"))
        with Process([program, *harness.RUBY[1:], "-e", LEADERLESS], stdout=subprocess.PIPE, text=True) as leaderless:
            self.assertEqual("ready\n", leaderless.process.stdout.readline())
            for options in ("-p", leaderless.pid), ("--comm", program.name):
                recording = self.record_until(*options, is_enough=lambda found: any(
                    record.get("request_id", "").startswith("r-") for record in records.of_kind(found, "cpu")))
                books = records.books(recording.records())
                self.assertEqual(0, books["residual_ns"])

    def test_proc_without_sys(self):
        """As ProcSubset=pid of a unit has it."""
        workload = self.enter(Workload("bare.rb"))
        workload.evaluate('require "correlator"; Thread.new { loop { requests("r", 5) } }; nil')
        code = 'mount --make-rprivate / && mount -t proc -o subset=pid proc /proc && exec "$@"'
        result = subprocess.run(["unshare", "--mount", "sh", "-ec", code, "sh", harness.CORRELATOR, "record", "-d", "300ms",
                                 "-o", self.output, "-p", str(workload.pid)],
                                text=True, capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(EXIT_OK, result.returncode, result.stderr)
        self.assertTrue(records.calls_of([record for _, record in records.read_records(self.output)], "r"))

    def test_few_open_files_are_as_many_as_may_be_and_too_few_are_told(self):
        workload = self.enter(Workload("bare.rb"))
        workload.evaluate('require "correlator"; requests("r", 5); nil')

        def limit(soft, hard):
            return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

        arguments = ("record", "-p", workload.pid, "-o", self.output, "--force", "--stacks", "--timeline", "-d", "200ms")
        self.check(EXIT_OK, *arguments, preexec_fn=limit(12, 4096))
        # The programs do not fit, and the files of the target.
        for hard in 24, 80:
            result = run_correlator(*arguments, preexec_fn=limit(hard, hard))
            self.assertIn(result.returncode, (EXIT_FAILURE, EXIT_UNSUPPORTED), result.stderr)
            self.assertIn("oo many open files", result.stderr)
            self.assertNotIn("is not Ruby", result.stderr)
        # A command has the limit that we were given.
        result = self.check(EXIT_OK, "record", "-q", "-o", self.output, "--force", "--", *harness.RUBY, "-e",
                            "p Process.getrlimit(:NOFILE)", preexec_fn=limit(50, 4096))
        self.assertEqual("[50, 4096]\n", result.stdout)


if __name__ == "__main__":
    harness.main()
