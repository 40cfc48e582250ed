# SPDX-License-Identifier: GPL-2.0-only
"""What a request starts belongs to it: system, backticks, spawn, pipelines, and what these start.

The ground truth is the parent's own RUSAGE_CHILDREN, which the kernel adds up of all that was waited
for: of processes that a request starts, and of these alone, it is what their records come to.
"""
import collections
import json

import harness
import records
from harness import RUBY, Workload

MILLISECOND = 1_000_000
# A loop of the shell's, 50 to 150 ms.
SPIN = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"
BY_EXEC = "inherited_by_exec"
# Of a process that ends with a window, what it runs between two readings of a clock at its end.
ENDING_NS = 20_000


class ChildrenTest(harness.LiveTest):
    def start(self, *arguments, keys=("request_id", "endpoint")):
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        workload.evaluate('require "open3"')
        words = [word for key in keys for word in ("-k", key)]
        recording = self.enter(harness.Recording(self.output, *words, *arguments, "-p",
                                                 workload.pid))
        return workload, recording

    def request(self, workload, code, name="r", endpoint="GET /started"):
        """Runs it in a request; what its children used, by getrusage of the parent."""
        return workload.evaluate(
            "before = Process.times; "
            f'Correlator.with(request_id: "{name}", endpoint: "{endpoint}") {{ {code} }}; '
            "after = Process.times; "
            "((after.cutime + after.cstime - before.cutime - before.cstime) * 1e9).round")

    def finish(self, recording):
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assert_balanced(found)
        return found

    def assert_balanced(self, found):
        """
        Each process's books, and that its accounts are what they say. What the clock has charged
        before an exec beyond exec runtime, as interrupts take it, is made good where the thread
        next leaves its CPU: if a window ends before, in the next one.
        """
        used, residuals = collections.Counter(), collections.Counter()
        for record in records.of_kind(found, "cpu"):
            used[record["pid"]] += record["cpu_ns"]
        for record in records.of_kind(found, "balance"):
            self.assertEqual(record["exec_ns"] - record["residual_ns"], record["attributed_ns"] +
                             record["unattributed_ns"] + record["overflow_ns"])
            residuals[record["pid"]] += record["residual_ns"]
            used[record["pid"]] -= record["exec_ns"] - record["residual_ns"]
        self.assertEqual(set(), {pid for pid, ns in used.items() if ns})
        self.assertEqual(set(), {pid for pid, ns in residuals.items() if abs(ns) > ENDING_NS})

    def children(self, found, workload, name="r"):
        """The cpu records of a request in other processes than the one that it is served by."""
        return [record for record in records.of_kind(found, "cpu")
                if record["pid"] != workload.pid and record.get("request_id") == name]

    def assert_close(self, truth, found):
        used = sum(record["cpu_ns"] for record in found)
        self.assertLessEqual(abs(used - truth), max(MILLISECOND, truth // 100), (used, truth))

    def check(self, code, *arguments, spins=1):
        workload, recording = self.start(*arguments)
        truth = self.request(workload, code)
        found = self.finish(recording)
        mine = self.children(found, workload)
        self.assertGreater(truth, 10 * MILLISECOND * spins)
        self.assert_close(truth, mine)
        after = [record for record in mine if BY_EXEC in record.get("flags", ())]
        # A window may end between a fork and its exec: what was before is the child's of a fork.
        self.assert_close(truth, [record for record in mine
                                  if {BY_EXEC, "inherited"} & set(record["flags"])])
        self.assertGreater(sum(record["cpu_ns"] for record in after), 0.8 * truth)
        for record in mine:
            self.assertEqual("GET /started", record["endpoint"])
        return found, [record for record in after if "inherited" not in record["flags"]]

    def test_system_with_a_shell(self):
        self.check(f"system('{SPIN}; true')")

    def test_system_without_a_shell(self):
        _, after = self.check(f"system('sh', '-c', '{SPIN}; true')")
        self.assertEqual({"sh"}, {record["thread_name"] for record in after})

    def test_backticks(self):
        self.check(f"`{SPIN}; true`")

    def test_spawn_and_wait(self):
        self.check(f"Process.wait(spawn('{SPIN}; true'))")

    def test_fork_and_exec(self):
        self.check(f"Process.wait(fork {{ exec('sh', '-c', '{SPIN}; true') }})")

    def test_a_pipeline_of_open3(self):
        self.check(f"Open3.pipeline_r('{SPIN}; echo', '{SPIN}; cat') "
                   "{ |out, ends| out.read; ends.each(&:value) }", spins=2)

    def test_what_a_shell_starts_at_a_time(self):
        _, after = self.check(f"system('({SPIN}) & ({SPIN}); wait')", spins=2)
        self.assertGreater(len({record["pid"] for record in after}), 1)

    def test_a_child_of_a_child(self):
        """Which execs, too, and whose threads are its own."""
        threads = "Array.new(3) { Thread.new { 200_000.times { } } }.each(&:join)"
        _, after = self.check(f"system('{SPIN}; ruby --disable-gems -e \\'{threads}\\'; true')")
        self.assertGreater(len({record["tid"] for record in after}), 3)
        self.assertEqual(2, len({record["pid"] for record in after}))

    def test_a_chain_of_execs_has_each_ones_name(self):
        _, after = self.check(f"system('{SPIN}; exec perl -e \\'$i++ while $i < 1000000\\'')")
        used = {}
        for record in after:
            used[record["thread_name"]] = used.get(record["thread_name"], 0) + record["cpu_ns"]
        self.assertEqual({"sh", "perl"}, set(used))
        self.assertGreater(min(used.values()), 10 * MILLISECOND)

    def test_lean_and_without_the_split(self):
        """Without tracepoints of system calls an exec may be the first that is seen of a child."""
        for mode in (["--lean"], ["--no-kernel-split"], ["--lean", "--no-kernel-split"]):
            with self.subTest(mode):
                self.check(f"system('{SPIN}; true')", "--force", *mode)

    def test_windows_end_while_it_runs(self):
        spins = "; ".join([SPIN] * 4)
        found, after = self.check(f"system('{spins}')", "-i", "50ms")
        self.assertGreater(len(after), 2)
        self.assertGreater(len(records.of_kind(found, "self")), 2)

    def test_one_that_outlives_its_request(self):
        """By so many windows that the request itself is forgotten."""
        workload, recording = self.start("-i", "50ms")
        script = f"read line; {SPIN}; read line"
        workload.evaluate("$reader, $writer = IO.pipe")
        self.request(workload, f"$child = spawn('{script}', in: $reader)")
        child = workload.evaluate("$child")
        windows = 8

        def count():
            entries, _ = records.unpack_entries(self.output.read_bytes())
            return len(records.of_kind([record for _, record in entries], "self"))

        before = count()
        harness.await_true(lambda: count() >= before + windows, "windows")
        workload.evaluate("$writer.puts; 1")
        before = count()
        harness.await_true(lambda: count() >= before + windows, "more windows")
        truth = workload.evaluate(
            "before = Process.times; $writer.puts; Process.wait($child); after = Process.times; "
            "((after.cutime + after.cstime - before.cutime - before.cstime) * 1e9).round")
        found = self.finish(recording)
        mine = self.children(found, workload)
        self.assertEqual({child}, {record["pid"] for record in mine})
        self.assert_close(truth, mine)
        self.assertEqual([], [record for record in records.of_kind(found, "cpu")
                              if record["pid"] == child and record.get("request_id") != "r"])

    def test_a_ruby_that_publishes_itself(self):
        """Its own requests are its own, and what is in none of them is the one's that started it."""
        paths = " ".join(RUBY[1:])
        code = ("require %q(correlator); $stdout.sync = true; puts 1; gets; "
                "spin = proc { 3_000_000.times { } }; "
                "Correlator.with(request_id: %q(inner)) { spin.call }; spin.call")
        workload, recording = self.start()
        workload.evaluate("require 'correlator'; 1")
        workload.evaluate(
            f"$inner = Correlator.with(request_id: 'r') {{ IO.popen('ruby {paths} -e \\'{code}\\'',"
            " 'r+') }; $inner.gets; $inner.pid")
        recording.await_message("publishes contexts by")
        workload.evaluate("$inner.puts; $inner.close; 1")
        found = self.finish(recording)
        inner = self.children(found, workload, "inner")
        outer = self.children(found, workload)
        self.assertGreater(sum(record["cpu_ns"] for record in inner), 20 * MILLISECOND)
        self.assertGreater(sum(record["cpu_ns"] for record in outer), 20 * MILLISECOND)
        self.assertEqual([], [record for record in inner if BY_EXEC in record.get("flags", ())])
        nobodys = [record for record in records.of_kind(found, "cpu")
                   if record["pid"] != workload.pid and not record.get("request_id")]
        self.assertLess(sum(record["cpu_ns"] for record in nobodys), MILLISECOND, nobodys)

    def test_a_report_says_what_an_endpoint_has_started(self):
        workload, recording = self.start("-i", "100ms")
        truth = sum(self.request(workload, f"system('{SPIN}; true')", name=f"r{number}")
                    for number in range(3))
        self.request(workload, "300_000.times { }", name="other", endpoint="GET /alone")
        found = self.finish(recording)
        started = [record for number in range(3) for record in self.children(found, workload, f"r{number}")]
        self.assert_close(truth, started)
        rows = {row["key"]: row for row in self.report("--by", "endpoint")["rows"]}
        # The time of a child before its exec, some ms on a slow machine, is the forking program's.
        by_exec_ns = sum(record["cpu_ns"] for record in started if BY_EXEC in record.get("flags", ()))
        self.assertEqual(by_exec_ns, rows["GET /started"]["children_cpu_ns"])
        self.assertGreater(rows["GET /started"]["cpu_ns"], rows["GET /started"]["children_cpu_ns"])
        self.assertEqual(0, rows["GET /alone"]["children_cpu_ns"])
        rows = {tuple(row["keys"].values()): row
                for row in self.report("--by", "endpoint,comm")["rows"]}
        # The window in which a child became `sh' has the name that was known when it was written.
        self.assertGreater(rows["GET /started", "sh"]["cpu_ns"], by_exec_ns / 2)
        self.assertLessEqual(rows["GET /started", "sh"]["cpu_ns"], sum(record["cpu_ns"] for record in started))
        story = harness.run_correlator("report", "--request", "r1", self.output)
        self.assertRegex(story.stdout, r"(?m)^children +[\d.]+ ms of the cpu, .*\n +[\d.]+ ms sh$")

    def test_an_endpoint_that_comes_later_is_the_childrens_too(self):
        """In a report: the records of what was started before it came do not have it."""
        workload, recording = self.start()
        truth = workload.evaluate(
            "before = Process.times; Correlator.with(request_id: 'late') { "
            f"system('{SPIN}; true'); Correlator.with(endpoint: 'GET /late') {{ 10_000.times {{ }} }} }}; "
            "after = Process.times; "
            "((after.cutime + after.cstime - before.cutime - before.cstime) * 1e9).round")
        self.assert_close(truth, self.children(self.finish(recording), workload, "late"))
        row, = self.report("--by", "endpoint")["rows"]
        self.assertEqual("GET /late", row["key"])
        self.assertGreater(row["children_cpu_ns"], 0.9 * truth)

    def test_a_name_that_only_the_first_program_knows_is_left_out(self):
        """A Symbol's: the request has it, and with it its children in a report."""
        workload, recording = self.start()
        truth = workload.evaluate(
            "before = Process.times; Correlator.with(request_id: 'named', endpoint: :show) { "
            f"10_000.times {{ }}; system('{SPIN}; true') }}; after = Process.times; "
            "((after.cutime + after.cstime - before.cutime - before.cstime) * 1e9).round")
        mine = self.children(self.finish(recording), workload, "named")
        self.assert_close(truth, mine)
        self.assertEqual({None, "show"}, {record.get("endpoint") for record in mine} | {None, "show"})
        row, = self.report("--by", "endpoint")["rows"]
        self.assertEqual("show", row["key"])
        self.assertGreater(row["children_cpu_ns"], 0.9 * truth)

    def test_more_come_and_go_than_there_is_room_for_at_a_time(self):
        """None leaves anything behind, in the kernel's map of origins or elsewhere."""
        count = 1 + 4096 if harness.IS_LONG else 300
        workload, recording = self.start("-i", "200ms")
        workload.evaluate("Correlator.with(request_id: 'many') { "
                          f"{count}.times {{ Process.wait(spawn('/bin/true')) }} }}")
        found = self.finish(recording)
        # Each program's own: process numbers may come again.
        self.assertGreaterEqual(sum(record.get("flags") == [BY_EXEC] for record in
                                    self.children(found, workload, "many")), count)
        sums = records.books(found)
        self.assertEqual((0, 0, 0), tuple(sums[name] for name in (
            "processes_full", "contexts_full", "accounts_full")))

    def report(self, *arguments):
        result = harness.run_correlator("report", "--format", "json", *arguments, self.output)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        return json.loads(result.stdout)

    def test_what_is_started_outside_of_requests_is_nobodys(self):
        workload, recording = self.start()
        workload.evaluate(f"system('{SPIN}; true')")
        found = self.finish(recording)
        self.assertEqual([], [record for record in records.of_kind(found, "cpu")
                              if BY_EXEC in record.get("flags", ())])

    def test_without_children_it_is_nobodys(self):
        workload, recording = self.start("--no-children")
        truth = self.request(workload, f"system('{SPIN}; true')")
        found = self.finish(recording)
        nobodys = [record for record in records.of_kind(found, "cpu")
                   if record["pid"] != workload.pid and not record.get("request_id")]
        # Before its exec it is a child of a fork, which is in its parent's request: some milliseconds
        # where a fork's page faults are dear.
        self.assert_close(truth, nobodys + self.children(found, workload))
        self.assertGreater(sum(record["cpu_ns"] for record in nobodys), 0.9 * truth)
        self.assertEqual([], [record for record in records.of_kind(found, "cpu")
                              if BY_EXEC in record.get("flags", ())])


if __name__ == "__main__":
    harness.main()
