# SPDX-License-Identifier: GPL-2.0-only
"""A process is not its pid: who comes with the pid of one that has ended, and what is behind a pid after an exec, is
another one, in the books, by name and in the search.

All is done in a pid namespace of its own, in which the next pid can be chosen. The ground truth is each context's own
CPU clock, which has no less. Tolerance: what entering and leaving a context takes, and with --lean what its records say
that may be another's (what a child does between its fork and its first system call in the context).
"""
import os
import subprocess

import harness
import records

WITH_NS = 3_000_000 + harness.PAUSE_NS
# All of /proc is gone over once a minute: what is seen in half of that was told.
TOLD_SECONDS = 30

# Forks until the child has this pid (0 = any): it does what the block does.
FORK_AS = ("def fork_as(pid) = loop { File.write('/proc/sys/kernel/ns_last_pid', (pid - 1).to_s) if pid > 0; "
           "made = fork { yield if pid.zero? || Process.pid == pid; exit!(0) }; "
           "break made if pid.zero? || made == pid; Process.wait(made) }")


def spin(context, milliseconds):
    return f"Correlator.with(request_id: {context}) {{ Workload.spin_ms({milliseconds}) }}"


class LivesTest(harness.LiveTest):
    def workload(self):
        workload = self.enter(harness.Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        workload.evaluate(FORK_AS)
        return workload

    def start(self, *mode):
        workload = self.workload()
        recording = self.enter(harness.Recording(self.output, "-k", "request_id", "--force", *mode, "-p", workload.pid))
        return workload, recording

    def fork(self, workload, pid, request_id, milliseconds):
        """A child with that pid (0 = any), which ends: its pid."""
        context = spin(f'"{request_id}"', milliseconds)
        return workload.evaluate(f"Process.wait(made = fork_as({pid}) {{ {context} }}); made")

    def finish(self, recording):
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual([], records.unbalanced(found))
        return found

    def assert_has(self, found, request_id, milliseconds, pid=None):
        of_it = [record for record in records.of_kind(found, "cpu")
                 if record.get("request_id") == request_id and pid in (None, record["pid"])]
        used_ns, ambiguous_ns = (sum(record[name] for record in of_it) for name in ("cpu_ns", "ambiguous_ns"))
        self.assertGreaterEqual(used_ns, milliseconds * 1e6, request_id)
        self.assertLess(used_ns - ambiguous_ns, milliseconds * 1e6 + WITH_NS, (request_id, ambiguous_ns))

    def events(self, found, pid):
        return [(record["event"], record["start_ns"]) for record in records.of_kind(found, "process")
                if record["pid"] == pid]

    def test_a_pid_that_comes_again_is_another_process(self):
        """Within a window, and so before anybody has noted that the first one has ended."""
        for mode in ((), ("--lean",), ("--no-kernel-split",)):
            with self.subTest(mode):
                workload, recording = self.start("-i", "60s", *mode)
                pid = self.fork(workload, 0, "first", 30)
                self.assertEqual(pid, self.fork(workload, pid, "second", 50))
                found = self.finish(recording)
                self.assert_has(found, "first", 30, pid)
                self.assert_has(found, "second", 50, pid)
                events = self.events(found, pid)
                self.assertEqual(["exit", "fork"], sorted({event for event, _ in events}))
                # As many begin as end, and each is one by (pid, start_ns). Others had the pid on the way.
                forks = sorted(start for event, start in events if event == "fork")
                self.assertEqual(forks, sorted(start for event, start in events if event == "exit"))
                self.assertEqual(len(forks), len(set(forks)))
                self.assertGreaterEqual(len(forks), 2)

    def test_one_family_has_the_pid_of_another(self):
        """The share of neither is anything but what it holds: both go on forking."""
        one, other = self.workload(), self.workload()
        recording = self.enter(harness.Recording(self.output, "-k", "request_id", "--force", "-i", "250ms",
                                                 "-p", one.pid, "-p", other.pid))
        for _ in range(3):
            self.fork(other, self.fork(one, 0, "one", 5), "other", 5)
            seen = len(recording.records_so_far())
            harness.await_true(lambda: len(recording.records_so_far()) > seen + 3, "a window")
        for workload, name in (one, "one later"), (other, "other later"):
            for number in range(5):
                self.fork(workload, 0, f"{name} {number}", 5)
        found = self.finish(recording)
        for name in "one later", "other later":
            for number in range(5):
                self.assert_has(found, f"{name} {number}", 5)
        self.assertEqual(0, sum(record.get("processes_full", 0) for record in records.of_kind(found, "balance")))

    def begin_again(self, workload):
        """It execs the same program, whose first new Symbol has the ID that the last one's had."""
        command = ", ".join(repr(str(word)) for word in workload.command("driven.rb"))
        workload.say(f"exec({command})")
        self.assertEqual(f"ready {workload.pid}", workload.process.stdout.readline().strip())
        # The same names as in the first one.
        workload.evaluate(FORK_AS)

    def symbol(self, workload, name):
        return workload.evaluate(f"{spin(':' + name, 50)}; :{name}.object_id")

    def test_a_symbol_ends_with_its_program(self):
        """Looked at while the first one runs, so its name is known: the second one's is another."""
        workload, recording = self.start("-i", "100ms")
        first = self.symbol(workload, "old_checkout")
        harness.await_true(lambda: "old_checkout" in records.totals_by(recording.records_so_far()), "its name")
        self.begin_again(workload)
        self.assertEqual(first, self.symbol(workload, "new_payment"))
        used = 50

        def is_named():
            nonlocal used
            workload.evaluate(spin(":new_payment", 50))
            used += 50
            return "new_payment" in records.totals_by(recording.records_so_far())

        harness.await_true(is_named, "the second one's name")
        found = self.finish(recording)
        self.assert_has(found, "old_checkout", 50)
        self.assertLess(records.totals_by(found)["new_payment"]["cpu_ns"], used * 1e6 + used / 50 * WITH_NS)

    def test_a_symbol_whose_program_has_gone_has_its_number(self):
        """In one window: when it is looked for, its program has been replaced."""
        workload, recording = self.start("-i", "60s")
        first = self.symbol(workload, "old_checkout")
        self.begin_again(workload)
        self.assertEqual(first, self.symbol(workload, "new_payment"))
        totals = records.totals_by(self.finish(recording))
        numbered = [name for name in totals if name and name.startswith(":0x") and "@" in name]
        self.assertEqual(1, len(numbered), totals)
        self.assert_has_ns(totals[numbered[0]]["cpu_ns"], 50)
        # Whether the second one is read by then or not.
        self.assertLess(totals.get("new_payment", {"cpu_ns": 0})["cpu_ns"], 50e6 + WITH_NS)

    def assert_has_ns(self, used_ns, milliseconds):
        self.assertGreaterEqual(used_ns, milliseconds * 1e6)
        self.assertLess(used_ns, milliseconds * 1e6 + WITH_NS)

    def test_a_thread_has_the_name_of_what_it_ran(self):
        script = 'Workload.spin_ms(50) if require "workload"; exec("sh", "-c", "exec sha256sum /dev/stdin < /dev/null")'
        recording = self.enter(harness.Recording(self.output, "-i", "60s", "--", *harness.RUBY, "-I", harness.FIXTURES,
                                                 "-e", script, env={**os.environ, "GROUND_TRUTH": "off"},
                                                 stdout=subprocess.DEVNULL))
        self.assert_ended_well(recording, recording.wait())
        found = recording.records()
        self.assertEqual([], records.unbalanced(found))
        names = {}
        for record in records.of_kind(found, "cpu"):
            names[record["thread_name"]] = names.get(record["thread_name"], 0) + record["cpu_ns"]
        self.assertEqual({"correlator", "ruby", "sh", "sha256sum"}, set(names))
        self.assertGreaterEqual(names["ruby"], 50e6)
        self.assertGreater(names["ruby"], 10 * names["correlator"])

    def search(self, *arguments):
        return self.enter(harness.Recording(self.output, "-k", "request_id", "--force", "-i", "100ms", "--all-ruby",
                                            *arguments))

    def test_the_search_finds_who_has_the_pid_of_one_that_has_ended(self):
        recording = self.search()
        pid = 0
        for name in "first", "second", "third":
            workload = self.start_as(pid)
            pid = workload.pid

            def is_seen():
                workload.evaluate(spin(f'"{name}"', 5))
                return name in records.totals_by(recording.records_so_far())

            harness.await_true(is_seen, f"{name} to be observed", TOLD_SECONDS)
            workload.__exit__()
        found = self.finish(recording)
        started = {record["start_ns"] for record in records.of_kind(found, "process") if record["pid"] == pid}
        self.assertEqual(3, len(started))

    def start_as(self, pid):
        """A workload with this pid (0 = any): others had it on the way."""
        while True:
            if pid:
                harness.choose_next_pid(pid)
            workload = self.enter(harness.Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
            if pid in (0, workload.pid):
                return workload
            workload.__exit__()

    def test_without_following_the_search_is_told_of_children(self):
        workload = self.workload()
        recording = self.search("--no-follow")

        def is_seen(name):
            return name in records.totals_by(recording.records_so_far())

        def is_found():
            workload.evaluate(spin('"parent"', 5))
            return is_seen("parent")

        harness.await_true(is_found, "the parent to be observed", TOLD_SECONDS)
        workload.evaluate("reader, $writer = IO.pipe; $child = fork { $writer.close; "
                          "until IO.select([reader], nil, nil, 0.01) do " + spin('"child"', 5) + " end; exit!(0) }; "
                          "reader.close; 0")
        harness.await_true(lambda: is_seen("child"), "the child to be observed", TOLD_SECONDS)
        workload.evaluate("$writer.close; Process.wait($child); 0")
        self.finish(recording)


if __name__ == "__main__":
    harness.own_pids()
    harness.main()
