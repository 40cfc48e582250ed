# SPDX-License-Identifier: GPL-2.0-only
"""kill -9 of the target, and of Correlator, KILLS times each, in the middle of everything.

The instants are spread over attaching, the first windows and full work: the n-th kill comes n/KILLS of
the spread after the start, which is SPREAD times as long as the first window takes to be written; of the
target every other one as long after its first window. That is no synchronisation: each instant must do.
"""
import contextlib
import subprocess
import time

import law
from ends_test import kernel_objects, objects_of_machine
from law import harness, records

KILLS = 30 if harness.IS_LONG else 10
SPREAD = 2.5
# Killed before it was attached, it says that the target is gone, or not Ruby any more.
GONE = (harness.EXIT_OK, harness.EXIT_NO_TARGET)

# What the hypervisor took in the last stint of a thread that is killed has been charged by the clock
# where a context ended before it was told; there is no next stint to take it out of.
STINT_NS = 8 * law.MILLISECOND


class KillsTest(law.LawTest):
    @contextlib.contextmanager
    def start(self, target, path):
        with subprocess.Popen([harness.CORRELATOR, "record", "-i", "10ms", "-o", path, "-p",
                               str(target.pid)], stderr=subprocess.PIPE, text=True) as recorder:
            try:
                yield recorder
            finally:
                recorder.kill()

    def make_commotion(self):
        target = self.workload("laws.rb")
        target.say("Laws.commotion")
        return target

    def entries(self, path):
        """The complete entries of a file that may not be there, have no more than its first check, or end in the
        middle of one."""
        if not path.exists():
            return []
        found = [record for _, record in records.unpack_entries(path.read_bytes())[0]]
        if not found:
            return []
        self.assertEqual("meta", found[0]["kind"])
        report = harness.run_correlator("report", path)
        self.assertIn(report.returncode, (harness.EXIT_OK, harness.EXIT_FAILURE), report.stderr)
        return found

    def await_window(self, path):
        harness.await_true(lambda: records.of_kind(self.entries(path), "balance"), "the first window")

    def spread_seconds(self, target):
        path = self.folder / "timed"
        start = time.monotonic()
        with self.start(target, path) as recorder:
            self.await_window(path)
            took = time.monotonic() - start
            recorder.kill()
        return SPREAD * took

    def test_correlator_is_killed_and_leaves_nothing_behind(self):
        target = self.make_commotion()
        held, recorded = set(), 0
        spread_seconds = self.spread_seconds(target)
        for number in range(KILLS):
            path = self.folder / str(number)
            with self.start(target, path) as recorder:
                time.sleep(spread_seconds * number / KILLS)
                law.halt(recorder)
                held |= kernel_objects(recorder.pid)
                recorder.kill()
            recorded += bool(records.of_kind(self.entries(path), "balance"))
            self.assertIsNone(target.process.poll(), "the target did not survive")
        self.assertTrue(held)
        # The kernel frees them after a grace period.
        harness.await_true(lambda: not held & objects_of_machine(), "the kernel to free them")
        self.assertTrue(0 < recorded < KILLS, f"{recorded} were killed in the middle")
        target.process.kill()

    def test_the_target_is_killed_and_its_books_are_complete(self):
        complete = 0
        spread_seconds = self.spread_seconds(self.make_commotion())
        for number in range(KILLS):
            target = self.make_commotion()
            path = self.folder / str(number)
            with self.start(target, path) as recorder:
                if number % 2:
                    self.await_window(path)
                time.sleep(spread_seconds * number / KILLS)
                target.process.kill()
                target.wait()
                _, messages = recorder.communicate(timeout=harness.DEADLINE_SECONDS)
            self.assertIn(recorder.returncode, GONE, messages)
            self.assertNotIn("cannot", messages if recorder.returncode == 0 else "")
            complete += self.check_books(self.entries(path), target.pid)
        self.assertGreaterEqual(complete, KILLS // 2)

    def check_books(self, found, pid):
        """True if the target was seen to its end: then its sums are whole."""
        if not found:
            return False
        sums = records.books(found)
        charged_ns = sums["attributed_ns"] + sums["unattributed_ns"] + sums["overflow_ns"]
        self.assert_close(sums["exec_ns"], charged_ns, "charged", slack=STINT_NS)
        return any(record["event"] == "exit" and record["pid"] == pid
                   for record in records.of_kind(found, "process"))


if __name__ == "__main__":
    law.main()
