# SPDX-License-Identifier: GPL-2.0-only
"""Threads and processes that come and go, against the CPU time of the cgroup that they run in.

That is exact for all that ever ran there, living or dead, while the living sleep. A millisecond is
granted: moving a process into the group, and the target's way to sleep after its last answer.
"""
import law
from law import harness, records

SLACK_NS = law.MILLISECOND
ENDINGS = 20
# What a thread runs between two readings of a clock at its end.
ENDING_NS = 20_000


class LifecycleTest(law.LawTest):
    def setUp(self):
        super().setUp()
        self.cgroup = self.enter(law.Cgroup())
        self.target = self.workload("laws.rb")
        self.cgroup.add(self.target.pid)

    def observe(self, *codes, options=()):
        """The records of a run of some lines; their sum is the cgroup's."""
        before = self.await_sleep()
        before_ns = self.cgroup.usage_ns()
        recording = self.record("-p", str(self.target.pid), "-i", "200ms", *options)
        for code in codes:
            self.target.evaluate(code)
        law.await_ended_threads(self.target.pid, len(before))
        self.await_sleep()
        used_ns = self.cgroup.usage_ns() - before_ns
        found = self.finish(recording)
        sums = self.assert_balanced(found)
        self.assert_close(used_ns, sums["exec_ns"], f"the cgroup, {law.losses(sums)}",
                          slack=SLACK_NS)
        self.assertEqual(0, sums["overflow_ns"])
        return found

    def await_sleep(self):
        """The target's threads, when they and its children's all sleep."""
        for pid in self.children():
            law.schedstat(pid)
        return law.schedstat(self.target.pid)

    def children(self):
        with open(f"/proc/{self.target.pid}/task/{self.target.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def events(self, found):
        """{pid: [event]} of all but the target."""
        events = {}
        for record in records.of_kind(found, "process"):
            if record["pid"] != self.target.pid:
                events.setdefault(record["pid"], []).append(record["event"])
        return events

    def assert_requests(self, names, found, at_least_ns):
        totals = records.totals_by(found)
        for name in names:
            self.assertGreaterEqual(totals[name]["cpu_ns"], at_least_ns, name)

    def test_threads_that_start_and_end(self):
        found = self.observe("5.times.sum { Laws.crowd(100) }")
        self.assert_requests([f"crowd-{number}" for number in range(100)], found, 1)

    def test_workers_forked_before_and_after_attaching(self):
        before = self.target.evaluate("Laws.workers(2)")
        found = self.observe("Laws.work", "Laws.workers(2)", "Laws.work", "Laws.dismiss")
        events = self.events(found)
        self.assertEqual(4, len(events))
        for pid, seen in events.items():
            self.assertEqual(["found" if pid in before else "fork", "exit"], seen)
            turns = 2 if pid in before else 1
            self.assert_requests([f"worker-{pid}"], found, turns * 20 * law.MILLISECOND)
            totals = records.totals_by(found, pid=pid)
            self.assertEqual({"", f"worker-{pid}"}, set(totals))

    def test_workers_that_live_on(self):
        self.target.evaluate("Laws.workers(1)")
        found = self.observe("Laws.work", "Laws.workers(1)", "Laws.work")
        self.assertEqual([["fork"], ["found"]], sorted(self.events(found).values()))
        self.target.evaluate("Laws.dismiss")

    def test_children_forked_in_requests(self):
        found = self.observe('Correlator.with(request_id: "parent") { Laws.forks(20, 5) }')
        self.assertEqual([["fork", "exit"]] * 20, list(self.events(found).values()))
        self.assert_requests([f"child-{number}" for number in range(20)], found,
                             5 * law.MILLISECOND)

    def test_a_recording_that_ends_while_processes_end_is_balanced(self):
        """Each recording stops as a child is somewhere between its request and its last switch."""
        for number in range(ENDINGS):
            recording = self.record("-p", str(self.target.pid), name=f"ending-{number}")
            self.target.say("Laws.forks(60, 3)")
            harness.await_true(self.children, "a child")
            found = self.finish(recording)
            self.target.process.stdout.readline()
            self.assertEqual([], records.unbalanced(found, ENDING_NS))

    def test_the_first_stretch_of_a_new_task_is_user_time(self):
        """It comes out of the kernel, and on arm64 no tracepoint says so."""
        found = self.observe("Laws.fork_bare(3_000_000)")
        (pid, _), = self.events(found).items()
        bare = records.totals_by(found, pid=pid)["bare"]
        self.assertGreater(bare["cpu_ns"], 10 * law.MILLISECOND)
        # Page faults and interrupts are user time, too; its exit is not.
        self.assertGreater(bare["user_ns"], 0.8 * bare["cpu_ns"])
        self.assertLess(bare["syscalls"], 10)

    def test_a_child_becomes_another_program(self):
        """Which publishes nothing: it belongs to the request that it was started in."""
        found = self.observe('Laws.exec_in_request("n = 0; n += 1 while n < 3_000_000")')
        (pid, events), = self.events(found).items()
        self.assertEqual(["fork", "exec", "exit"], events)
        mine = [record for record in records.of_kind(found, "cpu") if record["pid"] == pid]
        self.assertEqual([], [record for record in mine if not record["request_id"]
                              or not {"inherited", "inherited_by_exec"} & set(record["flags"])])
        self.assertGreater(law.cpu_ns(record for record in mine
                                      if record["flags"] == ["inherited_by_exec"]),
                           10 * law.MILLISECOND)

    def test_a_child_becomes_another_program_of_nobodys(self):
        """Without children. What was before is flagged as uncertain: the context was the parent's,
        and no probe was passed in the child."""
        found = self.observe('Laws.exec_in_request("n = 0; n += 1 while n < 3_000_000")',
                             options=("--no-children",))
        (pid, events), = self.events(found).items()
        self.assertEqual(["fork", "exec", "exit"], events)
        totals = records.totals_by(found, pid=pid)
        self.assertGreater(totals[records.NOBODY]["cpu_ns"], 10 * law.MILLISECOND)
        self.assertEqual([], [record for record in records.of_kind(found, "cpu")
                              if record["pid"] == pid and record.get("request_id") != ""
                              and not {"inherited", "unknown"} & set(record.get("flags", ()))])

    def test_all_of_it_on_a_machine_that_others_keep_busy(self):
        self.target.evaluate("Laws.workers(2)")
        with law.Load():
            self.observe("Laws.work", "Laws.workers(2)", "Laws.forks(10, 2)", "Laws.crowd(100)",
                         "Laws.work", 'Laws.exec_in_request("1")', "Laws.dismiss")


if __name__ == "__main__":
    law.main()
