# SPDX-License-Identifier: GPL-2.0-only
"""The books of each of many processes that mostly sleep, in each window by itself.

A switch that the kernel does not report (switches_unseen) is made up from the scheduler's own
figures, and is no excuse: 0.1 % of the exec time of that window.
"""
import json

import law
from law import harness, records

PROCESSES = 200
SECONDS = "3s"
WINDOWS_MIN = 2 * PROCESSES


class ManyTest(law.LawTest):
    def setUp(self):
        super().setUp()
        self.target = self.enter(harness.Workload("idle.rb", str(PROCESSES), environment={
            "GROUND_TRUTH": "off"}))
        self.children = json.loads(self.target.process.stdout.readline())
        self.addCleanup(self.dismiss)

    def dismiss(self):
        self.target.say("end")
        self.target.wait()

    def test_each_window_of_each_process_balances(self):
        recording = self.record("--all-ruby", "-i", "1s", "-d", SECONDS)
        self.assert_ended_well(recording, recording.wait())
        mine = {self.target.pid, *self.children}
        found = [record for record in recording.records() if record["pid"] in mine]
        balances = [record for record in records.of_kind(found, "balance") if record["exec_ns"]]
        self.assertGreaterEqual(len(balances), WINDOWS_MIN)
        self.assertEqual([], records.unbalanced(balances))


if __name__ == "__main__":
    law.main()
