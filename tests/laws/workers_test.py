# SPDX-License-Identifier: GPL-2.0-only
"""The books against all that the process ran, by its own CPU clock, which the kernel keeps over all
tasks of it, living or dead: also over those that it made itself, for io_uring.

They are in no context: whose work one of them does, the kernel does not say, and its thread pointer
is a copy of that of the thread which happened to make it. Tolerance: 0.1 %, and as lifecycle_test a
millisecond for the way to and from sleep.
"""
import pathlib
import time

import law
from law import harness, records

MEBIBYTE = 1 << 20
FILE_BYTES = 4 * MEBIBYTE
READS = 400
SLACK_NS = law.MILLISECOND
# Of the process's CPU: the rest is the interpreter's own, and its threads'.
WORKERS_PART = 0.5


def process_cpu_ns(pid):
    """Of all its tasks: CPUCLOCK_SCHED of a process, include/linux/posix-timers_types.h, v6.18."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class WorkersTest(law.LawTest):
    def setUp(self):
        super().setUp()
        if self.is_disabled():
            self.skipTest("io_uring is disabled here")
        self.file = self.folder / "zeros"
        self.file.write_bytes(bytes(FILE_BYTES))
        self.target = self.enter(harness.Workload("driven.rb", environment={
            "GROUND_TRUTH": "off", "CORRELATOR_FIXTURES": str(harness.BUILD / "fixtures")}))
        self.target.evaluate(f'require "{harness.FIXTURES / "uring.rb"}"')

    @staticmethod
    def is_disabled():
        switch = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
        return switch.exists() and int(switch.read_text()) == 2

    def read(self, way, threads=""):
        """The line that reads, in a request: so many reads go well."""
        count = READS * (int(threads or 1))
        arguments = f'"{self.file}", {READS}{threads and ", " + threads}'
        got = self.target.evaluate(
            f'Correlator.with(request_id: "{way}") {{ Uring.read_{way}({arguments}) }}')
        self.assertEqual(count, got)

    def observe(self, *ways):
        law.schedstat(self.target.pid)
        before_ns = process_cpu_ns(self.target.pid)
        recording = self.record("-p", str(self.target.pid), "-i", "100ms")
        for way in ways:
            self.read(*way)
        law.schedstat(self.target.pid)
        used_ns = process_cpu_ns(self.target.pid) - before_ns
        found = self.finish(recording)
        sums = self.assert_balanced(found)
        self.assert_close(used_ns, sums["exec_ns"], f"all tasks, {law.losses(sums)}",
                          slack=SLACK_NS)
        return used_ns, found

    def assert_nobodys(self, found, name, at_least_ns):
        """What the threads of that name ran is charged, and to no request."""
        mine = [record for record in records.of_kind(found, "cpu")
                if record["thread_name"].startswith(name)]
        self.assertEqual({""}, {record.get("request_id") for record in mine}, name)
        self.assertEqual([], law.with_flag(mine, "unknown"))
        self.assertGreaterEqual(law.cpu_ns(mine), at_least_ns, name)
        self.assertEqual(0, sum(record["user_ns"] for record in mine), name)

    def test_workers_that_come_to_be_while_observed(self):
        used_ns, found = self.observe(["in_workers"])
        self.assert_nobodys(found, "iou-wrk", WORKERS_PART * used_ns)

    def test_workers_that_were_made_in_a_request_before(self):
        self.read("in_workers")
        used_ns, found = self.observe(["in_workers"])
        self.assert_nobodys(found, "iou-wrk", WORKERS_PART * used_ns)

    def test_workers_that_end_with_their_threads(self):
        used_ns, found = self.observe(["and_end", "3"])
        self.assert_nobodys(found, "iou-wrk", WORKERS_PART * used_ns)

    def test_the_thread_that_looks_for_submissions(self):
        used_ns, found = self.observe(["polled"])
        self.assert_nobodys(found, "iou-sqp", WORKERS_PART * used_ns)


if __name__ == "__main__":
    law.main()
