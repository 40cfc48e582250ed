# SPDX-License-Identifier: GPL-2.0-only
"""How recordings end, and what they leave: complete files, right sums, nothing in the kernel."""
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import time

import harness
import records
from harness import Recording, Workload, run_correlator

# One window: what was not written at the end would be missing altogether.
ONE_WINDOW = ("-i", "600s")


def kernel_objects(pid):
    """{("prog"|"link"|"map", id)} that a process holds open."""
    held = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        # A recording opens and closes files all the time.
        with contextlib.suppress(FileNotFoundError):
            held.update(re.findall(r"^(prog|link|map)_id:\s*(\d+)$", descriptor.read_text(),
                                   re.M))
    return {(kind, int(number)) for kind, number in held}


def objects_of_machine():
    return {(kind, found["id"]) for kind in ("prog", "link", "map")
            for found in json.loads(subprocess.run(["bpftool", "-j", kind, "show"], check=True,
                                                   capture_output=True).stdout)}


def awaited_events(records_, pid, event):
    return [record for record in records.of_kind(records_, "process")
            if record["pid"] == pid and record["event"] == event]


class MessagesTest(harness.LiveTest):
    """What it says of itself, and of whom it observes."""

    def messages(self, *options):
        workloads = [self.enter(Workload("sequential.rb")) for _ in range(2)]
        self.pids = sorted(workload.pid for workload in workloads)
        result = run_correlator("record", *(word for pid in self.pids for word in ("-p", pid)),
                                "-d", "50ms", "-o", self.output, "--force", *options)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        return result.stderr

    def test_whom_it_observes_by_name(self):
        said = self.messages()
        self.assertIn(f"observing 2 processes: {self.pids[0]} (ruby), {self.pids[1]} (ruby), "
                      "writing to ", said)
        self.assertEqual(2, said.count("\n"), said)

    def test_what_a_library_says_is_for_who_asks_twice(self):
        more = self.messages("-v")
        self.assertIn("debug: a system call's way", more)
        self.assertNotIn("libbpf", more)
        self.assertLess(more.count("\n"), 30)
        self.assertRegex(self.messages("-vv"), "trace: libbpf: ")


class OrderlyEndTest(harness.LiveTest):
    def check_signal(self, number):
        with Workload("sequential.rb", 12) as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid, *ONE_WINDOW) as recording:
                truth = workload.run()
                growth_ns = workload.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop(number))
        found = recording.records()
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        self.assertEqual(growth_ns, records.books(found)["exec_ns"])

    def test_sigint_writes_the_last_window(self):
        self.check_signal(signal.SIGINT)

    def test_sigterm_writes_the_last_window(self):
        self.check_signal(signal.SIGTERM)

    def test_sighup_writes_the_last_window(self):
        self.check_signal(signal.SIGHUP)

    def test_a_duration_ends_it_without_a_signal(self):
        with Workload("sequential.rb") as workload, \
                Recording(self.output, "-p", workload.pid, "-d", "1s") as recording:
            start = time.monotonic()
            self.assert_ended_well(recording, recording.wait())
            self.assertGreater(time.monotonic() - start, 0.9)
        self.assertEqual("meta", recording.records()[0]["kind"])

    def test_the_target_ends_and_so_does_the_recording(self):
        with Workload("sequential.rb", 12) as workload, \
                Recording(self.output, "-p", workload.pid, *ONE_WINDOW) as recording:
            truth = workload.run()
            workload.say("end")
            self.assertEqual(0, workload.wait())
            self.assert_ended_well(recording, recording.wait())
            self.assertIn("the target has ended", recording.messages)
        found = recording.records()
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        self.assertEqual(1, len(awaited_events(found, workload.pid, "exit")))

    def test_the_target_is_killed_in_the_middle(self):
        with Workload("split.rb", 1000) as workload, \
                Recording(self.output, "-p", workload.pid, "-i", "50ms") as recording:
            workload.say("go")
            harness.await_true(lambda: self.output.stat().st_size > 4096, "some windows")
            workload.process.kill()
            workload.wait()
            self.assert_ended_well(recording, recording.wait())
        found = recording.records()
        self.assertEqual(1, len(awaited_events(found, workload.pid, "exit")))
        self.assertEqual("exit", found[-1].get("event"))
        sums = records.books(found)
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"])

    def test_interrupted_before_anything_was_written_it_says_so_by_130(self):
        with Workload("sequential.rb") as workload:
            process = subprocess.Popen([harness.CORRELATOR, "record", "-p", str(workload.pid),
                                        "-o", "-"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            with process:
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=harness.DEADLINE_SECONDS)
        # Before it catches signals, the signal itself ends it: a shell calls that 130, too.
        self.assertIn(process.returncode, (harness.EXIT_INTERRUPTED, -signal.SIGINT))
        self.assertEqual([], records.unpack_entries(out)[0])


class ReaderTest(harness.LiveTest):
    def test_a_pipe_carries_the_same_records_as_a_file(self):
        with Workload("sequential.rb", 12) as workload:
            with Recording("-", "-p", workload.pid, stdout=subprocess.PIPE) as recording:
                pipe = recording.process.stdout.buffer
                truth = workload.run()
                recording.process.send_signal(signal.SIGINT)
                entries, _ = records.unpack_entries(pipe.read())
                self.assert_ended_well(recording, recording.wait())
        found = [record for _, record in entries]
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))

    def test_the_reader_of_the_pipe_goes_away_and_it_ends_quietly(self):
        with Workload("split.rb", 1000) as workload, \
                Recording("-", "-p", workload.pid, "-i", "20ms",
                          stdout=subprocess.PIPE) as recording:
            workload.say("go")
            self.assertEqual(100, len(recording.process.stdout.buffer.read(100)))
            recording.process.stdout.close()
            self.assertEqual(harness.EXIT_OK, recording.wait())
            self.assertEqual([], [line for line in recording.lines if re.search(
                "pipe|cannot|error", line, re.I)])


class KilledTest(harness.LiveTest):
    def test_correlator_is_killed_and_nothing_of_it_is_left(self):
        with Workload("split.rb", 1000) as workload, \
                Recording(self.output, "-p", workload.pid, "-i", "20ms") as recording:
            workload.say("go")
            harness.await_true(lambda: self.output.stat().st_size > 4096, "some windows")
            held = kernel_objects(recording.pid)
            self.assertEqual({"prog", "link", "map"}, {kind for kind, _ in held})
            self.assertLessEqual({(kind, number) for kind, number in held}, objects_of_machine())
            recording.process.kill()
            recording.wait()
            # The kernel frees them after a grace period.
            harness.await_true(lambda: not held & objects_of_machine(), "the kernel to free them")
            self.assertIsNone(workload.process.poll())
        entries, _ = records.unpack_entries(self.output.read_bytes())
        self.assertEqual("meta", entries[0][1]["kind"])
        self.assertTrue(records.of_kind([record for _, record in entries], "balance"))
        report = run_correlator("report", self.output)
        self.assertIn(report.returncode, (harness.EXIT_OK, harness.EXIT_FAILURE), report.stderr)

    def test_correlator_is_killed_and_the_next_recording_is_right(self):
        with Workload("sequential.rb", 12) as workload:
            with Recording(self.output, "-p", workload.pid) as recording:
                recording.process.kill()
                recording.wait()
            with Recording(self.output, "--force", "-p", workload.pid) as recording:
                truth = workload.run()
                self.assert_ended_well(recording, recording.stop())
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(recording.records())))


if __name__ == "__main__":
    harness.main()
