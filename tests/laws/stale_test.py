# SPDX-License-Identifier: GPL-2.0-only
"""Contexts that are not what they seem: a dead thread's, a parent's, freed, forged.

None may be charged to a request as if it were sure: the time is flagged `inherited`, or `unknown`
and nobody's, or the change is counted as one that no probe saw; the sums hold in any case.
"""
import platform

import law
from law import harness, records

BURN_MS = 40
# What must be uncertain: all but what the thread takes to start, publish and end.
BURN_NS = 0.9 * BURN_MS * law.MILLISECOND
VICTIM = "victim"


class StaleTest(law.LawTest):
    def observe(self, code, before="nil"):
        """What the lines answer, before and under the recording; the records, the books."""
        workload = self.workload("forged.rb")
        first = workload.evaluate(before)
        law.schedstat(workload.pid)
        recording = self.record("-p", str(workload.pid))
        answer = workload.evaluate(code) or first
        law.schedstat(workload.pid)
        found = self.finish(recording)
        return answer, found, self.assert_balanced(found)

    def burn(self, address):
        """The cpu records of a thread that had that in its thread-local, unseen; the books."""
        return self.of_thread(*self.observe(f"Forged.burn_behind_probes({address}, {BURN_MS})"))

    def of_thread(self, tid, found, sums):
        mine = [record for record in records.of_kind(found, "cpu") if record["tid"] == tid]
        self.assertGreaterEqual(law.cpu_ns(mine), BURN_NS)
        return mine, sums

    def assert_nobodys(self, mine):
        self.assertEqual([], [record for record in mine if record.get("request_id") == VICTIM])
        unknown = [record for record in mine if "unknown" in record.get("flags", ())]
        self.assertGreaterEqual(law.cpu_ns(unknown), BURN_NS, mine)

    def assert_flagged(self, found, request_id, flag="inherited"):
        charged = [record for record in found if record.get("request_id") == request_id]
        self.assertGreaterEqual(law.cpu_ns(charged), BURN_NS)
        self.assertEqual([], [record for record in charged if flag not in record.get("flags", ())])

    def test_a_context_older_than_the_recording_is_flagged(self):
        """No probe of the thread was seen to set it: it may be anybody's."""
        mine, sums = self.of_thread(*self.observe(
            f"Forged.burn({BURN_MS})", before=f'Forged.hold(Forged.copy_of("{VICTIM}"))'))
        self.assert_flagged(mine, VICTIM)
        self.assertGreater(sums["contexts_inherited"], 0)

    def test_a_pointer_stored_behind_the_probes_is_counted(self):
        _, sums = self.burn(f'Forged.copy_of("{VICTIM}")')
        self.assertGreater(sums["changes_unseen"], 0)

    def test_a_forked_childs_inherited_context_is_flagged(self):
        parent, found, sums = self.observe(
            f'Correlator.with(request_id: "{VICTIM}") {{ Process.wait(fork {{ Forged.rest; '
            f'Workload.spin_ms({BURN_MS}); Forged.rest; exit!(0) }}) }}; $$')
        self.assert_flagged([record for record in records.of_kind(found, "cpu")
                             if record["pid"] != parent], VICTIM)
        self.assertGreater(sums["contexts_inherited"], 0)

    def test_a_pointer_to_freed_memory_is_nobodys_and_counted(self):
        freed = f'Forged.freed("{VICTIM}")'
        for mine, sums in (self.burn(freed),
                           self.of_thread(*self.observe(f"Forged.burn({BURN_MS})",
                                                        before=f"Forged.hold({freed})"))):
            self.assert_nobodys(mine)
            self.assertGreater(sums["states_unreadable"], 0)

    def test_tables_that_break_the_abi_are_nobodys_and_counted(self):
        for name, changes in {"capacity no power of two": "1 => 3", "capacity 0": "1 => 0",
                              "capacity too large": "1 => 1 << 20", "negative": "1 => 2**64 - 1",
                              "size over capacity": "0 => 3"}.items():
            with self.subTest(name):
                mine, sums = self.burn(f'Forged.spoiled("{VICTIM}", {{ {changes} }})')
                self.assert_nobodys(mine)
                self.assertGreater(sums["states_malformed"], 0)

    def test_pointers_that_cannot_be_are_nobodys_and_counted(self):
        for address in "1", "0x10", "2**47 - 8", "2**64 - 4096", "0xffffffff81000000":
            with self.subTest(address):
                mine, sums = self.burn(address)
                self.assert_nobodys(mine)
                self.assertGreater(sums["states_malformed"] + sums["states_unreadable"], 0)

    def test_a_tag_in_a_pointer_is_no_part_of_its_address_on_arm64(self):
        mine, _ = self.burn(f'(Forged.copy_of("{VICTIM}") | 0xb4 << 56)')
        if platform.machine() != "aarch64":
            self.assert_nobodys(mine)
            return
        victims = [record for record in mine if record.get("request_id") == VICTIM]
        self.assertGreaterEqual(law.cpu_ns(victims), BURN_NS, mine)

    def test_a_value_that_points_nowhere_is_no_request_and_counted(self):
        """The pair is in one of two slots: the third or the fifth word is its value."""
        nowhere = "{ 3 => 0xdead0008, 5 => 0xdead0008 }"
        mine, sums = self.burn(f'Forged.spoiled("{VICTIM}", {nowhere})')
        self.assertEqual([], [record for record in mine if record.get("request_id") == VICTIM])
        self.assertGreater(sums["values_unreadable"], 0)


class ReusedThreadTest(law.LawTest):
    """The gem ruby-profiler leaves a dead thread's pointer in the native thread; ours does not."""

    def check(self, environment):
        workload = self.enter(harness.Workload("driven.rb", environment={
            "GROUND_TRUTH": "off", **environment}))
        workload.evaluate(f'require "{harness.FIXTURES / "forged"}"')
        recording = self.record("-p", str(workload.pid))
        first, second = workload.evaluate(f'Forged.reuse("{VICTIM}", {BURN_MS})')
        law.schedstat(workload.pid)
        found = self.finish(recording)
        self.assert_balanced(found)
        if first != second:
            self.skipTest("this Ruby does not use native threads again")
        return [record for record in records.of_kind(found, "cpu") if record["tid"] == second
                and record.get("request_id") == VICTIM and not record.get("flags")]

    def test_our_gem_leaves_nothing_in_a_reused_thread(self):
        self.assertLess(law.cpu_ns(self.check({})), 5 * law.MILLISECOND)

    def test_what_another_gem_leaves_in_a_reused_thread_is_not_charged_silently(self):
        path = harness.BUILD / "ruby" / "test"
        sure = self.check({"RUBYOPT": f"-I{path} -rprofiler_stand_in"})
        self.assertLess(law.cpu_ns(sure), 5 * law.MILLISECOND)


if __name__ == "__main__":
    law.main()
