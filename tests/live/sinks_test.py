# SPDX-License-Identifier: GPL-2.0-only
"""One output that fails: the others get all, and it goes on itself when it can."""
import ctypes
import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios

import harness
import records
from harness import Recording, Workload, run_correlator

sys.path.insert(0, str(harness.SOURCE / "tests" / "unit" / "command"))

from scripted_collector import Collector, take_all  # noqa: E402

CLONE_NEWNS = 0x20000
MOMENTS = ("-i", "20ms")
ROOM_BYTES = 65536


def setUpModule():
    """Mounts of ours are seen by nobody else, and end with us."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def numbers(found):
    return [int(record["record_id"].rpartition(":")[2]) for record in found]


class SinkTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.workload = self.enter(Workload("sequential.rb", 12))

    def record(self, path, *arguments, **options):
        return self.enter(Recording(path, "-p", self.workload.pid, *MOMENTS, *arguments,
                                    **options))

    def received(self, peer):
        return [record for _, record in records.unpack_entries(peer.payload)[0]]

    def assert_gets_on(self, peer, records_more=100):
        """Windows are measured, and sent."""
        wanted = len(self.received(peer)) + records_more
        harness.await_true(lambda: len(self.received(peer)) >= wanted, "more records")


class DiskTest(SinkTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.disk], check=True)
        self.output = self.disk / "out.msgpack"
        self.ballast = self.disk / "ballast"

    def fill(self, room_bytes):
        self.ballast.write_bytes(b"")
        status = os.statvfs(self.disk)
        with open(self.ballast, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_bsize - room_bytes)

    def readable(self):
        """What is in the file now: whole records, whenever one looks."""
        report = run_correlator("report", self.output)
        self.assertEqual(harness.EXIT_OK, report.returncode, report.stderr)
        self.assertNotIn("truncated", report.stderr)
        return [record for _, record in records.read_records(self.output)]

    def metrics(self, path):
        text = path.read_text() if path.exists() else ""
        return {name: int(value) for name, value in
                re.findall(r"^correlator_(output_\w+?)(?:_total)? (\d+)$", text, re.M)}

    def test_full_and_then_not_any_more(self):
        metrics = self.folder / "totals.prom"
        self.fill(ROOM_BYTES)
        with Collector(take_all) as peer:
            recording = self.record(self.output, "--forward", peer.url, "--metrics",
                                    f"file:{metrics}")
            recording.await_message("No space left on device")
            self.assert_gets_on(peer)
            before = self.readable()
            self.assertGreater(self.output.stat().st_size, ROOM_BYTES / 2)
            harness.await_true(lambda: self.metrics(metrics).get("output_waiting_bytes"),
                               "the totals to say it")
            self.assertIsNone(recording.process.poll())
            self.ballast.unlink()
            recording.await_message(f"records are written to {self.output} again")
            self.workload.run()
            self.assert_ended_well(recording, recording.stop())
        found = self.readable()
        self.assertEqual([*range(1, len(found) + 1)], numbers(found))
        self.assertGreater(len(found), len(before))
        self.assertEqual(records.without_checks(self.output.read_bytes()), peer.payload)
        selves = records.of_kind(found, "self")
        self.assertLess(0, max(one["output_waiting_bytes"] for one in selves))
        self.assertLessEqual(1, selves[-1]["output_failures"])
        self.assertEqual(0, selves[-1]["output_dropped_records"])
        self.assertEqual(1, recording.messages.count("cannot write records"))

    def test_full_to_the_end(self):
        self.fill(ROOM_BYTES)
        with Collector(take_all) as peer:
            recording = self.record(self.output, "--forward", peer.url)
            recording.await_message("No space left on device")
            self.assertEqual(harness.EXIT_FAILURE, recording.stop())
        self.assertRegex(recording.messages, r"out.msgpack: \d+ records are missing \(disk full\)")
        found, received = self.readable(), self.received(peer)
        self.assertEqual([*range(1, len(received) + 1)], numbers(received))
        self.assertEqual(numbers(received)[:len(found)], numbers(found))

    def test_full_from_the_start_for_a_short_recording(self):
        self.fill(0)
        with Collector(take_all) as peer:
            recording = self.record(self.output, "--forward", peer.url, "-d", "200ms")
            self.assertEqual(harness.EXIT_FAILURE, recording.wait())
        self.assertEqual(0, self.output.stat().st_size)
        received = self.received(peer)
        self.assertEqual([*range(1, len(received) + 1)], numbers(received))
        self.assertEqual("meta", received[0]["kind"])

    def test_what_was_dropped_is_told_in_the_file(self):
        workload = self.enter(Workload("driven.rb"))
        workload.evaluate(f"require '{harness.FIXTURES / 'flood.rb'}'")
        metrics = self.folder / "totals.prom"
        self.fill(ROOM_BYTES)
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-i", "200ms",
                                         "--metrics", f"file:{metrics}"))

        def has_dropped():
            workload.evaluate("Flood.run(20_000, 2, 1_000_000).size")
            return self.metrics(metrics).get("output_dropped_records")

        harness.await_true(has_dropped, "memory to be full")
        self.ballast.unlink()
        recording.await_message(f"records are written to {self.output} again")
        workload.evaluate("Flood.run(1_000, 2, 1_000_000).size")
        self.assertEqual(harness.EXIT_FAILURE, recording.stop())
        found = [record for _, record in records.read_records(self.output)]
        gaps = records.of_kind(found, "gap")
        self.assertEqual({"disk full"}, {gap["reason"] for gap in gaps})
        missing = max(numbers(found)) - len(found)
        self.assertLess(0, missing)
        self.assertEqual(missing, gaps[-1]["total_dropped_records"])
        self.assertEqual(missing, sum(gap["dropped_records"] for gap in gaps))
        self.assertIn(f"{missing} records are missing", recording.messages)


class PipeTest(SinkTest):
    def narrow_pipe(self):
        ours, theirs = os.pipe()
        self.addCleanup(os.close, ours)
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 4096)
        return ours, theirs

    def test_the_reader_goes_away_and_the_others_get_all(self):
        with Collector(take_all) as peer:
            recording = self.record("-", "--forward", peer.url, stdout=subprocess.PIPE)
            recording.process.stdout.close()
            recording.await_message("warning: the reader of - is gone")
            self.assert_gets_on(peer)
            self.assert_ended_well(recording, recording.stop())
        received = self.received(peer)
        self.assertEqual([*range(1, len(received) + 1)], numbers(received))
        self.assertEqual(1, recording.messages.count("is gone"))

    def test_a_reader_that_does_not_read_keeps_nobody_waiting(self):
        ours, theirs = self.narrow_pipe()
        with Collector(take_all) as peer:
            recording = self.record("-", "--forward", peer.url, stdout=theirs)
            os.close(theirs)
            self.assert_gets_on(peer)
            recording.process.send_signal(signal.SIGTERM)
            self.assertEqual(harness.EXIT_FAILURE, recording.wait(), recording.messages)
        received = self.received(peer)
        self.assertEqual([*range(1, len(received) + 1)], numbers(received))
        self.assertRegex(recording.messages, r"records are missing \(reader too slow\)")

    def test_a_second_signal_does_not_wait_for_it(self):
        _, theirs = self.narrow_pipe()
        recording = self.record("-", "-d", "200ms", stdout=theirs)
        os.close(theirs)
        recording.await_message("waiting for the reader of -")
        recording.process.send_signal(signal.SIGINT)
        recording.process.send_signal(signal.SIGTERM)
        self.assertEqual(harness.EXIT_FAILURE, recording.wait(), recording.messages)

    def test_at_the_end_of_a_duration_the_reader_has_all_the_time(self):
        ours, theirs = self.narrow_pipe()
        recording = self.record("-", "-d", "200ms", stdout=theirs)
        os.close(theirs)
        recording.await_message("waiting for the reader of -")
        with open(os.dup(ours), "rb") as reader:
            entries, _ = records.unpack_entries(reader.read())
        self.assert_ended_well(recording, recording.wait())
        found = [record for _, record in entries]
        self.assertEqual([*range(1, len(found) + 1)], numbers(found))

    def test_a_named_pipe_without_a_reader_is_waited_for_until_a_signal(self):
        os.mkfifo(self.output, 0o600)
        process = self.enter(harness.Process(
            [harness.CORRELATOR, "record", "-o", self.output, "-p", self.workload.pid],
            text=True, stderr=subprocess.PIPE))
        self.assertIn("waiting for a reader", process.process.stderr.readline())
        process.process.send_signal(signal.SIGTERM)
        self.assertEqual(harness.EXIT_INTERRUPTED, process.wait())

    def test_nobody_reads_what_it_says(self):
        _, theirs = self.narrow_pipe()
        os.set_blocking(theirs, False)
        while True:
            try:
                os.write(theirs, b"-" * 4096)
            except BlockingIOError:
                break
        os.set_blocking(theirs, True)
        result = run_correlator("record", "-p", self.workload.pid, *MOMENTS, "-d", "200ms", "-v",
                                "-o", self.output, stderr=theirs)
        os.close(theirs)
        self.assertEqual(harness.EXIT_OK, result.returncode)
        self.assertEqual("meta", next(iter(records.read_records(self.output)))[1]["kind"])


class PipelineTest(SinkTest):
    """`record -o - | ...` at a terminal, of which Ctrl-C interrupts both."""

    def run_until_ctrl_c(self, reader, *arguments):
        """Exit status and standard output of the reader."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        record = f"{harness.CORRELATOR} record -p {self.workload.pid} -i 50ms -o -"
        shell = self.enter(harness.Process(
            ["bash", "-c", f"{record} | {reader}", *arguments], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=take_terminal))
        while "observing" not in shell.process.stderr.readline():
            pass
        self.workload.run()
        os.write(ours, b"\x03")
        output, error = shell.process.communicate(timeout=harness.DEADLINE_SECONDS)
        return shell.process.returncode, output, error

    def test_into_a_report(self):
        code, output, error = self.run_until_ctrl_c(f"{harness.CORRELATOR} report -")
        self.assertEqual(harness.EXIT_OK, code, error)
        self.assertIn("\nbooks      balanced to ", output)
        self.assertIn("request_id", output)

    def test_to_a_collector(self):
        with Collector(take_all) as peer:
            code, _, error = self.run_until_ctrl_c(
                f"{harness.CORRELATOR} forward - --to {peer.url}")
        self.assertEqual(harness.EXIT_OK, code, error)
        received = self.received(peer)
        self.assertEqual([*range(1, len(received) + 1)], numbers(received))
        self.assertTrue(records.of_kind(received, "balance"))


if __name__ == "__main__":
    harness.main()
