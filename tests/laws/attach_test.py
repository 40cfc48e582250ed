# SPDX-License-Identifier: GPL-2.0-only
"""Recordings that begin and end while their threads switch all the time: at any instant of it.

Each must end well, balance in each window, and charge to nobody more than passed on the wall.
"""
import law
from law import records

RECORDINGS = 5
THREADS = 12
# What a thread runs between two readings of a clock, where a window cuts it.
CUT_NS = 20_000

RESTLESS = f"""
{THREADS}.times {{ |index| Thread.new {{ loop {{
  Correlator.with(request_id: "restless-#{{index}}") {{ 300.times {{ nil }} }};
  sleep(0.0002 * (1 + index % 4)); File.read("/proc/self/comm") }} }} }}
""".replace("\n", " ")


class AttachTest(law.LawTest):
    def test_recordings_begin_while_threads_switch(self):
        target = self.workload("laws.rb")
        target.evaluate(RESTLESS)
        for number in range(RECORDINGS):
            recording = self.record("-p", str(target.pid), "-i", "50ms", "-d", "200ms",
                                    name=f"attach-{number}")
            self.assert_ended_well(recording, recording.wait())
            self.check(recording.records())

    def check(self, found):
        self.assertEqual([], records.unbalanced(found, CUT_NS))
        windows_ns = sum(balance["window_ns"] for balance in records.of_kind(found, "balance"))
        threads = records.totals_by(found, "tid")
        self.assertGreaterEqual(len(threads), THREADS)
        for tid, totals in threads.items():
            self.assertLessEqual(totals["cpu_ns"] + totals["stolen_ns"],
                                 windows_ns * (1 + law.PART), tid)


if __name__ == "__main__":
    law.main()
