# SPDX-License-Identifier: GPL-2.0-only
"""A Ruby that runs hundreds of short programs a second, on a machine that is busy, observed from the middle of its
life to the middle of it: each window of each process is balanced, whoever's the pid was before.

The tolerance is a microsecond in each window, and over all of them: what no two clocks agree on. In a pid namespace
of its own, so that the same few pids come again and again.
"""
import collections

import law
from law import harness, records

RESIDUAL_NS = 1_000
PIDS = 60
# Half a minute of each, and some seconds, where 200 run a second; or a few seconds of those that matter most.
CHILDREN = 6_000 if harness.IS_LONG else 240
# To end a hang: a busy machine runs 20 a second.
LONG_SECONDS = harness.ENOUGH_SECONDS + CHILDREN / 10
MODES = {mode: CHILDREN for mode in ((), ("--lean",), ("--no-kernel-split",), ("--lean", "--no-kernel-split"))}
if harness.IS_LONG:
    MODES |= {(mode,): 1_000 for mode in ("--timeline", "--syscalls", "--stacks", "--no-children")}

# At most three hundred a second, each in a request of its own.
SHELLS = ("$stop = false; $children = 0; $due = Process.clock_gettime(Process::CLOCK_MONOTONIC); "
          "$shells = Thread.new { until $stop do "
          'Correlator.with(request_id: "shell-#{$children % 50}") { system("true") }; '
          f"File.write('/proc/sys/kernel/ns_last_pid', FIRST.to_s) if ($children += 1) % {PIDS} == 0; "
          "$due += 1 / 300r; now = Process.clock_gettime(Process::CLOCK_MONOTONIC); "
          "$due > now ? sleep($due - now) : $due = now end }; 0")


class ShellsTest(law.LawTest):
    def observe(self, mode, children):
        recording = self.record("-p", str(self.target.pid), "-i", "250ms", *mode, name="".join(("shells", *mode)))
        begun = self.target.evaluate("$children")
        harness.await_true(lambda: self.target.evaluate("$children") - begun > children, "so many children",
                           LONG_SECONDS, harness.ENOUGH_POLL_SECONDS)
        return self.finish(recording)

    def assert_balanced_to_the_microsecond(self, found):
        residuals = collections.Counter()
        for balance in records.of_kind(found, "balance"):
            self.assertLessEqual(abs(balance["residual_ns"]), RESIDUAL_NS, balance)
            residuals[balance["pid"]] += balance["residual_ns"]
        self.assertEqual({}, {pid: ns for pid, ns in residuals.items() if abs(ns) > RESIDUAL_NS})

    def test_each_window_is_balanced(self):
        self.enter(law.Load())
        self.target = self.workload()
        self.target.evaluate(f"FIRST = {self.target.pid} + 1000; {SHELLS}")
        for mode, children in MODES.items():
            with self.subTest(mode):
                found = self.observe(mode, children)
                self.assert_balanced_to_the_microsecond(found)
                self.assertEqual([], [record for record in records.of_kind(found, "cpu")
                                      if record.get("syscalls") and not record["cpu_ns"]])
                lives = collections.Counter(record["pid"] for record in records.of_kind(found, "process")
                                            if record["event"] == "fork")
                self.assertGreater(max(lives.values()), children / PIDS / 4, "a pid comes again")
        self.target.evaluate("$stop = true; $shells.join; 0")


if __name__ == "__main__":
    harness.own_pids()
    law.main()
