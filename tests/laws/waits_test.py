# SPDX-License-Identifier: GPL-2.0-only
"""Run queue, blocked, migrations: against the kernel's counts and against known sleeps."""
import os
import pathlib
import re

import law
from law import records

SPINNERS = 4
SPIN_MEBIBYTES = 3000
SLEEPS = 20
SLEEP_MS = 10


def tids(pid):
    return [int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def migrations(tid):
    """Of one thread, by the scheduler; None where the kernel does not tell (CONFIG_SCHED_DEBUG)."""
    try:
        text = pathlib.Path(f"/proc/{tid}/sched").read_text()
    except FileNotFoundError:
        return None
    return int(re.search(r"se\.nr_migrations\s*:\s*(\d+)", text)[1])


class WaitsTest(law.LawTest):
    def setUp(self):
        super().setUp()
        self.target = self.workload("laws.rb")
        self.target.evaluate(f"Laws.threads({SPINNERS})")

    def pin(self, cpus):
        """
        Afterwards each thread runs once: the scheduler counts the time from the change of affinity
        of a sleeping thread to its next run as waiting for a CPU (seen on 6.18: more than wall time).
        """
        for tid in tids(self.target.pid):
            os.sched_setaffinity(tid, cpus)
        self.target.evaluate("Laws.run { nil }")

    def observe(self, code):
        before = law.schedstat(self.target.pid)
        recording = self.record("-p", str(self.target.pid), "-i", "100ms")
        answer = self.target.evaluate(code)
        used = law.growth(before, law.schedstat(self.target.pid))
        found = self.finish(recording)
        self.assert_balanced(found)
        return used, law.by_thread(found, self.target.pid), found, answer

    def spin(self):
        """Threads that read zeros do not hold Ruby's lock: they spin in parallel, in the kernel."""
        return self.observe(f"Laws.run {{ Workload.read_zeros({SPIN_MEBIBYTES}) }}")

    def test_four_spinning_threads_on_one_cpu_wait_for_it(self):
        self.pin({min(os.sched_getaffinity(0))})
        used, threads, found, _ = self.spin()
        waited_ns = 0
        for tid, (cpu_ns, queued_ns, _) in used.items():
            self.assert_close(cpu_ns, threads[tid]["cpu_ns"], "CPU by schedstat")
            self.assert_close(queued_ns, threads[tid]["run_queue_ns"], "run queue by schedstat",
                              slack=law.SWITCH_NS * law.switches(found, tid))
            waited_ns += queued_ns
        # While all four spin, each waits three times as long as it runs.
        self.assertGreater(waited_ns, 2 * sum(one.cpu_ns for one in used.values()))

    def test_a_sleep_is_blocked_time_of_its_request(self):
        _, _, found, used_ns = self.observe(
            f'Array.new({SLEEPS}) {{ |n| Workload.cpu_ns {{ Correlator.with(request_id: "sleep-#{{n}}") '
            f"{{ sleep({SLEEP_MS / 1000}) }} }} }}")
        totals = records.totals_by(found)
        beyond_ns = []
        for number in range(SLEEPS):
            total = totals[f"sleep-{number}"]
            waited_ns = total["blocked_ns"] + total["run_queue_ns"]
            self.assertGreaterEqual(waited_ns, SLEEP_MS * law.MILLISECOND * 0.999)
            self.assertGreaterEqual(total["blocked_ns"], SLEEP_MS * law.MILLISECOND * 0.9)
            beyond_ns.append(total["cpu_ns"] - used_ns[number])
        # A hypervisor that takes the CPU away as a sleep's context ends may tell of it later: of few of them.
        self.assertLessEqual(sorted(beyond_ns)[SLEEPS * 3 // 4], law.SWITCH_NS, beyond_ns)
        self.assertLess(max(beyond_ns), SLEEP_MS * law.MILLISECOND * 0.1)

    def test_a_pinned_run_has_no_migrations(self):
        self.pin({min(os.sched_getaffinity(0))})
        _, _, found, _ = self.spin()
        self.assertEqual(0, sum(record["migrations"] for record in records.of_kind(found, "cpu")))

    def test_migrations_are_those_that_the_scheduler_counts(self):
        """It counts a thread's way to another CPU; we see it when it runs there. So ours are no
        more: a thread that is moved twice while it waits has moved once, or not at all."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")
        if migrations(self.target.pid) is None:
            self.skipTest("this kernel does not count migrations")
        before = {tid: migrations(tid) for tid in tids(self.target.pid)}
        cpus = sorted(os.sched_getaffinity(0))
        recording = self.record("-p", str(self.target.pid), "-i", "100ms")
        for number in range(20):
            self.pin({cpus[number % 2]})
            self.target.evaluate("Laws.run { Workload.read_zeros(20) }")
        law.schedstat(self.target.pid)
        after = {tid: migrations(tid) for tid in tids(self.target.pid)}
        found = self.finish(recording)
        for tid, count in after.items():
            ours = sum(record["migrations"] for record in records.of_kind(found, "cpu")
                       if record["tid"] == tid)
            self.assertLessEqual(ours, count - before[tid])
        # Each of the four and the main thread ran on the other CPU at each turn but the first.
        total = sum(record["migrations"] for record in records.of_kind(found, "cpu"))
        self.assertGreaterEqual(total, 19 * SPINNERS)


if __name__ == "__main__":
    law.main()
