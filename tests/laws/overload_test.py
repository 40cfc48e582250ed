# SPDX-License-Identifier: GPL-2.0-only
"""More than there is room for: the sums stay exact, what has no name is in `overflow`, counters say
so, and nothing grows.

Sums are compared within 0.1 % with the growth of /proc/PID/task/*/schedstat, read while the target
sleeps. LAW_SECONDS=60 makes the floods last a minute instead of five seconds.

Memory: Correlator's own is bounded by what it keeps of contexts and accounts, that is by the maps'
sizes: RSS_BOUND_BYTES is for the default ones. Kernel memory is bounded by the maps, which never
grow past the sizes they are created with; `self` records say how full they are.
"""
import os
import signal

import law
from law import harness, records

SECONDS = float(os.environ.get("LAW_SECONDS", "5"))
SMALL = ("--contexts", "16", "--accounts", "16")
# Contexts are kept for three windows: 3 * (16384 contexts + 32768 accounts) of at most 1 KiB.
RSS_BOUND_BYTES = 160 << 20
ENTRY_BYTES = 1 << 10
# The later half of a flood may use as much more than the first: the allocator's rounding. And what
# it keeps more: on a busy machine windows differ in how much the target got done.
RSS_GROWTH_BYTES = 8 << 20


class OverloadTest(law.LawTest):
    def setUp(self):
        super().setUp()
        self.target = self.workload("laws.rb")

    def observe(self, code, *arguments):
        """What a line of Ruby answers under a recording; its books against schedstat."""
        before = law.schedstat(self.target.pid)
        recording = self.record("-p", str(self.target.pid), *arguments)
        answer = self.target.evaluate(code)
        law.await_ended_threads(self.target.pid, len(before))
        used = law.growth(before, law.schedstat(self.target.pid))
        return answer, used, self.finish(recording)

    def check(self, used, found):
        sums = self.assert_balanced(found, self.target.pid)
        self.assert_close(sum(one.cpu_ns for one in used.values()), sums["exec_ns"],
                          f"exec by schedstat, {law.losses(sums)}")
        self.assert_split(found)
        self.check_memory(found)
        return sums

    def check_memory(self, found):
        own = [record["own_rss_bytes"] for record in records.of_kind(found, "self")]
        kept = [record["contexts"] + record["accounts"] for record in records.of_kind(found, "self")]
        self.assertLess(max(own), RSS_BOUND_BYTES)
        if len(own) > 6:
            half = len(own) // 2
            more = max(0, max(kept[half:]) - max(kept[:half]))
            self.assertLess(max(own[half:]) - max(own[:half]),
                            RSS_GROWTH_BYTES + more * ENTRY_BYTES, list(zip(own, kept)))
        for record in records.of_kind(found, "self"):
            self.assertLessEqual(record["accounts"], record["accounts_max"])

    def assert_overflowed(self, sums, found):
        """Also in the records: overflow has no request, so nobody is charged for another."""
        self.assertGreater(sums["overflow_ns"], 0)
        self.assertGreater(sums["contexts_full"] + sums["accounts_full"], 0, sums)
        overflow = law.with_flag(found, "overflow")
        self.assertEqual(sums["overflow_ns"], sum(record["cpu_ns"] for record in overflow))
        self.assertEqual([], [record for record in overflow if "request_id" in record])

    def test_ten_thousand_contexts_in_maps_of_sixteen(self):
        _, used, found = self.observe('10_000.times { |n| Correlator.with(request_id: "r#{n}") '
                                      '{ Laws.spin_a_little } }', *SMALL, "-i", "100ms")
        self.assert_overflowed(self.check(used, found), found)
        named = {record["request_id"] for record in records.of_kind(found, "cpu")
                 if record.get("request_id")}
        self.assertTrue(0 < len(named) < 10_000)

    def test_a_hundred_thousand_fiber_switches_a_second(self):
        switches, used, found = self.observe(f"Laws.fiber_switches({SECONDS}, 200)")
        sums = self.check(used, found)
        print(f"{switches / SECONDS:.0f} fiber switches a second", flush=True)
        self.assertEqual(0, sums["overflow_ns"])
        names = {record.get("request_id") for record in records.of_kind(found, "cpu")}
        self.assertLessEqual({f"fiber-{number}" for number in range(200)}, names)
        # Each of the two switches of a turn ends a slice: one in the fiber, one outside. So does each time that its
        # thread leaves the CPU, as the kernel counts: a thousand times a second on a busy machine.
        slices = sum(record["slices"] for record in records.of_kind(found, "cpu"))
        self.assert_close(switches, slices, "slices", part=0.01, slack=sum(one.stints for one in used.values()))

    def test_five_thousand_threads(self):
        """Against the cgroup: CLOCK_PROCESS_CPUTIME_ID lacks the end of a thread's exit."""
        cgroup = self.enter(law.Cgroup())
        self.addCleanup(self.target.__exit__)
        cgroup.add(self.target.pid)
        before_ns = cgroup.usage_ns()
        count, _, found = self.observe("Laws.crowd(5000)")
        self.assertEqual(5000, count)
        sums = self.assert_balanced(found, self.target.pid)
        self.assert_close(cgroup.usage_ns() - before_ns, sums["exec_ns"], "the cgroup",
                          slack=law.MILLISECOND)
        self.check_memory(found)
        names = {record.get("request_id") for record in records.of_kind(found, "cpu")}
        self.assertLessEqual({f"crowd-{number}" for number in range(5000)}, names)

    def test_twenty_thousand_new_request_ids_a_second(self):
        number, used, found = self.observe(f"Laws.requests({SECONDS}, 20_000)", "-i", "500ms")
        sums = self.check(used, found)
        print(f"{number / SECONDS:.0f} new request ids a second, overflow "
              f"{100 * sums['overflow_ns'] / sums['exec_ns']:.1f} %", flush=True)
        if sums["overflow_ns"]:
            self.assert_overflowed(sums, found)

    def test_userspace_stopped_for_five_seconds(self):
        before = law.schedstat(self.target.pid)
        recording = self.record("-p", str(self.target.pid), "-i", "200ms")
        law.halt(recording.process)
        self.target.evaluate("Laws.requests(5)")
        used = law.growth(before, law.schedstat(self.target.pid))
        recording.process.send_signal(signal.SIGCONT)
        found = self.finish(recording)
        sums = self.check(used, found)
        self.assert_overflowed(sums, found)


class ForkFloodTest(law.LawTest):
    def test_a_ring_of_one_page_under_many_forks(self):
        """Events get lost, CPU does not: children are known by their accounts."""
        target = self.workload("laws.rb")
        cgroup = self.enter(law.Cgroup())
        self.addCleanup(target.__exit__)
        recording = self.record("-p", str(target.pid), "--ring", "4096", "-i", "1s")
        cgroup.add(target.pid)
        law.halt(recording.process)
        self.assertEqual(300, target.evaluate("Laws.forks(300)"))
        recording.process.send_signal(signal.SIGCONT)
        law.schedstat(target.pid)
        used_ns = cgroup.usage_ns()
        found = self.finish(recording)
        sums = self.assert_balanced(found)
        self.assertGreater(sums["events_lost"], 0)
        self.assert_close(used_ns, sums["exec_ns"], "the cgroup", slack=law.MILLISECOND)
        children = {record["pid"] for record in records.of_kind(found, "cpu")} - {target.pid}
        self.assertEqual(300, len(children))


if __name__ == "__main__":
    law.main()
