# SPDX-License-Identifier: GPL-2.0-only
"""A thread whose books are held when a window ends, as by a program that was preempted there: the
window ends without it, and its time is in a later one, to the nanosecond.

No program can be preempted on demand. What it would leave is made by hand, in the recorder's map:
is_busy of a thread that sleeps, while the recorder is stopped, so that nobody else looks.
"""
import ctypes
import json
import os
import platform
import signal
import struct
import subprocess

import harness
import records
from ends_test import kernel_objects
from harness import Recording, Workload

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, MAP_GET_FD_BY_ID = 1, 2, 14
BPF_EXIST = 2


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(BPF, command, attributes, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def bpftool(*arguments):
    return json.loads(subprocess.run(["bpftool", "-j", *map(str, arguments)], check=True,
                                     capture_output=True).stdout)


class Books:
    """Those of the first thread of a process, in the map of a recording."""

    def __init__(self, recording, pid):
        self.recording = recording
        held = {number for kind, number in kernel_objects(recording.pid) if kind == "map"}
        found, = (one for one in bpftool("map", "show")
                  if one["id"] in held and one.get("name") == "threads")
        self.size = found["bytes_value"]
        types = {one["id"]: one for one in bpftool("btf", "dump", "id", found["btf_id"])["types"]}
        state, = (one for one in types.values() if one.get("name") == "thread_state")
        self.offset, = (member["bits_offset"] // 8 for member in state["members"]
                        if member["name"] == "is_busy")
        self.map = bpf(MAP_GET_FD_BY_ID, struct.pack("=III", found["id"], 0, 0))
        self.pidfd = os.pidfd_open(pid)

    def close(self):
        os.close(self.map)
        os.close(self.pidfd)

    def hold(self, is_busy):
        key = ctypes.create_string_buffer(struct.pack("=i", self.pidfd), 4)
        value = ctypes.create_string_buffer(self.size)
        self.recording.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.recording.pid, os.WSTOPPED)
        where = ctypes.addressof(key), ctypes.addressof(value)
        bpf(MAP_LOOKUP_ELEM, struct.pack("=IIQQQ", self.map, 0, *where, 0))
        struct.pack_into("=I", value, self.offset, is_busy)
        bpf(MAP_UPDATE_ELEM, struct.pack("=IIQQQ", self.map, 0, *where, BPF_EXIST))
        self.recording.process.send_signal(signal.SIGCONT)


class LateTest(harness.LiveTest):
    def balances(self):
        found, _ = records.unpack_entries(self.output.read_bytes())
        return records.of_kind([record for _, record in found], "balance")

    def await_windows(self, count):
        wanted = len(self.balances()) + count
        harness.await_true(lambda: len(self.balances()) >= wanted, "more windows")

    def work(self, workload, name):
        """A request, and its CPU by the thread's own clock."""
        clock = "Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)"
        return workload.evaluate(
            f"Correlator.with(request_id: '{name}') {{ start = {clock}; "
            f"nil while {clock} - start < 30_000_000; {clock} - start }}")

    def check(self, while_held):
        """Requests before and after, and their CPU by the thread's own clock."""
        truth = {}
        with Workload("driven.rb") as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid, "-i", "100ms") as recording:
                truth["before"] = self.work(workload, "before")
                workload.cpu_ns()
                books = Books(recording, workload.pid)
                self.addCleanup(books.close)
                books.hold(1)
                self.await_windows(2)
                while_held(workload)
                workload.cpu_ns()
                self.await_windows(3)
                held = self.balances()[-1]
                books.hold(0)
                self.await_windows(2)
                truth["after"] = self.work(workload, "after")
                growth_ns = workload.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual((1, 0), (held["threads_late"], held["exec_ns"]))
        self.assertEqual(0, self.balances()[-1]["threads_late"])
        sums = records.books(found)
        self.assertEqual((growth_ns, 0), (sums["exec_ns"], sums["residual_ns"]))
        return truth, records.totals_by(found)

    def test_it_goes_over_to_the_next_window_that_finds_it(self):
        truth, totals = self.check(lambda workload: None)
        # The clock is read a little inside of each request.
        for name, cpu_ns in truth.items():
            self.assertLess(abs(totals[name]["cpu_ns"] - cpu_ns), 0.02 * cpu_ns, name)

    def test_what_it_runs_meanwhile_is_charged_when_it_can_be(self):
        self.check(lambda workload: self.work(workload, "held"))

    def test_one_that_is_held_at_the_end(self):
        with Workload("driven.rb") as workload, \
                Recording(self.output, "-p", workload.pid, "-i", "100ms") as recording:
            self.work(workload, "before")
            self.await_windows(2)
            workload.cpu_ns()
            books = Books(recording, workload.pid)
            self.addCleanup(books.close)
            books.hold(1)
            self.await_windows(1)
            self.assert_ended_well(recording, recording.stop())
        self.assertEqual(1, self.balances()[-1]["threads_late"])


if __name__ == "__main__":
    harness.main()
