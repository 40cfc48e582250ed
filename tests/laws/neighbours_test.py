# SPDX-License-Identifier: GPL-2.0-only
"""The mode is a process's own: what one is, or does, leaves its neighbours exact."""
import re

import law
from law import harness, records
from harness import FAKES, FakeRuby, Workload

REQUESTS = 20
NO_SITE = "has no function known to change the context"
# A storm of changes of context costs far more than this (52 % of a CPU beside busy loops). What is left is the end
# of each window, far less than half: 2.6 % there. Without the split: its cost is that of whatever else the machine does.
BUDGET = "--budget", "15", "-i", "200ms", "--no-kernel-split"
ALTERNATIONS = 400
# Two that do nothing but this cost far more, exact or lean; without the split what is left costs far
# less than half of it, whatever else the machine does.
SPLIT_BUDGET = "--budget", "4", "-i", "200ms"
STORM = ("$stop = false; $storm = Thread.new { Correlator.with(request_id: 'storm') "
         "{ 5.times { Process.ppid } } until $stop }; nil")


def modes(found, pid):
    """[mode] of a process, as its records say it, each change once."""
    said = [record["mode"] for record in records.of_kind(found, "process")
            if record["pid"] == pid and record["event"] != "exit"]
    return [mode for before, mode in zip([None] + said, said) if mode != before]


def names(prefix):
    return {f"{prefix}-{number}" for number in range(REQUESTS)}


def ambiguous_ns(found):
    return sum(record["ambiguous_ns"] for record in records.of_kind(found, "cpu"))


class NeighboursTest(law.LawTest):
    def neighbour(self):
        """A Ruby whose requests can be told by their system calls."""
        bare = self.enter(Workload("bare.rb"))
        bare.evaluate('require "correlator"')
        return bare

    def fake(self):
        return self.enter(FakeRuby("glibc_loads"))

    def assert_exact(self, found, pid, prefix, count):
        self.assert_calls([record for record in found if record["pid"] == pid], prefix, count)
        self.assert_exact_ids(found, pid)

    def assert_exact_ids(self, found, pid, *prefixes):
        mine = [record for record in found if record["pid"] == pid]
        self.assertEqual(["exact"], modes(found, pid))
        expected = set().union(*map(names, prefixes))
        self.assertLessEqual(expected, set(records.totals_by(mine)))
        sums = self.assert_balanced(found, pid)
        self.assertEqual(0, sums["changes_unseen"])
        self.assertEqual(0, ambiguous_ns(mine))

    def test_one_without_a_site_is_lean_alone(self):
        fake, bare = self.fake(), self.neighbour()
        fake.obey(f"load {FAKES}/no_site.so")
        recording = self.record("-p", fake.pid, "-p", bare.pid, "-i", "100ms")
        self.assertRegex(recording.messages, f"process {fake.pid} .*{NO_SITE}: lean from now on")
        recording.await_message(f"process {fake.pid} .*ambiguous_ns is no bound of the error")
        bare.evaluate(f'$thread = Thread.new {{ requests("exact", {REQUESTS}) }}; nil')
        fake.obey(f"main main {REQUESTS}")
        fake.obey(f"worker worker {REQUESTS}")
        bare.evaluate("$thread.join; nil")
        found = self.finish(recording)
        self.assert_exact(found, bare.pid, "exact", REQUESTS)
        self.assertEqual(["lean"], modes(found, fake.pid))
        mine = [record for record in found if record["pid"] == fake.pid]
        self.assert_calls(mine, "main", REQUESTS)
        self.assert_calls(mine, "worker", REQUESTS)
        sums = self.assert_balanced(found, fake.pid)
        self.assertEqual(0, sums["changes_unseen"])
        # Each of its requests begins and ends between two boundaries.
        self.assertGreater(ambiguous_ns(mine), 0)
        meta, = records.of_kind(found, "meta")
        self.assertEqual("partly-lean", meta["mode"])
        self.assertIn(NO_SITE, meta["reason"])
        report = harness.run_correlator("report", recording.path)
        self.assertRegex(report.stdout, rf"{fake.pid} glibc_loads \([^)]*lean\)")
        self.assertNotRegex(report.stdout, rf"{bare.pid} ruby \([^)]*lean\)")

    def test_one_that_gets_a_site_later_steps_up(self):
        fake, bare = self.fake(), self.neighbour()
        fake.obey(f"load {FAKES}/no_site.so")
        recording = self.record("-p", fake.pid, "-p", bare.pid, "-i", "100ms")
        fake.obey(f"main lean {REQUESTS}")
        fake.obey(f"load {FAKES}/glibc_library.so")
        recording.await_message("2 loaded objects with a ruby_profiler_state")
        bare.evaluate('requests("exact", 1)')

        # Its probe, once it is there, tells that this is the one that is set by now.
        def is_told():
            fake.obey("main asks 1")
            return re.search(f"process {fake.pid} .*functions known .*exact from now on", recording.messages)

        harness.await_true(is_told, "its probe to tell")
        fake.obey(f"main after {REQUESTS}")
        found = self.finish(recording)
        self.assert_exact(found, bare.pid, "exact", 1)
        self.assertEqual(["lean", "exact"], modes(found, fake.pid))
        self.assertEqual(["partly-lean", "exact"],
                         [meta["mode"] for meta in records.of_kind(found, "meta")])
        mine = [record for record in found if record["pid"] == fake.pid]
        self.assert_calls(mine, "lean", REQUESTS)
        self.assert_calls(mine, "after", REQUESTS)
        self.assert_balanced(found, fake.pid)

    def test_the_dearest_one_steps_down_for_the_budget_and_up_again(self):
        storm, bare = self.neighbour(), self.neighbour()
        storm.evaluate("$stop = false; $thread = Thread.new { number = 0; "
                       'Correlator.with(request_id: "s-#{number += 1}") { } until $stop }; nil')
        recording = self.record("-p", storm.pid, "-p", bare.pid, *BUDGET)
        bare.evaluate(f'requests("before", {REQUESTS})')
        recording.await_message(f"process {storm.pid} .*over the budget.*: lean from now on")
        storm.evaluate("$stop = true; $thread.join; nil")
        bare.evaluate(f'requests("meanwhile", {REQUESTS})')
        recording.await_message(f"process {storm.pid} .*half of the budget.*: exact from now on")
        storm.evaluate(f'requests("exact", {REQUESTS})')
        found = self.finish(recording)
        self.assertEqual(["exact", "lean", "exact"], modes(found, storm.pid))
        self.assertEqual(["exact", "partly-lean", "exact"],
                         [meta["mode"] for meta in records.of_kind(found, "meta")])
        self.assert_exact_ids(found, bare.pid, "before", "meanwhile")
        self.assert_balanced(found, storm.pid)
        mine = [record for record in found if record["pid"] == storm.pid]
        self.assertLessEqual(names("exact"), set(records.totals_by(mine)))
        self.assertEqual(0, records.books(found)["changes_unseen"])
        for record in records.of_kind(found, "process"):
            if record["event"] == "mode":
                self.assertEqual(storm.pid, record["pid"])
                self.assertIn("budget", record["reason"])

    def test_the_split_is_given_up_last_and_comes_back_first(self):
        bare, other = self.neighbour(), self.neighbour()
        recording = self.record("-p", bare.pid, "-p", other.pid, *SPLIT_BUDGET)
        for process in bare, other:
            process.evaluate(STORM)
        recording.await_message("no user/kernel split from now on")
        # A new thread comes out of the kernel, which nobody sees without the split.
        bare.evaluate("$long_stop = false; $long = Thread.new { "
                      "Correlator.with(request_id: 'spin') { nil until $long_stop } }; nil")
        for process in bare, other:
            process.evaluate("$stop = true; $storm.join; nil")
        recording.await_message("half of the budget.*: user/kernel split from")
        # Three windows with it at least: it is not given up again before.
        bare.evaluate("sleep 0.7; $long_stop = true; $long.join; nil")
        found = self.finish(recording)
        self.assert_balanced(found)
        self.assertLess(recording.messages.index("user/kernel split from the next"),
                        (recording.messages + "exact from").index("exact from"))
        metas = records.of_kind(found, "meta")
        self.assertEqual([("exact", True), ("partly-lean", True), ("lean", True),
                          ("switch-only", False), ("lean", True)],
                         [(meta["mode"], meta["kernel_split"]) for meta in metas[:5]])
        given_up, again = (found.index(meta) for meta in metas[3:5])
        # The window that is under way when it comes back has none either.
        self.assertTrue(all("user_ns" not in record
                            for record in records.of_kind(found[given_up:again], "cpu")))
        windows = [record for record in records.of_kind(found[again:], "cpu")
                   if record.get("request_id") == "spin" and "user_ns" in record]
        self.assert_split(windows)
        # Ruby's timer interrupts it, page faults do: a few in a hundred.
        spun_ns = sum(record["cpu_ns"] for record in windows)
        self.assertGreater(spun_ns, 10 * law.MILLISECOND)
        self.assertGreater(sum(record["user_ns"] for record in windows), 0.9 * spun_ns)

    def test_one_whose_library_comes_and_goes_is_told_rarely_and_disturbs_nobody(self):
        wild, bare = self.enter(Workload("bare.rb")), self.neighbour()
        wild.evaluate('require "fiddle"')
        recording = self.record("-p", bare.pid, "-p", wild.pid, "-i", "200ms")
        start = wild.evaluate("Process.clock_gettime(Process::CLOCK_MONOTONIC)")
        bare.evaluate(f'$thread = Thread.new {{ requests("exact", {REQUESTS}) }}; nil')
        wild.evaluate(f"{ALTERNATIONS}.times {{ library = Fiddle.dlopen("
                      f'"{FAKES}/glibc_library.so"); sleep 0.004; library.close; sleep 0.004 }}')
        seconds = wild.evaluate("Process.clock_gettime(Process::CLOCK_MONOTONIC)") - start
        bare.evaluate("$thread.join; nil")
        found = self.finish(recording)
        self.assert_exact(found, bare.pid, "exact", REQUESTS)
        self.assert_balanced(found, wild.pid)
        told = [record for record in records.of_kind(found, "process")
                if record["pid"] == wild.pid and record["event"] in ("load", "unload")]
        # 16 are free; with pauses that double from 10 ms on, eight more fit in the first 2.5 s.
        self.assertGreater(len(told), 10)
        self.assertLess(len(told), 26 + seconds)


if __name__ == "__main__":
    law.main()
