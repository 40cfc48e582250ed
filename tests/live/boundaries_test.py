# SPDX-License-Identifier: GPL-2.0-only
"""What ends a context, a life or an image of a thread ends it in each mode: exec and exit lose nothing, no context
has the last one's name or flags.

The ground truth is the thread's own CPU clock, read inside of its context: that has no less. Tolerance: of a process
that ends nothing of what follows the context may be unknown, but for what a probe and the first look at it take.
"""
import json
import pathlib

import harness
import records

# With and without probes, with and without edges of system calls.
MODES = ((), ("--no-kernel-split",), ("--lean",), ("--lean", "--no-kernel-split"))
KNOWN_NS = 100_000
CONTEXTS = 200
CPU_NS = "Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)"


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class BoundariesTest(harness.LiveTest):
    def start(self, *mode):
        workload = self.enter(harness.Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        recording = self.enter(harness.Recording(self.output, "-k", "request_id", "--force", *mode, "-p", workload.pid))
        # From here on its thread's context is known.
        workload.evaluate('Correlator.with(request_id: "first") { Workload.spin(100_000) }')
        return workload, recording

    def accounts(self, recording):
        found = recording.records()
        self.assertEqual([], records.unbalanced(found))
        self.counted = {name: count for name, count in records.books(found).items() if count and not name.endswith("_ns")}
        return list(records.of_kind(found, "cpu"))

    def spin_and(self, workload, end):
        """How much CPU its last context used, at the least."""
        workload.say(f'Correlator.with(request_id: "last") {{ start = {CPU_NS}; Workload.spin(1_000_000); '
                     f'puts JSON.generate(value: {CPU_NS} - start); {end} }}')
        return json.loads(workload.process.stdout.readline())["value"]

    def assert_has_all(self, accounts, used_ns):
        last = [account for account in accounts if account.get("request_id") == "last"]
        self.assertGreaterEqual(sum(account["cpu_ns"] for account in last), used_ns)
        began_ns = min(account["first_ns"] for account in last)
        unknown = [account for account in accounts
                   if "unknown" in account.get("flags", ()) and account["last_ns"] > began_ns]
        self.assertLess(sum(account["cpu_ns"] for account in unknown), KNOWN_NS, (unknown, self.counted))

    def test_an_exec_belongs_to_the_context_that_it_is_in(self):
        for mode in MODES:
            if mode == ("--no-kernel-split",) and not harness.kernel_traces("sched_prepare_exec"):
                continue
            with self.subTest(mode):
                workload, recording = self.start(*mode)
                used_ns = self.spin_and(workload, 'exec("cat")')
                harness.await_true(lambda: name_of(workload.pid) == "cat", "exec")
                workload.process.stdin.close()
                self.assert_ended_well(recording, recording.wait())
                self.assert_has_all(self.accounts(recording), used_ns)

    def test_so_does_an_exit(self):
        for mode in MODES:
            with self.subTest(mode):
                workload, recording = self.start(*mode)
                used_ns = self.spin_and(workload, "exit!")
                self.assert_ended_well(recording, recording.wait())
                self.assert_has_all(self.accounts(recording), used_ns)

    def test_each_context_with_cpu_has_a_slice(self):
        for mode in MODES:
            with self.subTest(mode):
                workload, recording = self.start(*mode)
                workload.evaluate(f"{CONTEXTS}.times {{ |i| Correlator.with(request_id: i.to_s) {{ "
                                  "3.times { Process.ppid; Workload.spin(10_000) } } }; 0")
                self.assert_ended_well(recording, recording.stop())
                accounts = self.accounts(recording)
                self.assertEqual([], [account for account in accounts
                                      if account.get("request_id", "").isdigit() and not account["slices"]])

    def test_a_table_at_the_address_of_one_that_was_inherited_is_not(self):
        """Ruby gives a table's memory to the next one: the thread that names itself in a context has later ones there."""
        workload, recording = self.start("--lean")
        workload.evaluate('Thread.new { Correlator.with(request_id: "naming") { Thread.current.name = "other"; '
                          f"Workload.spin(100_000) }}; {CONTEXTS}.times {{ |i| Correlator.with(request_id: i.to_s) {{ "
                          "Process.ppid; Workload.spin(10_000); Process.ppid }; GC.start if i % 4 == 0 } }.join; 0")
        self.assert_ended_well(recording, recording.stop())
        flagged = [account["request_id"] for account in self.accounts(recording)
                   if account.get("request_id", "").isdigit() and "inherited" in account.get("flags", ())]
        self.assertEqual([], flagged)


if __name__ == "__main__":
    harness.main()
