# SPDX-License-Identifier: GPL-2.0-only
"""Threads that have slept since before the recording: what they sleep in was never read by them."""
import harness
import records
from harness import Recording, Workload


class SleepersTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.target = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))

    def sleeper(self, code):
        """The tid of a thread that sleeps in the middle of that."""
        return self.target.evaluate("begin; started = Queue.new; Thread.new { "
                                    f"{code.format('(started << 1; sleep)')} }}.then {{ |thread| "
                                    "started.pop; thread.native_thread_id }; end")

    def observe(self, *arguments):
        """{tid: its cpu records}; all threads sleep from before the start to behind the end."""
        harness.parked_cpu_ns(self.target.pid)
        with Recording(self.output, "-p", self.target.pid, "-i", "50ms", *arguments) as recording:
            harness.await_true(lambda: self.output.stat().st_size > 0, "a window to end")
            self.assert_ended_well(recording, recording.stop())
        found = {}
        for record in records.of_kind(recording.records(), "cpu"):
            found.setdefault(record["tid"], []).append(record)
        return found

    def assert_nobodys(self, found, flags):
        self.assertGreater(len(found), 0)
        for record in found:
            self.assertEqual((records.NOBODY, flags), (record["request_id"], record.get("flags")))
        self.assertGreater(sum(record["blocked_ns"] for record in found), 0)

    def test_one_that_is_in_no_context_is_not_unknown(self):
        never = self.sleeper("{}")
        left = self.sleeper('Correlator.with(request_id: "left") {{ 1 }}; {}')
        found = self.observe()
        self.assert_nobodys(found[never], None)
        self.assert_nobodys(found[left], None)
        self.assert_nobodys(found[self.target.pid], None)

    def test_nor_is_it_without_probes(self):
        left = self.sleeper('Correlator.with(request_id: "left") {{ 1 }}; {}')
        self.assert_nobodys(self.observe("--lean")[left], None)

    def test_one_that_sleeps_in_a_context_is(self):
        """Its pointer says that it is in one, and which is not read before it runs."""
        rests = self.sleeper('Correlator.with(request_id: "rests") {{ {} }}')
        self.assert_nobodys(self.observe()[rests], ["unknown"])


if __name__ == "__main__":
    harness.main()
